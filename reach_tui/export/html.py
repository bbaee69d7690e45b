"""A session as one HTML file: no script, nothing loaded from anywhere, light and dark by the reader's system."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from reach_tui.base.page import END, page_head
from reach_tui.base.text import clean, one_line, shown_name
from reach_tui.export import wording
from reach_tui.export.document import Document, Record

_STYLE = """
body { max-width: 64rem; }
h2 { font-size: 1rem; margin: 1.6rem 0 .4rem; border-top: 1px solid var(--line); padding-top: .8rem; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 0 1rem; }
dt { color: var(--quiet); } dd { margin: 0; }
pre { background: var(--panel); padding: .7rem; overflow-x: auto;
  white-space: pre-wrap; overflow-wrap: anywhere; font-size: .85rem; }
mark { background: var(--mark); color: inherit; } dd, h1, h2 { overflow-wrap: anywhere; }
.hidden { color: var(--hidden); } .flagged { color: var(--flagged); } .soft, .check { color: var(--soft); }
"""


def render(document: Document) -> str:
    """The whole document as HTML text."""
    return "\n".join(_lines(document)) + "\n"


def _text(value: object) -> str:
    return escape(clean(str(value)))


def _line(value: object) -> str:
    return escape(one_line(str(value)))


def _lines(document: Document) -> Iterator[str]:
    session = document.session
    title = _line(session["title"] or session["session_id"])
    yield f"{page_head(title, _STYLE)}\n<dl>"
    facts = ("store", "path", "session_id", "parent_id", "project", "model", "started_at", "ended_at", "outcome")
    counts = ("calls", "hidden", "flagged", "soft", "unfinished")
    for name in (*facts, *counts):
        if session.get(name) is not None:
            yield f"<dt>{name.replace('_', ' ')}</dt><dd>{_line(session[name])}</dd>"
    yield f'</dl>\n<p class="quiet">{_line(wording.redaction_words(document))}</p>'
    calls = document.call_of()
    for step in document.steps:
        call = calls.get(str(step["call_key"])) if step["call_key"] is not None else None
        yield from _call(step, call) if call else _message(step)
    yield END


def _message(step: Record) -> Iterator[str]:
    unseen = "" if step["visible"] else ' <span class="quiet">no longer visible to the model</span>'
    yield f'<h2 id="step-{step["step"]}">{step["step"]} · {_line(step["kind"])}{unseen}</h2>'
    if route := wording.route_words(step):
        yield f"<p>{_line(route)}</p>"
    yield f"<pre>{_text(step['text'])}</pre>"


def _call(step: Record, call: Record) -> Iterator[str]:
    glyph, word = wording.mark(call)
    style = word.split()[0].lower()
    number, verdict_mark = step["step"], f'<span class="{style}">{glyph} {word}</span>'
    yield f'<h2 id="step-{number}">{number} · {verdict_mark} · {_line(shown_name(str(call["tool"])))}</h2>'
    yield "<dl>"
    yield f"<dt>flag</dt><dd>{_line(wording.flag_words(call))}</dd>"
    if wording.class_of(call):
        verdict = f"{wording.class_of(call)}, rule {call['rule']}, confidence {call['confidence']}"
        yield f"<dt>verdict</dt><dd>{_line(verdict)}</dd>"
    for key in ("explanation", "problem"):
        if call.get(key):
            yield f"<dt>{key}</dt><dd>{_line(call[key])}</dd>"
    evidence = call.get("evidence")
    if isinstance(evidence, dict):
        yield f"<dt>evidence</dt><dd><mark>{_line(str(evidence['text'])[:500])}</mark></dd>"
    if route := wording.route_words(call):
        yield f"<dt>route</dt><dd>{_line(route)}</dd>"
    for slot in wording.slot_words(call):
        yield f"<dt>slot</dt><dd>{_line(slot)}</dd>"
    label = call.get("label")
    if isinstance(label, dict):
        yield f"<dt>label</dt><dd>{_line(wording.class_of(label))} by {_line(label['by'])} {_line(label['note'])}</dd>"
    yield "</dl>"
    yield f"<details><summary>arguments</summary><pre>{_text(wording.pretty(call['arguments']))}</pre></details>"
    if call["result"] is None:
        yield '<p class="quiet">No result was recorded.</p>'
        return
    size = f"{call['result_bytes']:,} bytes" if isinstance(call["result_bytes"], int) else "unknown size"
    is_open = " open" if call["failed"] or call["soft"] else ""
    yield f"<details{is_open}><summary>result, {_line(wording.cut_words(call) or size)}</summary>"
    yield f"<pre>{_marked(call)}</pre></details>"


def _marked(call: Record) -> str:
    text, span = str(call["result"]), wording.evidence_span(call)
    if span is None or call["failed"] is False:
        return _text(text)
    return f"{_text(text[: span[0]])}<mark>{_text(text[span[0] : span[1]])}</mark>{_text(text[span[1] :])}"
