"""Rule files: what the loader accepts, and that its complaints name file, rule and key."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from reach_tui.base.errors import ConfigError
from reach_tui.detect import Engine, default_engine, load
from reach_tui.detect.engine import RULES
from reach_tui.model import Result, ToolCall
from reach_tui.taxonomy import default as taxonomy

_HEAD = 'family = "mine"\nnature = "answer"\ntools = ["zebra_*"]\n'
_RULE = _HEAD + '[[rule]]\nid = "mine.down"\nexplain = "Down."\nmatch = "zebra down"\n'


def _load(folder: Path, text: str) -> ConfigError:
    (folder / "mine.toml").write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        load(folder)
    return caught.value


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("family = ", ["not TOML"]),
        ('nature = "answer"\ntools = []\n', ["family", "missing"]),
        ('family = "mine"\ntools = ["x"]\n', ["nature", "content, log"]),
        ('family = "mine"\nnature = "answer"\ntools = "x"\n', ["tools", "list"]),
        (_HEAD + 'tool = "x"\n', ["'tool'", "did you mean tools"]),
        (_HEAD + 'include = ["nobody"]\n', ["include", "nobody"]),
        (_HEAD + 'rule = "x"\n', ["rule", "[[rule]]"]),
        (_RULE + "colour = 1\n", ["mine.down", "'colour'"]),
        (_RULE.replace("match", "mach"), ["mine.down", "'mach'", "did you mean match"]),
        (_RULE.replace('"mine.down"', '"Down"'), ["id", "family.what_happened"]),
        (_RULE.replace('explain = "Down."\n', ""), ["mine.down", "explain"]),
        (_RULE.replace('match = "zebra down"\n', ""), ["mine.down", "match", "missing"]),
        (_RULE.replace("zebra down", "zebra (down"), ["mine.down", "match", "RE2"]),
        (_RULE.replace("zebra down", "(?=zebra)"), ["mine.down", "match", "RE2"]),
        (_RULE + 'unless = "["\n', ["mine.down", "unless", "RE2"]),
        (_RULE + 'where = "middle"\n', ["mine.down", "where", "start"]),
        (_RULE + 'verdict = "maybe"\n', ["mine.down", "verdict"]),
        (_RULE + 'verdict = "class"\n', ["mine.down", "category"]),
        (_RULE + 'category = "stale_context/stale_edt"\n', ["mine.down", "category", "stale_edit"]),
        (_RULE + 'category = "nonsense"\n', ["mine.down", "category", "nonsense"]),
        (_RULE + "confidence = 2\n", ["mine.down", "confidence"]),
        (_RULE + "confidence = true\n", ["mine.down", "confidence"]),
        (_RULE + 'case = "yes"\n', ["mine.down", "case"]),
        (_RULE + "when = 3\n", ["mine.down", "when"]),
        (_RULE + "when = { flags = true }\n", ["mine.down", "'flags'"]),
        (_RULE + 'when = { flag = "yes" }\n', ["mine.down", "when.flag"]),
        (_RULE + 'when = { max_chars = "9" }\n', ["mine.down", "when.max_chars"]),
        (_RULE + 'when = { displays = "no" }\n', ["mine.down", "when.displays"]),
        (_RULE + 'when = { command = "(" }\n', ["mine.down", "when.command", "RE2"]),
        (_RULE + 'when = { arguments = { a = "maybe" } }\n', ["mine.down", "when.arguments.a"]),
        (_RULE + 'when = { arguments = { a = "~(" } }\n', ["mine.down", "when.arguments.a", "RE2"]),
        (_RULE + "when = { metadata = 1 }\n", ["mine.down", "when.metadata"]),
        (_RULE + _RULE.partition("\n[[rule]]")[2].join(["\n[[rule]]", ""]), ["mine.down", "already used"]),
    ],
)
def test_a_mistake_is_named(tmp_path: Path, text: str, words: list[str]) -> None:
    error = _load(tmp_path, text)
    assert "mine.toml" in error.line()
    assert "\n" not in error.line()
    for word in words:
        assert word in error.line()


def test_a_file_that_is_no_text_is_named(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match="not TOML"):
        load(tmp_path)


def test_shipped_rules_are_sound() -> None:
    rules = load(RULES)  # tries every pattern
    ids = [rule.id for family in rules.families for rule in family.rules] + [rule.id for rule in rules.classes]
    assert len(set(ids)) > 150
    assert rules.version == default_engine().version
    for rule_id in set(ids):
        rule = rules.rule(rule_id)
        assert rule is not None
        assert rule.explain.endswith(".")
        if rule.category:
            assert taxonomy().category(rule.category).reach or rule.category == "not_a_failure"
    assert all(rule.category for rule in rules.classes)


def test_own_rules_are_asked_before_the_shipped_ones(tmp_path: Path) -> None:
    own = (
        'family = "edit"\nnature = "edit"\ntools = ["carve"]\n'
        '[[rule]]\nid = "mine.carved"\nexplain = "Carved."\nmatch = "old_string not found"\nverdict = "ok"\n'
    )
    (tmp_path / "mine.toml").write_text(own, encoding="utf-8")
    engine = Engine(load(RULES, tmp_path))
    assert engine.version != default_engine().version
    for tool in ("carve", "Edit"):
        verdict = engine.judge(
            ToolCall(key="k", id="k", session_id="s", tool=tool, result=Result("old_string not found", 20))
        )
        assert (verdict.failed, verdict.rule) == (False, "mine.carved")


def test_an_own_family_takes_a_pack_and_conditions(tmp_path: Path) -> None:
    text = _RULE.replace("[[rule]]", 'include = ["harness"]\n[[rule]]') + (
        'category = "upstream_error/environment_failure"\n'
        'when = { flag = "unset", status = "done", arguments = { herd = "present" }, '
        'metadata = { hot = "true" }, max_lines = 3 }\n'
    )
    (tmp_path / "mine.toml").write_text(text, encoding="utf-8")
    engine = Engine(load(RULES, tmp_path))

    call = ToolCall(
        key="k",
        id="k",
        session_id="s",
        tool="zebra_count",
        status="done",
        arguments={"herd": 3},
        metadata={"hot": True},
        result=Result("Zebra down again", 16),
    )

    def judge(**fields: Any) -> str | None:
        return engine.judge(replace(call, **fields)).rule

    assert judge() == "mine.down"
    assert judge(status="running") is None
    assert judge(arguments={}) is None
    assert judge(metadata={"hot": False}) is None
    assert judge(flagged=False) is None
    refused = ToolCall(
        key="k", id="k", session_id="s", tool="zebra_count", result=Result("Unknown tool: zebra_count", 25)
    )
    assert engine.judge(refused).rule == "harness.unknown_tool"
