"""The reader of every store that a mapping describes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from reach_tui.base.clock import parse_time
from reach_tui.base.errors import SchemaUnknown
from reach_tui.base.jsonio import BadJson, JsonValue, as_int
from reach_tui.base.sqlite import Schema, reading, schema_of, stamp, text_of
from reach_tui.model import Session, Step, StepKind, Tokens, ToolCall
from reach_tui.stores.content import Narrator, json_text
from reach_tui.stores.kin import cut, in_rings
from reach_tui.stores.mapping.expression import Expression, Row, Value, first, word_of
from reach_tui.stores.mapping.model import Part, SessionMap, StoreMapping
from reach_tui.stores.mapping.rows import Query
from reach_tui.stores.mapping.story import Answer, Asked, Piece, Said, Unreadable, pieces_of
from reach_tui.stores.reader import Trouble

_SCANNED_AT_ONCE = 400
"""Sessions read in one go where each query goes through a whole table anyway."""


class MappedReader:
    """Reads one database by a mapping; kind, title and meaning of the flag are the mapping's."""

    def __init__(self, path: Path, mapping: StoreMapping) -> None:
        self.path = path
        self.mapping = mapping
        self.kind = mapping.kind
        self.title = mapping.title
        self.flag_meaning = mapping.flag_meaning
        self.verified = mapping.verified
        self._known: tuple[object, Schema] | None = None

    def data_version(self) -> object:
        """Sizes and times of the file and its `-wal`, and what the mapping says."""
        return (*stamp(self.path), self.mapping.digest)

    def sessions(self) -> Iterator[Session]:
        """Every session, newest first, from the session's rows alone."""
        found = self._sessions()
        ringed = in_rings({one.id: one.parent_id for one in found if one.parent_id})
        ordered = sorted(found, key=lambda one: (one.started_at or 0, one.id), reverse=True)
        yield from (cut(one, ringed) for one in ordered)

    def session(self, session_id: str) -> Session | None:
        """One session by its id."""
        found = next((one for one in self._sessions(session_id) if one.id == session_id), None)
        if found is None or found.parent_id is None:
            return found
        parents = {one.id: one.parent_id for one in self._sessions() if one.parent_id}
        return cut(found, in_rings(parents))

    def _sessions(self, session_id: str | None = None) -> list[Session]:
        told = self.mapping.session
        wanted = (told.id, *_used(told.facts.values()), *_used(value for value, _ in told.not_own_work))
        wanted += _used(value for value, _, _ in told.notes)
        query = Query(told.rows, wanted, self._schema())
        start = told.rows.prefix[1] if told.rows.prefix and told.rows.prefix[0].column == told.id.column else ""
        found: dict[str, Session] = {}
        with reading(self.path) as connection:
            whole = None if session_id is None else start + session_id
            rows = query.all_rows(connection, told.id, whole)
        for row in rows:
            one = self._session(row, told, start)
            if one.id in found and not told.grouped:
                continue  # two rows of the same id: the first counts
            found[one.id] = _together(found[one.id], one) if one.id in found else one
        return list(found.values())

    def _session(self, row: Row, told: SessionMap, start: str) -> Session:
        facts = {name: _safe(value, row) for name, value in told.facts.items()}
        parent = _text(facts["parent"])
        other = any(word_of(_safe(value, row)) in words for value, words in told.not_own_work)
        return Session(
            store=self.kind,
            id=text_of(row.values.get(told.id.name)).removeprefix(start),
            parent_id=parent,
            title=_text(facts["title"]),
            project=_text(facts["project"]),
            model=_text(facts["model"]),
            started_at=parse_time(facts["started"]),
            ended_at=parse_time(facts["ended"]),
            tokens=Tokens(as_int(facts["tokens_input"]), as_int(facts["tokens_output"])),
            outcome=_text(facts["outcome"]),
            own_work=parent is None and not other,
            notes=tuple(text for value, words, text in told.notes if word_of(_safe(value, row)) in words),
        )

    def steps(self, session_id: str) -> Iterator[Step]:
        """The steps of one session, in the order that the mapping gives to its rows."""
        yield from self._tell(Narrator(session_id))

    def calls(self, session_ids: Iterable[str] | None = None) -> Iterator[ToolCall]:
        """Calls session by session, newest first; where the store has no index on sessions, some at a time."""
        known = dict.fromkeys(session.id for session in self.sessions())
        ids = list(known) if session_ids is None else [one for one in dict.fromkeys(session_ids) if one in known]
        size = self._at_once()
        for start in range(0, len(ids), size):
            some = ids[start : start + size]
            found = self._pieces(some)
            for session_id in some:
                for step in _told(Narrator(session_id), found.pop(session_id, [])):
                    if step.call is not None:
                        yield step.call

    def troubles(self, session_id: str) -> list[Trouble]:
        """Columns that are no JSON, calls without a name, results without a call."""
        narrator = Narrator(session_id)
        for _ in self._tell(narrator):
            pass
        return narrator.troubles

    def _tell(self, narrator: Narrator) -> Iterator[Step]:
        if any(one.id == narrator.session_id for one in self._sessions(narrator.session_id)):
            pieces = self._pieces([narrator.session_id])
            yield from _told(narrator, pieces.get(narrator.session_id, []))

    def _pieces(self, session_ids: Sequence[str]) -> dict[str, list[Piece]]:
        """The pieces of some sessions' stories, those of each in order."""
        told = self.mapping
        parts: dict[str, list[tuple[int, Part]]] = {}
        for rank, part in enumerate((*told.messages, *told.calls, *told.results)):
            parts.setdefault(part.rows.name, []).append((rank, part))
        pieces: dict[str, list[Piece]] = {}
        for query in self._queries():
            with reading(self.path) as connection:
                found = list(query.rows_of(connection, session_ids))
            some = parts[query.rows.name]
            numbers: dict[str, int] = {}
            for session_id, row in found:
                numbers[session_id] = number = numbers.get(session_id, 0) + 1
                pieces.setdefault(session_id, []).extend(pieces_of(row, number, query.rows, some, told.roles))
        for story in pieces.values():
            story.sort(key=lambda piece: piece.place)
        return pieces

    def _queries(self) -> list[Query]:
        told = self.mapping
        schema = self._schema()
        sets = {part.rows.name: part.rows for part in (*told.messages, *told.calls, *told.results)}
        used = {name: [one for _, of, one in told.places if of.name == name] for name in sets}
        return [Query(rows, used[name], schema) for name, rows in sets.items()]

    def _at_once(self) -> int:
        queries = self._queries()
        if any(query.rows.session is None for query in queries):
            return 1
        with reading(self.path) as connection:
            return _SCANNED_AT_ONCE if any(query.scans(connection) for query in queries) else 1

    def _schema(self) -> Schema:
        """The schema, read anew when the file has changed. Raises `SchemaUnknown` where the mapping no longer fits."""
        now = self.data_version()
        if self._known is None or self._known[0] != now:
            with reading(self.path) as connection:
                schema = schema_of(connection)
            for key, what, _ in self.mapping.missing(schema):
                raise SchemaUnknown(f"{what} ({self.mapping.path.name}, key {key})", self.path, "correct the mapping")
            self._known = (now, schema)
        return self._known[1]


def _told(narrator: Narrator, pieces: Sequence[Piece]) -> Iterator[Step]:
    answers = _pair(pieces)
    seen: dict[str, int] = {}
    for piece in pieces:
        if isinstance(piece, Said):
            narrator.turn += piece.kind is StepKind.USER
            yield narrator.step(piece.kind, piece.text, piece.at)
        elif isinstance(piece, Unreadable):
            narrator.trouble("unreadable row", f"{piece.where}: {piece.why}")
            yield narrator.step(StepKind.RAW, piece.text, piece.at)
        elif isinstance(piece, Asked):
            if piece.tool:
                yield narrator.call(_call(piece, answers.get(id(piece)), narrator, seen))
            else:
                narrator.trouble("malformed call", f"{piece.id or 'a call'}: without a name")
                yield narrator.step(
                    StepKind.NOTE, f"call without a name: {piece.id} {json_text(piece.given)}", piece.at
                )
        elif isinstance(piece, Answer) and not piece.taken:
            narrator.trouble("orphan result", piece.call_id or "a result")
            text = f"result without a call ({piece.call_id}): {piece.text or ''}"
            yield narrator.step(StepKind.NOTE, text, piece.at)


def _used(values: Iterable[Value]) -> tuple[Expression, ...]:
    return tuple(expression for value in values for expression in value)


def _safe(value: Value, row: Row) -> JsonValue:
    try:
        return first(value, row)
    except BadJson:
        return None


def _text(value: JsonValue) -> str | None:
    return None if value is None else word_of(value) or None


def _together(one: Session, other: Session) -> Session:
    starts = [at for at in (one.started_at, other.started_at) if at is not None]
    ends = [at for at in (one.ended_at, other.ended_at) if at is not None]
    return replace(
        one,
        title=one.title or other.title,
        project=one.project or other.project,
        model=one.model or other.model,
        started_at=min(starts, default=None),
        ended_at=max(ends, default=None),
        tokens=Tokens(_sum(one.tokens.input, other.tokens.input), _sum(one.tokens.output, other.tokens.output)),
        outcome=other.outcome or one.outcome,
        notes=tuple(dict.fromkeys((*one.notes, *other.notes))),
    )


def _sum(one: int | None, other: int | None) -> int | None:
    return other if one is None else one if other is None else one + other


def _pair(pieces: Sequence[Piece]) -> dict[int, Answer]:
    """Answers by `id()` of their call: the first call of that id without one takes it."""
    waiting: dict[str, list[Asked]] = {}
    for piece in pieces:
        if isinstance(piece, Asked) and piece.id and piece.tool and piece.text is None:
            waiting.setdefault(piece.id, []).append(piece)
    paired: dict[int, Answer] = {}
    for piece in pieces:
        if isinstance(piece, Answer) and (calls := waiting.get(piece.call_id)):
            paired[id(calls.pop(0))] = piece
            piece.taken = True
    return paired


def _call(asked: Asked, answer: Answer | None, narrator: Narrator, seen: dict[str, int]) -> ToolCall:
    name = asked.key or asked.id or f"call {len(seen) + 1}"
    seen[name] = seen.get(name, 0) + 1
    key = f"{narrator.session_id}/{name}" + (f"#{seen[name]}" if seen[name] > 1 else "")
    if asked.problem:
        narrator.trouble("malformed call", f"{name}: {asked.problem}")
    return asked.call(key, answer, narrator)
