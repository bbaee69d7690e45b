"""Writes the sample traces anew: `python -m tests.builders.make_samples [FOLDER]` from the checkout.

Only `reach/shop.db` is written here. The other two come from elsewhere and are kept as they are; README.md says how.
"""

from __future__ import annotations

import sys
from pathlib import Path

from reach_tui.base.sqlite import open_owned
from tests.builders import shop_sessions, shop_work
from tests.builders.studio import Studio

SESSIONS = (
    shop_sessions.refund_found,
    shop_sessions.last_week,
    shop_sessions.not_covered,
    shop_work.nightly_export,
    shop_work.stale_edit,
    shop_sessions.loop,
    shop_sessions.unfinished,
    shop_work.hostile,
    shop_work.fallbacks,
    shop_work.look_alikes,
    shop_sessions.three_refunds,
)


def write_shop(path: Path) -> None:
    """A native Reach database, recorded from the shop sessions as they run; replaces the file. Always the same rows."""
    for suffix in ("", "-wal", "-shm"):
        Path(f"{path}{suffix}").unlink(missing_ok=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    with Studio(path) as studio:
        for tell in SESSIONS:
            tell(studio)
    connection = open_owned(path)
    connection.execute("PRAGMA journal_mode = DELETE")
    connection.execute("VACUUM")
    connection.close()


if __name__ == "__main__":
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parents[2] / "sample_traces"
    write_shop(folder / "reach" / "shop.db")
