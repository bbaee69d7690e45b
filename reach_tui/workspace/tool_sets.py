"""Which tools a session had to choose from: recorded, else the person's registry, else seen and described by ours."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from reach_tui.infer.candidates import RECORDED, REGISTRY, ToolSet, recorded, seen
from reach_tui.infer.registries import bundled
from reach_tui.model import ToolCall
from reach_tui.stores.offered import OfferedTool, OffersTools
from reach_tui.workspace.sources import Source

if TYPE_CHECKING:
    from reach_tui.detect.engine import Engine
    from reach_tui.reach.problems import Problem

NEWEST = 2_000
"""Calls of a trace, newest sessions first, that are looked through for the names of tools."""
_UNKNOWN = "unknown_tool"  # of the failure taxonomy

KEPT = 64
"""Tool sets of one source that are kept: a store may record other tools for each session."""
Key = TypeVar("Key")
Made = TypeVar("Made")


def remembered(known: dict[Key, Made], key: Key, make: Callable[[], Made]) -> Made:
    """What `known` has under `key`, made where it has none; the oldest one leaves where there are `KEPT`."""
    if key not in known:
        if len(known) >= KEPT:
            del known[next(iter(known))]
        known[key] = make()
    return known[key]


class PersonsRegistry:
    """The tools of a folder, or of a bundled registry, that a person named.

    Raises `ConfigError` where there is none, `RegistryError` where it cannot be read or holds no tool.
    """

    def __init__(self, folder: Path) -> None:
        from reach_tui.reach.problems import Problem, RegistryError
        from reach_tui.reach.registry import FolderRegistry
        from reach_tui.replay.registry_source import registry_folder

        self._folder = registry = FolderRegistry(registry_folder(folder))
        self.problems: tuple[Problem, ...] = registry.problems
        if not registry.tools():
            raise RegistryError([*self.problems] or [Problem(str(folder), "no tool in it: one YAML file a tool")])
        self.set = ToolSet(registry.tools(), REGISTRY)

    def refresh(self) -> tuple[str, ...] | None:
        """Look at the folder again: names of tools that are others now, None where nothing is new.

        A broken file keeps its last good version (`problems` says so), a folder without any tool the last tools. Raises
        `RegistryError` where the folder cannot be read.
        """
        before = self.problems
        found = self._folder.refresh()
        self.problems = self._folder.problems
        if not found:
            return () if self.problems != before else None
        if self._folder.tools():
            self.set = ToolSet(self._folder.tools(), REGISTRY)
        return tuple(sorted({*found.added, *found.changed, *found.removed}))


class ToolSets:
    """The tool sets of one source; each is made once. May be asked from any thread."""

    def __init__(
        self, source: Source, engine: Engine, registry: PersonsRegistry | None = None, *, person_first: bool = False
    ) -> None:
        """With `person_first` the person's registry stands for what was recorded too: what if it had been this one?"""
        self._person_first = person_first
        self._source = source
        self._engine = engine
        self._registry = registry
        self._lock = threading.Lock()
        self._seen: ToolSet | None = None
        self._offered: dict[tuple[str, ...], ToolSet] = {}

    def of(self, session_id: str) -> ToolSet:
        """The tools of a session. Raises `StoreError`."""
        reader = self._source.reader
        if self._person_first and self._registry is not None:
            return self._registry.set
        if isinstance(reader, OffersTools) and (offered := reader.offered_tools(session_id)):
            return self._recorded(offered)
        if self._registry is not None:
            return self._registry.set
        with self._lock:
            if self._seen is None:
                self._seen = self._find()
            return self._seen

    def _recorded(self, offered: Sequence[OfferedTool]) -> ToolSet:
        tools = [recorded(one.name, one.description, one.schema) for one in offered if one.name]
        place = tuple(f"{one.name}\n{one.description}\n{one.schema}" for one in offered)
        with self._lock:
            return remembered(self._offered, place, lambda: ToolSet(tools, RECORDED))

    def _find(self) -> ToolSet:
        """Tools called in the newest calls. A name that nobody describes counts unless there was no such tool."""
        described = bundled(self._source.kind)
        names: set[str] = set()
        for call in islice(self._source.reader.calls(), NEWEST):
            if call.tool in described:
                names.add(call.tool)
            name = call.target or call.tool
            if name not in names and (name in described or not self._no_such_tool(call)):
                names.add(name)
        return seen(names, described)

    def _no_such_tool(self, call: ToolCall) -> bool:
        return self._engine.judge(call).subcategory == _UNKNOWN
