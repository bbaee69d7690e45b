"""A session as one JSON document."""

from __future__ import annotations

from reach_tui import __version__
from reach_tui.base.jsonio import dumps
from reach_tui.export.document import Document


def render(document: Document) -> str:
    """The document's records as they are: `session`, `steps`, `calls`, and what was redacted."""
    redacted = None if document.redacted is None else dict(document.redacted)
    body = {
        "format": "reach-tui session",
        "format_version": 1,
        "written_by": f"reach-tui {__version__}",
        "redacted": redacted,
        "session": document.session,
        "steps": list(document.steps),
        "calls": list(document.calls),
    }
    return dumps(body, indent=1) + "\n"
