"""The Agent-Reach layer: registry, router, slots, executor and feedback, usable without the rest of reach-tui."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # each name is imported when it is first used: `import reach_tui.reach` costs nothing
    from reach_tui.reach.spec import HttpEndpoint as HttpEndpoint
    from reach_tui.reach.spec import IntentRule as IntentRule
    from reach_tui.reach.spec import PythonEndpoint as PythonEndpoint
    from reach_tui.reach.spec import RateLimit as RateLimit
    from reach_tui.reach.spec import Registry as Registry
    from reach_tui.reach.spec import RetryPolicy as RetryPolicy
    from reach_tui.reach.spec import SampleCall as SampleCall
    from reach_tui.reach.spec import SlotSource as SlotSource
    from reach_tui.reach.spec import ToolSpec as ToolSpec

_NAMES_OF = {
    "spec": ("HttpEndpoint IntentRule PythonEndpoint RateLimit Registry RetryPolicy SampleCall SlotSource ToolSpec"),
}
_MODULE_OF = {name: module for module, names in _NAMES_OF.items() for name in names.split()}


def __getattr__(name: str) -> object:
    module = _MODULE_OF.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{module}"), name)


def __dir__() -> list[str]:
    return [*globals(), *_MODULE_OF]
