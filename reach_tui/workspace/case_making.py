"""Regression cases from labelled failures, with the raw wording kept (spec B15)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby

from reach_tui.base.jsonio import JsonValue
from reach_tui.labels.store import UNCODED
from reach_tui.model import Label, StepKind, ToolCall
from reach_tui.workspace.labelling import labels_in
from reach_tui.workspace.records import Record
from reach_tui.workspace.sources import Source
from reach_tui.workspace.workspace import Workspace

_NAMED = re.compile(r"(?:^|[\s,;(])(?:tool|expected|right)\s*[:=]\s*`?([A-Za-z][\w.:/\-]{0,127})`?")
_NO_TOOL = frozenset(["tool_not_covered/capability_missing", "tool_not_covered/tool_disabled"])
_ASK = frozenset(["context_gap/ambiguous_reference", "context_gap/intent_underspecified"])
_WRONG_TOOL = "tool_not_covered"


@dataclass(frozen=True, slots=True)
class NoCase:
    """A labelled failure that makes no case, and why."""

    call_key: str
    why: str


def cases(workspace: Workspace, source: Source) -> Iterator[Record | NoCase]:
    """A case for every labelled failure of a trace, one for each request and answer. Raises `StoreError`.

    What is right follows from the label: a missing capability is to be told, a vague request to be asked back, another
    tool must be named in the note (`tool: NAME`); in all other classes the tool was right.
    """
    seen: set[tuple[str, str]] = set()
    labels = [one for one in labels_in(workspace, source) if one.call_key is not None]
    for session_id, group in groupby(labels, key=lambda label: label.session_id):
        chosen = {label.call_key: label for label in group if label.category not in (UNCODED, "not_a_failure")}
        request = ""
        for one in workspace.judged_steps(source, session_id):
            if one.step.kind is StepKind.USER:
                request = one.step.text
            call = one.step.call
            label = chosen.get(call.key) if call is not None else None
            if call is None or label is None:
                continue
            made = _case(call, label, request)
            if isinstance(made, NoCase):
                yield made
            elif (place := (request, str([made.get("tool"), made.get("decision")]))) not in seen:
                seen.add(place)
                yield made


def _case(call: ToolCall, label: Label, request: str) -> Record | NoCase:
    if not request.strip():
        return NoCase(call.key, "no request is recorded before it")
    named = _NAMED.search(label.note)
    kind = f"{label.category}/{label.subcategory}" if label.subcategory else str(label.category)
    answer: Mapping[str, JsonValue]
    if named is not None:
        answer = {"tool": named[1], "forbidden": [call.tool] if named[1] != call.tool else []}
    elif kind in _NO_TOOL:
        answer = {"tool": None, "decision": "no_capability", "forbidden": [call.tool]}
    elif kind in _ASK:
        answer = {"tool": None, "decision": "clarify", "alternatives": [call.tool]}
    elif label.category == _WRONG_TOOL:
        return NoCase(call.key, "the note names no right tool (write `tool: NAME` into it)")
    else:
        answer = {"tool": call.tool}
    parameters = call.arguments if isinstance(call.arguments, dict) and label.category not in _BAD_ARGUMENTS else {}
    return {
        "id": f"label-{label.uid}",
        "utterance": request,
        "intent": label.note,
        **answer,
        "parameters": parameters if answer.get("tool") == call.tool else {},
        "origin": label.uid,
        "category": kind,
    }


_BAD_ARGUMENTS = frozenset(["invalid_parameter", "context_gap", "stale_context"])
"""Classes that say the arguments were wrong: they are no expectation."""
