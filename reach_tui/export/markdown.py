"""A session as Markdown for a bug report. The trace's own text stands in fences or code spans: none of it is markup."""

from __future__ import annotations

import re
from collections.abc import Iterator

from reach_tui.base.text import clean, one_line, shown_name
from reach_tui.export import wording
from reach_tui.export.document import Document, Record

_TICKS = re.compile(r"`+")


def fence(text: str, language: str = "") -> str:
    """The text in a fence longer than any run of backticks in it, so that it cannot end early."""
    text = clean(text)
    ticks = "`" * max(3, 1 + max((len(run) for run in _TICKS.findall(text)), default=0))
    return f"{ticks}{language}\n{text}\n{ticks}"


def code(text: object) -> str:
    """The text on one line as a code span, whatever backticks it holds."""
    line = one_line(str(text))
    ticks = "`" * (1 + max((len(run) for run in _TICKS.findall(line)), default=0))
    pad = " " if not line or line.startswith("`") or line.endswith("`") else ""
    return f"{ticks}{pad}{line}{pad}{ticks}"


def render(document: Document) -> str:
    """The whole document as Markdown text."""
    return "\n\n".join(_blocks(document)) + "\n"


def _blocks(document: Document) -> Iterator[str]:
    session = document.session
    yield f"# Session {code(session['title'] or session['session_id'])}"
    facts = ("store", "path", "session_id", "parent_id", "project", "model", "started_at", "ended_at", "outcome")
    yield "\n".join(f"- {name.replace('_', ' ')}: {code(session[name])}" for name in facts if session.get(name))
    yield "\n".join(_counts(document))
    yield wording.redaction_words(document)
    calls = document.call_of()
    for step in document.steps:
        call = calls.get(str(step["call_key"])) if step["call_key"] is not None else None
        yield from _call(step, call) if call else _message(step)


def _counts(document: Document) -> Iterator[str]:
    yield "| calls | hidden | flagged | soft | unfinished |"
    yield "|---:|---:|---:|---:|---:|"
    session = document.session
    yield (
        "| " + " | ".join(str(session.get(key)) for key in ("calls", "hidden", "flagged", "soft", "unfinished")) + " |"
    )


def _message(step: Record) -> Iterator[str]:
    unseen = "" if step["visible"] else " (no longer visible to the model)"
    yield f"## {step['step']} · {step['kind']}{unseen}"
    if route := wording.route_words(step):
        yield f"Route: {code(route)}"
    yield fence(str(step["text"]))


def _call(step: Record, call: Record) -> Iterator[str]:
    glyph, word = wording.mark(call)
    yield f"## {step['step']} · {glyph} {word} · {code(shown_name(str(call['tool'])))}"
    lines = [f"- {wording.flag_words(call, code)}"]
    if wording.class_of(call):
        lines.append(
            f"- verdict: {code(wording.class_of(call))}, rule {code(call['rule'])}, confidence {call['confidence']}"
        )
    if call.get("explanation"):
        lines.append(f"- why: {code(call['explanation'])}")
    evidence = call.get("evidence")
    if isinstance(evidence, dict):
        lines.append(f"- evidence in {evidence.get('where', 'result')}: {code(str(evidence['text'])[:500])}")
    if route := wording.route_words(call):
        lines.append(f"- route: {code(route)}")
    lines += [f"- slot: {code(slot)}" for slot in wording.slot_words(call)]
    label = call.get("label")
    if isinstance(label, dict):
        lines.append(
            f"- label by {code(label['by'])}: {code(label['category'])} {code(label['note']) if label['note'] else ''}"
        )
    if call.get("problem"):
        lines.append(f"- problem: {code(call['problem'])}")
    yield "\n".join(lines)
    yield "Arguments:\n\n" + fence(wording.pretty(call["arguments"]), "json")
    if call["result"] is None:
        yield "No result was recorded."
        return
    cut = wording.cut_words(call)
    size = f"{call['result_bytes']:,} bytes" if isinstance(call["result_bytes"], int) else "unknown size"
    yield f"Result, {cut or size}:\n\n" + fence(_marked(call))


def _marked(call: Record) -> str:
    """The result with the evidence between ▐ and ▌, as on the screens."""
    text, span = str(call["result"]), wording.evidence_span(call)
    return (
        f"{text[: span[0]]}▐{text[span[0] : span[1]]}▌{text[span[1] :]}"
        if span and call["failed"] is not False
        else text
    )
