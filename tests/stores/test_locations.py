"""Where each program keeps its sessions, by the rules of the three systems and the programs' own variables."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from reach_tui.stores.catalog import BUILT_IN, TRANSCRIPTS
from reach_tui.stores.locations import LOCATIONS, Home, places
from reach_tui.stores.mapping.loader import bundled
from reach_tui.workspace.sources import open_paths

EVERYWHERE = {
    "peri": ".peri/threads/threads.db",
    "opencode": ".local/share/opencode/opencode.db",
    "kilo": ".local/share/kilo/kilo-dev.db",
    "zcode": ".zcode/cli/db/db.sqlite",
    "claude_code": ".claude/projects",
    "codex": ".codex/sessions",
    "copilot_cli": ".copilot/session-state",
    "gemini_cli": ".gemini/tmp",
    "qwen_code": ".qwen/projects",
    "pi": ".pi/agent/sessions",
    "phoenix": ".phoenix/phoenix.db",
    "agentsview": ".agentsview/sessions.db",
    "shelley": ".config/shelley/shelley.db",
    "mlflow": "work/mlflow.db",
    "crush": "work/.crush/crush.db",
}
BY_SYSTEM = {
    "linux": {
        "hermes": ".hermes/state.db",
        "llm": ".config/io.datasette.llm/logs.db",
        "goose": ".local/share/goose/sessions/sessions.db",
        "zed": ".local/share/zed/threads/threads.db",
        "cursor": ".config/Cursor/User/globalStorage/state.vscdb",
        "warp": ".local/state/warp-terminal/warp.sqlite",
    },
    "darwin": {
        "hermes": ".hermes/state.db",
        "llm": "Library/Application Support/io.datasette.llm/logs.db",
        "goose": ".local/share/goose/sessions/sessions.db",
        "zed": "Library/Application Support/Zed/threads/threads.db",
        "cursor": "Library/Application Support/Cursor/User/globalStorage/state.vscdb",
    },
    "win32": {
        "hermes": "AppData/Local/hermes/state.db",
        "llm": "AppData/Roaming/io.datasette.llm/logs.db",
        "goose": "AppData/Roaming/Block/goose/data/sessions/sessions.db",
        "zed": "AppData/Local/Zed/threads/threads.db",
        "cursor": "AppData/Roaming/Cursor/User/globalStorage/state.vscdb",
        "warp": "AppData/Local/warp/Warp/data/warp.sqlite",
    },
}
VARIABLES = {
    "CLAUDE_CONFIG_DIR": ("claude_code", "projects"),
    "CODEX_HOME": ("codex", "sessions"),
    "HERMES_HOME": ("hermes", "state.db"),
    "LLM_USER_PATH": ("llm", "logs.db"),
    "PHOENIX_WORKING_DIR": ("phoenix", "phoenix.db"),
    "AGENTSVIEW_DATA_DIR": ("agentsview", "sessions.db"),
    "GOOSE_PATH_ROOT": ("goose", "data/sessions/sessions.db"),
    "XDG_DATA_HOME": ("kilo", "kilo/kilo.db"),
    "XDG_CONFIG_HOME": ("cursor", "Cursor/User/globalStorage/state.vscdb"),
}


def found(home: Home) -> dict[str, list[Path]]:
    return {place.kind: list(place.found) for place in places(home) if place.found and place.kind != "reach"}


def make(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    return path


@pytest.mark.parametrize("system", BY_SYSTEM)
def test_every_place_of_a_system(tmp_path: Path, system: str) -> None:
    wanted = {kind: [make(tmp_path / name)] for kind, name in {**EVERYWHERE, **BY_SYSTEM[system]}.items()}
    home = Home(tmp_path, system, {}, tmp_path / "work" / "deep" / "er")
    (tmp_path / "work" / "deep" / "er").mkdir(parents=True)
    del wanted["mlflow"]  # in the working folder alone; crush looks upwards
    assert found(home) == wanted
    assert found(Home(tmp_path, system, {}, tmp_path / "work"))["mlflow"] == [tmp_path / "work" / "mlflow.db"]


@pytest.mark.parametrize("system", BY_SYSTEM)
def test_the_windows_folders_may_be_elsewhere(tmp_path: Path, system: str) -> None:
    llm = make(tmp_path / "roaming" / "io.datasette.llm" / "logs.db")
    zed = make(tmp_path / "local" / "Zed" / "threads" / "threads.db")
    environ = {"APPDATA": str(tmp_path / "roaming"), "LOCALAPPDATA": str(tmp_path / "local")}
    have = found(Home(tmp_path / "nobody", system, environ, tmp_path))
    assert have == ({"llm": [llm], "zed": [zed]} if system == "win32" else {})


@pytest.mark.parametrize("variable", VARIABLES)
def test_a_programs_own_variable(tmp_path: Path, variable: str) -> None:
    kind, below = VARIABLES[variable]
    path = make(tmp_path / "moved" / below)
    for value in (str(tmp_path / "moved"), "~/moved"):
        home = Home(tmp_path, "linux", {variable: value}, tmp_path)
        assert found(home) == {kind: [path]}


def test_a_named_database_of_the_opencode_family(tmp_path: Path) -> None:
    named = make(tmp_path / "n.db")
    for variable, kind in (("OPENCODE_DB", "opencode"), ("KILO_DB", "kilo")):
        assert found(Home(tmp_path, "linux", {variable: str(named)}, tmp_path)) == {kind: [named]}
        absent = {
            place.kind: place.absent for place in places(Home(tmp_path, "linux", {variable: ":memory:"}, tmp_path))
        }
        assert absent[kind] == f"{variable} keeps it in memory"


def test_what_is_absent_says_where_it_was_looked_for(tmp_path: Path) -> None:
    environ = {"PHOENIX_SQL_DATABASE_URL": "postgresql://host/x"}
    absent = {place.kind: place.absent for place in places(Home(tmp_path, "linux", environ, tmp_path))}
    assert absent["peri"] == f"not found in {tmp_path}/.peri/threads/threads.db"
    assert absent["agno"] == "no usual place: name the file"
    assert absent["phoenix"] == "PHOENIX_SQL_DATABASE_URL names another database"


def test_every_kind_has_a_place_or_says_that_it_has_none() -> None:
    kinds = {*BUILT_IN, *TRANSCRIPTS, *(mapping.kind for mapping in bundled())}
    assert kinds <= LOCATIONS.keys()


def test_nothing_is_read_and_odd_things_in_the_way_are_no_fault(tmp_path: Path) -> None:
    (tmp_path / ".peri").touch()  # a file where a folder should be
    (tmp_path / ".local" / "share" / "opencode" / "opencode-x.db").mkdir(parents=True)
    (tmp_path / ".phoenix").symlink_to(tmp_path / ".phoenix")
    environ = {"CODEX_HOME": "\x00", "LLM_USER_PATH": "x" * 5000}
    assert "peri" not in found(Home(tmp_path, "linux", environ, tmp_path))


RECORDED = {
    "claude_code": ("claude_code/*.jsonl", ".claude/projects/-p"),
    "codex": ("codex/main/sessions", ".codex"),
    "gemini_cli": ("gemini_cli/*.jsonl", ".gemini/tmp/p/chats"),
    "qwen_code": ("qwen_code/*.jsonl", ".qwen/projects/-p/chats"),
    "pi": ("pi/*.jsonl", ".pi/agent/sessions/--p--"),
    "kilo": ("kilo/kilo-7.7.9.db", ".local/share/kilo/kilo.db"),
    "opencode": ("opencode/opencode-1.2.20.db", ".local/share/opencode/opencode.db"),
    "hermes": ("hermes/hermes-0.19.0-state.db", ".hermes/state.db"),
    "llm": ("llm/llm-0.36.db", ".config/io.datasette.llm/logs.db"),
    "phoenix": ("phoenix/phoenix-langgraph.db", ".phoenix/phoenix.db"),
    "agentsview": ("agentsview/agentsview-0.46.1.db", ".agentsview/sessions.db"),
    "google_adk": ("google_adk/google-adk-2.13.0-database.db", "work/.adk/session.db"),
    "mlflow": ("mlflow/mlflow-langgraph.db", "work/mlflow.db"),
    "langgraph": ("langgraph/langgraph-default-errors.db", "work/checkpoints.sqlite"),
}


@pytest.mark.shared
def test_a_home_with_every_program(shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is found in the places is opened by the reader of that kind, and everything is found."""
    for pattern, name in RECORDED.values():
        source, target = shared / "real_traces" / pattern, tmp_path / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_file():
            shutil.copyfile(source, target)
            continue
        for path in source.parent.glob(source.name):
            copy = shutil.copytree if path.is_dir() else shutil.copyfile
            target.mkdir(parents=True, exist_ok=True)
            copy(path, target / path.name)
    for variable in (*VARIABLES, "OPENCODE_DB", "KILO_DB"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path / "work")
    opened = open_paths(())
    assert opened.problems == ()
    assert sorted(source.kind for source in opened.sources) == sorted(RECORDED)
    assert all(any(source.reader.calls()) for source in opened.sources)
