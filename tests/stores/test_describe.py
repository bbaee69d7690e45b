"""docs/stores.md is what the readers say about themselves."""

from __future__ import annotations

from pathlib import Path

from reach_tui.stores.catalog import BUILT_IN, TRANSCRIPTS
from reach_tui.stores.describe import kinds, page
from reach_tui.stores.locations import LOCATIONS

ROOT = Path(__file__).resolve().parents[2]


def test_the_page_is_up_to_date() -> None:
    """If not: `python -m reach_tui.stores.describe > docs/stores.md`."""
    assert (ROOT / "docs" / "stores.md").read_text(encoding="utf-8") == page()


def test_every_kind_says_everything() -> None:
    known = list(kinds())
    assert {one.kind for one in known} > {*BUILT_IN, *TRANSCRIPTS}
    assert len({one.kind for one in known}) == len(known)
    for one in known:
        assert one.flag_meaning
        assert one.not_recorded
        assert (one.basis == "run") == bool(one.versions)
        assert f"| `{one.kind}` | {one.title} | {one.form} | {one.status} |" in page()


def test_every_place_is_on_the_page() -> None:
    for kind in LOCATIONS:
        assert page().count(f"| `{kind}` |") in (1, 4)  # zcode is read as opencode: only its place
