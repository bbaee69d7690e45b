"""The queries a mapping asks for: rows of a table with rows of others beside them, one session's at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from reach_tui.base.sqlite import Connection, Schema, text_of
from reach_tui.stores.mapping.expression import Expression, Row
from reach_tui.stores.mapping.model import Rows

KEY = "rowid"


class Query:
    """One set of rows of a mapping in one database; columns that are missing there are NULL."""

    def __init__(self, rows: Rows, columns: Iterable[Expression], schema: Schema) -> None:
        self.rows = rows
        self.schema = schema
        self.names: list[str] = []
        picked = []
        mine = [rows.session] if rows.session else []
        for expression in (*columns, *rows.order, *mine):
            if expression.column is not None and expression.name not in self.names:
                self.names.append(expression.name)
                picked.append(self._column(expression))
        self.select = f"SELECT {', '.join(picked) or 'NULL'} FROM {_quoted(rows.table)}"
        for join in rows.joins:
            on = f"{_quoted(join.table)}.{_quoted(join.column)} = {self._column(join.other)}"
            self.select += f" LEFT JOIN {_quoted(join.table)} ON {on}"

    def _column(self, expression: Expression) -> str:
        table = expression.table or self.rows.table
        column = expression.column or ""
        there = column in self.schema.tables.get(table, frozenset()) or (column == KEY and table in self.schema.tables)
        return f"{_quoted(table)}.{KEY if column == KEY else _quoted(column)}" if there else "NULL"

    def rows_of(self, connection: Connection, session_ids: Sequence[str]) -> Iterator[tuple[str, Row]]:
        """The rows of some sessions with the session's id, those of each in order; one session if there is a prefix."""
        by = self.rows.session
        for row in connection.execute(*self._statement(session_ids, by)).fetchall():
            found = Row(dict(zip(self.names, row, strict=False)))
            yield text_of(found.values[by.name]) if by and len(session_ids) > 1 else session_ids[0], found

    def all_rows(self, connection: Connection, identity: Expression, one: str | None = None) -> list[Row]:
        """All rows in order, or those whose `identity` is `one`."""
        statement = self._statement([] if one is None else [one], identity)
        return [Row(dict(zip(self.names, row, strict=False))) for row in connection.execute(*statement).fetchall()]

    def scans(self, connection: Connection) -> bool:
        """True if finding one session's rows means going through a whole table, for lack of an index."""
        query, values = self._statement(["one"], self.rows.session)
        plan = connection.execute(f"EXPLAIN QUERY PLAN {query}", values).fetchall()
        return any("SCAN" in text_of(step[3]) for step in plan)

    def _statement(self, ids: Sequence[str], by: Expression | None) -> tuple[str, list[str]]:
        conditions: list[str] = []
        values: list[str] = []
        for expression, words in self.rows.where:
            conditions.append(f"CAST({self._column(expression)} AS TEXT) IN ({', '.join('?' * len(words))})")
            values += [_stored(word) for word in words]
        if ids and by is not None:
            conditions.append(f"{self._column(by)} IN ({', '.join('?' * len(ids))})")
            values += ids
        if self.rows.prefix is not None:
            expression, start = self.rows.prefix
            start = start.replace("{session}", ids[0] if ids else "")
            conditions.append(f"{self._column(expression)} >= ? AND {self._column(expression)} < ?")
            values += [start, start[:-1] + chr(ord(start[-1]) + 1)]
        query = self.select
        if conditions:
            query += f" WHERE {' AND '.join(conditions)}"
        if self.rows.order:
            query += f" ORDER BY {', '.join(self._column(one) for one in self.rows.order)}"
        return query, values


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _stored(word: str) -> str:
    """Booleans are 1 and 0 in SQLite."""
    return {"true": "1", "false": "0"}.get(word, word)
