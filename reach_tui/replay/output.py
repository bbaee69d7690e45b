"""A regression run as JSON, Markdown and JUnit XML. Texts of cases are data: escaped, never interpreted."""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from reach_tui.base.jsonio import JsonValue
from reach_tui.base.text import one_line
from reach_tui.replay.regress import Outcome, Result, ToolAccuracy

_SHOWN = 200  # characters of an utterance in a table


def record(result: Result, tolerance: float = 0.0) -> dict[str, JsonValue]:
    """The run as one JSON object; shares 0..1, damage in points 0..100."""
    return {
        "cases": len(result.outcomes),
        "right": result.right,
        "accuracy": round(result.accuracy, 6),
        "compared": result.compared,
        "fresh": result.fresh,
        "regressed": bool(result.compared) and result.regressed(tolerance),
        "decisions": _decisions(result.outcomes),
        "executed_wrongly": sum(one.executed_wrongly for one in result.outcomes),
        "tools": [_tool(one, result) for one in result.tools],
        "confused": [{"expected": one, "chosen": other, "count": count} for one, other, count in result.confused],
        "lost": [outcome_record(one) for one in result.lost],
        "won": [outcome_record(one) for one in result.won],
    }


def outcome_record(one: Outcome) -> dict[str, JsonValue]:
    """One case with what the router said."""
    return {
        "id": one.case.id,
        "utterance": one.case.utterance,
        "expected": one.expected,
        "chosen": one.chosen,
        "decision": one.decision,
        "right": one.right,
        "candidates": [
            {"name": candidate.name, "score": candidate.score, "reason": candidate.reason}
            for candidate in one.candidates
        ],
    }


def _decisions(outcomes: Sequence[Outcome]) -> dict[str, JsonValue]:
    names = ("execute", "clarify", "no_capability")
    return {name: sum(one.decision == name for one in outcomes) for name in names}


def _tool(one: ToolAccuracy, result: Result) -> JsonValue:
    return {
        "tool": one.tool,
        "right": one.right,
        "cases": one.cases,
        "damage": round(one.damage, 3),
        "taken_by": [{"tool": name, "count": count} for name, count in result.neighbours(one.tool)],
    }


def markdown(result: Result, tolerance: float = 0.0) -> str:
    """The run as Markdown, for a pull request: the verdict first."""
    lines = ["# Routing regression", ""]
    if result.compared:
        verdict = "**Regression.**" if result.regressed(tolerance) else "No regression."
        lines += [f"{verdict} {len(result.lost)} cases lost, {len(result.won)} won of {result.compared} compared.", ""]
    lines += [f"Top-1 accuracy {100 * result.accuracy:.1f} % ({result.right} of {len(result.outcomes)}).", ""]
    if hurt := [one for one in result.tools if one.damage > 0]:
        lines += ["| tool | points lost | taken by |", "|---|---:|---|"]
        for one in hurt:
            taken = ", ".join(f"{name} ({count})" for name, count in result.neighbours(one.tool))
            lines.append(f"| {_cell(one.tool)} | {one.damage:.1f} | {_cell(taken)} |")
        lines.append("")
    if result.lost:
        lines += ["| lost case | said | expected | came first |", "|---|---|---|---|"]
        for case in result.lost:
            cells = (case.case.id, case.case.utterance[:_SHOWN], case.expected, case.chosen)
            lines.append(f"| {' | '.join(map(_cell, cells))} |")
        lines.append("")
    if result.confused:
        lines += ["| expected | came first | cases |", "|---|---|---:|"]
        lines += [f"| {_cell(one)} | {_cell(other)} | {count} |" for one, other, count in result.confused[:10]]
        lines.append("")
    return "\n".join(lines)


def _cell(text: str) -> str:
    shown = one_line(text)
    for mark in "\\`*_[]<>|#!":
        shown = shown.replace(mark, f"\\{mark}")
    return shown


def junit(result: Result) -> str:
    """The run as JUnit XML: a case that is wrong now and was right at the baseline (or without one, wrong) fails."""
    wrong = result.lost if result.compared else [one for one in result.outcomes if not one.right]
    failing = {one.case.id for one in wrong}
    suite = Element("testsuite", name="routing", tests=str(len(result.outcomes)), failures=str(len(failing)))
    for one in result.outcomes:
        case = SubElement(suite, "testcase", classname=_xml(one.expected), name=_xml(one.case.id))
        if one.case.id in failing:
            message = f"expected {one.expected}, {one.chosen} came first ({one.decision})"
            SubElement(case, "failure", message=_xml(message)).text = _xml(one.case.utterance)
    indent(suite)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + tostring(suite, encoding="unicode") + "\n"


def _xml(text: str) -> str:
    """Without the characters that XML 1.0 cannot hold."""
    return "".join(
        character
        if character in "\t\n\r"
        or "\x20" <= character <= "\ud7ff"
        or "\ue000" <= character <= "\ufffd"
        or character > "\uffff"
        else "\N{REPLACEMENT CHARACTER}"
        for character in text
    )
