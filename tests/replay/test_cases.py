"""Regression cases: the bundled set is what its README says, and a mistake is named with file, line and field."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reach_tui.base.errors import ConfigError
from reach_tui.replay.cases import BUNDLED, load_cases
from reach_tui.replay.registry_source import registry_of

SHOP = load_cases("shop")


def test_the_bundled_set_is_as_large_and_mixed_as_it_says() -> None:
    readme = (BUNDLED / "README.md").read_text(encoding="utf-8")
    languages = Counter(case.language for case in SHOP)
    tools = {case.tool for case in SHOP if case.tool}
    assert len(SHOP) >= 240
    assert len(tools) >= 22
    for number in (f"{len(SHOP)} requests", f"{len(tools)} tools", f"{languages['en']} are in English"):
        assert number in readme
    assert f"{languages['zh']} in Chinese" in readme
    chinese = re.compile("[\u4e00-\u9fff]")
    assert all((case.language == "zh") == bool(chinese.search(case.utterance)) for case in SHOP)
    assert Counter(case.decision for case in SHOP)["no_capability"] == 14
    assert len({case.utterance for case in SHOP}) == len(SHOP)


def test_every_tool_and_parameter_of_the_bundled_set_exists() -> None:
    registry = registry_of("shop")
    for case in SHOP:
        assert all(registry.get(name) for name in case.right_tools), case.id
        if case.tool and (spec := registry.get(case.tool)):
            schema = {key: value for key, value in spec.params_schema.items() if key != "required"}
            assert jsonschema_rs.is_valid(schema, case.parameters), case.id
            for value in case.parameters.values():  # nothing is guessed: identifiers stand in what was said
                if isinstance(value, str) and re.fullmatch(r"[A-Z]*\d{8,}", value):
                    assert value in case.utterance, case.id


def test_yaml_and_json_lines_give_the_same(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(json.dumps({"id": "1", "utterance": "退款到了没", "tool": "query_refund"}))
    (tmp_path / "b.yaml").write_text("- id: '2'\n  utterance: 退款到了没\n  tool: query_refund\n", encoding="utf-8")
    (tmp_path / "c.yml").write_text(
        "cases:\n- {id: '3', utterance: 退款到了没, tool: query_refund}\n", encoding="utf-8"
    )
    first, second, third = load_cases(tmp_path)
    assert [one.id for one in (first, second, third)] == ["1", "2", "3"]
    assert first.model_copy(update={"id": "2"}) == second
    assert second.model_copy(update={"id": "3"}) == third


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        (
            "c.jsonl",
            '{"id": "1", "utterance": "x", "tool": "t"}\n{"id": "2"}',
            r"c\.jsonl:2: utterance: Field required",
        ),
        ("c.jsonl", "\n{broken", r"c\.jsonl:2: not JSON"),
        ("c.jsonl", '{"id": "1", "utterance": "x", "tool": "t", "uterance": "y"}', r"c\.jsonl:1: uterance: Extra"),
        ("c.jsonl", '{"id": "1", "utterance": "x"}', r"c\.jsonl:1: without a tool"),
        ("c.jsonl", '"text"', r"c\.jsonl:1: a case is an object"),
        ("c.jsonl", "", r"c\.jsonl: no cases"),
        (
            "c.yaml",
            "- id: '1'\n  utterance: x\n  tool: t\n- id: '1'\n  utterance: y\n  tool: t\n",
            r"c\.yaml:4: id: '1' is",
        ),
        ("c.yaml", "a: [1", r"c\.yaml:\d: not YAML"),
        ("c.yaml", "just words", r"c\.yaml:1: not a list"),
        ("c.yaml", "- &a {id: '1', utterance: x, tool: t}\n- !!python/object:os.system {}", r"c\.yaml:2: not YAML"),
    ],
)
def test_a_mistake_is_named(tmp_path: Path, name: str, text: str, said: str) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        load_cases(tmp_path / name)
    assert re.search(said, caught.value.line()), caught.value.line()


def test_what_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        load_cases(tmp_path / "none.jsonl")
    with pytest.raises(ConfigError, match="no cases in this folder"):
        load_cases(tmp_path)


@given(st.binary(max_size=200), st.sampled_from([".jsonl", ".yaml"]))
def test_whatever_a_file_holds_the_answer_is_cases_or_one_error(
    tmp_path_factory: pytest.TempPathFactory, raw: bytes, suffix: str
) -> None:
    path = tmp_path_factory.getbasetemp() / f"fuzz{suffix}"
    path.write_bytes(raw)
    try:
        found = load_cases(path)
    except ConfigError as error:
        said = error.line()
    else:
        said = " ".join(one.id for one in found)
    assert said
    assert "\n" not in said or "cases" not in said
