"""From one row to the pieces of a session's story: what was said, asked, answered, or could not be read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from reach_tui.base.clock import parse_time
from reach_tui.base.jsonio import BadJson, JsonValue, as_int, loads
from reach_tui.base.sqlite import text_of
from reach_tui.model import StepKind, ToolCall
from reach_tui.stores.content import Narrator, content_text, json_text, result_of
from reach_tui.stores.mapping.expression import Found, Row, Value, every, first, word_of
from reach_tui.stores.mapping.model import CallMap, Flag, MessageMap, Part, ResultMap, Rows

Place: TypeAlias = tuple[Any, ...]
"""Where a piece stands: the order's values, the position in the row, the rank in the mapping, the row's number."""


@dataclass(slots=True)
class Piece:
    """Something of the story."""

    place: Place
    at: int | None


@dataclass(slots=True)
class Said(Piece):
    """A message."""

    kind: StepKind
    text: str


@dataclass(slots=True)
class Unreadable(Piece):
    """A column that should be JSON and is not."""

    where: str
    why: str
    text: str


@dataclass(slots=True)
class Answer(Piece):
    """A result that stands apart from its call."""

    call_id: str
    text: str | None
    flagged: bool | None
    status: str | None
    metadata: dict[str, JsonValue]
    ended: int | None
    taken: bool = False


@dataclass(slots=True)
class Asked(Piece):
    """A call, with its result where that stands beside it."""

    id: str
    key: str
    tool: str
    given: JsonValue
    problem: str | None = None
    text: str | None = None
    flagged: bool | None = None
    status: str | None = None
    ended: int | None = None
    duration: int | None = None
    metadata: dict[str, JsonValue] = field(default_factory=dict)

    def call(self, key: str, answer: Answer | None, narrator: Narrator) -> ToolCall:
        """The call as the next step of a session."""
        text = self.text if answer is None else answer.text
        flagged = answer.flagged if answer is not None and answer.flagged is not None else self.flagged
        ended = self.ended if answer is None else answer.ended
        duration = self.duration
        if duration is None and ended is not None and self.at is not None and ended >= self.at:
            duration = ended - self.at
        return ToolCall(
            key=key,
            id=self.id,
            session_id=narrator.session_id,
            tool=self.tool,
            arguments=self.given,
            flagged=flagged,
            result=None if text is None else result_of(text),
            step=narrator.number + 1,
            turn=narrator.turn,
            started_at=self.at,
            duration_ms=duration,
            status=(answer.status if answer is not None else None) or self.status,
            metadata={**self.metadata, **(answer.metadata if answer is not None else {})},
            problem=self.problem,
        )


def pieces_of(
    row: Row, number: int, rows: Rows, parts: Sequence[tuple[int, Part]], roles: Mapping[str, StepKind]
) -> Iterator[Piece]:
    """The pieces in one row. A column that is not JSON comes once, as it is, in the place of what it should hold."""
    order = tuple(_sortable(row.values.get(one.name)) for one in rows.order)
    try:
        at = parse_time(first(rows.time, row))
    except BadJson:
        at = None
    broken: set[str] = set()
    for rank, part in parts:
        try:
            for position, item in _items(part, row):
                place = (order, position, rank, number)
                if (piece := _piece(part, row, item, place, at, roles)) is not None:
                    yield piece
        except BadJson as error:
            for name, why in _bad_columns(part, row, str(error)):
                if name not in broken:
                    broken.add(name)
                    yield Unreadable((order, (), -1, number), at, f"{rows.table}, row {number}, {name}", why,
                                     text_of(row.values.get(name)))  # fmt: skip


def _items(part: Part, row: Row) -> Iterator[Found]:
    if part.each is None:
        yield (), None
    else:
        yield from part.each.find(row)


def _piece(
    part: Part, row: Row, item: JsonValue, place: Place, at: int | None, roles: Mapping[str, StepKind]
) -> Piece | None:
    if isinstance(part, MessageMap):
        text = _joined(part.text, row, item)
        if text is None or not text.strip():
            return None
        kind = part.kind or roles.get(word_of(first(part.role, row, item)), StepKind.SYSTEM)
        return Said(place, at, kind, text)
    if isinstance(part, ResultMap):
        return Answer(
            place, at, word_of(first(part.call, row, item) or ""), _joined(part.text, row, item) or "",
            _flagged(part.flags, row, item), _word(part.status, row, item), _metadata(part.metadata, row, item),
            parse_time(first(part.ended, row, item)) or at,
        )  # fmt: skip
    assert isinstance(part, CallMap)
    started = parse_time(first(part.started, row, item)) or at
    given, problem = _arguments(first(part.arguments, row, item))
    return Asked(
        place, started, _word(part.id, row, item) or "", _word(part.key, row, item) or "",
        _word(part.tool, row, item) or "", given, problem, _joined(part.result, row, item),
        _flagged(part.flags, row, item), _word(part.status, row, item), parse_time(first(part.ended, row, item)),
        as_int(first(part.duration_ms, row, item)), _metadata(part.metadata, row, item),
    )  # fmt: skip


def _bad_columns(part: Part, row: Row, why: str) -> Iterator[tuple[str, str]]:
    """The columns that a part reads as JSON and that are none."""
    values = [value for name in part.__dataclass_fields__ if isinstance(value := getattr(part, name), tuple)]
    expressions = [one for value in values for one in value if hasattr(one, "path")]
    for expression in (part.each, *expressions):
        if expression is None or expression.column is None or expression.path is None:
            continue
        try:
            row.json(expression.name)
        except BadJson:
            yield expression.name, why


def _word(value: Value, row: Row, item: JsonValue) -> str | None:
    found = first(value, row, item)
    return None if found is None else word_of(found) or None


def _joined(value: Value, row: Row, item: JsonValue) -> str | None:
    """All texts found, one after the other; None where there is none."""
    found = every(value, row, item)
    return "".join(content_text(one) for one in found) if found else None


def _metadata(values: Mapping[str, Value], row: Row, item: JsonValue) -> dict[str, JsonValue]:
    found = {name: first(value, row, item) for name, value in values.items()}
    return {name: value for name, value in found.items() if value is not None}


def _flagged(flags: Sequence[Flag], row: Row, item: JsonValue) -> bool | None:
    """Failed if any flag says so, else succeeded if any does, else unknown."""
    said: set[bool | None] = set()
    for flag in flags:
        value = first(flag.value, row, item)
        if value is None or value == "":
            said.add(flag.when_missing)
        elif (word := word_of(value)) in flag.failed:
            said.add(True)
        else:
            said.add(False if word in flag.succeeded else flag.when_present)
    return True if True in said else False if False in said else None


def _arguments(value: JsonValue) -> tuple[JsonValue, str | None]:
    """Arguments as an object; text that is no JSON stays text, and is said."""
    if not isinstance(value, str) or not value:
        return None if value == "" else value, None
    try:
        return loads(value), None
    except BadJson as error:
        return value, f"arguments are not JSON: {json_text(str(error))}"


def _sortable(value: object) -> tuple[int, Any]:
    """As SQLite orders them: NULL, numbers, text."""
    if value is None:
        return 0, 0
    return (1, value) if isinstance(value, int | float) else (2, text_of(value))
