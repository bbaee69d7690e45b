"""What the commands that read traces share: opening the named paths, and what unreadable ones do to the exit code."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import click

from reach_tui.base.errors import ReachError, StoreError
from reach_tui.cli.streams import BAD_INPUT, say
from reach_tui.workspace import Source, Workspace, load_settings
from reach_tui.workspace.sources import all_covered

Item = TypeVar("Item")
Command = TypeVar("Command", bound=Callable[..., Any])


class TracePath(click.Path):
    """A path as it was typed; whether it can be read is said later, with the reason."""

    name = "path"

    def __init__(self) -> None:
        super().__init__(path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """An empty path would be the current folder: in a script it is an unset variable."""
        if value == "":
            self.fail("an empty path", param, ctx)
        return Path(os.fsdecode(value))  # nothing is asked of it here: a dead mount would never answer


path_argument = click.argument("path", type=TracePath())


def labels_option(command: Command) -> Command:
    """`--labels FILE`: the label database to use instead of the person's own."""
    return click.option(
        "--labels", "labels_file", type=TracePath(), metavar="FILE", help="Label database instead of your own."
    )(command)


def taxonomy_option(command: Command) -> Command:
    """`--taxonomy NAME|FILE`: the codebook to label with instead of the one in the settings."""
    return click.option(
        "--taxonomy", metavar="NAME|FILE", help="Codebook to label with; without it the one in your settings, or ours."
    )(command)


class Traces:
    """The traces a command works on. Faults are said when met; `exit_code` weighs them at the end."""

    def __init__(
        self,
        paths: Iterable[Path],
        labels_file: Path | None = None,
        by: str | None = None,
        *,
        aloud: bool = True,
        taxonomy: str | None = None,
    ) -> None:
        settings = load_settings()
        if taxonomy is not None:
            settings = dataclasses.replace(settings, taxonomy=taxonomy)
        if labels_file is not None:
            settings = dataclasses.replace(settings, labels=labels_file)
        self.paths = tuple(paths)
        self.workspace = Workspace(self.paths, settings, by=by)
        if taxonomy is not None:
            self.workspace.taxonomy  # noqa: B018 # one that cannot be used is said before anything is read
        self.broken: set[tuple[Path, str]] = set()
        for problem in (*self.workspace.rule_mistakes, *self.workspace.found.problems) if aloud else ():
            say(problem.line())

    @property
    def sources(self) -> tuple[Source, ...]:
        """The traces that opened, in the order given."""
        return self.workspace.found.sources

    def each(self, read: Callable[[Source], Iterable[Item]]) -> Iterator[tuple[Source, Item]]:
        """What `read` finds in each trace; one that breaks off is said, and the next is read."""
        for source in self.sources:
            try:
                for item in read(source):
                    yield source, item
            except StoreError as error:
                self.blame(source, error)

    def blame(self, source: Source, error: ReachError) -> None:
        """Say what is wrong with a trace and remember it for the exit code."""
        say(error.line())
        self.broken.add((source.path, source.kind))

    def finish(self, count: int, form: str | None, empty: str) -> int:
        """The exit code; where everything could be read and there was nothing to show, `empty` is said."""
        code = self.exit_code()
        if not count and form is None and not code:
            say(empty)
        return code

    def exit_code(self) -> int:
        """2 if a named file could not be read, or nothing in a named folder could; else 0."""
        whole = [source.path for source in self.sources if (source.path, source.kind) not in self.broken]
        return 0 if all_covered(self.paths, whole) else BAD_INPUT
