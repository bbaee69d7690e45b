"""The script behind the figures: patterns are taken apart rightly, and a source is judged without its own patterns."""

from __future__ import annotations

import importlib.util
import json
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest

from reach_tui.detect import Engine, default_engine

SCRIPT = Path(__file__).resolve().parents[2] / "benchmarks" / "detectors.py"


@pytest.fixture(scope="module")
def script() -> ModuleType:
    """benchmarks/detectors.py as a module."""
    spec = importlib.util.spec_from_file_location("benchmarks_detectors", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("pattern", "parts"),
    [
        ("a|b", ["a", "b"]),
        (r"a\|b|[|)]c", [r"a\|b", "[|)]c"]),
        ("(?:a|b) c", ["a c", "b c"]),
        ("(?:a|b)? c", ["(?:a|b)? c"]),
        ("(?:x(?:a|b)|y)", ["xa", "xb", "y"]),
        (r"(?P<n>a|b)['\"\[]?|[]|]", [r"(?P<n>a|b)['\"\[]?", "[]|]"]),
    ],
)
def test_alternatives(script: ModuleType, pattern: str, parts: list[str]) -> None:
    assert sorted(script.alternatives(pattern)) == sorted(parts)


def test_rules_taken_apart_all_compile(script: ModuleType) -> None:
    import re2

    parts = script.taken_apart(default_engine().rules)
    rules = {rule.id: rule for family in parts.families for rule in family.rules if rule.where != "arguments"}
    assert len(rules) > 1000
    for rule in list(rules.values())[::25]:
        re2.compile(rule.pattern)


def test_what_only_one_source_supports_is_taken_out(script: ModuleType, tmp_path: Path) -> None:
    def line(source: str, number: int, text: str, failed: bool) -> str:
        return json.dumps(
            {"id": f"{source}{number}", "source": source, "tool": "bash", "result_text": text, "failed": failed}
        )

    missing, denied = "ls: cannot access 'x': No such file or directory", "bash: zebra: command not found"
    lines = [line("a", 1, missing, True), line("b", 1, missing, True), line("b", 2, denied, True)]
    lines += [line("a", 2, "fine", False), line("b", 3, "fine", False)]
    path = tmp_path / "bench.jsonl"
    path.write_text("\n".join(lines), encoding="utf-8")
    wanted = ("shell.command_not_found", "shell.no_such_file")
    shell = next(family for family in default_engine().rules.families if family.id == "shell")
    few = (replace(shell, id="any", rules=tuple(rule for rule in shell.rules if rule.id in wanted)),)
    rules = replace(default_engine().rules, families=few)
    found = {fold.source: fold for fold in script.folds(script.read(path), rules)}
    assert script.score(Engine(rules), found["b"].records).recall == 1
    assert script.score(found["b"].reduced, found["b"].records).recall == 0.5
    assert script.score(found["a"].reduced, found["a"].records).recall == 1
    assert "shell.command_not_found" in {rule.split("#")[0] for rule in found["b"].own}
