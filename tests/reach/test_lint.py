"""`registry lint`: each check with what breaks it and what keeps it, overlaps with their words, and the command."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from reach_tui.model import Thresholds
from reach_tui.reach.lint import CHECKS, FAILS, NOTE, Finding, lint, lint_folder
from reach_tui.reach.overlap import overlaps
from reach_tui.reach.problems import RegistryError
from reach_tui.reach.registry import parse_tool
from tests.cli.conftest import Run, reach  # noqa: F401 - a fixture
from tests.reach.tools import SHOP, shop, tool

DOCS = Path(__file__).resolve().parents[2] / "docs" / "reach.md"

PURPOSE = "Looks up the state and amount of one order's refund."
INPUT = "Input is the order number, 16 digits."
LIMIT = "Does not start a refund."
ELSEWHERE = "For goods sent back use query_return."

SOUND: dict[str, Any] = {
    "name": "query_refund",
    "description": "\n".join((PURPOSE, INPUT, LIMIT, ELSEWHERE)),
    "params_schema": {
        "type": "object",
        "properties": {"order_id": {"type": "string", "pattern": "^[0-9]{16}$", "description": "Order number"}},
        "required": ["order_id"],
        "additionalProperties": False,
    },
    "auth_type": "service_token",
    "timeout_ms": 1200,
    "idempotent": True,
    "side_effect": "read",
    "sample_calls": [
        {"utterance": "refund of 1000200030004001", "params": {"order_id": "1000200030004001"}},
        {"utterance": "did you get my parcel", "counter_example": True, "use_instead": "query_return"},
    ],
}
NEIGHBOUR: dict[str, Any] = SOUND | {
    "name": "query_return",
    "description": "显示寄回商品的仓库进度。输入必须是订单号。不查询退款。看到账用 query_refund。",
    "sample_calls": [
        {"utterance": "仓库收到没有", "params": {"order_id": "1000200030004001"}},
        {"utterance": "退款到账没", "counter_example": True, "use_instead": "query_refund"},
    ],
}


def findings(*documents: dict[str, Any]) -> list[Finding]:
    """What the lint finds in these files."""
    files = [
        parse_tool(yaml.safe_dump(document, allow_unicode=True, sort_keys=False).encode(), f"{document['name']}.yaml")
        for document in documents
    ]
    return list(lint(files))


def checks(**changed: Any) -> set[str]:
    """The checks that do not hold for the sound tool with some fields changed."""
    return {one.check for one in findings(SOUND | changed, NEIGHBOUR)}


def prop(**schema: Any) -> dict[str, Any]:
    """The sound schema with another `order_id`."""
    return {"params_schema": SOUND["params_schema"] | {"properties": {"order_id": schema}}}


def sample(*samples: dict[str, Any]) -> dict[str, Any]:
    """Other samples."""
    return {"sample_calls": list(samples)}


RIGHT, COUNTER = SOUND["sample_calls"]


def test_a_sound_tool_has_no_findings() -> None:
    assert findings(SOUND, NEIGHBOUR) == []


@pytest.mark.parametrize(
    ("check", "changed"),
    [
        ("description.purpose", {"description": f"Query refund.\n{INPUT}\n{LIMIT}\n{ELSEWHERE}"}),
        ("description.input", {"description": f"{PURPOSE}\n{LIMIT}\n{ELSEWHERE}"}),
        ("description.limits", {"description": f"{PURPOSE}\n{INPUT}\n{ELSEWHERE}"}),
        ("description.elsewhere", {"description": f"{PURPOSE}\n{INPUT}\n{LIMIT}"}),
        ("description.vague", {"description": SOUND["description"] + "\nGives various details."}),
        ("description.vague", {"description": SOUND["description"] + "\n用于查询退款相关信息。"}),
        ("description.unknown_tool", {"description": SOUND["description"] + "\nElse call search_ordr first."}),
        ("description.unknown_tool", {"description": SOUND["description"] + "\n没有订单号先调用 search_ordr。"}),
        ("parameters.id_pattern", prop(type="string", description="Order number")),
        ("parameters.undescribed", prop(type="string", pattern="^[0-9]+$")),
        ("parameters.undescribed", {"params_schema": SOUND["params_schema"] | {"required": ["order_id", "x"]}}),
        ("parameters.untyped", prop(pattern="^[0-9]+$", description="Order number")),
        ("parameters.keyword", {"params_schema": SOUND["params_schema"] | {"requred": ["order_id"]}}),
        ("parameters.keyword", prop(type="string", description="Order number", patern="^[0-9]+$", enum=["1"])),
        ("parameters.open", {"params_schema": SOUND["params_schema"] | {"additionalProperties": True}}),
        ("samples.correct", sample(COUNTER)),
        ("samples.counter_example", sample(RIGHT)),
        ("samples.invalid", sample(RIGHT | {"params": {"order_id": "12"}}, COUNTER)),
        ("samples.invalid", sample(RIGHT | {"params": {}}, COUNTER)),
        ("samples.unknown_tool", sample(RIGHT, COUNTER | {"use_instead": "nothing"})),
        ("samples.unknown_tool", sample(RIGHT, COUNTER | {"use_instead": "query_refund"})),
        ("samples.shared", sample(RIGHT | {"utterance": "仓库收到没有？"}, COUNTER)),
        ("slots.unknown_tool", {"slots": {"order_id": {"sources": ["result"], "result_of": "nothing.orderId"}}}),
        ("behaviour.read_not_idempotent", {"idempotent": False}),
        ("name.style", {"name": "queryRefund"}),
    ],
)
def test_each_check_is_broken_by_one_change(check: str, changed: dict[str, Any]) -> None:
    assert check in checks(**changed)


@pytest.mark.parametrize(
    "changed",
    [
        prop(type="string", enum=["a", "b"], description="One of two")
        | sample(RIGHT | {"params": {"order_id": "a"}}, COUNTER),
        prop(type="string", format="uuid", description="A uuid"),
        {"slots": {"order_id": {"sources": ["result"], "result_of": "query_return.orderId"}}},
        {"params_schema": {"type": "object", "properties": {}, "additionalProperties": False}}
        | sample(RIGHT | {"params": {}}, COUNTER),
    ],
)
def test_what_is_sound_in_another_way_is_let_through(changed: dict[str, Any]) -> None:
    assert checks(**changed) == set()


def test_a_tool_alone_needs_no_neighbour() -> None:
    alone = SOUND | {"description": f"{PURPOSE}\n{INPUT}\n{LIMIT}"} | sample(RIGHT)
    assert findings(alone) == []


def test_a_finding_names_file_line_and_field() -> None:
    found = findings(SOUND | sample(RIGHT | {"params": {"order_id": "12"}}, COUNTER), NEIGHBOUR)
    (one,) = found
    assert (one.file, one.tool, one.field) == ("query_refund.yaml", "query_refund", "sample_calls[0].params.order_id")
    assert one.line is not None
    assert one.line > 15
    assert "does not match" in one.what


def test_the_seeds_vague_pair_overlaps_in_the_words_that_make_it() -> None:
    pair = [
        tool("query_order", "用于查询订单交易相关信息", sample_calls=[{"utterance": "查询交易"}]),
        tool("query_payment", "用于查询支付交易相关信息", sample_calls=[{"utterance": "查询交易记录"}]),
    ]
    (found,) = overlaps(pair, Thresholds())
    assert (found.first, found.second, found.bounded) == ("query_order", "query_payment", False)
    assert found.serious
    assert "交易相关信息" in found.words


def test_who_names_the_other_is_a_neighbour_on_purpose() -> None:
    one = tool("query_order", "查询订单交易，查询进度。", sample_calls=[{"utterance": "查询交易"}])
    two = tool("query_trade", "查询订单交易，查询进度。付款用 query_order。")
    (found,) = overlaps([one, two], Thresholds())
    assert found.likeness >= 0.5
    assert found.bounded
    assert not found.serious


def test_a_sample_that_the_neighbour_would_win_is_named() -> None:
    one = tool("first", "Walks dogs.", sample_calls=[{"utterance": "bake bread and cake"}])
    two = tool("second", "Bakes bread and cake for everybody, bread or cake.")
    (found,) = overlaps([one, two], Thresholds())
    assert found.confused == ("bake bread and cake",)


def test_the_order_of_files_does_not_matter() -> None:
    bad = SOUND | {"description": "Refunds."}
    assert findings(bad, NEIGHBOUR) == findings(NEIGHBOUR, bad)


def test_the_shop_holds() -> None:
    report = lint_folder(SHOP)
    assert report.tools == len(shop())
    assert report.findings == ()


def test_a_broken_file_is_a_finding_and_the_others_are_checked(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("name: [\n")
    (tmp_path / "b.yaml").write_text(yaml.safe_dump(SOUND | {"description": "Refunds."}))
    report = lint_folder(tmp_path)
    assert not report.holds
    assert report.findings[0].check == "registry.file"
    assert {one.file for one in report.findings} == {"a.yaml", "b.yaml"}
    (tmp_path / "a.yaml").unlink()
    (tmp_path / "b.yaml").unlink()
    with pytest.raises(RegistryError, match="holds no tool file"):
        lint_folder(tmp_path)


def test_the_documentation_names_every_check_with_its_level() -> None:
    text = DOCS.read_text(encoding="utf-8")
    for check, (level, _) in CHECKS.items():
        assert re.search(rf"^\| `{re.escape(check)}` \| {level} \|", text, re.M), check


def test_the_command_exits_with_1_only_where_a_check_fails(tmp_path: Path, reach: Run) -> None:  # noqa: F811
    assert reach("registry", "lint", SHOP).code == 0
    (tmp_path / "a.yaml").write_text(yaml.safe_dump(SOUND | {"idempotent": False, "sample_calls": [RIGHT]}))
    (tmp_path / "b.yaml").write_text(yaml.safe_dump(NEIGHBOUR, allow_unicode=True))
    ran = reach("registry", "lint", tmp_path, "--jsonl")
    assert ran.code == 1
    assert [(record["check"], record["level"]) for record in ran.records] == [
        ("behaviour.read_not_idempotent", NOTE), ("samples.counter_example", FAILS),
    ]  # fmt: skip
    assert set(ran.records[0]) == {"check", "level", "file", "line", "tool", "field", "what", "words"}
    assert "2 tools: 1 checks fail, 1 notes" in ran.err
    (tmp_path / "a.yaml").write_text(yaml.safe_dump(SOUND | {"idempotent": False}))
    only_notes = reach("registry", "lint", tmp_path, "--json")
    assert only_notes.code == 0
    assert [record["level"] for record in json.loads(only_notes.out)] == [NOTE]
    assert "behaviour.read_not_idempotent" in reach("registry", "lint", tmp_path).out


def test_the_command_exits_with_2_where_nothing_can_be_read(tmp_path: Path, reach: Run) -> None:  # noqa: F811
    for folder in (tmp_path / "nowhere", tmp_path):
        ran = reach("registry", "lint", folder)
        assert (ran.code, ran.out) == (2, "")
        assert len(ran.err.splitlines()) == 1


def test_hostile_text_in_a_file_does_no_harm_to_the_terminal(tmp_path: Path, reach: Run) -> None:  # noqa: F811
    hostile = "\x1b[31m[bold]\u202e{x}\x07"
    document = SOUND | {
        "name": "a b",
        "description": hostile,
        "sample_calls": [{"utterance": hostile}],
        hostile: hostile,
    }
    (tmp_path / "a.yaml").write_text(yaml.safe_dump(document))
    (tmp_path / "b\u202e.yaml").write_text(yaml.safe_dump(NEIGHBOUR | {hostile: 1}))
    for form in ((), ("--json",), ("--jsonl",)):
        ran = reach("registry", "lint", tmp_path, *form)
        assert ran.code == 1
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e]", ran.out + ran.err)
