"""Rule files: reading and checking them.

A rule file is TOML. It is either a *family* (it names the tools it is for) or a *pack* (rules that families take in by
name). The same format serves the rules shipped here and a person's own in their settings folder.
"""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from reach_tui.base.errors import ConfigError
from reach_tui.detect.rule_check import check_header, every_mistake, read_rule
from reach_tui.detect.rules import Family, Rule, RuleSet

_OWN_BUDGET = 64 << 20  # bytes for the compiled patterns of one file


@dataclass(frozen=True, slots=True)
class RuleFile:
    """A rule file that was read."""

    path: Path
    raw: bytes
    body: Mapping[str, Any]
    rules: tuple[Rule, ...]

    @property
    def family(self) -> str:
        """The family or pack it is about."""
        return str(self.body["family"])


@dataclass(frozen=True, slots=True)
class Loaded:
    """Rules with a person's own among them, and what was wrong with files that were left out."""

    rules: RuleSet
    own: tuple[RuleFile, ...]
    mistakes: tuple[ConfigError, ...]


def load(*folders: Path, trusted: tuple[Path, ...] = ()) -> RuleSet:
    """The rules of all `*.toml` files in the folders; a family given again adds its rules before the earlier ones.

    The patterns of `trusted` folders are not tried here, which saves most of the time: the tests try the shipped ones.

    Raises `ConfigError` naming file, rule and key for anything that is not a rule.
    """
    files: list[RuleFile] = []
    for folder in folders:
        files += _read_folder(folder, files, folder not in trusted)
    packs = _packs(files)
    for file in files:
        _check_includes(file, packs)
    return _assembled(files)


def load_with_own(shipped: Path, own: Sequence[Path]) -> Loaded:
    """The shipped rules and a person's own files, which are asked first, the last of them before the others.

    A file with mistakes is left out; every mistake is told. Never raises for what a person wrote.
    """
    ours = _read_folder(shipped, (), check=False)
    theirs: list[RuleFile] = []
    mistakes: list[ConfigError] = []
    for path in own:
        file, wrong = read_file(path, [*ours, *theirs])
        mistakes += wrong
        if file is not None:
            theirs.append(file)
    fitting = []
    for file in theirs:
        try:
            _check_fit(file, [*ours, *theirs])
        except ConfigError as error:
            mistakes.append(error)
        else:
            fitting.append(file)
    return Loaded(_assembled([*ours, *fitting]), tuple(fitting), tuple(mistakes))


def read_file(path: Path, known: Sequence[RuleFile] = ()) -> tuple[RuleFile | None, list[ConfigError]]:
    """One file of a person, checked, or None and all its mistakes; ids of `known` files are taken."""
    try:
        raw = _read(path)
        body = _toml(path, raw)
    except ConfigError as error:
        return None, [error]
    mistakes = every_mistake(body, partial(check_header, path))
    tables = body.get("rule", [])
    tables = tables if isinstance(tables, list) and all(isinstance(table, dict) for table in tables) else []
    for table in tables:
        name = str(table.get("id", "without id"))
        check = partial(read_rule, path, family="", source="", check=True, name=name)
        mistakes += every_mistake(table, check)
    if not mistakes:
        try:
            file = _parse(path, raw, known, True, str(path))
            _check_size(file)
            return file, []
        except ConfigError as error:
            mistakes.append(error)
    return None, mistakes


def _read_folder(folder: Path, known: Sequence[RuleFile], check: bool) -> list[RuleFile]:
    files: list[RuleFile] = []
    for path in sorted(folder.glob("*.toml")):
        files.append(_parse(path, _read(path), [*known, *files], check, path.name))
    return files


def _packs(files: Sequence[RuleFile]) -> dict[str, tuple[Rule, ...]]:
    packs: dict[str, tuple[Rule, ...]] = {}
    for file in files:
        if "tools" not in file.body:
            packs[file.family] = file.rules + packs.get(file.family, ())
    return packs


def _assembled(files: Sequence[RuleFile]) -> RuleSet:
    digest = hashlib.sha256()
    packs = _packs(files)
    families: dict[str, Family] = {}
    for file in files:
        digest.update(file.path.name.encode("utf-8", "surrogateescape") + b"\0" + file.raw)
        if "tools" in file.body:
            family = _family(file, packs)
            families[family.id] = _merged(families.get(family.id), family)
    for name in families.keys() & packs.keys():  # a file that names no tools and a family: more rules for it
        old = families[name]
        families[name] = Family(old.id, old.title, old.nature, old.tools, old.argument_names, packs[name] + old.rules)
    return RuleSet(tuple(families.values()), packs.get("classes", ()), digest.hexdigest()[:16])


def _merged(old: Family | None, new: Family) -> Family:
    if old is None:
        return new
    tools = tuple(dict.fromkeys(new.tools + old.tools))
    names = tuple(dict.fromkeys(new.argument_names + old.argument_names))
    rules = new.rules + tuple(rule for rule in old.rules if rule not in new.rules)
    return Family(old.id, old.title, new.nature, tools, names, rules)


def _check_includes(file: RuleFile, packs: Mapping[str, tuple[Rule, ...]]) -> None:
    for name in file.body.get("include", []):
        if name not in packs:
            raise ConfigError(f"include: no pack {name!r}", file.path, f"one of {', '.join(sorted(packs))}")


def _check_fit(file: RuleFile, files: Sequence[RuleFile]) -> None:
    """A person's file must be asked by something: name tools, extend a known family or pack, or be included."""
    _check_includes(file, _packs(files))
    if "tools" in file.body:
        return
    known = {other.family for other in files if other is not file}
    known.update(name for other in files for name in other.body.get("include", []))
    if file.family not in known:
        hint = 'name its tools and their nature: tools = ["name"], nature = "answer"'
        raise ConfigError(f"family {file.family!r} names no tools, and no family includes it", file.path, hint)


def _check_size(file: RuleFile) -> None:
    import re2

    options = re2.Options()
    options.max_mem = _OWN_BUDGET
    options.log_errors = False
    patterns = re2.Set.SearchSet(options)
    texts = [rule.pattern for rule in file.rules if rule.where != "arguments"]
    for text in texts:
        patterns.Add(text)
    if not texts:
        return
    try:
        patterns.Compile()
    except re2.error:
        raise ConfigError("its patterns are too large together", file.path, "simplify them") from None


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise ConfigError(f"rule file cannot be read: {error.strerror}", path) from None


def _toml(path: Path, raw: bytes) -> dict[str, Any]:
    try:
        return tomllib.loads(raw.decode("utf-8-sig"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ConfigError(f"not TOML: {error}", path) from None


def _parse(path: Path, raw: bytes, known: Sequence[RuleFile], check: bool, source: str) -> RuleFile:
    body = _toml(path, raw)
    check_header(path, body)
    family = body["family"]
    rules = tuple(read_rule(path, table, family, source, check) for table in body.get("rule", []))
    seen = {rule.id: file.path for file in known for rule in file.rules}
    for rule in rules:
        if rule.id in seen:
            raise ConfigError(f"rule {rule.id}: id is already used in {seen[rule.id].name}", path, "choose another id")
        seen[rule.id] = path
    return RuleFile(path, raw, body, rules)


def _family(file: RuleFile, packs: Mapping[str, tuple[Rule, ...]]) -> Family:
    body = file.body
    rules = list(file.rules)
    for name in body.get("include", []):
        rules += packs[name]
    return Family(
        body["family"],
        str(body.get("title", body["family"])),
        body["nature"],
        tuple(str(tool).lower() for tool in body["tools"]),
        tuple(body.get("argument_names", ())),
        tuple(rules),
    )
