"""Is a registry written so that a router can tell its tools apart? (spec B3, seed 2.3, 3.1, 4.3, 6.1)

Two levels: what *fails* is a mistake that costs wrong routes or wrong arguments; a *note* is worth a look.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reach_tui.base.jsonio import JsonValue
from reach_tui.model import Thresholds
from reach_tui.reach.description import named_as_tools, sentences
from reach_tui.reach.documents import Document
from reach_tui.reach.overlap import Overlap, overlaps
from reach_tui.reach.problems import Problem, RegistryError, field_name
from reach_tui.reach.registry import FolderRegistry, ToolFile
from reach_tui.reach.schema import errors, validator
from reach_tui.reach.spec import SampleCall, ToolSpec
from reach_tui.reach.text import terms

FAILS, NOTE = "fails", "note"
CHECKS: dict[str, tuple[str, str]] = {
    "registry.file": (FAILS, "the file is a tool: known fields, none missing, the right types, valid JSON Schema"),
    "description.purpose": (FAILS, "the description says what the tool does"),
    "description.input": (FAILS, "the description says its exact input"),
    "description.limits": (FAILS, "the description says what the tool does not do"),
    "description.elsewhere": (FAILS, "the description says when to use which other tool"),
    "description.vague": (FAILS, "no words that could stand in every tool's description"),
    "description.unknown_tool": (FAILS, "every tool that the description sends one to is registered"),
    "parameters.id_pattern": (FAILS, "an identifier has a pattern, format, enum or const"),
    "parameters.undescribed": (FAILS, "a required parameter has a description"),
    "parameters.untyped": (FAILS, "a parameter has a type"),
    "parameters.keyword": (FAILS, "no keyword of the schema is misspelt: JSON Schema ignores what it does not know"),
    "parameters.open": (NOTE, "parameters that the schema does not name are refused (additionalProperties: false)"),
    "samples.correct": (FAILS, "at least one sample call is a correct one"),
    "samples.counter_example": (FAILS, "at least one sample call belongs to another tool, where there is another"),
    "samples.invalid": (FAILS, "the parameters of a correct sample are valid"),
    "samples.unknown_tool": (FAILS, "a counter-example's use_instead is another registered tool"),
    "samples.shared": (FAILS, "no utterance is a correct sample of two tools"),
    "slots.unknown_tool": (FAILS, "a slot's result_of names a registered tool"),
    "behaviour.read_not_idempotent": (NOTE, "a tool that only reads may be asked twice"),
    "name.style": (NOTE, "names are snake_case"),
    "tools.overlap": (FAILS, "of two tools that are alike, one says when to use the other"),
    "tools.near": (NOTE, "two tools are alike; their descriptions tell them apart"),
}
"""Each check with its level and what holds where it holds."""

_VAGUE = re.compile(
    r"相关信息|相关数据|相关内容|相关操作|各种|多种查询|等信息|等等"
    r"|\b(?:related (?:information|data|info)|various|all kinds of|and so on|etc\.?|information about things|misc\w*)",
    re.IGNORECASE,
)
_ID_NAME = re.compile(r"(?:^|_)(?:id|no|number|code|sku|uuid|phone|email)$|[a-z](?:Id|No|Number|Code)$")
_SNAKE = re.compile(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)*")
_FEWEST_WORDS = 3
_SHAPES = ("pattern", "format", "enum", "const")
_TYPES = ("type", "enum", "const", "$ref", "anyOf", "oneOf", "allOf")

_KEYWORDS = frozenset(
    """$anchor $comment $defs $id $ref $schema additionalItems additionalProperties allOf anyOf const contains
    contentEncoding contentMediaType default definitions dependencies dependentRequired dependentSchemas deprecated
    description else enum examples exclusiveMaximum exclusiveMinimum format if items maxContains maxItems maxLength
    maxProperties maximum minContains minItems minLength minProperties minimum multipleOf not oneOf pattern
    patternProperties prefixItems properties propertyNames readOnly required then title type unevaluatedItems
    unevaluatedProperties uniqueItems writeOnly""".split()  # noqa: SIM905
)
_NEARLY = 0.8  # difflib's likeness from which a word is taken for a misspelt keyword


@dataclass(frozen=True, slots=True)
class Finding:
    """One check that did not hold."""

    check: str
    file: str
    line: int | None
    tool: str
    field: str
    what: str
    words: tuple[str, ...] = ()
    """For overlaps: what both tools say."""

    @property
    def level(self) -> str:
        """`fails` or `note`."""
        return CHECKS[self.check][0]

    def record(self) -> dict[str, JsonValue]:
        """The finding as JSON."""
        return {
            "check": self.check, "level": self.level, "file": self.file, "line": self.line, "tool": self.tool or None,
            "field": self.field or None, "what": self.what, "words": list(self.words),
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Report:
    """What a lint found in a folder."""

    tools: int
    findings: tuple[Finding, ...]
    """By file, line and check."""

    @property
    def holds(self) -> bool:
        """Nothing fails; notes do not count."""
        return all(finding.level == NOTE for finding in self.findings)


def lint_folder(folder: Path, thresholds: Thresholds | None = None) -> Report:
    """Lint the tool files of a folder. Raises `RegistryError` where it cannot be read or holds no tool file."""
    registry = FolderRegistry(folder)
    if not registry.tools() and not registry.problems:
        raise RegistryError([Problem(str(folder), "holds no tool file (*.yaml, *.yml)")])
    findings = [
        Finding("registry.file", problem.file, problem.line, "", problem.field, problem.what)
        for problem in registry.problems
    ]
    return Report(len(registry.tools()), _sorted([*findings, *lint(registry.files, thresholds)]))


def lint(files: Sequence[ToolFile], thresholds: Thresholds | None = None) -> tuple[Finding, ...]:
    """Every check that does not hold for these tools, by file, line and check."""
    tools = [file.spec for file in files]
    names = {tool.name for tool in tools}
    at = {file.spec.name: _Place(file) for file in files}
    findings: list[Finding] = []
    for tool in tools:
        place = at[tool.name]
        findings += place.findings(_name(tool))
        findings += place.findings(_description(tool, names))
        findings += place.findings(_parameters(tool))
        findings += place.findings(_samples(tool, names))
        findings += place.findings(_slots(tool, names))
        findings += place.findings(_behaviour(tool))
    findings += _shared_samples(tools, at)
    findings += (_overlap(pair, at) for pair in overlaps(tools, thresholds or Thresholds()))
    return _sorted(findings)


_Path = tuple[str | int, ...]
_Mistake = tuple[str, _Path, str]


class _Place:
    """Where a tool's fields stand."""

    def __init__(self, file: ToolFile) -> None:
        self._file = file.file
        self._tool = file.spec.name
        self._document: Document = file.document

    def finding(self, check: str, path: _Path, what: str, words: tuple[str, ...] = ()) -> Finding:
        line = self._document.line_of(path)
        return Finding(check, self._file, line, self._tool, field_name(path), what, words)

    def findings(self, mistakes: Iterable[_Mistake]) -> Iterator[Finding]:
        return (self.finding(*mistake) for mistake in mistakes)


def _name(tool: ToolSpec) -> Iterator[_Mistake]:
    if not _SNAKE.fullmatch(tool.name):
        yield "name.style", ("name",), f"{tool.name} is not snake_case"


def _description(tool: ToolSpec, names: set[str]) -> Iterator[_Mistake]:
    path: _Path = ("description",)
    parts = sentences(tool.description, tool.name, names)
    purpose = [part for part in parts if part.purpose] or [part for part in parts[:1] if not part.elsewhere]
    said = {term for part in purpose for term in terms(part.text)} - set(terms(tool.name))
    if len(said) < _FEWEST_WORDS:
        yield "description.purpose", path, "does not say what the tool does in words beyond its name"
    if tool.properties and not any(part.input for part in parts):
        yield "description.input", path, "does not say its exact input (Input is … / 输入必须是 …)"
    if not any(part.limit for part in parts):
        yield "description.limits", path, "does not say what the tool does not do (Does not … / 不支持 …)"
    if len(names) > 1 and not any(part.elsewhere for part in parts):
        yield "description.elsewhere", path, "names no other tool to use instead (For … use … / … 用 …)"
    if vague := _VAGUE.search(tool.description):
        yield "description.vague", path, f"“{vague[0]}” could stand in every description: say which"
    known = names | set(tool.properties)
    for name in dict.fromkeys(named_as_tools(tool.description)):
        if name not in known and name.split(".", 1)[0] not in known:  # `search_order.orderId` is a field of a tool
            yield "description.unknown_tool", path, f"sends one to {name}, which is not registered"


def _parameters(tool: ToolSpec) -> Iterator[_Mistake]:
    base: _Path = ("params_schema", "properties")
    yield from _misspelt(("params_schema",), tool.params_schema)
    for name, schema in tool.properties.items():
        yield from _misspelt((*base, name), schema)
        if not any(key in schema for key in _TYPES):
            yield "parameters.untyped", (*base, name), f"{name} has no type"
        text = schema.get("type") in (None, "string")
        if text and _ID_NAME.search(name) and not any(key in schema for key in _SHAPES):
            yield "parameters.id_pattern", (*base, name), f"{name} is an identifier without a pattern"
        if name in tool.required and not str(schema.get("description") or "").strip():
            yield "parameters.undescribed", (*base, name), f"{name} is required and has no description"
    for name in tool.required:
        if name not in tool.properties:
            yield "parameters.undescribed", ("params_schema", "required"), f"{name} is required and not declared"
    if tool.params_schema.get("additionalProperties") is not False:
        yield "parameters.open", ("params_schema",), "parameters that are not named here are let through"


def _misspelt(path: _Path, schema: Mapping[str, Any]) -> Iterator[_Mistake]:
    for word in schema.keys() - _KEYWORDS:
        if near := difflib.get_close_matches(word, sorted(_KEYWORDS), 1, _NEARLY):
            yield "parameters.keyword", (*path, word), f"{word} is ignored: did you mean {near[0]}?"


def _samples(tool: ToolSpec, names: set[str]) -> Iterator[_Mistake]:
    path: _Path = ("sample_calls",)
    correct = [(at, one) for at, one in enumerate(tool.sample_calls) if not one.counter_example]
    if not correct:
        yield "samples.correct", path, "no sample of a correct call"
    if len(names) > 1 and len(correct) == len(tool.sample_calls):
        yield "samples.counter_example", path, "no counter-example: what sounds alike and belongs elsewhere"
    check = validator(tool.params_schema)
    for at, sample in correct:
        for where, what, _ in errors(check, sample.params):
            yield "samples.invalid", (*path, at, "params", *where), what
    for at, sample in enumerate(tool.sample_calls):
        yield from ((check, (*path, at, "use_instead"), what) for check, what in _instead(tool, sample, names))


def _instead(tool: ToolSpec, sample: SampleCall, names: set[str]) -> Iterator[tuple[str, str]]:
    if sample.use_instead == tool.name:
        yield "samples.unknown_tool", "sends one to the tool itself"
    elif sample.use_instead is not None and sample.use_instead not in names:
        yield "samples.unknown_tool", f"{sample.use_instead} is not registered"


def _slots(tool: ToolSpec, names: set[str]) -> Iterator[_Mistake]:
    for name, slot in tool.slots.items():
        source = slot.result_of.split(".", 1)[0] if slot.result_of else None
        if source is not None and source not in names:
            yield "slots.unknown_tool", ("slots", name, "result_of"), f"{source} is not registered"


def _behaviour(tool: ToolSpec) -> Iterator[_Mistake]:
    if tool.side_effect == "read" and not tool.idempotent:
        what = "only reads and is not idempotent: it is never retried"
        yield "behaviour.read_not_idempotent", ("idempotent",), what


def _shared_samples(tools: Sequence[ToolSpec], at: dict[str, _Place]) -> Iterator[Finding]:
    first: dict[tuple[str, ...], str] = {}
    for tool in tools:
        for number, sample in enumerate(tool.sample_calls):
            if sample.counter_example:
                continue
            owner = first.setdefault(tuple(terms(sample.utterance)) or (sample.utterance,), tool.name)
            if owner != tool.name:
                what = f"is a correct sample of {owner} too"
                yield at[tool.name].finding("samples.shared", ("sample_calls", number, "utterance"), what)


def _overlap(pair: Overlap, at: dict[str, _Place]) -> Finding:
    check = "tools.overlap" if pair.serious else "tools.near"
    what = f"{pair.first} and {pair.second} are alike ({pair.likeness:.2f}) in: {', '.join(pair.words)}"
    if pair.confused:
        what += f"; “{pair.confused[0]}” would go to the other but for its own sample"
    if pair.serious:
        what += "; neither says when to use the other"
    return at[pair.first].finding(check, ("description",), what, pair.words)


def _sorted(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    def key(finding: Finding) -> tuple[Any, ...]:
        return finding.file, finding.line or 0, finding.check, finding.field, finding.what

    return tuple(sorted(findings, key=key))
