"""What every test gets: folders of its own, no plugins of strangers, and the shared material where it is at hand."""

from __future__ import annotations

import gc
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from reach_tui.base.sqlite_access import REGISTRY

SHARED = Path(os.environ.get("REACH_TUI_SHARED") or Path(__file__).resolve().parents[1] / ".." / "shared")

os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # each of hundreds of processes would compile every module anew
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # begun in the background by a shell: every child would ignore it
    signal.signal(signal.SIGINT, signal.default_int_handler)

# a slow machine is no failure; the gate tries the same examples every time
settings.register_profile("reach-tui", deadline=None, max_examples=30, derandomize=bool(os.environ.get("CI")))
settings.load_profile("reach-tui")


@pytest.fixture(autouse=True)
def _own_folders(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Labels, settings and cache of this person stay untouched; subprocesses inherit it."""
    base = tmp_path_factory.mktemp("home")
    for variable, name in (("DATA", "data"), ("CONFIG", "config"), ("CACHE", "cache")):
        monkeypatch.setenv(f"REACH_TUI_{variable}", str(base / name))
    for name in ("LABELS", "BY", "THEME"):
        monkeypatch.delenv(f"REACH_TUI_{name}", raising=False)
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)  # commands must flush by themselves
    monkeypatch.setenv("REACH_TUI_PLUGINS", "off")


@pytest.fixture(autouse=True)
def _no_database_left_open() -> Iterator[None]:
    """A connection that a test leaves open would keep an agent's `-wal` from being reset, and hide such a fault."""
    yield
    for _ in range(40):  # threads of a screen that was just left may still be closing theirs
        if not REGISTRY.open:
            return
        time.sleep(0.05)
    left = list(REGISTRY.open)
    REGISTRY.open.clear()  # the next test is not to blame
    pytest.fail(f"left open: {left}")


@pytest.fixture
def shared() -> Path:
    """The shared folder beside the checkout, for tests marked `shared`."""
    assert SHARED.is_dir(), f"{SHARED} is not there: mark the test with @pytest.mark.shared"
    return SHARED.resolve()


@pytest.fixture(scope="session")
def retrospective(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """The generated retrospective and its truth, made once for all workers; only for tests marked `shared`."""
    base = tmp_path_factory.getbasetemp()
    shared_by_workers = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    path = shared_by_workers / "retrospective" / "threads.db"
    done, truth = path.with_suffix(".done"), path.with_suffix(".truth.json")
    try:
        path.parent.mkdir()
    except FileExistsError:  # another worker makes it
        until = time.monotonic() + 60
        while not done.exists() and time.monotonic() < until:
            time.sleep(0.1)
    else:
        script = SHARED.resolve() / "make_traces" / "make_peri.py"
        options = ["--profile", "retrospective", "--out", str(path), "--truth", str(truth)]
        subprocess.run([sys.executable, str(script), *options], check=True, capture_output=True)
        done.touch()
    return path, json.loads(truth.read_text(encoding="utf-8"))


def pytest_collection_finish(session: pytest.Session) -> None:
    """Modules and collected tests never become garbage: looking through them again and again costs a tenth of all."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 10, 10)


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """`-n auto`: two more than processors, since many tests wait for processes, locks and screens."""
    return 2 + (os.cpu_count() or 1)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Without the shared folder its tests are deselected: not run, and not counted as passed."""
    if SHARED.is_dir():
        return
    out = [item for item in items if item.get_closest_marker("shared")]
    if out:
        config.hook.pytest_deselected(items=out)
        items[:] = [item for item in items if item not in set(out)]
