"""A description taken apart: what a tool does, its exact input, what it does not do, which other tool to use when.

The seed's sentence pattern (2.3). Sentences are told apart by words of English and Chinese; a sentence may be several.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
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
_QUOTE = r"[\s`\"'“”]*"
_TELLS = re.compile(
    rf"(?:\b(?:use|call|try|prefer|see|switch to)\b|用|调用|使用){_QUOTE}(?:(?:the|either|tools?)\b{_QUOTE})*",
    re.IGNORECASE,
)
_OR = re.compile(rf"{_QUOTE}(?:,|、|/|\bor\b|\band\b|或者?|和){_QUOTE}(?:(?:or|and|the)\b{_QUOTE})*", re.IGNORECASE)
_PLAIN = re.compile(r"[A-Za-z][a-z]*")
"""A tool's name that is an English word as well, as `read` and `Edit` are."""


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
        named = tuple(sorted(_others(text, tools) - {own}))
        found.append(Sentence(text, bool(_INPUT.search(text)), bool(_LIMIT.search(text)), named))
    return found


def named_as_tools(description: str) -> list[str]:
    """Names with an underscore that the description tells to use, in order: no plain word has one."""
    return [name for name in _told(description) if "_" in name]


def _others(text: str, tools: Collection[str]) -> set[str]:
    """Tools that a sentence sends one to. A name that is an English word counts only right after `use` and its kin."""
    if not _ELSEWHERE.search(text):
        return set()
    found = {name for name in _NAME.findall(text) if name in tools and not _PLAIN.fullmatch(name)}
    return found.union(name for name in _told(text) if name in tools)


def _told(text: str) -> Iterator[str]:
    """The words right after `use` and its kin; `use a or b` tells both."""
    for tells in _TELLS.finditer(text):
        at = tells.end()
        while name := _NAME.match(text, at):
            yield name[0]
            more = _OR.match(text, name.end())
            if more is None:
                break
            at = more.end()
