"""Detector rules as data: what a rule is, and how rule files are read and checked.

A rule file is TOML. It is either a *family* (it names the tools it is for) or a *pack* (rules that families take in by
name). The same format serves the rules shipped here and a person's own in their settings folder.
"""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from reach_tui.base.errors import ConfigError, UsageError
from reach_tui.taxonomy import default as default_taxonomy

NATURES = ("content", "log", "answer", "edit")
"""What results are: content (a file, a page, a report), log (a program's output), answer (a service's), edit."""
PLACES = ("start", "line", "edge", "last", "anywhere", "whole", "arguments")
"""Where a rule looks; see `Rule.where`."""
VERDICTS = ("failed", "ok", "soft", "check_reported", "class")

_STATES = ("missing", "present", "empty", "true", "false", "no_regex")
_ID = re.compile(r"[a-z][a-z0-9_]*(\.[a-z0-9_]+)+")
_FAMILY_KEYS = {"family", "title", "nature", "tools", "argument_names", "include", "rule"}
_RULE_KEYS = {"id", "explain", "where", "match", "unless", "when", "verdict", "category", "confidence", "case"}
_WHEN_KEYS = {
    "flag",
    "status",
    "tool",
    "arguments",
    "metadata",
    "command",
    "not_command",
    "displays",
    "max_chars",
    "max_lines",
    "names_program",
}


@dataclass(frozen=True, slots=True)
class When:
    """Conditions beside the text. Every one that is given must hold."""

    flag: str | None = None
    """`true`, `false` or `unset`: what the store recorded."""
    status: str | None = None
    """Pattern for the store's own word for the call's state."""
    tool: str | None = None
    """Pattern that the tool's name must contain."""
    arguments: Mapping[str, str] = field(default_factory=dict)
    """Argument to `missing`, `present`, `empty`, `true`, `false`, `no_regex` (does not parse), or `~` and a pattern."""
    metadata: Mapping[str, str] = field(default_factory=dict)
    """The same for metadata."""
    command: str | None = None
    """Pattern that the shell command must contain."""
    not_command: str | None = None
    """Pattern that it must not contain."""
    displays: bool | None = None
    """Whether the command merely shows files, matches or history (cat, grep, git log …)."""
    max_chars: int | None = None
    """The result is no longer than this."""
    max_lines: int | None = None
    names_program: bool = False
    """Where the command merely shows something: the line's first word must be a program of the command."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule: if the text matches and the conditions hold, this is the verdict."""

    id: str
    explain: str
    """One sentence a colleague could read aloud."""
    where: str
    """start (of the result) · line (any line begins with it) · edge (the same, but one of the first three or last five
    lines, or a fifth of all) · last (the last line begins with it) · anywhere · whole (the whole text) · arguments (no
    text is looked at, `when` decides)."""
    match: str
    """RE2 syntax, case is ignored unless `case`."""
    verdict: str
    category: str | None = None
    subcategory: str | None = None
    confidence: float = 0.9
    unless: str | None = None
    """If the line of the hit matches this, it is no hit."""
    when: When = When()
    case: bool = False
    source: str = ""
    """File the rule stands in."""

    @property
    def pattern(self) -> str:
        """The pattern with its place and flags, as RE2 compiles it."""
        body = f"(?:{self.match})"
        lead = r"[ \t]*(?:\x1b\[[0-9;]*m)*"
        anchored = {
            "start": rf"\A\s*(?:\x1b\[[0-9;]*m)*{body}",
            "line": rf"^{lead}{body}",
            "edge": rf"^{lead}{body}",
            "last": rf"^{lead}{body}[^\n]*\s*\z",
            "whole": rf"\A\s*{body}\s*\z",
        }
        return ("(?m)" if self.case else "(?im)") + anchored.get(self.where, body)


@dataclass(frozen=True, slots=True)
class Family:
    """The tools of one kind and their rules, in the order they are asked."""

    id: str
    title: str
    nature: str
    tools: tuple[str, ...]
    """Names and shell-style patterns, lower case."""
    argument_names: tuple[str, ...]
    """A tool of unknown name with one of these arguments belongs here."""
    rules: tuple[Rule, ...]


@dataclass(frozen=True, slots=True)
class RuleSet:
    """All families and the rules that find the class of a message already known to be a failure."""

    families: tuple[Family, ...]
    classes: tuple[Rule, ...]
    version: str
    """Hash of the rule files: verdicts cached under another version are stale."""

    def rule(self, rule_id: str) -> Rule | None:
        """The rule of that id, None if there is none (structural checks have ids of their own)."""
        pools: Iterable[tuple[Rule, ...]] = (*(family.rules for family in self.families), self.classes)
        return next((rule for pool in pools for rule in pool if rule.id == rule_id), None)


@dataclass(frozen=True, slots=True)
class _File:
    path: Path
    body: Mapping[str, Any]
    rules: tuple[Rule, ...]


def load(*folders: Path, trusted: tuple[Path, ...] = ()) -> RuleSet:
    """The rules of all `*.toml` files in the folders; a family given again adds its rules before the earlier ones.

    The patterns of `trusted` folders are not tried here, which saves most of the time: the tests try the shipped ones.

    Raises `ConfigError` naming file, rule and key for anything that is not a rule.
    """
    files: list[_File] = []
    seen: dict[str, Path] = {}
    digest = hashlib.sha256()
    for folder in folders:
        for path in sorted(folder.glob("*.toml")):
            raw = _read(path)
            digest.update(path.name.encode() + b"\0" + raw)
            files.append(_parse(path, raw, seen, folder not in trusted))
    packs: dict[str, tuple[Rule, ...]] = {}
    for file in files:
        if "tools" not in file.body:
            packs[file.body["family"]] = file.rules + packs.get(file.body["family"], ())
    families: dict[str, Family] = {}
    for file in files:
        if "tools" in file.body:
            family = _family(file, packs)
            families[family.id] = _merged(families.get(family.id), family)
    classes = packs.get("classes", ())
    return RuleSet(tuple(families.values()), classes, digest.hexdigest()[:16])


def _merged(old: Family | None, new: Family) -> Family:
    if old is None:
        return new
    tools = tuple(dict.fromkeys(new.tools + old.tools))
    names = tuple(dict.fromkeys(new.argument_names + old.argument_names))
    rules = new.rules + tuple(rule for rule in old.rules if rule not in new.rules)
    return Family(old.id, old.title, new.nature, tools, names, rules)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise ConfigError(f"rule file cannot be read: {error.strerror}", path) from None


def _parse(path: Path, raw: bytes, seen: dict[str, Path], check: bool) -> _File:
    try:
        body = tomllib.loads(raw.decode("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"not TOML: {error}", path) from None
    fail = _complainer(path, None)
    _check_keys(body, _FAMILY_KEYS, fail)
    if not isinstance(body.get("family"), str) or not body["family"]:
        fail("family", "is missing: the name of the tool family or pack")
    if "tools" in body and body.get("nature") not in NATURES:
        fail("nature", f"must be one of {', '.join(NATURES)}")
    for key in ("tools", "argument_names", "include"):
        if not _is_texts(body.get(key, [])):
            fail(key, "must be a list of texts")
    tables = body.get("rule", [])
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        fail("rule", "must be tables: write [[rule]]")
    rules = tuple(_rule(path, table, check) for table in tables)
    for rule in rules:
        if rule.id in seen:
            raise ConfigError(f"rule {rule.id}: id is already used in {seen[rule.id].name}", path, "choose another id")
        seen[rule.id] = path
    return _File(path, body, rules)


def _is_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) and item for item in value)


def _family(file: _File, packs: Mapping[str, tuple[Rule, ...]]) -> Family:
    body = file.body
    rules = list(file.rules)
    for name in body.get("include", []):
        if name not in packs:
            raise ConfigError(f"include: no pack {name!r}", file.path, f"one of {', '.join(sorted(packs))}")
        rules += packs[name]
    return Family(
        body["family"],
        str(body.get("title", body["family"])),
        body["nature"],
        tuple(str(tool).lower() for tool in body["tools"]),
        tuple(body.get("argument_names", ())),
        tuple(rules),
    )


_Fail = Callable[[str, str], None]


def _complainer(path: Path, rule: str | None) -> _Fail:
    def fail(key: str, what: str) -> None:
        place = f"rule {rule}: " if rule else ""
        raise ConfigError(f"{place}{key} {what}", path)

    return fail


def _check_keys(table: Mapping[str, Any], allowed: set[str], fail: _Fail) -> None:
    for key in table:
        if key not in allowed:
            import difflib

            near = difflib.get_close_matches(key, allowed, n=1)
            fail(repr(key), f"is no key here{f', did you mean {near[0]}?' if near else f'; one of {sorted(allowed)}'}")


def _rule(path: Path, table: Mapping[str, Any], check: bool) -> Rule:
    rule_id = table.get("id")
    fail = _complainer(path, rule_id if isinstance(rule_id, str) else "without id")
    _check_keys(table, _RULE_KEYS, fail)
    if not isinstance(rule_id, str) or not _ID.fullmatch(rule_id):
        fail("id", "must be like family.what_happened")
    for key in ("explain", "match", "unless", "where", "verdict", "category"):
        if key in table and not isinstance(table[key], str):
            fail(key, "must be a text")
    where, verdict = table.get("where", "start"), table.get("verdict", "failed")
    if where not in PLACES:
        fail("where", f"must be one of {', '.join(PLACES)}")
    if verdict not in VERDICTS:
        fail("verdict", f"must be one of {', '.join(VERDICTS)}")
    if not table.get("explain"):
        fail("explain", "is missing: one sentence that says what happened")
    if not table.get("match") and where != "arguments":
        fail("match", "is missing")
    confidence = table.get("confidence", 0.9)
    if isinstance(confidence, bool) or not isinstance(confidence, int | float) or not 0 <= confidence <= 1:
        fail("confidence", "must be a number from 0 to 1")
    if not isinstance(table.get("case", False), bool):
        fail("case", "must be true or false")
    category, subcategory = _category(table.get("category"), verdict, fail)
    rule = Rule(
        id=str(rule_id),
        explain=str(table["explain"]),
        where=where,
        match=table.get("match", ""),
        verdict=verdict,
        category=category,
        subcategory=subcategory,
        confidence=float(confidence),
        unless=table.get("unless"),
        when=_when(table.get("when", {}), fail),
        case=table.get("case", False),
        source=path.name,
    )
    if check:
        _check_pattern("match", rule.pattern, fail)
        _check_pattern("unless", rule.unless, fail)
    return rule


def _category(text: str | None, verdict: str, fail: _Fail) -> tuple[str | None, str | None]:
    if text is None:
        if verdict == "class":
            fail("category", "is missing")
        return ("not_a_failure", "check_reported") if verdict == "check_reported" else (None, None)
    try:
        category, subcategory = default_taxonomy().parse(text)
    except UsageError as error:
        fail("category", f"{error.what}: {error.hint}")
        raise AssertionError from error
    return category.id, subcategory.id if subcategory else None


def _when(table: object, fail: _Fail) -> When:
    if not isinstance(table, dict):
        fail("when", "must be a table")
        raise AssertionError
    _check_keys(table, _WHEN_KEYS, fail)
    if "flag" in table and table["flag"] not in (True, False, "unset"):
        fail("when.flag", 'must be true, false or "unset"')
    for key in ("max_chars", "max_lines"):
        if key in table and (isinstance(table[key], bool) or not isinstance(table[key], int)):
            fail(f"when.{key}", "must be a whole number")
    for key in ("displays", "names_program"):
        if key in table and not isinstance(table[key], bool):
            fail(f"when.{key}", "must be true or false")
    for key in ("status", "tool", "command", "not_command"):
        if key in table and not isinstance(table[key], str):
            fail(f"when.{key}", "must be a pattern")
        _check_pattern(f"when.{key}", table.get(key), fail)
    flag = {True: "true", False: "false", "unset": "unset", None: None}[table.get("flag")]
    rest = {
        key: table[key]
        for key in ("status", "tool", "command", "not_command", "displays", "max_chars", "max_lines")
        if key in table
    }
    return When(
        flag=flag,
        arguments=_values(table.get("arguments", {}), "when.arguments", fail),
        metadata=_values(table.get("metadata", {}), "when.metadata", fail),
        names_program=table.get("names_program", False),
        **rest,
    )


def _values(table: object, key: str, fail: _Fail) -> Mapping[str, str]:
    if not isinstance(table, dict):
        fail(key, "must be a table")
        raise AssertionError
    found: dict[str, str] = {}
    for name, wanted in table.items():
        text = str(wanted).lower() if isinstance(wanted, bool) else wanted
        if not isinstance(text, str) or not (text in _STATES or text.startswith("~")):
            fail(f"{key}.{name}", f"must be {', '.join(_STATES)}, or ~ and a pattern")
        if text.startswith("~"):
            _check_pattern(f"{key}.{name}", text[1:], fail)
        found[name] = text
    return found


def _check_pattern(key: str, pattern: str | None, fail: _Fail) -> None:
    if pattern is None:
        return
    import re2

    options = re2.Options()
    options.log_errors = False
    try:
        re2.compile(pattern, options)
    except re2.error as error:
        reason = error.args[0].decode() if error.args and isinstance(error.args[0], bytes) else str(error)
        fail(key, f"is no pattern RE2 can read: {reason}")
