"""The four metrics as a file: JSON as the command prints it, else tables with the definitions below."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from reach_tui.analyze.outcomes import GROUPS
from reach_tui.base.jsonio import JsonValue, dumps
from reach_tui.report.metrics import TITLE, against_table, groups_table, metrics_table, words_table
from reach_tui.report.tables import Table
from reach_tui.workspace.measuring import Measuring, outcomes_record, task_record
from reach_tui.workspace.session_export import write_export
from reach_tui.workspace.sources import Source


def render_metrics(found: Measuring, form: str, title_of: Callable[[str], str]) -> str:
    """The metrics in a form of `report_export.FORMS`, every grouping included."""
    if form == "json":
        groups: dict[str, JsonValue] = {
            by: [{by: name, **outcomes_record(one)} for name, one in sorted(found.groups[by].items())] for by in GROUPS
        }
        against: list[JsonValue] = [*map(task_record, found.against)]
        return dumps({**outcomes_record(found.total), "groups": groups, "against": against}, indent=2) + "\n"
    tables = [metrics_table(found.total), *(groups_table(found.groups[by], by) for by in reversed(GROUPS))]
    tables += [against_table(found.against, title_of), words_table()]
    return _document(form)(TITLE, [table for table in tables if table.rows])


def _document(form: str) -> Callable[[str, list[Table]], str]:
    if form == "md":
        from reach_tui.report import markdown

        return markdown.document
    if form == "html":
        from reach_tui.report import html

        return html.document
    from reach_tui.report import text

    return text.document


def export_metrics(
    found: Measuring, form: str, target: Path, sources: tuple[Source, ...], title_of: Callable[[str], str]
) -> int:
    """Write the metrics; gives the bytes written. Raises `UsageError`, also where a database is."""
    text = render_metrics(found, form, title_of)
    write_export(text, target, sources)
    return len(text.encode("utf-8", "backslashreplace"))
