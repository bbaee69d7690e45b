"""`reach-tui [PATH]...` and `reach-tui demo`: the screens."""

from __future__ import annotations

import dataclasses
import shutil
import sys
import tempfile
from pathlib import Path

import click

from reach_tui.base.errors import StoreUnreadable, UsageError
from reach_tui.base.paths import bundled
from reach_tui.cli.main import COMMANDS
from reach_tui.cli.output import BAD_INPUT, say
from reach_tui.cli.sources import TracePath, Traces, labels_option
from reach_tui.stores.discover import default_locations
from reach_tui.workspace import load_settings

NOTHING_FOUND = "No agent's database in your home: these are the sample traces. To open your own: reach-tui PATH"


@click.command("open", hidden=True)
@click.argument("paths", nargs=-1, type=TracePath(), metavar="[PATH]...")
@labels_option
def open_(paths: tuple[Path, ...], labels_file: Path | None) -> int:
    """Open the screens on databases or folders; `reach-tui PATH` is the same.

    \b
    Example:
      reach-tui ~/.local/share/opencode/opencode.db
    """
    missing = [path for path in paths if not path.exists()]
    for path in missing:
        say(StoreUnreadable("no such file or folder, and no command", path, _advice(path)).line())
    if missing:
        return BAD_INPUT
    if not paths and not default_locations():
        return _demo(labels_file, notice=NOTHING_FOUND)
    if code := _unreadable(paths):
        return code
    return _run(list(paths), labels_file)


@click.command(short_help="Open the screens on the sample traces.")
@click.option("--headless", is_flag=True, help="Start without a terminal, fill the list of sessions, and leave.")
@labels_option
def demo(headless: bool, labels_file: Path | None) -> int:
    """Open the screens on a private copy of the sample traces; nothing you do there lasts.

    \b
    Example:
      reach-tui demo
    """
    return _demo(labels_file, headless=headless)


def _demo(labels_file: Path | None, *, headless: bool = False, notice: str | None = None) -> int:
    samples = bundled("sample_traces")
    if not samples.is_dir():
        raise StoreUnreadable("the sample traces are missing", samples, "install reach-tui again")
    with tempfile.TemporaryDirectory(prefix="reach-tui-demo-") as folder:
        copy = Path(folder) / "sample_traces"
        shutil.copytree(samples, copy, ignore=shutil.ignore_patterns("*.py", "__pycache__"))
        labels = labels_file or Path(folder) / "labels" / "labels.db"
        return _run([copy], labels, demo=True, headless=headless, notice=notice)


def _run(
    paths: list[Path], labels: Path | None, *, demo: bool = False, headless: bool = False, notice: str | None = None
) -> int:
    if not headless:
        _need_terminal()
    from reach_tui.tui.app import run

    settings = load_settings()
    if labels is not None:
        settings = dataclasses.replace(settings, labels=labels)
    return run(paths, settings, demo=demo, headless=headless, notice=notice)


def _unreadable(paths: tuple[Path, ...]) -> int:
    """2, said aloud, if a named file or a whole named folder cannot be read: before the screens hide it."""
    traces = Traces(paths, aloud=False)
    code = traces.exit_code()
    if code:
        for problem in traces.workspace.found.problems:
            say(problem.line())
    return code


def _need_terminal() -> None:
    if not sys.stdin.isatty() or not (sys.stdout.isatty() or sys.stderr.isatty()):
        raise UsageError("the screens need a terminal", hint="`reach-tui calls PATH` and its kin print instead")


def _advice(path: Path) -> str:
    import difflib

    near = difflib.get_close_matches(str(path), COMMANDS, n=1)
    return f"did you mean `reach-tui {near[0]}`?" if near else "check the path, or see `reach-tui --help`"
