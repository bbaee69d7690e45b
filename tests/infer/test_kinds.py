"""What kind of value an argument is."""

from __future__ import annotations

import pytest

from reach_tui.base.jsonio import JsonValue
from reach_tui.infer.kinds import Kind, kind_of
from reach_tui.infer.leaves import Leaf


@pytest.mark.parametrize(
    ("key", "value", "kind"),
    [
        ("old_string", "x", Kind.OLD_TEXT), ("oldText", "x", Kind.OLD_TEXT),
        ("new_string", "src/a.py", Kind.COMPOSED), ("command", "ls src", Kind.COMMAND),
        ("prompt", "see src/a.py", Kind.COMPOSED), ("pattern", "load_cfg", Kind.PHRASE),
        ("filePath", "a", Kind.PATH), ("target_file", "a", Kind.PATH), ("notebookPath", "x", Kind.PATH),
        ("where", "src/a.py", Kind.PATH), ("profile", "dev", Kind.PHRASE), ("order_id", "A1", Kind.ID),
        ("shellId", "7", Kind.ID), ("valid", "yes", Kind.PHRASE), ("monkey", "yes", Kind.PHRASE),
        ("user_id", 7, Kind.ID), ("timeout", 120_000, Kind.COMPOSED), ("offset", 9000, Kind.COMPOSED),
        ("what", 4417000012345678, Kind.ID), ("to", "a@b.de", Kind.ID), ("url", "https://x.org", Kind.ID),
        ("since", "2026-06-01", Kind.DATE), ("when", "2026-06-01", Kind.DATE), ("flag", True, Kind.COMPOSED),
        ("nothing", None, Kind.COMPOSED), ("empty", "  ", Kind.COMPOSED), ("list", [], Kind.COMPOSED),
        ("topic", "refunds", Kind.PHRASE),
    ],
)  # fmt: skip
def test_kinds_by_name_and_value(key: str, value: JsonValue, kind: Kind) -> None:
    assert kind_of(Leaf(key, key, value, key), {}, is_edit=True, is_file=False) is kind


def test_what_the_schema_and_the_call_say_counts_first() -> None:
    leaf = Leaf("name", "name", "todo", "name")
    assert kind_of(leaf, {}, is_edit=True, is_file=True) is Kind.PATH
    assert kind_of(leaf, {"pattern": "^[a-z]+$"}, is_edit=False, is_file=False) is Kind.ID
    assert kind_of(leaf, {"enum": ["todo"]}, is_edit=False, is_file=False) is Kind.COMPOSED
    assert kind_of(Leaf("old_string", "old_string", "x", ""), {}, is_edit=False, is_file=False) is Kind.PHRASE
