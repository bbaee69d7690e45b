"""Opening the screens: everything is read while Textual is imported. No command-line library on this way."""

from __future__ import annotations

import dataclasses
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from reach_tui.base.errors import StoreUnreadable, UsageError
from reach_tui.base.paths import bundled
from reach_tui.cli.names import COMMANDS
from reach_tui.cli.streams import BAD_INPUT, say
from reach_tui.workspace.badges import Badges, begin, has_terminal

NOTHING_FOUND = "No agent's database in your home: these are the sample traces. To open your own: reach-tui PATH"
_PATIENCE = 5.0  # seconds to find out that nothing named can be read: longer than we wait for another's lock


def open_screens(
    paths: Sequence[Path], labels: Path | None = None, taxonomy: str | None = None, *, badges: Badges | None = None
) -> int:
    """The screens on these paths; without any on the agents of this home, else on the sample traces."""
    missing = [path for path in paths if not path.exists()]
    for path in missing:
        say(StoreUnreadable("no such file or folder, and no command", path, _advice(path)).line())
    if missing:
        return BAD_INPUT
    if not paths:
        from reach_tui.stores.discover import default_locations

        if not default_locations():
            return open_samples(labels, taxonomy, notice=NOTHING_FOUND)
    return _run(paths, labels, taxonomy, badges=badges or begin(paths))


def open_samples(
    labels: Path | None = None, taxonomy: str | None = None, *, headless: bool = False, notice: str | None = None
) -> int:
    """The screens on a private copy of the sample traces, with labels of their own."""
    import tempfile

    samples = bundled("sample_traces")
    if not samples.is_dir():
        raise StoreUnreadable("the sample traces are missing", samples, "install reach-tui again")
    notice = notice or "the sample traces: a private copy, label as you like"
    with tempfile.TemporaryDirectory(prefix="reach-tui-demo-") as folder:
        copy = Path(folder) / "sample_traces"
        shutil.copytree(samples, copy, ignore=shutil.ignore_patterns("*.py", "__pycache__"))
        own = labels or Path(folder) / "labels" / "labels.db"
        return _run([copy], own, taxonomy, headless=headless, notice=notice)


def _run(
    paths: Sequence[Path],
    labels: Path | None,
    taxonomy: str | None,
    *,
    badges: Badges | None = None,
    headless: bool = False,
    notice: str | None = None,
) -> int:
    try:
        chosen = {"labels": labels, "taxonomy": taxonomy}
        named = {name: value for name, value in chosen.items() if value is not None}
        return _open(paths, named, badges, headless=headless, notice=notice)
    finally:
        if badges is not None:
            badges.cancel()


def _open(
    paths: Sequence[Path], named: dict[str, Any], badges: Badges | None, *, headless: bool, notice: str | None
) -> int:
    from reach_tui.workspace import Workspace, load_settings

    settings = dataclasses.replace(load_settings(), **named)
    workspace = Workspace(paths, settings)
    if settings.taxonomy:
        workspace.taxonomy  # noqa: B018 # a codebook that cannot be used is said before the screens open
    workspace.badges = badges
    opening = workspace.opening()
    from reach_tui.tui.app import run

    if paths and opening.wait(_PATIENCE):
        for problem in workspace.found.problems:
            say(problem.line())
        return BAD_INPUT
    if not headless and not has_terminal():
        raise UsageError("the screens need a terminal", hint="`reach-tui calls PATH` and its kin print instead")
    return run(workspace, headless=headless, notice=notice)


def _advice(path: Path) -> str:
    import difflib

    near = difflib.get_close_matches(str(path), COMMANDS, n=1)
    return f"did you mean `reach-tui {near[0]}`?" if near else "check the path, or see `reach-tui --help`"
