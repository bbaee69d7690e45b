"""Answers cut to what a context can hold (seed 2.1), with what was cut said in the answer itself."""

from __future__ import annotations

from dataclasses import dataclass

from reach_tui.base.jsonio import BadJson, JsonValue, dumps, loads, shallow

LIMIT = 16_000
"""Characters of an answer that go to the model by default: about 4,000 tokens."""
_STEPS = ((50, 2000), (20, 1000), (10, 500), (5, 200), (3, 100), (1, 60))
"""Longest list and longest text that are kept whole, tried in turn."""


@dataclass(frozen=True, slots=True)
class Trimmed:
    """An answer's text and what was left out of it, in words; nothing was where `cuts` is empty."""

    text: str
    cuts: tuple[str, ...] = ()


def trim(text: str, limit: int = LIMIT) -> Trimmed:
    """The text within about `limit` characters. JSON stays JSON: long lists and texts inside lose their ends first."""
    if len(text) <= limit:
        return Trimmed(text)
    try:
        value = loads(text) if text.lstrip()[:1] in ("{", "[") else None
    except BadJson:
        value = None
    if isinstance(value, dict | list):
        whole = shallow(value, 50)
        for longest_list, longest_text in _STEPS:
            cuts: list[str] = []
            shorter = dumps(_shortened(whole, longest_list, longest_text, "", cuts))
            if len(shorter) <= limit:
                return Trimmed(shorter, (*cuts[:10], *([f"and {len(cuts) - 10} more cuts"] if len(cuts) > 10 else ())))
    head, tail = limit * 2 // 3, limit // 3
    what = f"{len(text) - head - tail} of {len(text)} characters cut after the first {head}"
    return Trimmed(f"{text[:head]}\n[{what}]\n{text[len(text) - tail :]}", (what,))


def _shortened(value: JsonValue, longest_list: int, longest_text: int, path: str, cuts: list[str]) -> JsonValue:
    if isinstance(value, str) and len(value) > longest_text:
        cuts.append(f"{path or 'text'}: {len(value) - longest_text} of {len(value)} characters cut")
        return f"{value[:longest_text]}[{len(value) - longest_text} of {len(value)} characters cut]"
    if isinstance(value, list):
        kept = [
            _shortened(item, longest_list, longest_text, f"{path}[{index}]", cuts)
            for index, item in enumerate(value[:longest_list])
        ]
        if len(value) > longest_list:
            cuts.append(f"{path or 'list'}: {len(value) - longest_list} of {len(value)} items cut")
            kept.append(f"[{len(value) - longest_list} of {len(value)} items cut]")
        return kept
    if isinstance(value, dict):
        return {
            key: _shortened(item, longest_list, longest_text, f"{path}.{key}" if path else key, cuts)
            for key, item in value.items()
        }
    return value
