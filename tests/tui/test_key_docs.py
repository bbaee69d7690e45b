"""Every command stands in docs/screens.md with its keys."""

from __future__ import annotations

from reach_tui.tui.commands import COMMANDS, EVERYWHERE, checked_keymap, help_rows, key_table
from tests.tui.kit import ROOT


def test_the_table_of_keys_is_up_to_date() -> None:
    text = (ROOT / "docs" / "screens.md").read_text(encoding="utf-8")
    assert key_table() in text, "print it with: python -m reach_tui.tui.commands"


def test_no_key_means_two_things_on_a_screen() -> None:
    assert checked_keymap({}, "defaults") == {}
    for screen in EVERYWHERE:
        assert any(text == "this list" for _, _, text in help_rows(screen, {}))


def test_ids_are_unique_but_for_none() -> None:
    assert len({command.id for command in COMMANDS}) == len(COMMANDS)
