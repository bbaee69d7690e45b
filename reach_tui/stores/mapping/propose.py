"""A database explained: its tables, and a mapping to start from, guessed from the names of tables and columns."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from reach_tui.base.sqlite import DatabaseError, Schema, reading, schema_of
from reach_tui.base.text import one_line
from reach_tui.stores.mapping.model import looks_secret

_MOST = 1_000_000
"""Rows counted of a table; more are said to be more."""
_PLAIN = re.compile(r"[\w -]+")
_SHADOW = re.compile(r".*_fts(?:_\w+)?|sqlite_\w+|_?\w*migrations?\w*")

_SESSIONS = ("session", "conversation", "thread", "chat", "trace", "run", "dialog")
_MESSAGES = ("message", "response", "turn", "event", "entry", "item", "step")
_ID = ("id", "uuid", "key", "hash")
_TITLE = ("title", "name", "summary", "slug", "subject", "display_name")
_PROJECT = ("cwd", "directory", "working_dir", "working_directory", "project", "workspace")
_PARENT = ("parent_id", "parent_session_id", "parent_thread_id", "parent_conversation_id", "forked_from")
_MODEL = ("model", "model_name", "model_id")
_STARTED = (
    "started_at", "created_at", "time_created", "start_time", "created", "timestamp", "datetime_utc", "datetime",
    "time", "at", "date", "ts",
)  # fmt: skip
_ENDED = ("ended_at", "finished_at", "updated_at", "time_updated", "end_time", "updated", "last_modified_at")
_CALL_ID = ("tool_call_id", "call_id", "tool_use_id", "id")
_TOOL = ("tool_name", "tool", "function_name", "function", "name")
_ARGUMENTS = ("arguments", "args", "input_json", "input", "parameters", "params", "arguments_json", "payload")
_RESULT = ("result", "output", "result_content", "result_text", "response", "content", "text")
_ROLE = ("role", "sender", "author", "type")
_TEXT = ("content", "text", "body", "message", "prompt", "data")
_FLAGS = ("is_error", "error", "exception", "failed", "ok", "success", "status")
_JSON = ("content_json", "parts", "data", "value", "payload", "content", "body", "blocks")
_STATUS_FAILED = ["error", "failed", "ERROR"]
_STATUS_SUCCEEDED = ["ok", "completed", "success", "OK"]


@dataclass(frozen=True, slots=True)
class _Link:
    """How the rows of a table belong to a session: a column of its own, or of a table beside it."""

    column: str
    joins: tuple[str, ...] = ()


def explain(path: Path) -> str:
    """The tables of a database as comments, then the proposed mapping: valid TOML. Raises `StoreError`.

    Tables that by their name hold accounts, keys or tokens are named and not read.
    """
    with reading(path) as connection:
        schema = schema_of(connection)
        counts: dict[str, int | None] = {}
        for table in schema.tables:
            if looks_secret(table, table=True):
                continue
            quoted = table.replace('"', '""')
            try:
                query = f'SELECT count(*) FROM (SELECT 1 FROM "{quoted}" LIMIT {_MOST + 1})'
                counts[table] = int(connection.execute(query).fetchone()[0])
            except DatabaseError:  # a virtual table whose module we lack
                counts[table] = None
    lines = [f"# {one_line(path.name)}: {len(schema.tables)} tables, user_version {schema.user_version}"]
    lines += [_described(table, schema, counts) for table in sorted(schema.tables)]
    lines += [
        "#",
        "# A mapping to start from, guessed from the names above. Correct it, and save it beside the database",
        f"# as {one_line(path.name)}.mapping.toml; docs/mapping.md says what each key means.",
        "",
    ]
    return "\n".join(lines) + "\n" + propose(schema, counts, path.stem)


def _described(table: str, schema: Schema, counts: Mapping[str, int | None]) -> str:
    if table not in counts:
        return f"#   {one_line(table)}: not read, by its name it may hold accounts, keys or tokens"
    count = counts[table]
    rows = "unreadable" if count is None else f"more than {_MOST:,} rows" if count > _MOST else f"{count:,} rows"
    return f"#   {one_line(table)} ({rows}): {one_line(', '.join(sorted(schema.tables[table])))}"


def propose(schema: Schema, counts: Mapping[str, int | None] | None = None, name: str = "store") -> str:
    """A mapping for a schema as TOML text that `loader.load` accepts; what could not be guessed is said in comments."""
    filled = counts or {}
    tables = {
        table: frozenset(one for one in columns if _PLAIN.fullmatch(one) and not looks_secret(one))
        for table, columns in schema.tables.items()
        if _PLAIN.fullmatch(table) and not looks_secret(table, table=True) and not _SHADOW.fullmatch(table)
    }
    return _Guess(tables, filled).toml(name)


class _Guess:
    """Which table is what."""

    def __init__(self, tables: Mapping[str, frozenset[str]], counts: Mapping[str, int | None]) -> None:
        self.tables = dict(sorted(tables.items(), key=lambda one: (-(counts.get(one[0]) or 0), one[0])))
        self.sessions = self._named(_SESSIONS, _ID)
        self.results = next((one for one in self.tables if "result" in one and self._pick(one, _RESULT)), None)
        self.calls = self._calls()
        others = {self.sessions, self.calls, self.results}
        self.messages = next(
            (one for one in self.tables if one not in others and {"role", "content"} <= self.tables[one]), None
        ) or self._named(_MESSAGES, _TEXT, without=others)

    def _named(self, words: Iterable[str], needed: Iterable[str], without: Iterable[str | None] = ()) -> str | None:
        """The table whose name is, or begins or ends with, the first of these words."""
        for word in words:
            for shape in (rf"{word}s?", rf".*_{word}s?|{word}s?_.*"):
                for table in self.tables:
                    if re.fullmatch(shape, table, re.IGNORECASE) and table not in without and self._pick(table, needed):
                        return table
        return None

    def _calls(self) -> str | None:
        fitting = [
            one
            for one in self.tables
            if one not in (self.sessions, self.results) and self._pick(one, _TOOL) and self._pick(one, _ARGUMENTS)
        ]
        named = [one for one in fitting if re.search(r"tool|call|span|action", one, re.IGNORECASE)]
        surely = [one for one in fitting if {"tool", "tool_name", "function"} & self.tables[one]]
        return next(iter((*named, *surely)), None)

    def _pick(self, table: str, names: Iterable[str]) -> str | None:
        return next((name for name in names if name in self.tables[table]), None)

    def _link(self, table: str) -> _Link | None:
        """How rows of the table say whose they are."""
        columns = self.tables[table]
        words = _SESSIONS if self.sessions is None else (_singular(self.sessions), *_SESSIONS)
        for word in words:
            for column in (f"{word}_id", f"{word}_rowid", f"{word}_uuid", word):
                if column in columns:
                    return _Link(column)
        for other, theirs in self.tables.items():
            column = f"{_singular(other)}_id"
            if other != table and column in columns and "id" in theirs and other != self.sessions:
                inner = next((f"{word}_id" for word in words if f"{word}_id" in theirs), None)
                if inner:
                    return _Link(f"{other}.{inner}", (f"{other}.id = {column}",))
        return None

    def toml(self, name: str) -> str:
        kind = re.sub(r"\W+", "_", name.lower(), flags=re.ASCII).strip("_")
        lines = [
            f"kind = {_string(kind if kind[:1].isalpha() else f'store_{kind}'.rstrip('_'))}",
            f"title = {_string(name if _PLAIN.fullmatch(name) else 'a store')}",
            'flag_meaning = "Say here what counts as a flag."',
            "",
            *self._recognise(),
            *self._session(),
        ]
        used = [table for table in (self.messages, self.calls, self.results) if table and self._belongs(table)]
        for table in used:
            lines += self._from(table)
        if self.messages in used and self.messages:
            lines += self._message(self.messages)
        if self.calls in used and self.calls:
            lines += self._call(self.calls)
        else:
            lines += self._no_calls()
        if self.results in used and self.results and self.results != self.calls:
            lines += self._result(self.results)
        return "\n".join(lines).rstrip() + "\n"

    def _belongs(self, table: str) -> bool:
        return self._link(table) is not None or self._main() == table

    def _main(self) -> str | None:
        """The table that sessions are read from."""
        return self.sessions or self.calls or self.messages or next(iter(self.tables), None)

    def _recognise(self) -> list[str]:
        lines = ["# Tables, with columns, by which a database is known to be of this kind.", "[recognise]"]
        known = dict.fromkeys(one for one in (self._main(), self.messages, self.calls, self.results) if one)
        lines += [f"{_key(one)} = [{', '.join(map(_string, sorted(self.tables[one])[:6]))}]" for one in known]
        return [*lines, ""]

    def _session(self) -> list[str]:
        table = self._main()
        if table is None:
            return ["# There is no table that could be read."]
        lines = ["[session]", f"table = {_string(table)}"]
        if self.sessions:
            lines.append(f"id = {_string(self._pick(table, _ID) or 'rowid')}")
        else:
            link = self._link(table)
            lines.append("# No table of sessions was found: say which column tells one session from another.")
            lines += [f"id = {_string(link.column if link and not link.joins else 'rowid')}", "grouped = true"]
        wanted = {"title": _TITLE if self.sessions else (), "project": _PROJECT, "parent": _PARENT, "model": _MODEL,
                  "started": _STARTED, "ended": _ENDED}  # fmt: skip
        return [*lines, *self._picked(table, wanted), ""]

    def _picked(self, table: str, wanted: Mapping[str, Iterable[str]]) -> list[str]:
        found = ((key, self._pick(table, names)) for key, names in wanted.items())
        return [f"{key} = {_string(column)}" for key, column in found if column]

    def _from(self, table: str) -> list[str]:
        link = self._link(table) or _Link("rowid")
        lines = [f"[from.{_key(table)}]", f"table = {_string(table)}"]
        if link.joins:
            lines.append(f"joins = [{', '.join(map(_string, link.joins))}]")
        time = self._pick(table, _STARTED)
        if time is None and link.joins:
            beside = link.column.partition(".")[0]
            inner = self._pick(beside, _STARTED)
            time = inner and f"{beside}.{inner}"
        order = [one for one in (time, "rowid") if one]
        lines += [f"session = {_string(link.column)}", f"order = [{', '.join(map(_string, order))}]"]
        return [*lines, *([f"time = {_string(time)}"] if time else []), ""]

    def _message(self, table: str) -> list[str]:
        text, role = self._pick(table, _TEXT) or "rowid", self._pick(table, _ROLE)
        who = f"role = {_string(role)}" if role else 'kind = "assistant"'
        return ["[[message]]", f"from = {_string(table)}", f"text = {_string(text)}", who, ""]

    def _call(self, table: str) -> list[str]:
        wanted = {"id": _CALL_ID, "tool": _TOOL, "arguments": _ARGUMENTS}
        lines = ["[[call]]", f"from = {_string(table)}", *self._picked(table, wanted)]
        if self.results in (None, table):
            taken = {self._pick(table, _ARGUMENTS), self._pick(table, _TOOL)}
            lines += self._picked(table, {"result": [one for one in _RESULT if one not in taken]})
        return [*lines, "", *self._flag(table, "call")]

    def _result(self, table: str) -> list[str]:
        lines = ["[[result]]", f"from = {_string(table)}", f"call = {_string(self._pick(table, _CALL_ID) or 'rowid')}"]
        return [*lines, *self._picked(table, {"text": _RESULT}), "", *self._flag(table, "result")]

    def _flag(self, table: str, part: str) -> list[str]:
        column = self._pick(table, _FLAGS)
        if column is None:
            return ["# No column was found that says whether a call failed.", ""]
        lines = ["# Check what the values mean.", f"[[{part}.flag]]", f"value = {_string(column)}"]
        if column in ("is_error", "failed"):
            lines += ["failed = [1, true]", "succeeded = [0, false]"]
        elif column in ("ok", "success"):
            lines += ["failed = [0, false]", "succeeded = [1, true]"]
        elif column == "status":
            lines += [f"failed = {json.dumps(_STATUS_FAILED)}", f"succeeded = {json.dumps(_STATUS_SUCCEEDED)}"]
        else:
            lines += ['when_present = "failed"', 'when_missing = "succeeded"']
        return [*lines, ""]

    def _no_calls(self) -> list[str]:
        table = self.messages or self._main()
        column = (table and self._pick(table, _JSON)) or "content"
        return [
            "# No table of calls was found. They may stand in the JSON of messages; then, for instance:",
            "# [[call]]",
            f"# from = {_string(table or 'messages')}",
            f"# each = {_string(f'{column}:$[type=tool_use]')}",
            '# id = "$.id"',
            '# tool = "$.name"',
            '# arguments = "$.input"',
            "#",
            "# [[result]]",
            f"# from = {_string(table or 'messages')}",
            f"# each = {_string(f'{column}:$[type=tool_result]')}",
            '# call = "$.tool_use_id"',
            '# text = "$.content"',
        ]


def _singular(table: str) -> str:
    return table[:-3] + "y" if table.endswith("ies") else table.removesuffix("s")


def _string(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _key(text: str) -> str:
    return text if re.fullmatch(r"[A-Za-z0-9_-]+", text) else _string(text)
