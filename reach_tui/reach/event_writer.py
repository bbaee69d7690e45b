"""Turns the queue's records into rows, each batch in one transaction together with how far its segment is written."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from reach_tui.base.jsonio import JsonValue
from reach_tui.model import Candidate, Result, Session, Slot, StepKind, Thresholds, Tokens, ToolCall
from reach_tui.native.event import Event
from reach_tui.native.writer import NativeWriter
from reach_tui.reach.journal import Record

_TABLE = "CREATE TABLE IF NOT EXISTS reach_queue (segment TEXT PRIMARY KEY NOT NULL, applied INTEGER NOT NULL)"
_MARK = (
    "INSERT INTO reach_queue (segment, applied) VALUES (?, ?)"
    " ON CONFLICT (segment) DO UPDATE SET applied = excluded.applied"
)


class EventWriter(NativeWriter):
    """A native writer that knows the queue. Raises `StoreError` as that does, and `ValueError`, `TypeError`, `KeyError`
    for records that are none.
    """

    def mark_of(self, segment: str) -> int:
        """Up to which byte a segment is written; 0 for a new one."""
        if not self._has_marks():
            return 0
        query = "SELECT applied FROM reach_queue WHERE segment = ?"
        with self._faults():
            row = self._connection().execute(query, (segment,)).fetchone()
        return int(row[0]) if row else 0

    def _has_marks(self) -> bool:
        query = "SELECT 1 FROM sqlite_master WHERE name = 'reach_queue'"
        with self._faults():
            return self._connection().execute(query).fetchone() is not None

    def write(self, found: Iterable[Record | int], segment: str, end: int) -> None:
        """Write records and the mark `end`: all of it or nothing. Numbers stand for lines that were no records."""
        listed = list(found)
        # A call that began and ended since the last batch is written once, as it stands now, in its first place.
        newest = {one.value.get("key"): one for one in listed if isinstance(one, Record) and one.kind == "call"}
        with self.as_one():
            for one in listed:
                if isinstance(one, int):
                    raise ValueError("a line that is no record")
                if one.kind != "call":
                    self._add_record(one.kind, one.value)
                elif (latest := newest.pop(one.value.get("key"), None)) is not None:
                    self._add_record(latest.kind, latest.value)
            self._connection().execute(_TABLE)
            self._connection().execute(_MARK, (segment, end))

    def forget_marks(self, gone: Callable[[str], bool]) -> None:
        """Remove the marks of segments that are gone; without any the table goes, too."""
        if not self._has_marks():
            return
        with self.as_one():
            connection = self._connection()
            names = [str(row[0]) for row in connection.execute("SELECT segment FROM reach_queue")]
            left = [name for name in names if not gone(name)]
            for name in set(names) - set(left):
                connection.execute("DELETE FROM reach_queue WHERE segment = ?", (name,))
            if not left:
                connection.execute("DROP TABLE reach_queue")

    def _add_record(self, kind: str, facts: dict[str, Any]) -> None:
        value = dict(facts)
        if kind == "session":
            tokens = Tokens(**value.pop("tokens"))
            self.add_session(Session(**{**value, "tokens": tokens, "notes": tuple(value["notes"])}))
        elif kind == "message":
            session_id, text = value.pop("session_id"), value.pop("text")
            self.add_message(session_id, StepKind(value.pop("kind")), text, **value)
        elif kind == "call":
            self.add_call(_call(value))
        elif kind == "event":
            self.add_event(_event(value))
        else:
            raise ValueError(f"unknown kind of record {kind!r}")


def _call(value: dict[str, Any]) -> ToolCall:
    result, slots = value.get("result"), value.get("slots")
    return ToolCall(
        **{
            **value,
            "result": Result(**result) if result is not None else None,
            "slots": tuple(Slot(**slot) for slot in slots) if slots is not None else None,
            "route": None,  # its event is a record of its own
        }
    )


def _event(value: dict[str, Any]) -> Event:
    candidates: list[dict[str, JsonValue]] | None = value.get("candidates")
    thresholds = value.get("thresholds")
    return Event(
        **{
            **value,
            "candidates": None if candidates is None else tuple(Candidate(**one) for one in candidates),  # type: ignore[arg-type]
            "thresholds": None if thresholds is None else Thresholds(**thresholds),
        }
    )
