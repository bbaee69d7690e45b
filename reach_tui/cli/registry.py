"""`reach-tui registry`: checks of tool registries."""

from __future__ import annotations

from pathlib import Path

import click

from reach_tui.cli.output import Column, Record, emit, record_options
from reach_tui.cli.sources import TracePath
from reach_tui.cli.streams import say

CHECK_FAILED = 1


def _place(record: Record) -> str:
    return str(record["file"]) if record["line"] is None else f"{record['file']}:{record['line']}"


def _what(record: Record) -> str:
    return f"{record['field']}: {record['what']}" if record["field"] else str(record["what"])


COLUMNS = (
    Column("level", lambda record: str(record["level"]), width=5),
    Column("where", _place, weight=3),
    Column("check", lambda record: str(record["check"]), width=29),
    Column("what", _what, weight=6, wraps=True),
)


@click.group(no_args_is_help=False, short_help="Check a registry of tools.")
def registry() -> None:
    """Check a registry of tools, one YAML file a tool.

    \b
    Example:
      reach-tui registry lint tools/
    """


@registry.command("lint")
@click.argument("folder", type=TracePath(), metavar="DIR")
@record_options
def lint(folder: Path, form: str | None) -> int:
    """Check the tool files in DIR: fields, descriptions, parameters, samples, and pairs of tools that overlap.

    A record for each check that does not hold. Exit code 1 if one of them fails; notes alone are 0.

    \b
    Example:
      reach-tui registry lint tools/ --jsonl | jq -r 'select(.level == "fails") | .what'
    """
    from reach_tui.reach.lint import NOTE, lint_folder

    report = lint_folder(folder)
    emit((finding.record() for finding in report.findings), form, COLUMNS)
    notes = sum(finding.level == NOTE for finding in report.findings)
    say(f"{report.tools} tools: {len(report.findings) - notes} checks fail, {notes} notes")
    return 0 if report.holds else CHECK_FAILED
