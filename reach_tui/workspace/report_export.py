"""A report as a file: the four forms, and a name that is not taken yet."""

from __future__ import annotations

from pathlib import Path

from reach_tui.base.jsonio import dumps
from reach_tui.report.compare import Comparison
from reach_tui.report.model import Report
from reach_tui.workspace.session_export import write_export
from reach_tui.workspace.sources import Source

FORMS = {"html": "self-contained, with plots", "md": "Markdown", "json": "for scripts, and for comparing later",
         "text": "plain text, 120 columns"}  # fmt: skip
_SUFFIXES = {"text": ".txt"}


def proposed_path(form: str, stem: str) -> Path:
    """Where it would be written: in the current folder, under a name that is not taken."""
    suffix = _SUFFIXES.get(form, f".{form}")
    names = [stem, *(f"{stem}-{number}" for number in range(2, 1000))]
    return Path(next((name for name in names if not Path(name + suffix).exists()), stem) + suffix)


def render_report(report: Report, comparison: Comparison | None, form: str) -> str:
    """The report in a form of `FORMS`."""
    if form == "json":
        from reach_tui.report.jsonout import record

        return dumps(record(report, comparison), indent=2) + "\n"
    if form == "md":
        from reach_tui.report import markdown

        return markdown.render(report, comparison)
    if form == "html":
        from reach_tui.report import html

        return html.render(report, comparison)
    from reach_tui.report import text

    return text.render(report, comparison)


def export_report(
    report: Report, comparison: Comparison | None, form: str, target: Path, sources: tuple[Source, ...]
) -> int:
    """Write the report; gives the bytes written. Raises `UsageError`, also where a database is."""
    text = render_report(report, comparison, form)
    write_export(text, target, sources)
    return len(text.encode("utf-8", "backslashreplace"))
