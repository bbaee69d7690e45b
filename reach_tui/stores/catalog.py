"""Which reader reads a file. Built-in kinds are listed here by name; other packages add theirs as entry points."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from reach_tui.base.errors import NotRecognised, ReachError, SchemaUnknown
from reach_tui.base.sqlite import Schema, reading, schema_of
from reach_tui.base.text import one_line
from reach_tui.stores.reader import DatabaseReader, Reader, Recognition

GROUP = "reach_tui.stores"
BESIDE = ".mapping.toml"
"""A mapping for one database is named after it: `trace.db.mapping.toml`."""


@dataclass(frozen=True, slots=True)
class BuiltIn:
    """A reader of ours: asked, and its module imported, only for files with one of its tables."""

    target: str
    tables: frozenset[str]


BUILT_IN = {
    "reach": BuiltIn("reach_tui.stores.reach:ReachReader", frozenset({"tool_call"})),
    "peri": BuiltIn("reach_tui.stores.peri:PeriReader", frozenset({"threads"})),
    "kilo": BuiltIn("reach_tui.stores.kilo:KiloReader", frozenset({"part", "session_message"})),
    "opencode": BuiltIn("reach_tui.stores.opencode:OpencodeReader", frozenset({"part", "parts", "session_message"})),
    "hermes": BuiltIn("reach_tui.stores.hermes:HermesReader", frozenset({"schema_version", "state_meta"})),
    "openai_agents": BuiltIn("reach_tui.stores.openai_agents:OpenaiAgentsReader", frozenset({"agent_messages"})),
    "llm": BuiltIn("reach_tui.stores.llm:LlmReader", frozenset({"_llm_migrations"})),
    "agentsview": BuiltIn("reach_tui.stores.agentsview:AgentsviewReader", frozenset({"tool_result_events"})),
    "google_adk": BuiltIn("reach_tui.stores.google_adk:GoogleAdkReader", frozenset({"app_states", "events"})),
    "langgraph": BuiltIn("reach_tui.stores.langgraph:LanggraphReader", frozenset({"checkpoints"})),
    "agno": BuiltIn("reach_tui.stores.agno:AgnoReader", frozenset({"agno_sessions", "agno_schema_versions"})),
    "phoenix": BuiltIn("reach_tui.stores.phoenix:PhoenixReader", frozenset({"projects"})),
    "mlflow": BuiltIn("reach_tui.stores.mlflow:MlflowReader", frozenset({"trace_info"})),
}
"""In the order they are asked. The same names stand in pyproject.toml, so that `importlib.metadata` lists them too."""

TRANSCRIPT_GROUP = "reach_tui.transcripts"
TRANSCRIPTS = {
    "claude_code": "reach_tui.stores.transcripts.claude_code:ClaudeCode",
    "codex": "reach_tui.stores.transcripts.codex:Codex",
    "gemini_cli": "reach_tui.stores.transcripts.gemini_cli:GeminiCli",
    "qwen_code": "reach_tui.stores.transcripts.qwen_code:QwenCode",
    "copilot_cli": "reach_tui.stores.transcripts.copilot_cli:CopilotCli",
    "pi": "reach_tui.stores.transcripts.pi:Pi",
}
"""Formats of transcripts by kind, in the order they are asked; also in pyproject.toml."""
_INDEXES = (
    ("codex", frozenset({"threads", "thread_spawn_edges"})),
    ("codex", frozenset({"thread_turns", "thread_items"})),
    ("copilot_cli", frozenset({"forge_trajectory_events", "assistant_usage_events", "turns"})),
)
"""Databases that only accompany transcripts, by their tables: opening one opens the transcripts."""


@dataclass(frozen=True, slots=True)
class Opened:
    """A recognised store."""

    reader: Reader
    version: str
    verified: bool = True
    """False where nobody has held what the reader reads against the program itself."""


def load(target: str) -> type[DatabaseReader]:
    """The reader class behind `module:attribute`."""
    module, _, attribute = target.partition(":")
    return getattr(import_module(module), attribute)  # type: ignore[no-any-return]


def plugin_targets() -> dict[str, str]:
    """Readers of other packages by kind. `REACH_TUI_PLUGINS=off` leaves them out; scanning costs about 30 ms."""
    if os.environ.get("REACH_TUI_PLUGINS") == "off":
        return {}
    from importlib.metadata import entry_points

    left_out = BUILT_IN.keys() | switched_off()
    return {entry.name: entry.value for entry in entry_points(group=GROUP) if entry.name not in left_out}


def transcript_targets() -> dict[str, str]:
    """The formats of transcripts by kind, those of other packages last."""
    found = dict(TRANSCRIPTS)
    if os.environ.get("REACH_TUI_PLUGINS") != "off":
        from importlib.metadata import entry_points

        for entry in entry_points(group=TRANSCRIPT_GROUP):
            found.setdefault(entry.name, entry.value)
    return {kind: target for kind, target in found.items() if kind not in switched_off()}


def switched_off() -> frozenset[str]:
    """Kinds that `REACH_TUI_WITHOUT` (comma-separated) leaves to a mapping, or to nobody."""
    return frozenset(os.environ.get("REACH_TUI_WITHOUT", "").replace(",", " ").split())


def _mapped(path: Path, schema: Schema, file: Path | None = None) -> Opened | None:
    """The store by a mapping: the given file, else whichever knows the schema."""
    from reach_tui.stores.mapping.opening import by_mapping, by_mapping_file

    reader = by_mapping_file(path, schema, file) if file else by_mapping(path, schema, switched_off())
    if reader is None:
        return None
    return Opened(reader, f"{reader.mapping.version} ({reader.mapping.path.name})", reader.verified)


def open_store(path: Path) -> Opened:
    """The reader for a database, chosen by its schema; for an index of transcripts the reader of these.

    A mapping beside the database comes first, other mappings last. Raises `NotRecognised` (a database of no known
    kind), `SchemaUnknown` (known kind, unknown layout), `ConfigError` (a mapping that is wrong), or another
    `StoreError` for a file that cannot be opened.
    """
    with reading(path) as connection:
        schema = schema_of(connection)
    if (own := path.with_name(path.name + BESIDE)).is_file() and (opened := _mapped(path, schema, own)):
        return opened
    for kind, tables in _INDEXES:
        if tables <= schema.tables.keys():
            from reach_tui.stores.transcripts.opening import beside

            return Opened(beside(kind, path), f"with {path.name}")
    opened, near_miss = _by_readers(path, schema)
    if opened or (schema.tables and (opened := _mapped(path, schema))):
        return opened
    if near_miss:
        title, answer = near_miss
        what = f"a store of {title} in a layout this version cannot read ({answer.version}): {answer.unsupported}"
        raise SchemaUnknown(what, path, "update reach-tui, or report the layout")
    if not schema.tables:
        hint = "its rows may be in a -wal file that was not copied along"
        raise NotRecognised("a database without any tables", path, hint)
    names = sorted(schema.tables)
    shown = ", ".join(name[:40] for name in names[:6]) + (" …" if len(names) > 6 else "")
    hint = "`reach-tui stores --explain FILE` proposes a mapping for it"
    raise NotRecognised(f"a database of no known agent (tables: {shown})", path, hint)


def _by_readers(path: Path, schema: Schema) -> tuple[Opened | None, tuple[str, Recognition] | None]:
    """The first reader that can read the schema, else the first that knows the store and not this layout."""
    near_miss: tuple[str, Recognition] | None = None
    off = switched_off()
    ours = {kind: one.target for kind, one in BUILT_IN.items() if one.tables & schema.tables.keys() and kind not in off}
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
                return Opened(reader_class(path), answer.version, getattr(reader_class, "verified", True)), None
            near_miss = near_miss or (reader_class.title, answer)
    return None, near_miss
