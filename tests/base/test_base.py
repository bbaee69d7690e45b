"""The ground floor: JSON, times and text that other programs wrote."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reach_tui.base.clock import parse_time, to_iso
from reach_tui.base.errors import StoreDamaged
from reach_tui.base.jsonio import BadJson, dumps, encode_fast, loads
from reach_tui.base.text import clean, one_line

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(codec=None)),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


@given(JSON)
def test_what_we_write_is_json_for_everybody(value: object) -> None:
    for text in (dumps(value), encode_fast(value)):
        text.encode("utf-8")
        json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))


@given(st.binary(max_size=80))
def test_loads_reads_or_says_bad_json(raw: bytes) -> None:
    try:
        value = loads(raw)
    except BadJson:
        return
    dumps(value).encode("utf-8")


def test_half_characters_and_depth() -> None:
    assert loads(b'"\\ud83d half"') == "\ufffd half"
    with pytest.raises(BadJson):
        loads("[" * 200_000)


@pytest.mark.parametrize(
    ("value", "iso"),
    [
        (1_780_000_000, "2026-05-28T20:26:40.000Z"),
        (1_780_000_000_123, "2026-05-28T20:26:40.123Z"),
        (1_780_000_000_123_456, "2026-05-28T20:26:40.123Z"),
        (1_780_000_000_123_456_789, "2026-05-28T20:26:40.123Z"),
        ("2026-05-28T22:26:40.123+02:00", "2026-05-28T20:26:40.123Z"),
        ("2026-05-28 20:26:40.123456789", "2026-05-28T20:26:40.123Z"),
        ("1780000000", "2026-05-28T20:26:40.000Z"),
        (-5, None),
        (0, None),
        (10**30, None),
        ("9999-12-31T00:00:00Z", None),
        ("yesterday", None),
        ("", None),
        (None, None),
        (True, None),
        (float("nan"), None),
        ([], None),
    ],
)
def test_times_in_every_unit_and_absurd_ones(value: object, iso: str | None) -> None:
    assert to_iso(parse_time(value)) == iso


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]8;;http://x\x07link\x1b]8;;\x07", "link"),
        ("\x1b]52;c;never ended, all this is text", "52;c;never ended, all this is text"),
        ("\x1bPsixel\x1b\\after", "after"),
        ("\x9b2Jx", "x"),
        ("a\x00b", "a\ufffdb"),
        ("bell\x07", "bell"),
        ("\u202eevil", "\u2426evil"),
        ("\r\nline\rother", "\nline\nother"),
        ("tab\tstays", "tab\tstays"),
        ("[red]x[/]", "[red]x[/]"),
    ],
)
def test_clean(raw: str, shown: str) -> None:
    assert clean(raw) == shown


def test_errors_are_one_clean_line() -> None:
    line = StoreDamaged("torn\n\x1b[31m", "/x/[red]\nname.db", "copy it again").line()
    assert line == "/x/[red] name.db: torn — copy it again"
    assert one_line("a\n\n b\t") == "a  b"
