"""What every analysis works on: the calls of one session in order, each with its verdict."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from reach_tui.model import Glance, Verdict

Pair: TypeAlias = tuple[Glance, Verdict]
Pairs: TypeAlias = Sequence[Pair]
Wanted: TypeAlias = Callable[[Glance], bool]
"""Which calls are counted; the others are still seen, as what came before."""


def originals(call: Glance) -> bool:
    """True for every call that is not a stored copy of another: what is counted where nothing else is asked for."""
    return call.copy_of is None


def answered(call: Glance, verdict: Verdict) -> bool:
    """True if the call ended: a result is there, or the store's own word that it failed."""
    return verdict.failed is not None or has_result(call)


def has_result(call: Glance) -> bool:
    """True if something came back."""
    return call.plain or call.result is not None


def error_text(call: Glance) -> str:
    """What a runtime would compare to say "the same error again"."""
    text = call.text
    return text if text is not None else call.whole().status or ""
