"""Worker processes give the same digests as one, and end with whoever started them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from reach_tui.detect import default_engine
from reach_tui.detect.engine import Engine
from reach_tui.index.digest import Digest
from reach_tui.index.freshness import rows_of
from reach_tui.index.scanner import stated
from reach_tui.index.workers import Turns, Workers
from reach_tui.model import Session
from reach_tui.stores.catalog import open_store
from reach_tui.stores.reader import Reader

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("store") / "opencode.db"
    script = ROOT / "benchmarks" / "make_store.py"
    command = [sys.executable, str(script), "--sessions", "40", "--calls", "1200", str(path)]
    subprocess.run(command, check=True, capture_output=True)
    return path


@pytest.fixture
def reader(store: Path) -> Reader:
    return open_store(store).reader


def ask(workers: Workers, reader: Reader, sessions: list[Session]) -> dict[str, Digest]:
    return {one.session_id: one for one in workers(reader, default_engine(), sessions)}


def ended(process: int) -> bool:
    """True if there is no such process, or only what is left of it."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] in "ZX"
    except OSError:
        return True


def wait_for_end(processes: list[int]) -> None:
    deadline = time.monotonic() + 20
    while not all(map(ended, processes)):
        assert time.monotonic() < deadline, "a worker outlived its parent"
        time.sleep(0.02)


def test_the_same_as_alone(reader: Reader) -> None:
    sessions = list(reader.sessions())
    alone = {one.session_id: one for one in stated(reader, default_engine(), sessions)}
    assert {name: one.rows for name, one in alone.items()} == rows_of(reader, [one.id for one in sessions])
    with Workers(2, alone=0, large=0) as workers:
        assert ask(workers, reader, sessions) == alone
        running = workers.processes
        assert len(running) == 2
        assert ask(workers, reader, sessions[:7]) == {one.id: alone[one.id] for one in sessions[:7]}
        assert workers.processes == running
    wait_for_end(running)


@pytest.mark.parametrize(("age", "together"), [(-60, 1), (60, 2)])
def test_turns_are_taken_while_the_store_is_written_to(tmp_path: Path, age: float, together: int) -> None:
    """A worker that is put aside in the middle of a read would keep the writer from beginning its log anew."""
    wal = tmp_path / "opencode.db-wal"
    wal.touch()
    os.utime(wal, (time.time() - age,) * 2)
    turns = Turns(tmp_path / "opencode.db")
    inside, go_on = threading.Semaphore(0), threading.Event()

    def work() -> None:
        with turns.taken():
            inside.release()
            assert go_on.wait(20)

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    assert inside.acquire(timeout=20)
    assert inside.acquire(timeout=20 if together == 2 else 0.1) is (together == 2)
    go_on.set()
    assert together == 2 or inside.acquire(timeout=20)  # the other one's turn
    for thread in threads:
        thread.join(20)
        assert not thread.is_alive()


def test_small_stores_and_first_calls_start_none(reader: Reader) -> None:
    sessions = list(reader.sessions())
    for workers in (Workers(2, alone=0), Workers(2, large=0), Workers(1, alone=0, large=0)):
        with workers:
            assert len(ask(workers, reader, sessions)) == 40
            assert workers.processes == []


def test_a_worker_that_is_killed_costs_time_only(reader: Reader) -> None:
    sessions = list(reader.sessions())
    with Workers(2, alone=0, large=0) as workers:
        found: dict[str, Digest] = {}
        for one in workers(reader, default_engine(), sessions):
            if not found:
                for process in workers.processes:
                    os.kill(process, signal.SIGKILL)
            found[one.session_id] = one
        assert len(found) == 40
        assert ask(workers, reader, sessions) == found
        assert workers.processes == []


def test_giving_up_in_the_middle(reader: Reader) -> None:
    sessions = list(reader.sessions())
    with Workers(2, alone=0, large=0) as workers:
        request: Iterator[Digest] = workers(reader, default_engine(), sessions)
        next(request)
        running = workers.processes
        request.close()  # type: ignore[attr-defined]
        assert len(ask(workers, reader, sessions)) == 40, "the next request gets its own answers"
        request = workers(reader, default_engine(), sessions)
        next(request)
        workers.close()
        assert len(list(request)) < 40 or workers.processes == []
    wait_for_end(running)


def test_rules_of_the_parent_are_used(reader: Reader) -> None:
    engine = default_engine()
    rules = engine.rules
    fewer = Engine(type(rules)(tuple(one for one in rules.families if one.id != "shell"), rules.classes, "other"))
    sessions = list(reader.sessions())
    with Workers(2, alone=0, large=0) as workers:
        found = {one.session_id: one for one in workers(reader, fewer, sessions)}
    assert found == {one.session_id: one for one in stated(reader, fewer, sessions)}
    assert found != {one.session_id: one for one in stated(reader, engine, sessions)}


def test_nothing_is_imported_from_the_current_folder(
    reader: Reader, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("queue", "resource", "msgspec", "re2"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit(1)")
    monkeypatch.chdir(tmp_path)
    with Workers(2, alone=0, large=0) as workers:
        assert len(ask(workers, reader, list(reader.sessions()))) == 40
        assert len(workers.processes) == 2


PARENT = """
import sys, time
from pathlib import Path
from reach_tui.detect import default_engine
from reach_tui.index.workers import Turns, Workers
from reach_tui.stores.catalog import open_store
reader = open_store(Path(sys.argv[1])).reader
sessions = list(reader.sessions())
with Workers(2, alone=0, large=0) as workers:
    for one in workers(reader, default_engine(), sessions * 1):
        print(*workers.processes, flush=True)
        time.sleep(60)
"""


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc to see processes of others")
@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_no_worker_outlives_its_parent(store: Path, end: int) -> None:
    command = [sys.executable, "-c", PARENT, str(store)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=ROOT) as parent:
        assert parent.stdout is not None
        running = [int(word) for word in parent.stdout.readline().split()]
        assert len(running) == 2
        parent.send_signal(end)
        parent.wait()
    wait_for_end(running)
