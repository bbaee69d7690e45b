"""Tests against a real Redis need its program: without it they fail in CI, elsewhere they are left out, in words."""

from __future__ import annotations

import os

import pytest

from tests.reach.redis_server import BINARY


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect what needs `redis-server` where it is not installed; in CI they run, and fail in one clear line."""
    if BINARY or os.environ.get("CI"):
        return
    out = {item for item in items if item.get_closest_marker("redis")}
    if out:
        config.hook.pytest_deselected(items=list(out))
        items[:] = [item for item in items if item not in out]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say what was left out."""
    if not BINARY and not os.environ.get("CI"):
        terminalreporter.write_line("left out: tests against Redis (redis-server is not installed)")
