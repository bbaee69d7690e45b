"""What every analysis works on: the calls of one session in order, each with its verdict."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from reach_tui.model import ToolCall, Verdict

Pair: TypeAlias = tuple[ToolCall, Verdict]
Pairs: TypeAlias = Sequence[Pair]
Wanted: TypeAlias = Callable[[ToolCall], bool]
"""Which calls are counted; the others are still seen, as what came before."""


def originals(call: ToolCall) -> bool:
    """True for every call that is not a stored copy of another: what is counted where nothing else is asked for."""
    return call.copy_of is None


def answered(call: ToolCall, verdict: Verdict) -> bool:
    """True if the call ended: a result is there, or the store's own word that it failed."""
    return call.result is not None or verdict.failed is not None


def error_text(call: ToolCall) -> str:
    """What a runtime would compare to say "the same error again"."""
    return call.result.text if call.result is not None else call.status or ""
