"""Lines, rows and panels: pure functions whose output always fits, and never loses or interprets what it shows."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rich.cells import cell_len

from reach_tui.base.text import clean, one_line
from reach_tui.model import Candidate, Evidence, Result, Route, Session, Slot, Step, StepKind, ToolCall, Verdict
from reach_tui.tui.glyphs import ASCII, UNICODE, mark_of
from reach_tui.tui.lines import Line, cut, fit, hard_wrap, padded, plain, spread, width_of, wrap
from reach_tui.tui.long_text import Joined, TextLines
from reach_tui.tui.panels import Style, inspect, marked_lines, size_of
from reach_tui.tui.rows import StepRow, about_call, short_project, span_of, step_line, title_of, when
from reach_tui.workspace import JudgedCall, JudgedSession, JudgedStep
from tests.tui.kit import NOON

WILD = st.text(st.characters(codec=None), max_size=200) | st.sampled_from(
    [
        "[red]x[/]", "[/foo]", "[b + 3", "\x1b]52;c;aGk=\x07x", "\x1b[2J\x1b[31mred", "a\x00b", "\u202eabc",
        "家庭👩‍👩‍👧🇩🇪e\u0301",
        "\ud83d half", "line\u2028sep", "\x9b31mx", "\ttab\r\nend", "\x1b", "\x1bP1;2|x\x1b\\y",
    ]
)  # fmt: skip
UNSAFE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u202a-\u202e\u2066-\u2069]")


@given(WILD)
def test_clean_text_has_nothing_a_terminal_obeys(text: str) -> None:
    assert not UNSAFE.search(clean(text))
    assert not re.search(r"[\n\t\u2028]", one_line(text))


@given(WILD)
def test_cleaning_twice_changes_nothing(text: str) -> None:
    assert clean(clean(text)) == clean(text)


@given(WILD, st.integers(1, 40), st.booleans())
def test_fit_is_exactly_as_wide(text: str, width: int, right: bool) -> None:
    assert cell_len(fit(text, width, right=right)) == width
    assert cell_len(cut(text, width)) == width


@given(st.lists(st.tuples(WILD.map(one_line), st.just("text")), max_size=6), st.integers(1, 60))
def test_padded_and_spread_are_exactly_as_wide(line: list[tuple[str, str]], width: int) -> None:
    assert width_of(padded(line, width)) == width
    assert width_of(spread(line, [("end", "dim")], width)) == width


@given(WILD.map(clean), st.integers(2, 30))
@example("a" * 100, 7)
def test_wrapped_rows_fit_and_keep_every_character(text: str, width: int) -> None:
    for rows in (wrap(text, width), hard_wrap(text, width)):
        assert all(cell_len(row) <= width for row in rows)
    assert "".join(hard_wrap(text, width)) == text.expandtabs(4).replace("\n", "")
    assert "".join(wrap(text, width)).replace(" ", "") == text.expandtabs(4).replace("\n", "").replace(" ", "")


@given(WILD, st.integers(0, 60), st.integers(1, 30), st.integers(10, 50))
def test_evidence_is_marked_and_the_text_stays_whole(text: str, start: int, size: int, width: int) -> None:
    start = min(start, len(text))
    end = min(len(text), start + size)
    evidence = Evidence(text[start:end], start, end)
    lines = marked_lines(text, evidence, 0, width, UNICODE)
    assert all(width_of(line) <= width for line in lines)
    if end > start and start < len(text):
        marked = "".join(piece for line in lines for piece, name in line if name == "evidence")
        assert marked == clean(text[start:end]).expandtabs(4).replace("\n", "")


def wild_call(text: str) -> ToolCall:
    """A call in which everything is `text`."""
    route = Route("recorded", text, (Candidate(text, 0.81, text), Candidate(text, 1.7, text)), text)
    slots = (Slot(text, {text: [text]}, text, "recorded", text, 3, 2, 0.4, text), Slot(text, None, "none", "recorded"))
    return ToolCall(
        key=text, id=text, session_id=text, tool=text, target=text,
        arguments={text: text, "old_string": text, "new_string": text},
        flagged=False, result=Result(text, len(text)), status=text, metadata={"notice": text}, route=route, slots=slots,
        copy_of=text, problem=text,
    )  # fmt: skip


@given(WILD, st.integers(20, 90), st.booleans(), st.sampled_from([UNICODE, ASCII]))
def test_inspector_survives_anything_and_fits(text: str, width: int, brief: bool, glyphs: object) -> None:
    verdict = Verdict(True, 0.9, "stale_context", text, text, Evidence(text[:9], 0, len(text[:9])), text)
    step = JudgedStep(Step(3, 1, StepKind.CALL, call=wild_call(text)), JudgedCall(wild_call(text), verdict))
    style = Style(glyphs, brief=brief)  # type: ignore[arg-type]
    for line in inspect(step, width, style):
        assert width_of(line) <= width
        assert not UNSAFE.search(plain([padded(line, width)]))
    row = step_line(step, StepRow(0), width, style.glyphs, cursor=True, digits=3, saved={text: "4"})
    assert width_of(padded(row, width)) == width
    assert not UNSAFE.search(plain([padded(row, width)]))


@pytest.mark.parametrize("kind", list(StepKind))
def test_messages_are_shown_as_text(kind: StepKind) -> None:
    step = JudgedStep(Step(1, 1, kind, "[red]x[/] \x1b[31mred", visible=False, inherited=True))
    shown = plain(inspect(step, 60, Style(UNICODE)))
    assert "[red]x[/] red" in shown
    assert "not counted" in shown
    assert "compacted away" in shown


def test_long_result_is_cut_and_says_so_but_the_evidence_is_there() -> None:
    text = "x" * 50_000 + "\nError: disk full\n" + "y" * 50_000
    start = text.index("Error")
    call = ToolCall("k", "i", "s", "bash", {"command": "make"}, False, Result(text, len(text)), step=4)
    verdict = Verdict(True, 0.9, "upstream_error", None, "r", Evidence("Error: disk full", start, start + 16))
    shown = plain(
        inspect(JudgedStep(Step(4, 1, StepKind.CALL, call=call), JudgedCall(call, verdict)), 80, Style(UNICODE))
    )
    assert "▐Error: disk full▌" in shown
    assert "characters before: Enter shows all" in shown
    assert "more characters: Enter shows all" in shown
    whole = plain(
        inspect(
            JudgedStep(Step(4, 1, StepKind.CALL, call=call), JudgedCall(call, verdict)),
            80,
            Style(UNICODE, limit=1 << 40),
        )
    )
    assert whole.count("x") >= 50_000


def test_edit_shows_what_was_believed_beside_what_was_wanted() -> None:
    call = ToolCall(
        "k",
        "i",
        "s",
        "edit",
        {"filePath": "a.py", "oldString": "a\n  b\nc", "newString": "a\n  B\nc"},
        False,
        Result("no", 2),
    )
    shown = plain(
        inspect(
            JudgedStep(Step(1, 1, StepKind.CALL, call=call), JudgedCall(call, Verdict(True, 1.0))), 61, Style(UNICODE)
        )
    )
    rows = [row for row in shown.splitlines() if "│" in row]
    assert any(row.startswith("-   b") and "│+   B" in row for row in rows), shown
    assert any(row.startswith("  a") and "│  a" in row for row in rows), shown


def test_bars_and_thresholds_share_one_scale() -> None:
    route = Route("recorded", "find", (Candidate("grep", 1.0), Candidate("read", 0.0)), "execute")
    call = ToolCall("k", "i", "s", "grep", {}, False, Result("", 0), route=route, slots=())
    lines = inspect(
        JudgedStep(Step(1, 1, StepKind.CALL, call=call), JudgedCall(call, Verdict(False, 1.0))), 120, Style(UNICODE)
    )
    bars = [plain([line]).split("│")[0] for line in lines if "┊" in plain([line])][:2]
    full, empty = bars[0], bars[1]
    assert [i for i, c in enumerate(full) if c == "┊"] == [i for i, c in enumerate(empty) if c == "┊"]
    width = full.count("█") + 2
    first = full.index("█")
    assert [i - first for i, c in enumerate(full) if c == "┊"] == [round(0.5 * width), round(0.75 * width)]
    assert empty.count("█") == 0


@pytest.mark.parametrize(
    ("flagged", "verdict", "result", "glyph", "word"),
    [
        (False, Verdict(True, 1.0), "x", "◆", "HIDDEN"),
        (None, Verdict(True, 1.0), "x", "◆", "HIDDEN"),
        (True, Verdict(True, 1.0), "x", "✗", "FLAGGED"),
        (False, Verdict(False, 1.0), "x", "·", "ok"),
        (False, Verdict(False, 1.0, "not_a_failure", "check_reported"), "x", "!", "CHECK"),
        (False, Verdict(None, 0.4, rule="r"), "x", "~", "SOFT"),
        (None, Verdict(None), None, "?", "NO RESULT"),
    ],
)
def test_marks(flagged: bool | None, verdict: Verdict, result: str | None, glyph: str, word: str) -> None:
    call = ToolCall("k", "i", "s", "bash", {}, flagged, None if result is None else Result(result, 1))
    mark = mark_of(call, verdict, UNICODE)
    assert (mark.glyph, mark.word) == (glyph, word)
    assert mark_of(call, verdict, ASCII).glyph.isascii()


def test_times_as_people_say_them() -> None:
    def at(*, days: int = 0, hours: int = 0) -> int:
        return int((NOON - timedelta(days=days, hours=hours)).timestamp() * 1000)

    assert when(None, NOON) == "–"
    assert when(at(hours=2), NOON) == "today 10:00"
    assert when(at(days=1), NOON) == "yest. 12:00"
    assert when(at(days=3), NOON) == "Sat 12:00"
    assert when(at(days=40), NOON) == "22 Oct"
    assert when(at(days=400), NOON) == "27 Oct 2025"
    assert when(int(datetime(2027, 5, 1, tzinfo=NOON.tzinfo).timestamp() * 1000), NOON) == "1 May 2027"
    assert [span_of(ms) for ms in (None, 41, 2400, 1_080_000, 7_200_000)] == ["", "41ms", "2.4s", "18m", "2.0h"]
    assert [size_of(n) for n in (1, 812, 12_300, 1_200_000)] == ["1 byte", "812 bytes", "12.3 kB", "1.2 MB"]


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        ({"filePath": "/home/dev/project/src/a.py"}, "src/a.py"),
        ({"command": "ls\n-la"}, "ls -la"),
        ({"zzz": 1, "query": "x"}, "x"),
        ({"numbers": [1, 2]}, "[1,2]"),
        ("{broken", "{broken"),
        (None, ""),
        ({}, ""),
    ],
)
def test_what_a_call_was_about(arguments: object, shown: str) -> None:
    assert about_call(arguments) == shown  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("project", "shown"), [(None, "(none)"), ("", "(none)"), ("/a/b", "b"), ("x\ny", "x y"), ("/", "/")]
)
def test_project_names(project: str | None, shown: str) -> None:
    assert short_project(project) == shown


def test_session_title_of_nothing() -> None:
    from reach_tui.tui.rows import title_of
    from reach_tui.workspace import JudgedSession

    assert title_of(JudgedSession(Session("peri", "s1", title="\x1b[31m \n"))) == "(no title) s1"


@given(WILD.map(clean), st.integers(4, 30))
@example("Review the diff that could break on Windows. ⇒ Two places call this; both must change.", 20)
def test_wrapping_loses_nothing_but_blanks(text: str, width: int) -> None:
    assert "".join(wrap(text, width)).replace(" ", "") == text.expandtabs(4).replace("\n", "").replace(" ", "")


def test_words_stay_whole_where_a_row_is_not_ascii() -> None:
    rows = wrap("Review the diff that could break on Windows. ⇒ Two places call this; both must change.", 20)
    assert rows == [
        "Review the diff that",
        "could break on",
        "Windows. ⇒ Two",
        "places call this;",
        "both must change.",
    ]
    assert wrap("把第二张表按日期排序", 8) == ["把第二张", "表按日期", "排序"]


def test_a_title_is_one_line_without_runs_of_blanks() -> None:
    session = Session("peri", "s1", title="Continue.\n        return  self")
    assert title_of(JudgedSession(session)) == "Continue. return self"


@given(WILD, st.integers(1, 30))
def test_long_text_is_the_same_lines(text: str, width: int) -> None:
    lines, rows = TextLines(text, width), hard_wrap(text, width)
    assert [plain([line]) for line in lines] == [row.rstrip() for row in rows]
    assert len(lines) == len(rows) >= 1
    assert plain([lines[-1]]) == rows[-1].rstrip()
    joined = Joined([], rows_of(rows[:2]), lines, rows_of(rows[2:]))
    assert len(joined) == 2 * len(rows)
    assert plain(joined[1:-1]) == plain([*rows_of(rows[:2]), *lines, *rows_of(rows[2:])][1:-1])
    with pytest.raises(IndexError):
        joined[len(joined)]


def rows_of(rows: list[str]) -> list[Line]:
    return [[(row, "text")] for row in rows]


def test_rows_are_cut_at_the_width_and_at_breaks() -> None:
    assert hard_wrap("abcdef\n\nab\tc\n家家家\n", 4) == ["abcd", "ef", "", "ab  ", "c", "家家", "家", ""]


def test_evidence_in_a_long_text_stands_among_its_lines() -> None:
    above, below = "\n".join(f"{number} above" for number in range(500)), "\n\nlast\n"
    text = f"{above}\nsee: Error: disk full, sorry{below}"
    start = text.index("Error")
    lines = marked_lines(text, Evidence("Error: disk full", start, start + 16), 0, 40, UNICODE)
    rows = [plain([line]) for line in lines]
    assert rows == [*above.split("\n"), "see: ▐Error: disk full▌, sorry", "", "last", ""]
