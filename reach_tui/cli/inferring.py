"""`--registry DIR`, and routes and slots in records: what the commands that infer share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from reach_tui.cli.sources import TracePath
from reach_tui.cli.streams import say
from reach_tui.workspace import JudgedCall, Source, Workspace

if TYPE_CHECKING:
    from reach_tui.workspace.tool_sets import PersonsRegistry

MOST = 10_000
"""Calls of one command that are inferred without being asked to."""
_SAID = 5  # mistakes in a registry
Command = TypeVar("Command", bound=Callable[..., Any])


def registry_option(command: Command) -> Command:
    """`--registry DIR`: the tools that there were, where the trace does not record them."""
    return click.option(
        "--registry", type=TracePath(), metavar="DIR", help="Tools to route among where the trace records none."
    )(command)


def persons_registry(folder: Path | None) -> PersonsRegistry | None:
    """The registry of a folder; files with mistakes are said. Raises `RegistryError` where there is no tool in it."""
    if folder is None:
        return None
    from reach_tui.workspace.tool_sets import PersonsRegistry

    registry = PersonsRegistry(folder)
    for problem in registry.problems[:_SAID]:
        say(problem.error().line())
    if (more := len(registry.problems) - _SAID) > 0:
        say(f"{folder}: {more} further mistakes; `reach-tui registry lint` lists them all")
    return registry


class Inferring:
    """Puts route and slots into calls as they stream by; `asked` False: into the first `MOST` calls only."""

    def __init__(self, workspace: Workspace, registry: PersonsRegistry | None, asked: bool | None) -> None:
        self._workspace = workspace
        self._registry = registry
        self._left = None if asked else MOST
        self._left_out = False

    @property
    def notice(self) -> str | None:
        """Said at the end where calls went by without route and slots being inferred."""
        return (
            f"route and slots inferred for the first {MOST:,} calls only; --infer does it for all"
            if self._left_out
            else None
        )

    def told(self, source: Source, calls: Iterable[JudgedCall]) -> Iterator[JudgedCall]:
        """The same calls in the same order. Raises `StoreError`."""
        from reach_tui.workspace.inferring import Inference

        inference = Inference(self._workspace, source, self._registry)
        for _, group in groupby(calls, key=lambda judged: judged.call.session_id):
            if self._left == 0:
                self._left_out = True
                yield from group
                continue
            wanted = list(group)
            some = wanted if self._left is None else wanted[: self._left]
            yield from inference.calls(some)
            yield from wanted[len(some) :]
            self._left_out |= len(some) < len(wanted)
            self._left = None if self._left is None else self._left - len(some)
