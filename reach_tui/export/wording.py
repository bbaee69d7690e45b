"""The words and marks that the Markdown and the HTML export share."""

from __future__ import annotations

from collections.abc import Callable

from reach_tui.base.jsonio import JsonValue, dumps
from reach_tui.export.document import Document, Record
from reach_tui.model import store_says


def mark(call: Record) -> tuple[str, str]:
    """Glyph and word of a call record's verdict, as on the screens."""
    if call["failed"]:
        return ("◆", "HIDDEN") if call["hidden"] else ("✗", "FLAGGED")
    if call["failed"] is False:
        return ("!", "CHECK") if call["subcategory"] == "check_reported" else ("·", "ok")
    if call["soft"]:
        return "~", "SOFT"
    return ("?", "NO RESULT") if call["result"] is None else ("?", "UNDECIDED")


def class_of(record: Record) -> str:
    """`category / subcategory` of a call or a label, empty where there is none."""
    return " / ".join(str(record[key]) for key in ("category", "subcategory") if record[key])


def flag_words(call: Record, told: Callable[[str], str] = str) -> str:
    """What the store recorded, in the words of the screens; `told` writes its own word for it."""
    flagged, status = call["flagged"], call.get("status")
    return store_says(flagged if isinstance(flagged, bool) else None, told(str(status)) if status else None)


def route_words(record: Record) -> str | None:
    """The routing decision of a call or step with its scores on one line, None where there is none."""
    route = record.get("route")
    if not isinstance(route, dict) or not isinstance(candidates := route.get("candidates"), list):
        return None
    scores = ", ".join(f"{one['name']} {one['score']}" for one in candidates if isinstance(one, dict))
    gap = "" if route.get("gap") is None else f", gap {route['gap']}"
    return f"{scores or 'no candidate'} → {route.get('decision')}{gap} ({route.get('basis')})"


def slot_words(call: Record) -> list[str]:
    """Where each argument came from, a line each."""
    slots = call.get("slots")
    lines = []
    for slot in slots if isinstance(slots, list) else ():
        if isinstance(slot, dict):
            sure = "" if slot.get("confidence") is None else f", confidence {slot['confidence']}"
            place = f", {slot['origin']}" if slot.get("origin") else ""
            lines.append(f"{slot.get('name')}: {slot.get('source')}{place}{sure} ({slot.get('basis')})")
    return lines


def cut_words(call: Record) -> str | None:
    """Size and hash of a result that was cut, None where it is whole."""
    cut = call.get("result_cut")
    if not isinstance(cut, dict):
        return None
    size = f"{cut['bytes']:,} bytes" if isinstance(cut["bytes"], int) else "unknown size"
    return f"cut: {cut['kept_characters']:,} characters kept of {size}, sha256 of the whole: {cut['sha256']}"


def redaction_words(document: Document) -> str:
    """What was done about secrets, in one sentence."""
    if document.redacted is None:
        return "Secrets were not redacted."
    if not document.redacted:
        return "Looked for secrets: none found."
    kinds = ", ".join(f"{count} {kind}" for kind, count in document.redacted.items())
    return f"Redacted: {kinds}."


def pretty(value: JsonValue) -> str:
    """Arguments for reading: indented JSON, or the raw text where they are none."""
    return value if isinstance(value, str) else dumps(value, indent=2)


def evidence_span(call: Record) -> tuple[int, int] | None:
    """Where the evidence stands in the result as exported, None where it stands elsewhere."""
    evidence, result = call.get("evidence"), call.get("result")
    if not isinstance(evidence, dict) or not isinstance(result, str) or evidence.get("where", "result") != "result":
        return None
    start, end = evidence.get("start"), evidence.get("end")
    if isinstance(start, int) and isinstance(end, int) and 0 <= start < end <= len(result):
        return start, end
    return None
