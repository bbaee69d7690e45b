"""Small windows: help, text, a choice by digit, a line of input."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Generic, TypeVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input

from reach_tui.base.text import clean
from reach_tui.tui.commands import SESSIONS, commands_for, help_rows
from reach_tui.tui.lines import Line, fit, padded, wrap
from reach_tui.tui.widgets.line_view import Bar, LineList, LinesView, app_of, cursor_mark

Answer = TypeVar("Answer")


class Dialog(ModalScreen[Answer], Generic[Answer]):
    """A window over the screen; Escape or q closes it without an answer."""

    BINDINGS: ClassVar[list[Binding]] = [Binding("escape,q", "close", show=False)]  # type: ignore[assignment]

    def action_close(self) -> None:
        self.dismiss(None)

    def _title(self, title: str) -> Bar:
        bar = Bar(id="title")
        bar.show(lambda width: [padded([(title, "title")], width)])
        return bar


class TextDialog(Dialog[None]):
    """Text to read: paragraphs, wrapped. The keys that move in a list scroll it."""

    BINDINGS: ClassVar[list[Binding]] = [
        command.binding() for command in commands_for(SESSIONS) if command.group == "Move"
    ]

    def __init__(self, title: str, paragraphs: Sequence[str]) -> None:
        super().__init__()
        self._heading = title
        self.paragraphs = [clean(paragraph) for paragraph in paragraphs]

    def compose(self) -> ComposeResult:
        with Vertical(id="box"):
            yield self._title(self._heading)
            yield LinesView(id="text")

    def on_mount(self) -> None:
        view = self._view
        width = min(84, self.app.size.width * 96 // 100) - 5  # the box has a border, and the view a scroll bar
        view.styles.height = max(1, min(24, self.app.size.height - 6, len(self._build(width))))
        view.show(self._build)
        view.focus()

    @property
    def _view(self) -> LinesView:
        return self.query_one("#text", LinesView)

    def _build(self, width: int) -> list[Line]:
        lines: list[Line] = []
        for paragraph in self.paragraphs:
            lines += [[(row, "text")] for row in wrap(paragraph, width)]
        return lines

    def action_down(self) -> None:
        self._view.scroll_lines(1)

    def action_up(self) -> None:
        self._view.scroll_lines(-1)

    def action_page_down(self) -> None:
        self._view.scroll_lines(self._view.page())

    def action_page_up(self) -> None:
        self._view.scroll_lines(-self._view.page())

    def action_first(self) -> None:
        self._view.scroll_lines(-self._view.count)

    def action_last(self) -> None:
        self._view.scroll_lines(self._view.count)


class HelpDialog(TextDialog):
    """Every key of a screen, by group."""

    def __init__(self, screen: str) -> None:
        super().__init__("keys", [])
        self._screen = screen

    def _build(self, width: int) -> list[Line]:
        lines: list[Line] = []
        group_before = None
        for group, keys, text in help_rows(self._screen, app_of(self).keymap):
            if group != group_before:
                if lines:
                    lines.append([])
                lines.append([(group, "title")])
                group_before = group
            first, *more = wrap(text, max(10, width - 16))
            lines.append([("  ", "text"), (fit(keys, 13), "key"), (" ", "text"), (first, "text")])
            lines += [[(" " * 16, "text"), (row, "text")] for row in more]
        glyphs = app_of(self).glyphs
        marks = (
            (glyphs.hidden, "hidden", "failed, and the store says it succeeded (or nothing)"),
            (glyphs.flagged, "flagged", "failed, and the store says so"),
            (glyphs.soft, "soft", "suspicious without proof"),
            (glyphs.check, "soft", "a check ran and reported findings: not a failure"),
            (glyphs.open, "open", "no result, or undecided"),
            (glyphs.ok, "ok", "fine"),
            (glyphs.repeated, "text", "repeated; → unfolds"),
            (glyphs.label, "label", "labelled, with the category's digit"),
        )
        lines += [[], [("Marks", "title")]]
        lines += [
            [("  ", "text"), (fit(glyph, 13), style), (" ", "text"), (text, "text")] for glyph, style, text in marks
        ]
        return lines


@dataclass(frozen=True, slots=True)
class Choice:
    """One line to choose: its digit, id, name and what it means."""

    digit: str
    id: str
    name: str
    text: str


class ChoiceList(LineList):
    """The choices of a picker."""

    def __init__(self, choices: Sequence[Choice]) -> None:
        super().__init__(id="choices")
        self.choices = choices

    def line_at(self, index: int, width: int) -> Line:
        choice = self.choices[index]
        return [
            (cursor_mark(self, index), "key"),
            (f" {choice.digit} ", "key"),
            (fit(choice.name, 28), "title"),
            (f" {choice.text}", "dim"),
        ]


class PickDialog(Dialog[str]):
    """Choose one by its digit, or with the cursor and Enter; the answer is its id."""

    BINDINGS: ClassVar[list[Binding]] = [
        Binding("escape,q", "close", show=False),
        Binding("enter", "choose", show=False),
        Binding("down,j", "move(1)", show=False),
        Binding("up,k", "move(-1)", show=False),
        *(Binding(digit, f"pick('{digit}')", show=False) for digit in "1234567890"),
    ]

    def __init__(self, title: str, choices: Sequence[Choice]) -> None:
        super().__init__()
        self._heading = title
        self._choices = choices

    def compose(self) -> ComposeResult:
        with Vertical(id="box"):
            yield self._title(self._heading)
            yield ChoiceList(self._choices)
            yield Bar(id="meaning")

    def on_mount(self) -> None:
        rows = self.query_one(ChoiceList)
        rows.styles.height = len(self._choices)
        rows.set_count(len(self._choices))
        rows.focus()
        bar = self.query_one("#meaning", Bar)
        bar.styles.height = 3
        bar.show(self._meaning)

    def _meaning(self, width: int) -> list[Line]:
        choice = self._choices[self.query_one(ChoiceList).cursor]
        return [[], *([(f" {row}", "text")] for row in wrap(choice.text, width - 2)[:2])]

    @on(LineList.Highlighted)
    def _highlighted(self) -> None:
        self.query_one("#meaning", Bar).refresh()

    @on(LineList.Chosen)
    def _clicked(self) -> None:
        self.action_choose()

    def action_move(self, step: int) -> None:
        self.query_one(ChoiceList).cursor += step

    def action_choose(self) -> None:
        self.dismiss(self._choices[self.query_one(ChoiceList).cursor].id)

    def action_pick(self, digit: str) -> None:
        for choice in self._choices:
            if choice.digit == digit:
                self.dismiss(choice.id)


class NoteDialog(Dialog[str]):
    """One line of text; Enter keeps it, Escape leaves it as it was."""

    BINDINGS: ClassVar[list[Binding]] = [Binding("escape", "close", show=False)]

    def __init__(self, title: str, value: str) -> None:
        super().__init__()
        self._heading = title
        self._value = clean(value).replace("\n", " ")

    def compose(self) -> ComposeResult:
        with Vertical(id="box"):
            yield self._title(self._heading)
            yield Input(self._value, classes="reach-input", max_length=2000)

    def on_mount(self) -> None:
        entry = self.query_one(Input)
        entry.cursor_blink = False
        entry.focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        self.dismiss(event.value)
