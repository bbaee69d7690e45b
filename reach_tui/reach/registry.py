"""The registry as a folder: one YAML file a tool, read again when it changes; a broken one stays as it was."""

from __future__ import annotations

import difflib
import os
import stat
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ValidationError

from reach_tui.reach.documents import LARGEST, Document, read_document
from reach_tui.reach.problems import Problem, RegistryError, field_name
from reach_tui.reach.schema import schema_mistakes
from reach_tui.reach.spec import ToolSpec

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

SUFFIXES = (".yaml", ".yml")
MOST_FILES, MOST_FOLDERS = 5_000, 2_000
_SETTLING_NS = (
    2_000_000_000  # a file younger than this may change again within one tick of a coarse file system's clock
)
_SHOWN = 60


@dataclass(frozen=True, slots=True)
class ToolFile:
    """A file that was read whole: its tool, and the lines of its fields."""

    file: str
    spec: ToolSpec
    document: Document


class ToolList:
    """A registry over tools that are there already. Raises `RegistryError` where a name stands twice."""

    def __init__(self, tools: Iterable[ToolSpec] = ()) -> None:
        self._by_name: dict[str, ToolSpec] = {}
        for tool in tools:
            if tool.name in self._by_name:
                raise RegistryError([Problem("tools", f"{tool.name} stands twice", field="name")])
            self._by_name[tool.name] = tool
        self._tools = tuple(self._by_name[name] for name in sorted(self._by_name))

    def tools(self) -> Sequence[ToolSpec]:
        """Every tool, by name."""
        return self._tools

    def get(self, name: str) -> ToolSpec | None:
        """The tool of that name, None if there is none."""
        return self._by_name.get(name)


@dataclass(frozen=True, slots=True)
class Changes:
    """What a refresh found: names of tools."""

    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.added or self.changed or self.removed)


@dataclass(slots=True)
class _Watched:
    """A file of the folder as it was last seen."""

    stamp: tuple[int, ...] = ()
    raw: bytes | None = None
    settled: bool = False
    good: ToolFile | None = None
    """The last version without a mistake."""
    problems: list[Problem] = field(default_factory=list)


class FolderRegistry:
    """The tools of a folder's `*.yaml` and `*.yml` files, subfolders included.

    A file with mistakes keeps its last good version in force; `problems` says what is wrong with it. A name that
    two files claim stays with the file that had it, at first with the first by path. With `poll_ms` every question
    looks at the folder again, at most once in so many milliseconds; without it only `refresh` does. Raises
    `RegistryError` where the folder cannot be read.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        *,
        poll_ms: int | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.folder = Path(folder)
        self.poll_ms = poll_ms
        self.version = 0
        """Grows with every refresh that changed a tool."""
        self._clock = clock
        self._lock = threading.Lock()
        self._files: dict[str, _Watched] = {}
        self._in_force: dict[str, ToolFile] = {}
        self._list = ToolList()
        self._problems: tuple[Problem, ...] = ()
        self.refresh()
        self._looked = clock()

    def tools(self) -> Sequence[ToolSpec]:
        """Every tool in force, by name; the same object as long as nothing changes."""
        self._poll()
        return self._list.tools()

    def get(self, name: str) -> ToolSpec | None:
        """The tool of that name, None if there is none."""
        self._poll()
        return self._list.get(name)

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What is wrong with the files now, by file and line; empty where all is well."""
        return self._problems

    @property
    def files(self) -> tuple[ToolFile, ...]:
        """The files in force, by tool's name."""
        return tuple(self._in_force[name] for name in sorted(self._in_force))

    def _poll(self) -> None:
        """Look again if it is time. A folder that cannot be read is a problem, and what was read stays in force."""
        now = self._clock()
        if self.poll_ms is None or now - self._looked < self.poll_ms / 1000:
            return
        self._looked = now
        try:
            self.refresh()
        except RegistryError as error:
            self._problems = error.problems

    def refresh(self) -> Changes:
        """Read what changed since the last look (time, size, inode); what became of the tools.

        Raises `RegistryError` where the folder cannot be listed.
        """
        with self._lock:
            return self._refresh()

    def _refresh(self) -> Changes:
        paths, unreadable = _tool_files(self.folder)
        self._files = {name: self._files.get(name) or _Watched() for name in paths}
        for name, path in paths.items():
            _look(self._files[name], name, path)
        before = self._in_force
        self._in_force, clashes = _settle_names(self._files, before)
        own = [problem for watched in self._files.values() for problem in watched.problems]
        self._problems = tuple(
            sorted([*unreadable, *own, *clashes], key=lambda p: (p.file, p.line or 0, p.field, p.what))
        )
        changes = _difference(before, self._in_force)
        if changes or not self.version:
            self._list = ToolList(file.spec for file in self._in_force.values())
            self.version += 1
        return changes


def load_tools(folder: str | os.PathLike[str]) -> ToolList:
    """The tools of a folder, all or nothing. Raises `RegistryError` with every mistake in every file."""
    registry = FolderRegistry(folder)
    if registry.problems:
        raise RegistryError(registry.problems)
    return ToolList(registry.tools())


def read_tool(path: str | os.PathLike[str]) -> ToolFile:
    """The tool in one file. Raises `RegistryError` with all its mistakes, `OSError` where it cannot be read."""
    with open(path, "rb") as stream:
        return parse_tool(stream.read(LARGEST + 1), os.fspath(path))


def parse_tool(raw: bytes, file: str) -> ToolFile:
    """The tool in a file's bytes; `file` is named in mistakes. Raises `RegistryError` with all of them."""
    document, problems = read_document(raw, file)
    if not isinstance(document.value, dict):
        raise RegistryError([*problems, Problem(file, "not a mapping of fields (name, description, …)", 1)])
    try:
        spec = ToolSpec.model_validate(document.value)
    except ValidationError as error:
        spec = None
        problems += [_problem(file, document, detail) for detail in error.errors(include_url=False)]
    problems += _deeper_problems(file, document, document.value)
    if problems or spec is None:
        raise RegistryError(sorted(problems, key=lambda problem: (problem.line or 0, problem.field, problem.what)))
    return ToolFile(file, spec, document)


def _deeper_problems(file: str, document: Document, value: Mapping[str, Any]) -> Iterator[Problem]:
    """What the shape of the fields does not say: the schema, and what names parameters of it."""

    def problem(path: tuple[str | int, ...], what: str) -> Problem:
        return Problem(file, what, document.line_of(path), field_name(path))

    schema = value.get("params_schema")
    if not isinstance(schema, dict):
        return
    mistakes = schema_mistakes(schema)
    yield from (problem(("params_schema", *path), what) for path, what in mistakes)
    declared = schema.get("properties")
    names = set(declared) if isinstance(declared, dict) else set()
    slots = value.get("slots")
    for name in slots if isinstance(slots, dict) else ():
        if name not in names:
            yield problem(("slots", name), "is no parameter of params_schema" + _meant(name, names))
    intents = value.get("intents")
    for index, intent in enumerate(intents if isinstance(intents, list) else ()):
        pattern = intent.get("pattern") if isinstance(intent, dict) else None
        if isinstance(pattern, str):
            yield from (problem(("intents", index, "pattern"), what) for what in _pattern_mistakes(pattern, names))


def _pattern_mistakes(pattern: str, names: set[str]) -> Iterator[str]:
    from reach_tui.reach.rules import compiled

    try:
        groups = compiled(pattern).groupindex
    except ValueError as error:
        yield f"not a regular expression that RE2 reads: {error}"
        return
    for group in sorted(set(groups) - names):
        yield f"the group {group} is no parameter of params_schema" + _meant(group, names)


def _problem(file: str, document: Document, detail: ErrorDetails) -> Problem:
    """Pydantic's finding in the words of the file. Its path may name branches of a union that no file has."""
    path = tuple(part for part in detail["loc"] if part not in ("http", "python-callable"))
    last = str(path[-1]) if path else ""
    kind, value = detail["type"], detail["input"]
    if kind == "missing":
        what = "is missing"
    elif kind == "extra_forbidden":
        what = "is unknown" + _meant(last, _known_fields(path[:-1]))
    elif kind == "value_error":
        what = detail["msg"].removeprefix("Value error, ")
    else:
        what = f"{detail['msg'][0].lower()}{detail['msg'][1:]}, got {_shown(value)}"
    return Problem(file, what, document.line_of(path), field_name(path))


def _known_fields(parent: tuple[str | int, ...]) -> set[str]:
    from reach_tui.reach import spec

    models: dict[tuple[str, ...], type[BaseModel]] = {
        (): spec.ToolSpec,
        ("retry_policy",): spec.RetryPolicy,
        ("rate_limit",): spec.RateLimit,
        ("sample_calls",): spec.SampleCall,
        ("intents",): spec.IntentRule,
        ("slots",): spec.SlotSource,
        ("endpoint",): spec.HttpEndpoint,
    }
    model = models.get(tuple(part for part in parent[:1] if isinstance(part, str)))
    return set(model.model_fields) if model else set()


def _meant(name: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(name, sorted(known), 1)
    return f": did you mean {near[0]}?" if near else ""


def _shown(value: object) -> str:
    if isinstance(value, dict | list):
        return "a mapping" if isinstance(value, dict) else "a list"
    text = repr(value)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"


def _tool_files(folder: Path) -> tuple[dict[str, Path], list[Problem]]:
    """Path inside the folder -> path, sorted, and the subfolders that cannot be read. Hidden ones are not looked at."""
    found: dict[str, Path] = {}
    problems: list[Problem] = []

    def unreadable(error: OSError) -> None:
        problem = Problem(str(error.filename or folder), f"cannot be read: {error.strerror}")
        if Path(problem.file) == folder:
            raise RegistryError([problem]) from error
        problems.append(problem)

    for visited, (base, folders, files) in enumerate(os.walk(folder, onerror=unreadable)):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in files:
            if name.endswith(SUFFIXES) and not name.startswith("."):
                path = Path(base, name)
                found[path.relative_to(folder).as_posix()] = path
        if len(found) > MOST_FILES or visited >= MOST_FOLDERS:
            what = f"more than {MOST_FILES} tool files or {MOST_FOLDERS} folders: is this a registry?"
            raise RegistryError([Problem(str(folder), what)])
    return {name: found[name] for name in sorted(found)}, problems


def _look(watched: _Watched, name: str, path: Path) -> None:
    """Read the file if it may have changed."""
    try:
        info = path.stat()
        if not stat.S_ISREG(info.st_mode):
            raise RegistryError([Problem(name, "not a regular file")])
        stamp = (info.st_mtime_ns, info.st_ctime_ns, info.st_size, info.st_ino)
        if stamp == watched.stamp and watched.settled:
            return
        watched.settled = time.time_ns() - info.st_mtime_ns > _SETTLING_NS
        with path.open("rb") as stream:
            raw = stream.read(LARGEST + 1)
        watched.stamp = stamp
        if raw == watched.raw:
            return
        watched.raw = raw
        watched.good = parse_tool(raw, name)
        watched.problems = []
    except RegistryError as error:
        watched.problems = list(error.problems)
    except OSError as error:  # vanished between listing and reading, or not ours to read
        watched.stamp, watched.raw = (), None
        watched.problems = [Problem(name, f"cannot be read: {error.strerror}")]


def _settle_names(
    files: Mapping[str, _Watched], before: Mapping[str, ToolFile]
) -> tuple[dict[str, ToolFile], list[Problem]]:
    """The file in force for each name, and a problem for every other file that claims it."""
    claims: dict[str, list[ToolFile]] = {}
    for watched in files.values():
        if watched.good is not None:
            claims.setdefault(watched.good.spec.name, []).append(watched.good)
    in_force: dict[str, ToolFile] = {}
    clashes: list[Problem] = []
    for name, claimants in claims.items():
        holder = before[name].file if name in before else None
        chosen = next((file for file in claimants if file.file == holder), claimants[0])
        in_force[name] = chosen
        for other in claimants:
            if other is not chosen:
                at = f"{chosen.file}:{chosen.document.line_of(('name',))}"
                what = f"{name} stands in {at} too; that one is in force"
                clashes.append(Problem(other.file, what, other.document.line_of(("name",)), "name"))
    return in_force, clashes


def _difference(before: Mapping[str, ToolFile], after: Mapping[str, ToolFile]) -> Changes:
    changed = (name for name in after.keys() & before.keys() if after[name].spec != before[name].spec)
    return Changes(
        tuple(sorted(after.keys() - before.keys())),
        tuple(sorted(changed)),
        tuple(sorted(before.keys() - after.keys())),
    )
