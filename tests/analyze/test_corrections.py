"""A user's correction is found where it rejects what was done, and a further wish is none."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reach_tui.analyze.corrections import correction

REJECTIONS = [
    "No, the other file",
    "no that's the old one",
    "Nope — wrong branch"[0:2] + "!",
    "That's wrong, it should be UTC",
    "this is not what I asked for",
    "wrong. revert it",
    "It still doesn't compile",
    "still failing with the same error",
    "You forgot the tests",
    "you didn't run it",
    "I said Thursday",
    "I meant the refund, not the order",
    "Undo that please",
    "hm, that doesn't work",
    "不对，我说的是上周",
    "错了",
    "还是不行",
    "又改错了",
    "不是这个文件",
    "撤销刚才的修改",
    "没修好，还是报错",
]
WISHES = [
    "Now the tests too",
    "no worries, now add a CSV export",
    "Note that the file moved",
    "great, thanks",
    "nothing else",
    "What is wrong with the second query?",
    "Is it still failing on CI?",
    "Fix the test that doesn't work",
    "Why does it not work on Windows?",
    "and revert the commit from yesterday",
    "I said hello to the team, now write the mail"[0:1] + " would like a diagram",
    "不错，继续",
    "不是很急，先做导出",
    "接着把测试也加上",
    "错误日志在哪里",
    "对不起，忘了说，端口是 8080",
    "",
]


@pytest.mark.parametrize("text", REJECTIONS)
def test_a_rejection_is_found(text: str) -> None:
    assert correction(text) is not None


@pytest.mark.parametrize("text", WISHES)
def test_a_further_wish_is_none(text: str) -> None:
    assert correction(text) is None


@given(st.text(max_size=300))
def test_the_span_lies_in_the_text(text: str) -> None:
    span = correction(text)
    assert span is None or 0 <= span[0] <= span[1] <= len(text)
