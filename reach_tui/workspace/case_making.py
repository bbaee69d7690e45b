"""Regression cases from labelled failures, with the raw wording kept (spec B15)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from reach_tui.base.jsonio import JsonValue
from reach_tui.model import Label, StepKind, ToolCall
from reach_tui.taxonomy import NOT_A_FAILURE, Taxonomy
from reach_tui.workspace.label_figures import Opinions, opinions
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
    found = opinions(labels_in(workspace, source), workspace.folding)
    by_session: dict[str, dict[str, Opinions]] = {}
    for (_, session_id, key), views in sorted(found.items()):
        by_session.setdefault(session_id, {})[key] = views
    for session_id, chosen in by_session.items():
        request = ""
        for one in workspace.judged_steps(source, session_id):
            if one.step.kind is StepKind.USER:
                request = one.step.text
            call = one.step.call
            opinion = chosen.get(call.key) if call is not None else None
            if call is None or opinion is None:
                continue
            made = _of_call(call, opinion, request, workspace.taxonomy)
            if isinstance(made, NoCase):
                yield made
            elif made is not None and (place := (request, str([made.get("tool"), made.get("decision")]))) not in seen:
                seen.add(place)
                yield made


def _of_call(call: ToolCall, views: Opinions, request: str, codebook: Taxonomy) -> Record | NoCase | None:
    """The case of a call that people agree about, or that somebody settled; None for what is no failure."""
    label = views.truth()
    if label is None:
        return NoCase(call.key, "people disagree about it: settle it first")
    if label.category == NOT_A_FAILURE:
        return None
    level1, level2 = _failure(codebook, label)
    notes = [label.note, *(one.note for one in views.annotators.values() if one.category == label.category)]
    return _case(call, label, level1, level2, list(filter(None, notes)), request)


def _failure(codebook: Taxonomy, label: Label) -> tuple[str, str | None]:
    """The label's class in the detectors' terms, where the codebook says which that is; else as it is."""
    mapped = codebook.to_failure(str(label.category), label.subcategory)
    if not mapped:
        return str(label.category), label.subcategory
    level1, _, level2 = mapped[0].partition("/")
    return level1, level2 or None


def _case(
    call: ToolCall, label: Label, level1: str, level2: str | None, notes: list[str], request: str
) -> Record | NoCase:
    if not request.strip():
        return NoCase(call.key, "no request is recorded before it")
    named = next((hit for note in notes if (hit := _NAMED.search(note))), None)
    kind = f"{level1}/{level2}" if level2 else level1
    answer: Mapping[str, JsonValue]
    if named is not None:
        answer = {"tool": named[1], "forbidden": [call.tool] if named[1] != call.tool else []}
    elif kind in _NO_TOOL:
        answer = {"tool": None, "decision": "no_capability", "forbidden": [call.tool]}
    elif kind in _ASK:
        answer = {"tool": None, "decision": "clarify", "alternatives": [call.tool]}
    elif level1 == _WRONG_TOOL:
        return NoCase(call.key, "the note names no right tool (write `tool: NAME` into it)")
    else:
        answer = {"tool": call.tool}
    parameters = call.arguments if isinstance(call.arguments, dict) and level1 not in _BAD_ARGUMENTS else {}
    return {
        "id": f"label-{label.uid}",
        "utterance": request,
        "intent": notes[0] if notes else "",
        **answer,
        "parameters": parameters if answer.get("tool") == call.tool else {},
        "origin": label.uid,
        "category": kind,
    }


_BAD_ARGUMENTS = frozenset(["invalid_parameter", "context_gap", "stale_context"])
"""Classes that say the arguments were wrong: they are no expectation."""
