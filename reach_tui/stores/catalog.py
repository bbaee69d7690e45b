"""Which reader reads a file. Built-in kinds are listed here by name; other packages add theirs as entry points."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from reach_tui.base.errors import NotRecognised, ReachError, SchemaUnknown
from reach_tui.base.sqlite import reading, schema_of
from reach_tui.base.text import one_line
from reach_tui.stores.reader import Reader, Recognition

GROUP = "reach_tui.stores"


@dataclass(frozen=True, slots=True)
class BuiltIn:
    """A reader of ours: asked, and its module imported, only for files with one of its tables."""

    target: str
    tables: frozenset[str]


BUILT_IN = {
    "reach": BuiltIn("reach_tui.stores.reach:ReachReader", frozenset({"tool_call"})),
    "peri": BuiltIn("reach_tui.stores.peri:PeriReader", frozenset({"threads"})),
    "opencode": BuiltIn("reach_tui.stores.opencode:OpencodeReader", frozenset({"part", "parts", "session_message"})),
    "agentsview": BuiltIn("reach_tui.stores.agentsview:AgentsviewReader", frozenset({"tool_result_events"})),
}
"""In the order they are asked. The same names stand in pyproject.toml, so that `importlib.metadata` lists them too."""


@dataclass(frozen=True, slots=True)
class Opened:
    """A recognised store."""

    reader: Reader
    version: str


def load(target: str) -> type[Reader]:
    """The reader class behind `module:attribute`."""
    module, _, attribute = target.partition(":")
    return getattr(import_module(module), attribute)  # type: ignore[no-any-return]


def plugin_targets() -> dict[str, str]:
    """Readers of other packages by kind. `REACH_TUI_PLUGINS=off` leaves them out; scanning costs about 30 ms."""
    if os.environ.get("REACH_TUI_PLUGINS") == "off":
        return {}
    from importlib.metadata import entry_points

    return {entry.name: entry.value for entry in entry_points(group=GROUP) if entry.name not in BUILT_IN}


def open_store(path: Path) -> Opened:
    """The reader for a file, chosen by its schema.

    Raises `NotRecognised` (a database of no known kind), `SchemaUnknown` (known kind, unknown layout), or another
    `StoreError` for a file that cannot be opened.
    """
    with reading(path) as connection:
        schema = schema_of(connection)
    near_miss: tuple[str, Recognition] | None = None
    ours = {kind: one.target for kind, one in BUILT_IN.items() if one.tables & schema.tables.keys()}
    for targets in (ours, None):
        for kind, target in (plugin_targets() if targets is None else targets).items():
            try:
                reader_class = load(target)
                answer = reader_class.recognise(schema, path)
            except ReachError:
                raise
            except Exception as error:  # noqa: BLE001 - somebody else's package: named and passed over
                fault = f"{type(error).__name__}: {error}"
                print(one_line(f"reach-tui: store plugin {kind} ({target}) failed: {fault}"), file=sys.stderr)
                continue
            if answer is None:
                continue
            if answer.unsupported is None:
                return Opened(reader_class(path), answer.version)
            near_miss = near_miss or (reader_class.title, answer)
    if near_miss:
        title, answer = near_miss
        what = f"a store of {title} in a layout this version cannot read ({answer.version}): {answer.unsupported}"
        raise SchemaUnknown(what, path, "update reach-tui, or report the layout")
    if not schema.tables:
        hint = "its rows may be in a -wal file that was not copied along"
        raise NotRecognised("a database without any tables", path, hint)
    names = sorted(schema.tables)
    shown = ", ".join(name[:40] for name in names[:6]) + (" …" if len(names) > 6 else "")
    hint = "see `reach-tui stores --help` for the kinds"
    raise NotRecognised(f"a database of no known agent (tables: {shown})", path, hint)
