"""The tools that a call was chosen from, as far as a trace tells, each once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from reach_tui.base.jsonio import JsonValue, as_object

if TYPE_CHECKING:
    from reach_tui.reach.spec import ToolSpec

RECORDED, REGISTRY, SEEN = "recorded", "registry", "seen"
IN_WORDS: Mapping[str, str] = {
    RECORDED: "tools recorded as offered",
    REGISTRY: "tools of your registry",
    SEEN: "tools seen in this trace",
}
"""What `Route.candidates_from` says, for people."""
MOST_TOOLS = 2_000
_LONGEST = 20_000  # characters of a recorded description that are looked at


class ToolSet:
    """The tools, each name once, and how they are known."""

    def __init__(self, tools: Iterable[ToolSpec], origin: str) -> None:
        self.origin = origin
        """`recorded`, `registry` or `seen`."""
        self._tools: dict[str, ToolSpec] = {}
        for tool in tools:
            if len(self._tools) == MOST_TOOLS:
                break
            self._tools.setdefault(tool.name, tool)

    def __len__(self) -> int:
        return len(self._tools)

    @property
    def tools(self) -> Sequence[ToolSpec]:
        """The tools, by name."""
        return [self._tools[name] for name in sorted(self._tools)]


def recorded(name: str, description: str = "", schema: JsonValue = None) -> ToolSpec:
    """A tool as a trace tells of it: whatever it says is taken, nothing is checked, the rest is unknown."""
    from reach_tui.reach.spec import ToolSpec

    return ToolSpec.model_construct(
        name=name, description=description[:_LONGEST], params_schema=as_object(schema), auth_type="none",
        timeout_ms=1, idempotent=False, side_effect="read", sample_calls=(),
    )  # fmt: skip


def seen(names: Iterable[str], described: Mapping[str, ToolSpec]) -> ToolSet:
    """Tools by the names they were called by; those that no registry describes have their name alone."""
    return ToolSet((described.get(name) or recorded(name) for name in sorted(set(names))), SEEN)
