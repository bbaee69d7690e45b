"""Regression cases: what somebody asked, and what would have been right (spec B15). YAML or JSON Lines."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from reach_tui.base.errors import ConfigError
from reach_tui.base.jsonio import BadJson, loads
from reach_tui.model import Candidate

BUNDLED = Path(__file__).parent
_LARGEST = 64 * 1024 * 1024


class ScoredTool(BaseModel):
    """A recorded score."""

    model_config = ConfigDict(frozen=True, extra="ignore")
    name: str
    score: Annotated[float, Field(ge=0, le=1)]


class Case(BaseModel):
    """One case. A case without a tool is right when the decision is."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    id: Annotated[str, Field(min_length=1)]
    utterance: Annotated[str, Field(min_length=1)]
    """What was said, raw."""
    intent: str = ""
    tool: str | None = None
    """The right tool; None where none is."""
    decision: Literal["execute", "clarify", "no_capability"] = "execute"
    parameters: dict[str, Any] = Field(default_factory=dict)
    alternatives: tuple[str, ...] = ()
    """Other tools that would be right, or between which one should ask."""
    forbidden: tuple[str, ...] = ()
    """Tools that must not come first, whatever else does."""
    candidates: tuple[ScoredTool, ...] | None = None
    """Scores recorded when it happened; a sweep uses them instead of the router's."""
    language: str | None = None
    origin: str | None = None
    """Uid of the label it was made from."""
    category: str | None = None
    """Class of the failure it was made from."""
    split: Literal["dev", "test"] | None = None

    @model_validator(mode="after")
    def _tool_or_decision(self) -> Case:
        if self.tool is None and self.decision == "execute":
            raise ValueError("without a tool, decision must be clarify or no_capability")
        return self

    @property
    def right_tools(self) -> frozenset[str]:
        """The tools that may come first."""
        return frozenset([*self.alternatives, *([self.tool] if self.tool else [])])

    @property
    def recorded(self) -> tuple[Candidate, ...] | None:
        """The recorded scores as candidates, highest first."""
        if self.candidates is None:
            return None
        scored = [Candidate(one.name, one.score) for one in self.candidates]
        return tuple(sorted(scored, key=lambda one: -one.score))


def load_cases(path: str | os.PathLike[str]) -> tuple[Case, ...]:
    """The cases in a file (`.yaml`, `.yml`, or JSON Lines), a folder of them, or the bundled set of that name.

    Raises `ConfigError` that names file, line or case, and field; a case given twice is a mistake.
    """
    given = Path(path)
    if not given.exists() and given == Path(given.name) and (BUNDLED / f"{given.name}.jsonl").is_file():
        given = BUNDLED / f"{given.name}.jsonl"
    files = [given]
    if given.is_dir():
        files = sorted(one for one in given.iterdir() if one.suffix in (".yaml", ".yml", ".jsonl"))
        if not files:
            raise ConfigError("no cases in this folder", given, "cases are .yaml, .yml or .jsonl files")
    cases: dict[str, Case] = {}
    for file in files:
        for where, record in _records(file):
            case = _case(record, where)
            if case.id in cases:
                raise ConfigError(f"id: {case.id!r} is given twice", where)
            cases[case.id] = case
    if not cases:
        raise ConfigError("no cases in this file", given, "one JSON object a line, or a YAML list of cases")
    return tuple(cases.values())


def _records(file: Path) -> Iterator[tuple[str, object]]:
    try:
        if file.stat().st_size > _LARGEST:
            raise ConfigError("larger than 64 MB", file, "split it into several files of one folder")
        text = file.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigError(f"not UTF-8 (byte {error.start})", file) from None
    except OSError as error:
        raise ConfigError(f"cannot be read: {error.strerror}", file, "name a file of cases") from None
    if file.suffix in (".yaml", ".yml"):
        yield from _yaml_records(file, text)
        return
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            try:
                yield f"{file}:{number}", loads(line)
            except BadJson as error:
                raise ConfigError(f"not JSON: {error}", f"{file}:{number}") from None


def _yaml_records(file: Path, text: str) -> Iterator[tuple[str, object]]:
    import yaml

    try:
        root = yaml.compose(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
        value = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f"{file}:{mark.line + 1}" if mark else str(file)
        raise ConfigError(f"not YAML: {getattr(error, 'problem', None) or type(error).__name__}", where) from None
    nodes: Sequence[Any] = root.value if root is not None else ()
    if isinstance(value, dict) and set(value) == {"cases"}:
        value, nodes = value["cases"], nodes[0][1].value
    if not isinstance(value, list):
        raise ConfigError("not a list of cases", f"{file}:1", "begin each case with `- id: …`")
    for node, record in zip(nodes, value, strict=True):
        yield f"{file}:{node.start_mark.line + 1}", record


def _case(record: object, where: str) -> Case:
    if not isinstance(record, dict):
        raise ConfigError("a case is an object with id, utterance and tool", where)
    try:
        return Case.model_validate(record)
    except ValidationError as error:
        first, *more = error.errors(include_url=False)
        field = ".".join(str(part) for part in first["loc"])
        rest = f" (and {len(more)} more)" if more else ""
        message = first["msg"].removeprefix("Value error, ")
        raise ConfigError(f"{field}: {message}{rest}" if field else f"{message}{rest}", where) from None
