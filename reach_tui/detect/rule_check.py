"""Checks of rule files: what each key may hold, and that a complaint names file, rule and key."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NoReturn

from reach_tui.base.errors import ConfigError, UsageError
from reach_tui.detect.rules import NATURES, PLACES, VERDICTS, Rule, When
from reach_tui.taxonomy import default as default_taxonomy

_STATES = ("missing", "present", "empty", "true", "false", "no_regex")
_ID = re.compile(r"[a-z][a-z0-9_]*(\.[a-z0-9_]+)+")
_FAMILY_KEYS = {"family", "title", "nature", "tools", "argument_names", "include", "rule"}
_RULE_KEYS = {"id", "explain", "where", "match", "unless", "when", "verdict", "category", "confidence", "case", "json"}
_WHEN_KEYS = {
    "flag",
    "status",
    "tool",
    "not_tool",
    "arguments",
    "metadata",
    "command",
    "not_command",
    "displays",
    "max_chars",
    "max_lines",
    "names_program",
    "own_program",
}
_STANDS_IN: Mapping[str, Any] = {"id": "a.b", "explain": "x", "match": "x", "family": "x", "nature": "answer"}
"""What takes the place of a value that is wrong, so that the mistakes after it are found too."""
_MOST_MISTAKES = 20


class Mistake(ConfigError):
    """A mistake in a rule file, with the key it is about."""

    def __init__(self, key: str, what: str, path: Path) -> None:
        super().__init__(what, path)
        self.key = key


def every_mistake(table: Mapping[str, Any], check: Callable[[dict[str, Any]], object]) -> list[ConfigError]:
    """Every mistake that `check` finds: what it complains of is put right, and it is asked again."""
    mended, found = dict(table), list[ConfigError]()
    while len(found) < _MOST_MISTAKES:
        try:
            check(mended)
        except Mistake as mistake:
            if found and found[-1].line() == mistake.line():  # could not be put right
                break
            found.append(mistake)
            _mend(mended, mistake.key)
        else:
            break
    return found


def _mend(table: dict[str, Any], key: str) -> None:
    name, _, inner = key.strip("'").partition(".")
    conditions = table.get("when")
    if (inner or name not in table) and isinstance(conditions, dict):
        inner = inner.partition(".")[0] or name
        if inner in conditions:
            table["when"] = {other: value for other, value in conditions.items() if other != inner}
            return
    table.pop(name, None)
    if name in _STANDS_IN:
        table[name] = _STANDS_IN[name]
    elif name == "category" and table.get("verdict") == "class":
        table["category"] = "upstream_error"


def check_header(path: Path, body: Mapping[str, Any]) -> None:
    """Everything in a rule file but its rules. Raises `Mistake`."""
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


def _is_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) and item for item in value)


_Fail = Callable[[str, str], NoReturn]


def _complainer(path: Path, rule: str | None) -> _Fail:
    def fail(key: str, what: str) -> NoReturn:
        place = f"rule {rule}: " if rule else ""
        raise Mistake(key, f"{place}{key} {what}", path)

    return fail


def _check_keys(table: Mapping[str, Any], allowed: set[str], fail: _Fail) -> None:
    for key in table:
        if key not in allowed:
            import difflib

            near = difflib.get_close_matches(key, allowed, n=1)
            fail(repr(key), f"is no key here{f', did you mean {near[0]}?' if near else f'; one of {sorted(allowed)}'}")


def read_rule(path: Path, table: Mapping[str, Any], family: str, source: str, check: bool, name: str = "") -> Rule:
    """One `[[rule]]`; its patterns are tried if `check`. Raises `Mistake`, which names the rule."""
    rule_id = table.get("id")
    fail = _complainer(path, name or (rule_id if isinstance(rule_id, str) else "without id"))
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
    for key in ("case", "json"):
        if not isinstance(table.get(key, False), bool):
            fail(key, "must be true or false")
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
        in_json=table.get("json", False),
        family=family,
        source=source,
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
    return category.id, subcategory.id if subcategory else None


def _when(table: object, fail: _Fail) -> When:
    if not isinstance(table, dict):
        fail("when", "must be a table")
    _check_keys(table, _WHEN_KEYS, fail)
    if "flag" in table and table["flag"] not in (True, False, "unset"):
        fail("when.flag", 'must be true, false or "unset"')
    for key in ("max_chars", "max_lines"):
        if key in table and (isinstance(table[key], bool) or not isinstance(table[key], int)):
            fail(f"when.{key}", "must be a whole number")
    for key in ("displays", "names_program", "own_program"):
        if key in table and not isinstance(table[key], bool):
            fail(f"when.{key}", "must be true or false")
    for key in ("status", "tool", "not_tool", "command", "not_command"):
        if key in table and not isinstance(table[key], str):
            fail(f"when.{key}", "must be a pattern")
        _check_pattern(f"when.{key}", table.get(key), fail)
    flag = {True: "true", False: "false", "unset": "unset", None: None}[table.get("flag")]
    rest = {
        key: table[key]
        for key in ("status", "tool", "not_tool", "command", "not_command", "displays", "max_chars", "max_lines")
        if key in table
    }
    return When(
        flag=flag,
        arguments=_values(table.get("arguments", {}), "when.arguments", fail),
        metadata=_values(table.get("metadata", {}), "when.metadata", fail),
        names_program=table.get("names_program", False),
        own_program=table.get("own_program", False),
        **rest,
    )


def _values(table: object, key: str, fail: _Fail) -> Mapping[str, str]:
    if not isinstance(table, dict):
        fail(key, "must be a table")
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
