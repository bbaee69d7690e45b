"""Reports on generated and hand-made traces."""

from __future__ import annotations

import json
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


def as_json(report: Report) -> dict[str, Any]:
    """The report's JSON, through text."""
    return dict(json.loads(json.dumps(record(report))))
