"""The queue's lines: one layout for every item, never wider than the screen, nothing hostile, evidence in sight."""

from __future__ import annotations

from dataclasses import replace

import pytest
from rich.cells import cell_len

from reach_tui.labels.queues import QueueItem
from reach_tui.model import Evidence, Label, Result, Session, Step, StepKind, ToolCall, Verdict
from reach_tui.taxonomy import default
from reach_tui.tui.glyphs import ASCII, UNICODE
from reach_tui.tui.lines import plain, width_of
from reach_tui.tui.queue_lines import Head, View, code_lines, done_lines, head_lines, item_lines
from reach_tui.workspace import JudgedCall, JudgedStep
from reach_tui.workspace.queue_desk import Item

HOSTILE = "\x1b]52;c;aGk=\x07\x1b[2J[bold red]x[/foo]\x00\u202eevil\x9b31m 失败 👩‍👩‍👧\nsecond line"
SIZES = [(80, 13), (120, 28), (200, 50), (24, 6)]
VIEW = View(UNICODE, "dev", 28)


def item(result: str = "fine\n" * 200 + "boom: it broke\n" + "after\n" * 200, name: str = "bash") -> Item:
    start = result.find("boom")
    evidence = Evidence("boom: it broke", start, start + 14) if start >= 0 else None
    call = ToolCall("s/1", "1", "s", name, {"command": f"{name} --now", "other": [1, 2]}, False, Result(result, 9), 12)
    verdict = Verdict(True, 0.8, "upstream_error", "tool_crash", "shell.crash", evidence, "It crashed.")
    asked = JudgedStep(Step(1, 1, StepKind.USER, text=f"please {name}"))
    around = tuple(JudgedStep(Step(n, 1, StepKind.CALL, call=call), JudgedCall(call, verdict)) for n in range(2, 5))
    session = Session("peri", "s", title=name, project=f"/home/dev/{name}")
    queued = QueueItem(3, "peri", "s", "s/1", "bash", "a.db")
    return Item(queued, None, session, JudgedCall(call, verdict), (asked, *around), around[:2], 57)


def label(by: str, category: str, **other: object) -> Label:
    base = Label("peri", "s", "s/1", None, category, None, "", by, 5, "reach-failure", 1, True, None, "1")
    return replace(base, **other)  # type: ignore[arg-type]


@pytest.mark.parametrize(("width", "height"), SIZES)
@pytest.mark.parametrize("hides", [True, False])
@pytest.mark.parametrize("glyphs", [UNICODE, ASCII])
def test_evidence_and_its_surroundings_are_in_sight(width: int, height: int, hides: bool, glyphs: object) -> None:
    view = replace(VIEW, height=height, hides=hides, glyphs=glyphs)  # type: ignore[arg-type]
    lines = item_lines(item(), width, view)
    texts = plain(lines).split("\n")
    marked = next(number for number, text in enumerate(texts) if "boom" in text)
    if height >= 13:
        assert marked < height, "without scrolling"
        assert "fine" in texts[marked - 1]
        assert "after" in texts[marked + 1]
        assert len(lines) <= height + 1
    assert "lines before" in plain(lines)


@pytest.mark.parametrize(("width", "height"), SIZES)
def test_hostile_text_stays_text_and_in_its_place(width: int, height: int) -> None:
    one = replace(item(HOSTILE * 3, HOSTILE), labels=(label(HOSTILE, "context_gap", note=HOSTILE),), problem=HOSTILE)
    view = replace(VIEW, height=height)
    head = Head(HOSTILE, HOSTILE, 3, 100, 12, 4, True, True, HOSTILE, "label")
    built = [
        *item_lines(one, width, view), *item_lines(replace(one, judged=None), width, view),
        *head_lines(head, width, UNICODE), *done_lines(width, 3, 2, UNICODE),
    ]  # fmt: skip
    from reach_tui.tui.lines import padded

    for line in built:
        shown = padded(line, width)
        assert width_of(shown) == width
        assert not {char for text, _ in shown for char in text if ord(char) < 32 or 0x7F <= ord(char) < 0xA0}
        assert "\u202e" not in "".join(text for text, _ in shown)


def test_blind_tells_neither_verdict_nor_others_nor_how_the_neighbours_went() -> None:
    one = replace(item(), labels=(label("ann", "model_reasoning", note="seen"),))
    blind = plain(item_lines(one, 120, replace(VIEW, hides=True)))
    shown = plain(item_lines(one, 120, VIEW))
    secrets = ("shell.crash", "HIDDEN", "80%", "The store says", "It crashed", "ann", "model_reasoning", "◆")
    assert [word for word in secrets if word in blind] == []
    assert [word for word in secrets if word not in shown] == []


def test_the_same_layout_for_every_item_while_blind() -> None:
    """What one reads first stands on the same lines, whatever the call."""
    view = replace(VIEW, hides=True)
    few = replace(item("nothing special"), before=(), after=())
    for lines in (item_lines(item(), 120, view), item_lines(few, 120, view)):
        texts = plain(lines).split("\n")
        assert texts[0].startswith(" bash")
        assert texts[1].startswith(" verdict")
        assert "arguments" in texts[6]


def test_labels_side_by_side_when_people_disagree() -> None:
    mine, theirs = label("dev", "context_gap"), label("bob", "stale_context", subcategory="stale_edit", note="own edit")
    lines = plain(item_lines(replace(item(), labels=(mine, theirs)), 120, replace(VIEW, disputed=True))).split("\n")
    row = next(text for text in lines if "bob" in text)
    assert "dev: context_gap" in row
    assert "bob: stale_context / stale_edit “own edit”" in row
    settled = replace(item(), labels=(mine, theirs, label("dev", "context_gap", role="adjudicator", first_cause=True)))
    assert "yours: context_gap · first cause" in plain(item_lines(settled, 120, replace(VIEW, disputed=True)))


@pytest.mark.parametrize("width", [80, 120, 200])
def test_every_class_has_its_definition_contrast_and_second_level(width: int) -> None:
    taxonomy = default()
    for category in taxonomy.categories:
        lines = code_lines(taxonomy, category, width, UNICODE)
        assert len(lines) == (7 if width < 100 else 6), "the height never changes"
        text = plain(lines)
        assert category.contrast, category.id
        assert f"{category.key} {category.name}" in text
        assert "not " in text or category.id == "loop_repetition"
        for number, one in enumerate(category.subcategories, 1):
            assert f"{category.key if width >= 100 else ''}.{number % 10} {one.id}" in text
        assert "…" not in text, category.id
        assert all(cell_len(row) <= width for row in text.split("\n"))


def test_the_head_keeps_progress_time_and_state() -> None:
    head = Head("hidden errors, nearest to doubt first", "dev", 17, 100, 21, 18, True, False, "saved 10:51:03", "label")
    wide = plain(head_lines(head, 120, UNICODE)).split("\n")[0]
    for word in ("hidden errors", "by dev", "17 of 100", "21 min left", "blind", "✎ saved 10:51:03"):
        assert word in wide
    narrow = plain(head_lines(head, 64, UNICODE)).split("\n")[0]
    assert "17 of 100 · 21 min left" in narrow
    assert "saved 10:51:03" in narrow


def test_what_is_missing_is_said() -> None:
    gone = Item(QueueItem(1, "peri", "s", "s/9", "bash", "a.db"), problem="the trace no longer has this call")
    assert "no longer has this call" in plain(item_lines(gone, 80, VIEW))
