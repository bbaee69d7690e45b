"""Time: milliseconds since 1970 UTC inside, ISO 8601 with milliseconds outside, None where a store has none."""

from __future__ import annotations

import re
import time
from datetime import UTC, datetime

_EARLIEST = 946_684_800_000  # 2000-01-01: no agent ran before
_LATEST = 4_102_444_800_000  # 2100-01-01
_FRACTION = re.compile(r"(\.\d{6})\d+")


def now_ms() -> int:
    """The current time in milliseconds since 1970 UTC."""
    return time.time_ns() // 1_000_000


def to_iso(ms: int | None) -> str | None:
    """`2026-06-01T10:00:00.123Z`, or None."""
    if ms is None or not _EARLIEST <= ms <= _LATEST:
        return None
    return datetime.fromtimestamp(ms / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def parse_time(value: object) -> int | None:
    """Milliseconds since 1970 from seconds, milli-, micro-, nanoseconds or ISO text; None if absent or absurd."""
    if type(value) is int and _EARLIEST <= value <= _LATEST:  # by far the most frequent: milliseconds
        return value
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, str):
        return _parse_iso(value.strip())
    if not isinstance(value, int | float) or value != value or abs(value) > 1e20:
        return None
    for factor in (1, 1000, 1 / 1000, 1 / 1_000_000):
        ms = int(value * factor)
        if _EARLIEST <= ms <= _LATEST:
            return ms
    return None


def _parse_iso(text: str) -> int | None:
    if re.fullmatch(r"\d{9,19}(\.\d+)?", text):
        return parse_time(float(text) if "." in text else int(text))
    try:
        moment = datetime.fromisoformat(_FRACTION.sub(r"\1", text))
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    try:
        ms = int(moment.timestamp() * 1000 + 0.5)
    except (OverflowError, ValueError):
        return None
    return ms if _EARLIEST <= ms <= _LATEST else None
