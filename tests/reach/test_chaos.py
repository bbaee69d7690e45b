"""Chaos on the loopback: no hang, no leak, every call with its events, every failure with the right error type."""

from __future__ import annotations

from pathlib import Path

from tests.reach.chaos_run import MODES, chaos

CALLS = 800
"""The 10,000 run is `benchmarks/chaos.py`."""


async def test_chaos(tmp_path: Path) -> None:
    report = await chaos(tmp_path / "chaos.db", CALLS)
    assert report.wrong == []
    assert sum(report.outcomes.values()) + report.cancelled == CALLS
    assert set(report.outcomes) >= {error_type for _, error_type in MODES.values()}
    assert report.cancelled > 5
    assert report.events >= 2 * (CALLS - report.cancelled)
    assert report.requests > CALLS / 2
