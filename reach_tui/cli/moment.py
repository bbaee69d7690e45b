"""Times on the command line."""

from __future__ import annotations

import click

from reach_tui.base.clock import parse_time


class Moment(click.ParamType[int]):
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
