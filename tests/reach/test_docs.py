"""The examples of docs/reach.md, one after the other as they stand there."""

from __future__ import annotations

import ast
import inspect
import re
import shutil
from pathlib import Path
from types import CodeType, SimpleNamespace
from typing import Any

import pytest

from reach_tui.reach import TokenRequest
from tests.reach.tools import SHOP

DOCS = Path(__file__).resolve().parents[2] / "docs" / "reach.md"


async def run(source: str, names: dict[str, Any]) -> None:
    """Run statements with `await` outside of functions."""
    code = compile(source, str(DOCS), "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    assert isinstance(code, CodeType)
    found = eval(code, names)
    if inspect.iscoroutine(found):
        await found


async def issue(_: str) -> SimpleNamespace:
    return SimpleNamespace(value="tok-4711-0815", expires_at=None)


def no_token(_: TokenRequest) -> None:
    return None


async def test_the_examples_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(SHOP, tmp_path / "tools")
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {
        "identity_service": SimpleNamespace(issue=issue), "user_token": no_token, "params": {},
    }  # fmt: skip
    examples = re.findall(r"```python\n(.*?)```", DOCS.read_text(encoding="utf-8"), re.DOTALL)
    assert len(examples) == 4
    for example in examples:
        await run(example, names)
    assert names["routing"].tool == "query_refund"
    assert names["filling"].arguments == {"order_id": "4417000012345678"}
    assert names["outcome"].value["state"] == "paid back"
    assert names["answered"].outcome.failure.error_type == "tool_unknown", "the shop's services are not there"
    assert (tmp_path / "shop.db").exists()
    assert not (tmp_path / "shop.db-queue").exists()
