"""Terms of a text for matching words: Chinese without a dictionary, English without its endings, names taken apart."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache

_CJK = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\u3040-\u30ff\uac00-\ud7af\U00020000-\U0003134f"
_PIECE = re.compile(rf"[{_CJK}]+|[^\W_{_CJK}]+(?:'[^\W\d_{_CJK}]+)*")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|(?<=[A-Za-z])(?=\d)|(?<=\d)(?=[A-Za-z])")
_IS_CJK = re.compile(rf"[{_CJK}]")
_LONGEST_TEXT = 20_000
"""Characters that are looked at: a question is a sentence, not a book."""
_LONGEST_WORD = 40

# Words that say nothing about which tool is meant. Short on purpose: rarity in the registry does the rest.
STOPWORDS = frozenset(
    """a an and are as at be been but by can could did do does for from had has have he her him his how i i'd i'm
    i've if in into is it it's its just let like me my need no not of on or our out please she should so some
    than that the their them then there these they this to up us want was we were what when where which who why
    will with would you your get got give much many more still already very really look tell show don't hasn't
    haven't doesn't didn't can't hi hello hey thanks thank ok okay""".split()  # noqa: SIM905
)
_CJK_STOP = re.compile(
    "请问|麻烦|帮我|帮忙|给我|一下|看看|看一下|我想|我要|想要|能不能|可不可以|可以|怎么|什么|为什么|这个|那个|这笔|那笔|"
    "现在|已经|还没|没有|是不是|有没有|谢谢|你好|您好|告诉|知道|[吗呢吧啊呀哦嘛没了的我你您他她它们就都也又把被与及或]"
)


@lru_cache(maxsize=16_384)
def stem(word: str) -> str:
    """An English word without its commonest endings, so that `shipped` and `shipment` meet; others as they are.

    No dictionary and no exceptions: stems need not be words, only be the same for words that belong together.
    """
    if len(word) < 4 or not word.isascii() or not word.isalpha():
        return word
    word = _singular(word)
    for ending, shortest in _ENDINGS:
        base = word.removesuffix(ending)
        if base != word and len(base) >= shortest and re.search("[aeiouy]", base):
            word = base
            break
    if len(word) > 4 and word[-1] in "ey":
        word = word[:-1]
    return word[:-1] if len(word) > 4 and word[-1] == word[-2] else word


_ENDINGS = (("ation", 4), ("ment", 3), ("ing", 3), ("ed", 3))


def _singular(word: str) -> str:
    if word.endswith(("sses", "shes", "ches", "xes", "zes")):
        return word[:-2]
    if word.endswith("ies"):
        return word[:-3] + "y"
    return word[:-1] if word.endswith("s") and not word.endswith(("ss", "us", "is")) else word


def terms(text: str) -> list[str]:
    """The terms of a text in order, repeated as they repeat.

    Latin: lower-cased words without endings and stopwords; `queryRefund` and `query_refund` are two words each.
    Digits: `#` and how many there are, since one order number is worth as much as the next. Chinese, Japanese, Korean:
    every character, and every two neighbouring ones.
    """
    return [term for term, _ in spelled_terms(text)]


def cjk_runs(text: str) -> Iterator[str]:
    """The runs of Chinese, Japanese or Korean characters that pairs are taken from, in order."""
    normal = unicodedata.normalize("NFKC", text[:_LONGEST_TEXT])
    for match in _PIECE.finditer(normal):
        if _IS_CJK.match(match[0]):
            yield from filter(None, _CJK_STOP.split(match[0]))


def spelled_terms(text: str) -> Iterator[tuple[str, str]]:
    """`terms`, each with the characters it was read from."""
    normal = unicodedata.normalize("NFKC", text[:_LONGEST_TEXT])
    for match in _PIECE.finditer(normal):
        piece = match[0]
        if _IS_CJK.match(piece):
            yield from ((pair, pair) for pair in _pairs(piece))
        else:
            yield from _words(piece)


def _pairs(run: str) -> Iterator[str]:
    for part in _CJK_STOP.split(run):
        yield from part
        for at in range(len(part) - 1):
            yield part[at : at + 2]


def _words(piece: str) -> Iterator[tuple[str, str]]:
    for part in _CAMEL.split(piece):
        word = part.casefold()
        if word.isdigit():
            yield f"#{len(word)}", part
        elif word not in STOPWORDS:
            term = stem(word[:_LONGEST_WORD].removesuffix("'s"))
            if term not in STOPWORDS:
                yield term, part
