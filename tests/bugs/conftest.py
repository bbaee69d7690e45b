"""Builders of the readers' and the command's tests, for the bugs that other programs had."""

from tests.cli.conftest import process, reach
from tests.stores.conftest import build_opencode, build_peri, data, snapshot

__all__ = ["build_opencode", "build_peri", "data", "process", "reach", "snapshot"]
