"""docs/stores.md from what readers, formats and mappings say of themselves: `python -m reach_tui.stores.describe`."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from reach_tui.stores.catalog import BUILT_IN, TRANSCRIPTS, load
from reach_tui.stores.locations import LOCATIONS, Home
from reach_tui.stores.mapping.loader import bundled

_HOME = Path("~")
_SYSTEMS = {"linux": "Linux", "darwin": "macOS", "win32": "Windows"}
_VARIABLES = (
    ("opencode", "OPENCODE_DB"), ("kilo", "KILO_DB"), ("claude_code", "CLAUDE_CONFIG_DIR"), ("codex", "CODEX_HOME"),
    ("hermes", "HERMES_HOME"), ("llm", "LLM_USER_PATH"), ("phoenix", "PHOENIX_WORKING_DIR"),
    ("goose", "GOOSE_PATH_ROOT"), ("agentsview", "AGENTSVIEW_DATA_DIR"),
)  # fmt: skip
_TOP = """# Stores

<!-- Made by `python -m reach_tui.stores.describe > docs/stores.md` from the readers' own declarations; do not edit. -->

A database is recognised by its schema, a transcript by its first lines, not by name or place. It is opened read-only
and never changed: a database in use as it is, one that was closed cleanly without touching anything beside it, one
whose program was killed from a private copy.

**run**: read and compared with what these versions of the program itself wrote. **read**: written from the program's
public source, **told**: from others' descriptions; `reach-tui stores` says `unverified` of both. A mapping is a TOML
file instead of a reader ([mapping.md](mapping.md)).
"""
_PLACES = """
## Where they are looked for

Without a path, in your home, by each system's rules; `~` is your home, `.` the working folder. What is absent is named
by `reach-tui stores --all`. `XDG_DATA_HOME` and `XDG_CONFIG_HOME` are followed, and `APPDATA` and `LOCALAPPDATA` on
Windows.
"""
_FLAGS = """
## What counts as flagged, and what is not recorded

`flagged` is what the store recorded, and null where it recorded nothing. Our verdict never changes it.
"""
_END = """
## Others

A database of another program: write a mapping, `reach-tui stores --explain FILE` proposes one
([mapping.md](mapping.md)). Readers for other agents come as packages: [CONTRIBUTING.md](../CONTRIBUTING.md) shows a
whole one. `REACH_TUI_PLUGINS=off` leaves them out, `REACH_TUI_WITHOUT=kind,…` leaves out readers and mappings by
kind.

Programs in opencode's layout under other names (MiMoCode, Z Code) are read as opencode. Forge, Piebald, Devin and
Omnigent keep SQLite files whose columns are not known to us; Antigravity's are binary; Windsurf and Trae keep theirs
in VS Code's `ItemTable`.
"""


@dataclass(frozen=True, slots=True)
class Kind:
    """What is said about one kind of store."""

    kind: str
    title: str
    form: str
    flag_meaning: str
    not_recorded: str
    versions: tuple[str, ...]
    basis: str
    """`run`, `read` or `told`."""

    @property
    def status(self) -> str:
        """`run: 1.2, 1.3`, `read` or `told`."""
        return f"run: {', '.join(self.versions)}" if self.basis == "run" else self.basis


def kinds() -> Iterator[Kind]:
    """Every kind that comes along: readers, formats of transcripts, mappings."""
    databases = {kind: one.target for kind, one in BUILT_IN.items()}
    for form, targets in (("SQLite", databases), ("JSON Lines", TRANSCRIPTS)):
        for kind, target in targets.items():
            one = load(target)
            basis = "run" if one.verified else "read"
            yield Kind(kind, one.title, form, one.flag_meaning, one.not_recorded, one.versions_tried, basis)
    for told in bundled():
        form, flags, lacks = "SQLite, mapping", told.flag_meaning, told.not_recorded
        yield Kind(told.kind, told.title, form, flags, lacks, (), told.basis)


def page() -> str:
    """The whole of docs/stores.md."""
    known = list(kinds())
    rows = [(f"`{one.kind}`", one) for one in known]
    parts = [
        _TOP,
        *_table(("kind", "program", "form", "status"), ((kind, one.title, one.form, one.status) for kind, one in rows)),
        _PLACES,
        *_table(("kind", "place", "moved by"), (_place(kind) for kind in LOCATIONS)),
        _FLAGS,
        *_table(("kind", "flagged means"), ((kind, _sentence(one.flag_meaning)) for kind, one in rows)),
        "",
        *_table(("kind", "not recorded by the program"), ((kind, _sentence(one.not_recorded)) for kind, one in rows)),
        _END,
    ]
    return "\n".join(parts)


def _place(kind: str) -> tuple[str, str, str]:
    moved = ", ".join(f"`{variable}`" for of, variable in _VARIABLES if of == kind)
    if kind == "reach":
        return f"`{kind}`", "`reach.db` in your data folder", "`REACH_TUI_DATA`"
    by_system = {name: _shown(kind, system) for system, name in _SYSTEMS.items()}
    if len(set(by_system.values())) == 1:
        return f"`{kind}`", by_system["Linux"] or "no usual place", moved
    grouped: dict[str, list[str]] = {}
    for name, text in by_system.items():
        grouped.setdefault(text, []).append(name)
    return f"`{kind}`", "; ".join(f"{', '.join(names)}: {text}" for text, names in grouped.items()), moved


def _shown(kind: str, system: str) -> str:
    paths = LOCATIONS[kind](Home(_HOME, system, {}, Path(".")))
    return ", ".join(
        f"`{path.as_posix() if path.as_posix().startswith('~') else f'./{path.as_posix()}'}`" for path in paths
    )


def _sentence(text: str) -> str:
    """With a capital at the beginning and a point at the end."""
    text = text[:1].upper() + text[1:]
    return text if text.endswith(".") else f"{text}."


def _table(titles: Iterable[str], rows: Iterable[Iterable[str]]) -> list[str]:
    head = list(titles)
    lines = [head, ["---"] * len(head), *(list(row) for row in rows)]
    return ["| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines]


if __name__ == "__main__":
    sys.stdout.write(page())
