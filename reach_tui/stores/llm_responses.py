"""llm's older layout (store notes on llm): responses, with the calls they asked for in the tables beside them."""

from __future__ import annotations

from collections.abc import Sequence

from reach_tui.base.clock import parse_time
from reach_tui.base.jsonio import as_int
from reach_tui.base.sqlite import Connection, columns_of, selection, text_of
from reach_tui.model import StepKind
from reach_tui.stores.content import attachment_text, size_text
from reach_tui.stores.openai_messages import Answer, Entry, Request, arguments_of

_KEYS_AT_ONCE = 900  # the least that SQLite allows is 999
_COLUMNS = ("prompt", "system", "response", "reasoning", "datetime_utc", "duration_ms")


class Responses:
    """Reads conversations from one open file."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection

    def entries(self, ids: Sequence[str]) -> dict[str, list[Entry]]:
        """The rows of each conversation, in order: what was sent (with results), then what came back (with calls)."""
        found: dict[str, list[Entry]] = {identifier: [] for identifier in ids}
        columns = columns_of(self.connection, "responses")
        if not {"id", "conversation_id"} <= columns:
            return found
        marks = ",".join("?" * len(ids))
        rows = self.connection.execute(
            f"SELECT id, coalesce(conversation_id, id), {selection(columns, *_COLUMNS)} FROM responses "
            f"WHERE coalesce(conversation_id, id) IN ({marks}) ORDER BY id",
            list(ids),
        ).fetchall()
        sent: dict[str, Entry] = {}
        came: dict[str, Entry] = {}
        for identifier, conversation, prompt, system, response, reasoning, started, took in rows:
            key, at = text_of(identifier), parse_time(started)
            sent[key] = Entry(f"{key}>", at)
            came[key] = Entry(key, None if at is None else at + (as_int(took) or 0))
            sent[key].said += [(StepKind.SYSTEM, text_of(system)), (StepKind.USER, text_of(prompt))]
            came[key].said += [(StepKind.REASONING, text_of(reasoning)), (StepKind.ASSISTANT, text_of(response))]
            found[text_of(conversation)] += [sent[key], came[key]]
        if sent:
            self._fill(sent, came)
        return found

    def _fill(self, sent: dict[str, Entry], came: dict[str, Entry]) -> None:
        """Calls, results, fragments and attachments of the responses."""
        keys = list(sent)
        for start in range(0, len(keys), _KEYS_AT_ONCE):
            some = keys[start : start + _KEYS_AT_ONCE]
            self._calls(came, some)
            self._results(sent, some)
            self._fragments(sent, some)
            self._attachments(sent, some)

    def _rows(self, table: str, picked: Sequence[str], keys: Sequence[str], order: str) -> list[tuple[object, ...]]:
        columns = columns_of(self.connection, table)
        if "response_id" not in columns:
            return []
        return self.connection.execute(
            f"SELECT response_id, {selection(columns, *picked)} FROM {table} "
            f"WHERE response_id IN ({','.join('?' * len(keys))}) ORDER BY {order}",
            list(keys),
        ).fetchall()

    def _calls(self, came: dict[str, Entry], keys: Sequence[str]) -> None:
        for response, name, written, call_id in self._rows(
            "tool_calls", ("name", "arguments", "tool_call_id"), keys, "rowid"
        ):
            arguments, problem = arguments_of(text_of(written))
            came[text_of(response)].requests.append(Request(text_of(call_id), text_of(name), arguments, problem))

    def _results(self, sent: dict[str, Entry], keys: Sequence[str]) -> None:
        known = "exception" in columns_of(self.connection, "tool_results")
        for response, name, output, call_id, exception in self._rows(
            "tool_results", ("name", "output", "tool_call_id", "exception"), keys, "rowid"
        ):
            answer = Answer(text_of(call_id), text_of(output), text_of(name))
            answer.flagged = exception is not None if known else None
            if exception is not None:
                answer.metadata["exception"] = text_of(exception)
            sent[text_of(response)].answers.append(answer)

    def _fragments(self, sent: dict[str, Entry], keys: Sequence[str]) -> None:
        """Texts that stand before the prompt: each stored once, referred to."""
        if "content" not in columns_of(self.connection, "fragments"):
            return
        for place, (table, kind) in enumerate(
            (("system_fragments", StepKind.SYSTEM), ("prompt_fragments", StepKind.USER))
        ):
            texts: dict[str, list[str]] = {}
            for response, fragment in self._rows(table, ("fragment_id",), keys, '"order"'):
                row = self.connection.execute("SELECT content FROM fragments WHERE id = ?", (fragment,)).fetchone()
                texts.setdefault(text_of(response), []).append(text_of(row[0]) if row else f"[fragment {fragment}]")
            for response, parts in texts.items():
                said = sent[response].said
                said[place] = (kind, "\n".join(text for text in (*parts, said[place][1]) if text))

    def _attachments(self, sent: dict[str, Entry], keys: Sequence[str]) -> None:
        for response, attachment in self._rows("prompt_attachments", ("attachment_id",), keys, '"order"'):
            said = sent[text_of(response)].said
            said[1] = (StepKind.USER, f"{said[1][1]}{shown_attachment(self.connection, text_of(attachment))}")


def shown_attachment(connection: Connection, identifier: str) -> str:
    """`[image/png 48 kB]` for a row of `attachments`; its content is never read."""
    columns = columns_of(connection, "attachments")
    length = "length(content)" if "content" in columns else "NULL"
    query = f"SELECT {selection(columns, 'type', 'path', 'url')}, {length} FROM attachments WHERE id = ?"
    row = connection.execute(query, (identifier,)).fetchone()
    if row is None:
        return f"[attachment {identifier}]"
    kind, path, url, length = row
    where = text_of(path) or text_of(url) or size_text(as_int(length) or 0)
    return attachment_text({"type": text_of(kind) or "attachment", "title": where})
