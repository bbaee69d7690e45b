"""Reports on generated and hand-made traces."""

from __future__ import annotations

import json
import subprocess
import sys
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

    path = tmp_path_factory.mktemp("retrospective") / "threads.db"
    script = SHARED.resolve() / "make_traces" / "make_peri.py"
    truth = path.with_suffix(".truth.json")
    subprocess.run(
        [sys.executable, str(script), "--profile", "retrospective", "--out", str(path), "--truth", str(truth)],
        check=True,
        capture_output=True,
    )
    return path, json.loads(truth.read_text(encoding="utf-8"))


def as_json(report: Report) -> dict[str, Any]:
    """The report's JSON, through text."""
    return dict(json.loads(json.dumps(record(report))))
