"""Labelling on screen with another codebook than ours: its keys, its words, its id in every label."""

from __future__ import annotations

from pathlib import Path

from reach_tui.base.paths import labels_file
from reach_tui.labels.store import LabelStore
from reach_tui.workspace import Settings
from tests.tui.kit import SAMPLES, open_session, running, screen_text, until

OWN = """\
id: checkout
version: 4
categories:
  - key: 3
    id: 价格
    name: 价格 [red]wrong
    definition: Wrong sum.
    subcategories: [{id: tax, name: Tax, definition: Tax.}]
  - {key: 7, id: coupon, name: Coupon, definition: Wrong discount.}
"""


def in_force() -> list[tuple[str, str | None, str | None, int]]:
    """Every label: codebook, category, subcategory, version."""
    if not labels_file().exists():
        return []
    with LabelStore.open(labels_file()) as store:
        labels = store.all_in_force()
    return [(one.taxonomy, one.category, one.subcategory, one.taxonomy_version) for one in labels]


async def test_the_keys_of_an_own_codebook_label_with_it(tmp_path: Path) -> None:
    file = tmp_path / "checkout.yaml"
    file.write_text(OWN, encoding="utf-8")
    async with running([SAMPLES / "peri"], settings=Settings(by="dev", taxonomy=str(file))) as (app, pilot):
        await open_session(app, pilot)
        shown = screen_text(app)
        assert "3 价格" in shown
        assert "7 Coupon" in shown
        assert "stale" not in next(line for line in shown.splitlines() if "7 Coupon" in line)
        await pilot.press("n", "1", "3")
        await until(lambda: len(in_force()) == 1)
        await pilot.press("semicolon")
        await pilot.pause()
        await pilot.press("1")
        await until(lambda: in_force() == [("checkout", "价格", "tax", 4)])


async def test_a_shipped_one_stands_beside_our_labels(tmp_path: Path) -> None:
    for name, digit, category in (("", "4", "stale_context"), ("mast", "1", "system_design")):
        async with running([SAMPLES / "peri"], settings=Settings(by="dev", taxonomy=name)) as (app, pilot):
            await open_session(app, pilot)
            await pilot.press("n", digit)
            await until(lambda category=category: category in [one[1] for one in in_force()])  # type: ignore[misc]
    assert [one[:2] for one in in_force()] == [("reach-failure", "stale_context"), ("mast", "system_design")]
