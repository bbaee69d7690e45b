"""One session's records put together for an export."""

from __future__ import annotations

from pathlib import Path

from reach_tui.base.errors import UsageError
from reach_tui.export.document import LIMIT, Document, make_document
from reach_tui.workspace.judged import JudgedSession
from reach_tui.workspace.records import Record, call_record, session_record, step_record
from reach_tui.workspace.sources import Source
from reach_tui.workspace.workspace import Workspace

FORMATS = {"md": "markdown", "html": "html", "json": "jsonout"}
"""Format name -> module of `reach_tui.export`."""


def session_document(
    workspace: Workspace, source: Source, session_id: str, *, redact: bool = True, limit: int = LIMIT
) -> Document:
    """The document of one session, as `make_document` has it. Raises `UsageError` for an unknown id, `StoreError`."""
    session = source.reader.session(session_id)
    if session is None:
        raise UsageError(f"no session {session_id!r}", source.path, "`reach-tui sessions PATH` lists them")
    steps: list[Record] = []
    calls: list[Record] = []
    for judged in workspace.judged_steps(source, session_id):
        steps.append(step_record(judged))
        if judged.judged is not None:
            calls.append(call_record(source, judged.judged))
    labelled = workspace.labelled_counts(source).get(session_id, 0)
    record = session_record(source, JudgedSession(session, workspace.session_counts(source, session_id), labelled))
    return make_document(record, steps, calls, redact=redact, limit=limit)


def render(document: Document, form: str) -> str:
    """The document in a format of `FORMATS`."""
    from importlib import import_module

    text = import_module(f"reach_tui.export.{FORMATS[form]}").render(document)
    assert isinstance(text, str)
    return text


def write_export(text: str, target: Path, sources: tuple[Source, ...]) -> None:
    """Write an export, replacing an existing file in one step. Raises `UsageError`, also where a database is."""
    import os

    from reach_tui.base.sqlite import is_sqlite

    if any(target.resolve() == file.resolve() for source in sources for file in source.files) or is_sqlite(target):
        raise UsageError("a database is there, and is not overwritten", target, "choose another file for -o")
    partial = target.with_name(f".{target.name}.part-{os.getpid()}")
    try:
        partial.write_text(text, encoding="utf-8", errors="backslashreplace", newline="\n")
        partial.replace(target)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise UsageError(
            f"cannot be written: {error.strerror or error}", target, "choose another file for -o"
        ) from None
