"""The wheel, away from the checkout: complete, runnable, and open to other packages' stores."""

from __future__ import annotations

import json
import os
import re
import sqlite3
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
pytestmark = [pytest.mark.xdist_group("wheel"), pytest.mark.timeout(300)]


def run(*command: object, cwd: Path, **environment: str) -> str:
    """stdout of a command that must succeed, far from the checkout and its environment."""
    variables = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "REACH_TUI_PLUGINS")}
    done = subprocess.run(
        [str(word) for word in command],
        cwd=cwd,
        env={**variables, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def build(project: Path, target: Path) -> Path:
    """The wheel of a project, built with what is installed here."""
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", target, project, cwd=target.parent)
    (wheel,) = target.glob("*.whl")
    return wheel


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Our wheel."""
    return build(ROOT, tmp_path_factory.mktemp("dist"))


@pytest.fixture(scope="module")
def away(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the wheel installed, which sees our dependencies and not this checkout."""
    folder = tmp_path_factory.mktemp("away")
    run(sys.executable, "-m", "venv", "--without-pip", folder / "venv", cwd=folder)
    python = folder / "venv" / "bin" / "python"
    place = Path(run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=folder).strip())
    install(wheel, python)
    # after our own folder on the path, so that the wheel wins over a checkout installed there
    (place / "zz_dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    return folder


def install(wheel: Path, python: Path) -> None:
    """Install a wheel without its dependencies, offline."""
    run(
        sys.executable,
        "-m",
        "pip",
        "--python",
        python,
        "install",
        "-q",
        "--no-deps",
        "--no-index",
        wheel,
        cwd=wheel.parent,
    )


def test_the_wheel_is_complete(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    themes = {path.name for path in (ROOT / "themes").iterdir()}
    assert themes
    assert {f"reach_tui/_bundled/themes/{name}" for name in themes} <= names
    samples = {path.relative_to(ROOT).as_posix() for path in (ROOT / "sample_traces").rglob("*.db")}
    assert samples
    assert {f"reach_tui/_bundled/{name}" for name in samples} <= names
    own = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "reach_tui").rglob("*")
        if path.suffix in (".toml", ".tcss")
    }
    assert {*own, "reach_tui/py.typed"} <= names
    assert not any(name.startswith(("tests/", "docs/")) or "__pycache__" in name for name in names)


def test_it_runs_away_from_the_checkout(away: Path) -> None:
    command = away / "venv" / "bin" / "reach-tui"
    where = run(away / "venv" / "bin" / "python", "-c", "import reach_tui; print(reach_tui.__file__)", cwd=away)
    assert str(away) in where
    assert run(command, "--version", cwd=away).startswith("reach-tui ")
    samples = Path(where.strip()).parent / "_bundled" / "sample_traces"
    lines = run(command, "calls", samples, "--hidden", "--jsonl", cwd=away).splitlines()
    assert lines
    assert {json.loads(line)["store"] for line in lines} >= {"reach", "opencode", "peri"}


def test_the_demo_starts_without_a_terminal(away: Path) -> None:
    out = run(away / "venv" / "bin" / "reach-tui", "demo", "--headless", cwd=away, HOME=str(away))
    assert out.strip()


def test_another_packages_store_is_recognised(away: Path, tmp_path: Path) -> None:
    project = tmp_path / "plugin"
    project.mkdir()
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    for name, body in re.findall(r"<!-- file: (\S+) -->\n```\w+\n(.*?)```\n", text, re.S):
        (project / name).write_text(body, encoding="utf-8")
    (tmp_path / "dist").mkdir()
    python = away / "venv" / "bin" / "python"
    install(build(project, tmp_path / "dist"), python)
    path = tmp_path / "notes.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE entry (id INTEGER PRIMARY KEY, book, at, tool, input, output, ok)")
    missed = "Error: old_string not found in file"
    rows = [
        (1, "b", 1780304400, "edit", '{"file": "a"}', missed, 1),
        (2, "b", 1780304401, "bash", "{broken", None, None),
    ]
    connection.executemany("INSERT INTO entry VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
    connection.commit()
    connection.close()
    command = away / "venv" / "bin" / "reach-tui"
    (store,) = json.loads(run(command, "stores", path, "--json", cwd=tmp_path))
    assert (store["store"], store["title"], store["calls"]) == ("notebook", "Notebook agent", 2)
    one, two = (json.loads(line) for line in run(command, "calls", path, "--jsonl", cwd=tmp_path).splitlines())
    assert (one["call_key"], one["hidden"], one["started_at"]) == ("b/1", True, "2026-06-01T09:00:00.000Z")
    assert (two["failed"], two["flagged"]) == (None, None)
    assert "not JSON" in two["problem"]
