"""Own codebooks in YAML and TOML: mistakes with file, line and field; hostile files are one line, never a crash."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reach_tui.base.errors import ConfigError
from reach_tui.labels.codebook_files import check_file, load_file

GOOD = """\
id: checkout
version: 3
name: Checkout
categories:
  - key: 1
    id: price
    name: Wrong price
    definition: The sum is not what the shop asks.
    contrast: 2 where the discount is wrong
    maps_to: [invalid_parameter/value_out_of_range]
    subcategories:
      - id: no          # a word, not a truth value
        name: 404
        definition: 'yes'
  - key: "2"
    id: 优惠券
    name: 优惠券
    definition: 优惠券无效。
"""
TOML = """\
id = "checkout"
version = 3

[[category]]
key = "1"
id = "price"
name = "Wrong price"
definition = "d"

[[category.subcategory]]
id = "tax"
name = "Tax"
definition = "d"

[[category]]
key = "j"
id = "coupon"
name = "Coupon"
definition = "d"

[[category.subcategory]]
id = "old"
name = "Old"
defintion = "d"
"""


def write(path: Path, text: str | bytes) -> Path:
    path.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8"))
    return path


def test_a_codebook_in_yaml(tmp_path: Path) -> None:
    checked = check_file(write(tmp_path / "c.yaml", GOOD))
    assert checked.mistakes == []
    assert checked.taxonomy is not None
    assert (checked.taxonomy.id, checked.taxonomy.version) == ("checkout", 3)
    assert [one.id for one in checked.taxonomy.categories] == ["price", "优惠券", "not_a_failure"]
    sub = checked.taxonomy.subcategory("price", "no")
    assert (sub.name, sub.definition) == ("404", "yes")


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        ("key: 1", "key: q", 5, "categories 1, key: 'q' of 'price' is a key of the screens already: back, quit"),
        ('key: "2"', "key: 1", 15, "categories 2, key: '1' is given twice: to 'price' and to '优惠券'"),
        ("version: 3", "version: x", 2, "version: 'x' is no whole number"),
        ("definition: The sum", "defn: The sum", 8, "categories 1, defn: unknown field"),
        ("        name: 404\n", "", 12, "categories 1, subcategories 1, name: missing"),
        ("id: checkout\n", "id: checkout\nid: other\n", 2, "field 'id' is given twice"),
        ("id: price", "id: [", 8, "not YAML"),
    ],
)
def test_a_mistake_names_file_line_and_field(tmp_path: Path, old: str, new: str, line: int, words: str) -> None:
    path = write(tmp_path / "c.yaml", GOOD.replace(old, new, 1))
    lines = [one.line() for one in check_file(path).mistakes]
    assert any(one.startswith(f"{path}:{line}: ") and words in one for one in lines), lines
    with pytest.raises(ConfigError):
        load_file(path)


def test_toml_mistakes_have_lines_too(tmp_path: Path) -> None:
    path = write(tmp_path / "c.toml", TOML)
    lines = [one.line() for one in check_file(path).mistakes]
    assert lines[0].startswith(f"{path}:24: category 2, subcategory 1, defintion: unknown field")
    assert any(one.startswith(f"{path}:16: category 2, key: 'j'") for one in lines)
    assert any(one.startswith(f"{path}:21: category 2, subcategory 1, definition: missing") for one in lines)
    (mistake,) = check_file(write(tmp_path / "d.toml", "id = 'x'\nversion = \n")).mistakes
    assert mistake.line().startswith(f"{tmp_path / 'd.toml'}:2: not a codebook: not TOML")


BOMB = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{b}: &{b} [{', '.join([f'*{a}'] * 9)}]\n" for a, b in zip("abcdefgh", "bcdefghi", strict=True)
)


@pytest.mark.parametrize(
    "text",
    [
        b"\xff\xfe\x00", b"", b"\x00", b"[" * 500_000, b"- " * 300_000, b"a: " * 3000, BOMB.encode(), b"- &x [*x]",
        b"? [a]\n: b\n",
        b"!!python/object/apply:os.system ['true']", b"id: !!binary aGk=\n", b"--- a\n--- b\n", b"x" * 1_100_000,
        b"&a {a: *a}", b"id: {a: {b: c}}\nversion: [1]\ncategories: {a: b}\n",
    ],
)  # fmt: skip
@pytest.mark.parametrize("suffix", [".yaml", ".toml"])
def test_a_hostile_file_is_one_line(tmp_path: Path, text: bytes, suffix: str) -> None:
    checked = check_file(write(tmp_path / f"c{suffix}", text))
    assert checked.taxonomy is None
    assert checked.mistakes
    assert all(str(tmp_path) in one.line() for one in checked.mistakes)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    assert "cannot be read" in check_file(tmp_path / "none.yaml").mistakes[0].line()
    assert "cannot be read" in check_file(tmp_path).mistakes[0].line()


@settings(max_examples=60)
@given(st.text(st.sampled_from("idversoncatg: \n-[]{}&*!|>'\"#?1,\t="), max_size=60))
def test_any_text_is_a_codebook_or_mistakes(text: str) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        for suffix in (".yaml", ".toml"):
            checked = check_file(write(Path(folder) / f"c{suffix}", text))
            assert (checked.taxonomy is None) is bool(checked.mistakes)
