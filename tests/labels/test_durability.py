"""An acknowledged label is on disk: after `kill -9`, beside other processes, and on a disk that refuses."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from reach_tui.labels.store import LabelStore

PRELUDE = """
import sys
from pathlib import Path
from reach_tui.labels.store import LabelStore
from reach_tui.model import Label

def label(key, by="dev"):
    return Label("peri", "s1", key, "sha256:0", "timeout_or_limit", None, "note " * 20, by, 1_780_000_000_000,
                 "reach-failure", 1, True, "rule", "0.1.0")

path = Path(sys.argv[1])
"""
LABEL_UNTIL_KILLED = (
    PRELUDE
    + """
store = LabelStore.open(path)
number = 0
while True:
    print(store.save(label(f"{sys.argv[2]}-{number}")).uid, flush=True)
    number += 1
"""
)
LABEL_FIFTY = (
    PRELUDE
    + """
store = LabelStore.open(path)
for number in range(50):
    store.save(label(f"c{number}", by=sys.argv[2]))
"""
)
LABEL_ON_A_FULL_DISK = (
    PRELUDE
    + """
import resource, signal
from reach_tui.base.errors import LabelError
store = LabelStore.open(path)
store.save(label("first"))
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
_, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, hard))
saved = 1
try:
    while saved < 5_000:
        store.save(label(f"c{saved}"))
        saved += 1
except LabelError as error:
    print(saved, error.line(), sep="|")
resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
store.save(label("after"))
"""
)
LABEL_WITHOUT_PERMISSION = (
    PRELUDE
    + """
import os
import sqlite_utils
from reach_tui.base.errors import LabelError
if os.geteuid() == 0:
    os.setegid(65534)
    os.seteuid(65534)
try:
    LabelStore.open(path).save(label("c1"))
except LabelError as error:
    print(error.line())
"""
)


def start(script: str, path: Path, *arguments: str) -> subprocess.Popen[str]:
    root = Path(__file__).resolve().parents[2]
    environment = {**os.environ, "PYTHONPATH": str(root)}
    command = [sys.executable, "-c", script, str(path), *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)


def finish(process: subprocess.Popen[str]) -> str:
    out, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    return out


def stored_uids(path: Path) -> list[str]:
    connection = sqlite3.connect(path)
    try:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        return [row[0] for row in connection.execute("SELECT uid FROM label")]
    finally:
        connection.close()


def test_no_acknowledged_label_is_lost_by_kill_9(tmp_path: Path) -> None:
    path = tmp_path / "labels.db"
    chance = random.Random(7)
    acknowledged: list[str] = []
    for round_number in range(5):
        process = start(LABEL_UNTIL_KILLED, path, str(round_number))
        assert process.stdout is not None
        acknowledged.append(process.stdout.readline().strip())
        time.sleep(chance.uniform(0.0, 0.15))
        process.send_signal(signal.SIGKILL)
        # not communicate(): it reads the bare descriptor, past what readline() has in its buffer already
        rest = process.stdout.read()
        process.communicate(timeout=30)
        acknowledged += [line.strip() for line in rest.splitlines(keepends=True) if line.endswith("\n")]
    stored = stored_uids(path)
    assert len(acknowledged) > 50
    assert set(acknowledged) <= set(stored)
    assert len(stored) == len(set(stored)) <= len(acknowledged) + 5, "at most one unacknowledged label a kill"
    with LabelStore.open(path) as store:
        assert len(store.all_in_force()) == len(stored)


def test_two_processes_label_at_the_same_time_and_none_is_lost(tmp_path: Path) -> None:
    path = tmp_path / "new" / "labels.db"
    for process in [start(LABEL_FIFTY, path, f"p{number}") for number in range(3)]:
        finish(process)
    assert len(stored_uids(path)) == 150
    with LabelStore.open(path) as store:
        assert len(store.in_force("peri", "s1")) == 150


@pytest.mark.skipif(sys.platform == "win32", reason="limits of the file size are POSIX")
def test_a_full_disk_is_refused_aloud_and_nothing_is_half_written(tmp_path: Path) -> None:
    path = tmp_path / "labels.db"
    saved, line = finish(start(LABEL_ON_A_FULL_DISK, path)).strip().split("|")
    assert "the label was not saved" in line
    assert "labels.db" in line
    assert len(stored_uids(path)) == int(saved) + 1, "those acknowledged, and the one after room was made"


@pytest.mark.skipif(sys.platform == "win32", reason="folder permissions are POSIX")
def test_a_home_without_write_permission_is_refused_aloud() -> None:
    import shutil
    import tempfile

    home = Path(tempfile.mkdtemp())
    try:
        home.chmod(0o555)
        line = finish(start(LABEL_WITHOUT_PERMISSION, home / "reach-tui" / "labels.db")).strip()
        assert "no label can be saved here" in line
        assert "Permission denied" in line
        line = finish(start(LABEL_WITHOUT_PERMISSION, home / "labels.db")).strip()
        assert "the label was not saved: cannot be opened or made" in line
        assert list(home.iterdir()) == []
    finally:
        shutil.rmtree(home)


def test_a_locked_database_is_refused_aloud(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from reach_tui.base import sqlite
    from reach_tui.base.errors import LabelError
    from reach_tui.labels import store as store_module

    path = tmp_path / "labels.db"
    finish(start(LABEL_FIFTY, path, "p1"))
    monkeypatch.setattr(store_module, "open_owned", lambda p, **rest: sqlite.open_owned(p, busy_seconds=0.05, **rest))
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with LabelStore.open(path) as store:
        with pytest.raises(LabelError, match="locked by another program"):
            store.undo("p1")
        other.execute("ROLLBACK")
        other.close()
        assert store.undo("p1") is not None
