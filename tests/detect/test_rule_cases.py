"""Hits and near misses of every rule family, as data in `cases/`; all examples are invented."""

from __future__ import annotations

import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from reach_tui.detect import default_engine, load
from reach_tui.detect.engine import RULES
from reach_tui.model import Result, ToolCall, Verdict

_CASES = Path(__file__).with_name("cases")


def _all() -> list[tuple[str, dict[str, Any]]]:
    return [
        (path.stem, case)
        for path in sorted(_CASES.glob("*.toml"))
        for case in tomllib.loads(path.read_text(encoding="utf-8"))["case"]
    ]


def _call(case: dict[str, Any]) -> ToolCall:
    text = case.get("result")
    return ToolCall(
        key="k",
        id="k",
        session_id="s",
        tool=case["tool"],
        arguments=case.get("arguments", {}),
        flagged=case.get("flagged"),
        status=case.get("status"),
        metadata=case.get("metadata", {}),
        result=None if text is None else Result(text, len(text.encode())),
    )


def _said(verdict: Verdict) -> str:
    if verdict.check_reported:
        return "check"
    if verdict.failed is None:
        return "soft" if verdict.soft else "open"
    return "failed" if verdict.failed else "ok"


@pytest.mark.parametrize(("family", "case"), _all(), ids=lambda item: item["name"] if isinstance(item, dict) else item)
def test_case(family: str, case: dict[str, Any]) -> None:
    call = _call(case)
    verdict = default_engine().judge(call)
    assert _said(verdict) == case["want"], verdict
    if "rule" in case:
        assert verdict.rule == case["rule"]
    if "category" in case:
        assert "/".join(filter(None, (verdict.category, verdict.subcategory))) == case["category"], verdict
    if "says" in case:
        assert case["says"] in verdict.explanation
    if verdict.failed:
        assert verdict.rule
        assert verdict.category
        assert verdict.explanation
        assert 0 < verdict.confidence <= 1
        assert verdict.evidence is not None
        assert verdict.evidence.where == case.get("where", "result")


def test_every_family_has_hits_and_near_misses() -> None:
    hits, misses = Counter[str](), Counter[str]()
    for family, case in _all():
        (hits if case["want"] in ("failed", "soft") else misses)[family] += 1
    families = {family.id for family in load(RULES).families} - {"any"} | {"service"}
    assert families <= set(hits)
    assert min(hits[family] for family in families) >= 3
    assert min(misses[family] for family in families) >= 3


def test_evidence_of_a_hit_is_a_slice_of_the_result() -> None:
    for _, case in _all():
        call = _call(case)
        verdict = default_engine().judge(call)
        if verdict.evidence and verdict.evidence.where == "result":
            assert call.result is not None
            assert verdict.evidence.text == call.result.text[verdict.evidence.start : verdict.evidence.end]
            assert 0 < len(verdict.evidence.text) <= 300
