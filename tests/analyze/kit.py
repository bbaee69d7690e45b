"""Calls and verdicts by hand."""

from __future__ import annotations

from typing import Any

from reach_tui.analyze.pairs import Pair
from reach_tui.model import Evidence, Result, ToolCall, Verdict

MISSED = {"category": "stale_context", "subcategory": "stale_edit", "rule": "edit.old_string_not_found"}


def call(tool: str, number: int = 1, text: str | None = "done", **more: Any) -> ToolCall:
    """A call with a result; unflagged unless said otherwise."""
    result = None if text is None else Result(text, len(text.encode()))
    fields: dict[str, Any] = {"flagged": None if text is None else False, "step": number, **more}
    return ToolCall(f"s/{number}", f"id{number}", "s", tool, result=result, **fields)


def ok(tool: str, number: int = 1, **more: Any) -> Pair:
    """A call that did what it was asked."""
    return call(tool, number, **more), Verdict(False, 0.9)


def bad(tool: str, number: int = 1, text: str = "Error: no", **more: Any) -> Pair:
    """A failed call; class fields may be given, the store's flag is false unless said otherwise."""
    own = {name: more.pop(name) for name in ("category", "subcategory", "rule") if name in more}
    fields = {"category": "upstream_error", "rule": "any.error", **own}
    return call(tool, number, text, **more), Verdict(True, 0.9, **fields, evidence=Evidence(text, 0, len(text)))


def missed(path: str, number: int = 1, **more: Any) -> Pair:
    """An edit whose text was not found."""
    return bad("Edit", number, "Error: old_string not found", arguments={"file_path": path}, **MISSED, **more)


def edit(path: str, number: int = 1, tool: str = "Edit", **more: Any) -> Pair:
    """A successful call that works on a file."""
    return ok(tool, number, arguments={"file_path": path}, **more)
