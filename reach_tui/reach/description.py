"""A description taken apart: what a tool does, its exact input, what it does not do, which other tool to use when.

The seed's sentence pattern (2.3). Sentences are told apart by words of English and Chinese; a sentence may be several.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

_SENTENCE = re.compile(r"[.!?](?=\s|$)|[。！？；;\n]")
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.:/\-]*[A-Za-z0-9]|[A-Za-z]")
_INPUT = re.compile(
    r"\b(?:inputs?|takes?|requires?|needs?|expects?|accepts?|given|parameters?|arguments?|must|provide|pass)\b"
    r"|输入|参数|传入|需要提供|必须|必填|接受|须为|格式",
    re.IGNORECASE,
)
_LIMIT = re.compile(
    r"\b(?:not|never|cannot|can't|don't|doesn't|won't|no longer|only|at most|nothing|unless|except|without|instead)\b"
    r"|不|无法|仅|只能|只读|禁止|未|勿|除非|以外",
    re.IGNORECASE,
)
_ELSEWHERE = re.compile(
    r"\b(?:use|call|try|prefer|see|switch to|go to|instead|by)\b|用|调用|改用|请走|先查|使用|选择|转", re.IGNORECASE
)
_NAMED = re.compile(
    r"(?:\b(?:use|call|prefer|switch to)\b|用|调用|使用)\s*(?:the\s+)?[`\"']?"
    r"([A-Za-z][A-Za-z0-9]*(?:[_.:/\-]+[A-Za-z0-9]+)*)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence and the parts of the pattern that it is."""

    text: str
    input: bool
    limit: bool
    elsewhere: tuple[str, ...]
    """Other tools that it names as the ones to use."""

    @property
    def purpose(self) -> bool:
        """It says what the tool does: none of the other three."""
        return not (self.input or self.limit or self.elsewhere)


def sentences(description: str, own: str, tools: Collection[str]) -> list[Sentence]:
    """The sentences of the description of tool `own` in a registry of `tools`."""
    found = []
    for part in _SENTENCE.split(description):
        text = part.strip()
        if not text:
            continue
        names = {name for name in _NAME.findall(text) if name in tools and name != own}
        named = tuple(sorted(names)) if _ELSEWHERE.search(text) else ()
        found.append(Sentence(text, bool(_INPUT.search(text)), bool(_LIMIT.search(text)), named))
    return found


def named_as_tools(description: str) -> list[str]:
    """Names with an underscore that the description tells to use, in order: no plain word has one."""
    return [name for name in _NAMED.findall(description) if "_" in name]
