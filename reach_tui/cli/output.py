"""stdout is the result, stderr is talk: records as JSON, JSON Lines or a table, one line for every fault."""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import click

from reach_tui.base.text import one_line, shown_name

if TYPE_CHECKING:
    from reach_tui.base.jsonio import JsonValue

_BATCH = 200  # table rows laid out at once
# Valid inside JSON strings and nowhere else in JSON; some terminals obey them, so they are escaped.
_OBEYED = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]")

Record: TypeAlias = "dict[str, JsonValue]"
Command = TypeVar("Command", bound=Callable[..., Any])


def encode(value: JsonValue) -> str:
    """JSON text that is safe on a terminal. What is nested too deeply is cut, with a mark."""
    from reach_tui.base.jsonio import encode_fast, shallow

    try:
        text = encode_fast(value)
    except RecursionError:
        text = encode_fast(shallow(value))
    return _OBEYED.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def record_options(command: Command) -> Command:
    """`--json` and `--jsonl`, as every command that prints records has them: the parameter `form`."""
    command = click.option("--jsonl", "form", flag_value="jsonl", help="One JSON object a line.")(command)
    return click.option("--json", "form", flag_value="json", help="One JSON document.")(command)


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table: what it shows of a record, and how wide. `weight` shares out what fixed widths leave."""

    title: str
    cell: Callable[[Record], str]
    width: int = 0
    weight: int = 0
    right: bool = False
    wraps: bool = False
    """Goes on in the next line instead of being cut."""
    style: Callable[[Record], str] | None = None


def tool_of(record: Record) -> str:
    """The tool of a record, for a table."""
    return shown_name(str(record["tool"]))


def emit(records: Iterable[Record], form: str | None, columns: Sequence[Column] = (), *, headed: bool = True) -> int:
    """Print records as they come: as JSON Lines, one JSON array, or a table of `columns`; how many there were.

    Without `headed` a table goes on below the one before.
    """
    out = sys.stdout
    count = 0
    if form == "jsonl":
        for count, record in enumerate(records, 1):  # noqa: B007 - the last number is the answer
            out.write(encode(record) + "\n")
    elif form == "json":
        count = _emit_array(records, out)
    else:
        count = _emit_table(iter(records), columns, headed)
    return count


def _emit_array(records: Iterable[Record], out: Any) -> int:
    count = 0
    try:
        for count, record in enumerate(records, 1):
            out.write(("[\n" if count == 1 else ",\n") + encode(record))
    finally:
        out.write("\n]\n" if count else "[]\n")
    return count


def _emit_table(records: Iterator[Record], columns: Sequence[Column], headed: bool) -> int:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    class Quiet(Console):
        def on_broken_pipe(self) -> None:  # Rich would leave with 1, which here means that a check did not hold
            raise BrokenPipeError

    plain = False if os.environ.get("NO_COLOR") else None  # no escape at all, not even bold
    console = Quiet(width=terminal_width(), markup=False, emoji=False, highlight=False, force_terminal=plain)
    widths = _share(columns, console.width)
    count = 0
    while batch := list(islice(records, _BATCH)):
        table = Table(
            box=None, padding=(0, 1, 0, 0), show_header=headed and count == 0, header_style="bold", pad_edge=False
        )
        for column, width in zip(columns, widths, strict=True):
            table.add_column(
                column.title,
                width=width,
                no_wrap=not column.wraps,
                overflow="ellipsis",
                justify="right" if column.right else "left",
            )
        for record in batch:
            table.add_row(
                *(
                    Text(one_line(column.cell(record)), style=column.style(record) if column.style else "")
                    for column in columns
                )
            )
        console.print(table)
        count += len(batch)
    return count


def terminal_width() -> int:
    """Cells a line may have: the terminal's, 120 without one, at least 40."""
    import shutil

    return max(40, shutil.get_terminal_size((120, 24)).columns)


def _share(columns: Sequence[Column], total: int) -> list[int]:
    left = total - len(columns) - sum(column.width for column in columns)
    weights = sum(column.weight for column in columns) or 1
    return [column.width or max(4, left * column.weight // weights) for column in columns]


class Progress:
    """`n done` on stderr: only on a terminal, and only where the result does not go to the same one meanwhile.

    `apart`: the result comes when all is done, so that both may share a terminal.
    """

    def __init__(self, what: str, *, apart: bool = False) -> None:
        self._what = what
        self._shown = sys.stderr.isatty() and (apart or not sys.stdout.isatty())
        self._next = time.monotonic() + 0.5
        self._drawn = False

    def watch(self, items: Iterable[Record]) -> Iterator[Record]:
        """The same items, counted aloud."""
        for number, item in enumerate(items, 1):
            if self._shown and time.monotonic() >= self._next:
                self._next = time.monotonic() + 0.2
                self._drawn = True
                sys.stderr.write(f"\r{self._what}: {number:,}")
                sys.stderr.flush()
            yield item
        if self._drawn:
            sys.stderr.write("\r\x1b[K")
