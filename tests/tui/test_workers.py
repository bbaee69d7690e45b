"""Workers of the screens: their description is a word, never the repr of what they work on."""

from __future__ import annotations

import re
from pathlib import Path

import reach_tui.tui.screens

FOLDER = Path(next(iter(reach_tui.tui.screens.__path__)))


def test_every_worker_has_a_description_of_its_own() -> None:
    # without one Textual takes the repr of the arguments: for the steps of a session megabytes, on the UI's thread
    workers = [
        (path.name, line)
        for path in FOLDER.glob("*.py")
        for line in re.findall(r"@work\(.*\)", path.read_text("utf-8"))
    ]
    assert len(workers) > 10
    assert [one for one in workers if 'description="' not in one[1]] == []
    assert [one for one in workers if "thread=True" not in one[1]] == []
