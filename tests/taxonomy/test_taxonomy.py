"""The failure taxonomy as data."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from reach_tui.base.errors import ConfigError, UsageError
from reach_tui.taxonomy import default, load


def test_shape() -> None:
    taxonomy = default()
    assert (taxonomy.id, taxonomy.version) == ("reach-failure", 1)
    assert "".join(category.key for category in taxonomy.categories) == "1234567890"
    assert sum(len(category.subcategories) for category in taxonomy.categories) == 56
    for category in taxonomy.categories:
        assert category.reach in ("tool", "context", "execution", "model", "none")
        for entry in category.subcategories:
            assert entry.definition
            assert entry.error_type
    assert default() is taxonomy


def test_parse() -> None:
    category, subcategory = default().parse("stale_context/stale_edit")
    assert category.key == "4"
    assert subcategory is not None
    assert subcategory.retryable
    assert default().parse(" stale_context ") == (category, None)
    by_key = default().by_key("0")
    assert by_key is not None
    assert by_key.id == "not_a_failure"
    assert default().by_key("x") is None


@pytest.mark.parametrize(
    ("text", "near"),
    [
        ("stale_contxt", "stale_context"),
        ("stale_context/stale_edt", "stale_edit"),
        ("permission/denied", "permission_denied"),
        ("", "tool_not_covered"),
    ],
)
def test_what_is_not_there_names_the_nearest(text: str, near: str) -> None:
    with pytest.raises(UsageError) as caught:
        default().parse(text)
    assert near in caught.value.line()


def test_a_slash_wants_a_subcategory() -> None:
    with pytest.raises(UsageError):
        default().parse("stale_context/")


@pytest.mark.parametrize("text", ["", "id = 1", "x = [", 'id = "a"\nversion = 1\n[[category]]\nkey = "1"\n'])
def test_a_broken_file_is_named(tmp_path: Path, text: str) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match="not a taxonomy"):
        load(path)


def test_ids_are_given_once(tmp_path: Path) -> None:
    entry = (
        '[[category]]\nkey = "1"\nid = "a"\nname = "A"\nreach = "tool"\ndefinition = "d"\nfix = "f"\nsubcategory = []\n'
    )
    path = tmp_path / "mine.toml"
    path.write_text('id = "t"\nversion = 1\n' + entry + entry, encoding="utf-8")
    with pytest.raises(ConfigError, match="given twice"):
        load(path)


@pytest.mark.shared
def test_it_is_the_shared_taxonomy(shared: Path) -> None:
    source = json.loads((shared / "bench" / "failure_taxonomy.json").read_text(encoding="utf-8"))
    assert default().version == source["version"]
    for item in source["level1"]:
        category = default().category(item["id"])
        assert (category.key, category.name, category.reach) == (item["key"], item["name"], item["reach"])
        wanted = [
            (entry["id"], entry["avoidable_by"], entry["retryable"], entry["error_type"]) for entry in item["level2"]
        ]
        assert [(e.id, e.avoidable_by, e.retryable, e.error_type) for e in category.subcategories] == wanted
