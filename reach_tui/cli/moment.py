"""Times on the command line."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from reach_tui.base.clock import parse_time, to_iso
from reach_tui.base.errors import UsageError

if TYPE_CHECKING:
    _Milliseconds = click.ParamType[int]
else:
    _Milliseconds = click.ParamType  # which takes no type argument before Click 8.4


class Moment(_Milliseconds):
    """An ISO 8601 date or time; UTC where it names no zone. Converted to milliseconds since 1970."""

    name = "time"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Fails for what is no such time."""
        if isinstance(value, int):
            return value
        moment = parse_time(value)
        if moment is None:
            self.fail(f"{value!r} is no date or time such as 2026-06-01 or 2026-06-01T10:00:00Z", param, ctx)
        return moment


def in_order(since: int | None, until: int | None) -> None:
    """Raises `UsageError` where `--since` is after `--until`: no moment is both."""
    if since is not None and until is not None and since > until:
        what = f"--since {to_iso(since)} is after --until {to_iso(until)}: nothing is in between"
        raise UsageError(what, hint="exchange the two times")
