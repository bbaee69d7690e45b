"""Where each known program keeps its sessions, by operating system and by the program's own environment variables.

Data, not search: a handful of names are looked up for each kind, and nothing is opened. Sources: the store notes, which
say for each place whether it was seen, read in public source, or told.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from reach_tui.base.paths import data_dir


def _working_folder() -> Path:
    try:
        return Path.cwd()
    except OSError:  # it was removed under us
        return Path.home()


@dataclass(frozen=True, slots=True)
class Home:
    """A person's home as programs see it; everything can be given for tests."""

    folder: Path = field(default_factory=Path.home)
    system: str = sys.platform
    """`linux`, `darwin` or `win32`."""
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)
    working: Path = field(default_factory=_working_folder)

    def named(self, variable: str, *default: str) -> Path:
        """The folder an environment variable names, else the one below the home."""
        chosen = self.environ.get(variable)
        return self._expanded(chosen) if chosen else self.folder.joinpath(*default)

    def _expanded(self, text: str) -> Path:
        return self.folder / text[2:] if text.startswith(("~/", "~\\")) else Path(text)

    def data(self, name: str) -> Path:
        """`$XDG_DATA_HOME/name`, else `~/.local/share/name`: what programs without a rule for each system use."""
        return self.named("XDG_DATA_HOME", ".local", "share") / name

    def settings(self, name: str) -> Path:
        """The settings folder of this system's rule: Application Support, `%APPDATA%`, `~/.config`."""
        if self.system == "darwin":
            return self.folder / "Library" / "Application Support" / name
        if self.system == "win32":
            return self.named("APPDATA", "AppData", "Roaming") / name
        return self.named("XDG_CONFIG_HOME", ".config") / name

    def local(self, name: str) -> Path:
        """The data folder of this system's rule: Application Support, `%LOCALAPPDATA%`, `~/.local/share`."""
        if self.system == "darwin":
            return self.folder / "Library" / "Application Support" / name
        return self.named("LOCALAPPDATA", "AppData", "Local") / name if self.system == "win32" else self.data(name)


@dataclass(frozen=True, slots=True)
class Place:
    """One kind's places: what is there, where it was looked for, and why perhaps not."""

    kind: str
    found: tuple[Path, ...]
    looked: tuple[Path, ...]
    """Paths; a last part with `*` stands for every name that fits."""
    note: str | None = None

    @property
    def absent(self) -> str:
        """Why there is nothing, in words."""
        if self.note:
            return self.note
        return "not found in " + ", ".join(map(str, self.looked)) if self.looked else "no usual place: name the file"


def _family(folder: str, variable: str) -> Callable[[Home], list[Path]]:
    """opencode and its kin: `NAME*.db` in the data folder, and the file that a variable names."""

    def places(home: Home) -> list[Path]:
        data = home.data(folder)
        named = home.environ.get(variable)
        first = [data / Path(named).expanduser()] if named and named != ":memory:" else []
        return [*first, data / f"{folder}*.db"]

    return places


def _hermes(home: Home) -> list[Path]:
    if home.system == "win32" and "HERMES_HOME" not in home.environ:
        return [home.local("hermes") / "state.db"]
    return [home.named("HERMES_HOME", ".hermes") / "state.db"]


def _goose(home: Home) -> list[Path]:
    if home.environ.get("GOOSE_PATH_ROOT"):
        return [home.named("GOOSE_PATH_ROOT") / "data" / "sessions" / "sessions.db"]
    if home.system == "win32":
        return [home.settings("Block") / "goose" / "data" / "sessions" / "sessions.db"]
    return [home.data("goose") / "sessions" / "sessions.db"]


def _llm(home: Home) -> list[Path]:
    if home.environ.get("LLM_USER_PATH"):
        return [home.named("LLM_USER_PATH") / "logs.db"]
    return [home.settings("io.datasette.llm") / "logs.db"]


def _crush(home: Home) -> list[Path]:
    """The nearest `.crush` folder upwards from the working folder, as the program looks for it."""
    for folder in (home.working, *home.working.parents):
        if (folder / ".crush" / "crush.db").is_file():
            return [folder / ".crush" / "crush.db"]
    return [home.working / ".crush" / "crush.db"]


def _zed(home: Home) -> list[Path]:
    name = "zed" if home.system == "linux" else "Zed"
    return [home.local(name) / "threads" / "threads.db"]


def _warp(home: Home) -> list[Path]:
    if home.system == "darwin":
        group = home.folder / "Library" / "Group Containers" / "2BBY89MBSN.dev.warp"
        return [group / "Library" / "Application Support" / "dev.warp.Warp-Stable" / "warp.sqlite"]
    if home.system == "win32":
        return [home.local("warp") / "Warp" / "data" / "warp.sqlite"]
    return [home.named("XDG_STATE_HOME", ".local", "state") / "warp-terminal" / "warp.sqlite"]


def _peri(home: Home) -> list[Path]:
    return [home.folder / ".peri" / "threads" / "threads.db"]


LOCATIONS: dict[str, Callable[[Home], list[Path]]] = {
    "peri": _peri,
    "opencode": _family("opencode", "OPENCODE_DB"),
    "kilo": _family("kilo", "KILO_DB"),
    "zcode": lambda home: [home.folder / ".zcode" / "cli" / "db" / "db.sqlite"],
    "claude_code": lambda home: [home.named("CLAUDE_CONFIG_DIR", ".claude") / "projects"],
    "codex": lambda home: [
        home.named("CODEX_HOME", ".codex") / "sessions",
        home.named("CODEX_HOME", ".codex") / "archived_sessions",
    ],
    "copilot_cli": lambda home: [home.folder / ".copilot" / "session-state"],
    "gemini_cli": lambda home: [home.folder / ".gemini" / "tmp"],
    "qwen_code": lambda home: [home.folder / ".qwen" / "projects"],
    "pi": lambda home: [home.folder / ".pi" / "agent" / "sessions", home.folder / ".omp" / "agent" / "sessions"],
    "hermes": _hermes,
    "llm": _llm,
    "phoenix": lambda home: [home.named("PHOENIX_WORKING_DIR", ".phoenix") / "phoenix.db"],
    "mlflow": lambda home: [home.working / "mlflow.db"],
    "google_adk": lambda home: [home.working / ".adk" / "session.db"],
    "langgraph": lambda home: [home.working / "checkpoints.sqlite"],
    "openai_agents": lambda home: [],
    "agno": lambda home: [],
    "agentsview": lambda home: [home.named("AGENTSVIEW_DATA_DIR", ".agentsview") / "sessions.db"],
    "goose": _goose,
    "crush": _crush,
    "zed": _zed,
    "cursor": lambda home: [home.settings("Cursor") / "User" / "globalStorage" / "state.vscdb"],
    "kiro": lambda home: [home.data("kiro-cli") / "*.sqlite3", home.data("kiro-cli") / "*.db"],
    "shelley": lambda home: [home.named("XDG_CONFIG_HOME", ".config") / "shelley" / "shelley.db"],
    "warp": _warp,
    "reach": lambda home: [data_dir() / "reach.db"],
}
"""Kind -> where its sessions are: files, folders of transcripts, or names with `*`."""


def places(home: Home | None = None) -> Iterator[Place]:
    """Every known kind in turn with what is there."""
    home = home or Home()
    for kind, where in LOCATIONS.items():
        looked = tuple(where(home))
        found = tuple(path for pattern in looked for path in _existing(pattern))
        yield Place(kind, found, looked, None if found else _elsewhere(kind, home))


def _elsewhere(kind: str, home: Home) -> str | None:
    """A variable that says that there is no file."""
    for of, variable in (("opencode", "OPENCODE_DB"), ("kilo", "KILO_DB")):
        if kind == of and home.environ.get(variable) == ":memory:":
            return f"{variable} keeps it in memory"
    url = home.environ.get("PHOENIX_SQL_DATABASE_URL", "")
    return "PHOENIX_SQL_DATABASE_URL names another database" if kind == "phoenix" and url else None


def _existing(pattern: Path) -> Iterator[Path]:
    with suppress(OSError, ValueError):
        if "*" in pattern.name:
            yield from sorted(pattern.parent.glob(pattern.name))
        elif pattern.exists():
            yield pattern
