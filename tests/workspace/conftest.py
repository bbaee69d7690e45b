"""Fixtures shared with the command's tests."""

from tests.cli.conftest import reach, trace

__all__ = ["reach", "trace"]
