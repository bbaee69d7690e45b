"""Reports on generated and hand-made traces."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from reach_tui.report.jsonout import record
from reach_tui.report.model import Report
from reach_tui.workspace import Workspace
from reach_tui.workspace.reporting import Collector, Selection

Made = Callable[..., Report]


def collect(*paths: Path, **selection: Any) -> Report:
    """The report on some traces."""
    workspace = Workspace(paths)
    collector = Collector(workspace, Selection(**selection))
    for source in workspace.found.sources:
        for _ in collector.tallies(source):
            pass
    return collector.report()


@pytest.fixture
def small() -> tuple[Report, dict[str, Any]]:
    """The report on a shipped Peri database, all of it, and its truth."""
    folder = Path(__file__).resolve().parents[1] / "data" / "peri"
    truth = json.loads((folder / "schema_3.truth.json").read_text(encoding="utf-8"))
    return collect(folder / "schema_3.db", scope="all"), truth


@pytest.fixture(scope="session")
def retrospective(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """The generated retrospective and its truth; only for tests marked `shared`."""
    from tests.conftest import SHARED

    base = tmp_path_factory.getbasetemp()
    shared_by_workers = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    path = shared_by_workers / "retrospective" / "threads.db"
    done = path.with_suffix(".done")
    try:
        path.parent.mkdir()
    except FileExistsError:  # another worker makes it
        until = time.monotonic() + 60
        while not done.exists() and time.monotonic() < until:
            time.sleep(0.1)
        return path, json.loads(path.with_suffix(".truth.json").read_text(encoding="utf-8"))
    script = SHARED.resolve() / "make_traces" / "make_peri.py"
    truth = path.with_suffix(".truth.json")
    subprocess.run(
        [sys.executable, str(script), "--profile", "retrospective", "--out", str(path), "--truth", str(truth)],
        check=True,
        capture_output=True,
    )
    done.touch()
    return path, json.loads(truth.read_text(encoding="utf-8"))


def as_json(report: Report) -> dict[str, Any]:
    """The report's JSON, through text."""
    return dict(json.loads(json.dumps(record(report))))
