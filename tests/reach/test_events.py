"""Events: safe when acknowledged, written once, readable meanwhile, whatever dies when."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reach_tui.base.errors import StoreError, UsageError
from reach_tui.base.sqlite import Connection, open_owned, reading
from reach_tui.model import Candidate, Result, Session, Slot, StepKind, Thresholds, ToolCall
from reach_tui.native.event import Event
from reach_tui.reach.events import EventLog
from reach_tui.reach.journal import Journal, Record, folder_of, leftovers, line_of, records
from reach_tui.stores.reach import ReachReader

ROOT = Path(__file__).resolve().parents[2]


def call_of(key: str, session: str = "s", step: int = 0, text: str | None = None) -> ToolCall:
    return ToolCall(
        key=key,
        id="c",
        session_id=session,
        tool="query_refund",
        arguments={"order_id": "上周"},
        step=step,
        turn=1,
        status="running" if text is None else "completed",
        flagged=None if text is None else False,
        result=None if text is None else Result(text, len(text)),
        started_at=1_780_304_400_000,
        slots=(Slot("order_id", "上周", "user", "recorded", "step 1 · user", 1, 1, 0.95),),
    )


def event_of(key: str | None, step: str = "execute", session: str = "s", detail: str | None = None) -> Event:
    routed = step == "route"
    return Event(
        "trace", step, session, key,
        intent="refund",
        candidates=(Candidate("query_refund", 0.9, "order"),) if routed else None,
        decision="execute" if routed else None,
        thresholds=Thresholds() if routed else None,
        error_type=None if routed else "none",
        at=1_780_304_400_000,
        detail=detail,
    )  # fmt: skip


def make_call(log: EventLog, session: str = "s", text: str = "ok") -> str:
    place = log.place(session)
    key = f"{session}/call-{place}"
    call = call_of(key, session, place)
    log.record(call, [event_of(key, "route", session)])
    log.record(replace(call_of(key, session, place, text)), [event_of(key, "execute", session)])
    return key


def table(path: Path, query: str) -> list[tuple[object, ...]]:
    with reading(path) as connection:
        return [tuple(row) for row in connection.execute(query)]


def test_what_is_recorded_is_read_back_by_the_store(tmp_path: Path) -> None:
    path = tmp_path / "shop.db"
    with EventLog(path) as log:
        log.session(Session("reach", "s", title="退款 💸", started_at=1_780_304_400_000, notes=("a", "b")))
        assert log.message("s", StepKind.USER, "where is it?", turn=1) == 1
        key = make_call(log)
        assert key == "s/call-2"
        seq = log.place("s")
        log.record(None, [replace(event_of(None, "route"), seq=seq, decision="clarify")])
    assert sorted(one.name for one in tmp_path.iterdir()) == ["shop.db"], "no queue is left behind"
    reader = ReachReader(path)
    (session,) = reader.sessions()
    assert (session.title, session.notes) == ("退款 💸", ("a", "b"))
    steps = list(reader.steps("s"))
    assert [step.kind.value for step in steps] == ["user", "call", "decision"]
    call = steps[1].call
    assert call is not None
    assert call.result is not None
    assert (call.result.text, call.flagged, call.status) == ("ok", False, "completed")
    assert call.route is not None
    assert call.route.candidates == (Candidate("query_refund", 0.9, "order"),)
    assert call.slots == (Slot("order_id", "上周", "user", "recorded", "step 1 · user", 1, 1, 0.95),)
    assert reader.troubles("s") == []
    assert [name for (name,) in table(path, "SELECT name FROM sqlite_master WHERE name LIKE 'reach%'")] == []


def test_a_running_call_is_seen_before_it_ends(tmp_path: Path) -> None:
    path = tmp_path / "live.db"
    with EventLog(path, interval_s=0.01) as log:
        place = log.place("s")
        log.record(call_of("k", step=place), [event_of("k", "route")])
        assert log.flush()
        (call,) = ReachReader(path).calls()
        assert (call.result, call.status) == (None, "running")
        log.record(call_of("k", step=place, text="done"), [event_of("k")])
        assert log.flush()
        (call,) = ReachReader(path).calls()
        assert call.result is not None
        assert [event.step for event in ReachReader(path).events("s")] == ["route", "execute"]


def test_a_second_start_goes_on_where_the_first_ended(tmp_path: Path) -> None:
    path = tmp_path / "shop.db"
    with EventLog(path) as log:
        log.session(Session("reach", "s", title="kept"))
        make_call(log)
    with EventLog(path) as log:
        assert make_call(log) == "s/call-2"
        assert make_call(log, "other") == "other/call-1"
    assert table(path, "SELECT id, title FROM session ORDER BY id") == [("other", None), ("s", "kept")]


def test_words_outside_the_enumerations_are_refused_at_once(tmp_path: Path) -> None:
    with EventLog(tmp_path / "a.db") as log:
        with pytest.raises(UsageError, match="error_type"):
            log.record(None, [replace(event_of(None), error_type="time_out")])
        with pytest.raises(UsageError, match="event step"):
            log.record(None, [replace(event_of(None), step="guess")])
    with pytest.raises(StoreError, match="closed"):
        log.record(None, [event_of(None)])


def test_hostile_values_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    deep: object = "x"
    for _ in range(3_000):
        deep = [deep]
    with EventLog(path) as log:
        for number, value in enumerate(["\ud800\x00", deep, {"a": {1, 2}}, 10**30, float("nan")]):
            place = log.place("s")
            call = replace(call_of(f"k{number}", step=place, text="\ud800 \x1b[2J \u202e"), arguments=value)  # type: ignore[arg-type]
            log.record(call, [event_of(f"k{number}", detail="\ud800")])
    assert log.rejected == 0
    assert len(list(ReachReader(path).calls())) == 5


def test_what_no_database_takes_is_set_aside_and_the_rest_is_written(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "a.db"
    with EventLog(path) as log:
        first = make_call(log)
        log.session(Session("reach", "other"))
        log.record(call_of(first, "other", 1), [])  # another session's key
        log.record(None, [event_of("no such call")])
        second = make_call(log)
    assert log.rejected == 2
    assert "could not be written" in caplog.text
    assert {call.key for call in ReachReader(path).calls()} == {first, second}
    aside = (tmp_path / "a.db-rejected").read_text().splitlines()
    assert [json.loads(line)[0] for line in aside] == ["call", "event"]


def test_a_locked_database_delays_and_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.db"
    monkeypatch.setattr("reach_tui.reach.events._PATIENCE_S", 0.05)
    monkeypatch.setattr("reach_tui.native.writer.open_owned", _impatient)
    with EventLog(path, interval_s=0.01) as log:
        make_call(log)
        assert log.flush()
        with closing(open_owned(path)) as other:
            other.execute("BEGIN IMMEDIATE")
            keys = [make_call(log) for _ in range(20)]
            assert not log.flush(0.3)
            other.execute("ROLLBACK")
        assert log.flush()
    assert len({call.key for call in ReachReader(path).calls()}) == len(keys) + 1


def _impatient(path: Path) -> Connection:
    return open_owned(path, busy_seconds=0.05)


def test_many_threads_and_small_segments(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with EventLog(path, interval_s=0.005) as log:
        log._journal._segment_bytes = 3_000
        threads = [
            threading.Thread(target=lambda name=name: [make_call(log, f"s{name}") for _ in range(60)])
            for name in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert table(path, "SELECT count(*), count(DISTINCT key) FROM tool_call") == [(240, 240)]
    assert Counter(table(path, "SELECT step FROM event")) == {("route",): 240, ("execute",): 240}
    assert not folder_of(path).exists()


WORKER = """
import sys
from pathlib import Path
from tests.reach.test_events import make_call
from reach_tui.reach.events import EventLog

log = EventLog(Path(sys.argv[1]), interval_s=0.01)
session = sys.argv[2]
while True:
    key = make_call(log, session)
    sys.stdout.write(key + "\\n")  # acknowledged
    sys.stdout.flush()
"""


def _killed_after(path: Path, session: str, calls: int) -> list[str]:
    """Start a recorder, kill it in the middle of its work; what it had acknowledged by then."""
    process = subprocess.Popen(
        [sys.executable, "-c", WORKER, str(path), session],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert process.stdout is not None
    acknowledged = [process.stdout.readline().strip() for _ in range(calls)]
    os.kill(process.pid, signal.SIGKILL)
    acknowledged += [line.strip() for line in process.stdout if line.endswith("\n")]
    process.stdout.close()
    process.wait()
    return acknowledged


@pytest.mark.parametrize("calls", [1, 300])
def test_kill_9_loses_and_doubles_nothing(tmp_path: Path, calls: int) -> None:
    path = tmp_path / "shop.db"
    acknowledged = _killed_after(path, "a", calls) + _killed_after(path, "b", calls)
    with EventLog(path) as log:
        make_call(log, "c")
    keys = [str(key) for (key,) in table(path, "SELECT key FROM tool_call")]
    assert len(acknowledged) >= 2 * calls
    assert set(acknowledged) <= set(keys)
    counts = Counter(table(path, "SELECT call_key, step FROM event"))
    assert set(counts.values()) == {1}, "no event twice"
    assert all(counts[key, step] == 1 for key in acknowledged for step in ("route", "execute"))
    assert log.rejected == 0
    assert not folder_of(path).exists()


def test_a_living_process_keeps_its_queue(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with EventLog(path, interval_s=0.005) as one:
        make_call(one, "one")
        with EventLog(path, interval_s=0.005) as two:
            for _ in range(30):
                make_call(one, "one")
                make_call(two, "two")
        make_call(one, "one")
    assert table(path, "SELECT session_id, count(*) FROM tool_call GROUP BY 1 ORDER BY 1") == [("one", 32), ("two", 30)]


@settings(max_examples=25, deadline=None)
@given(cut=st.integers(0, 400), rubbish=st.sampled_from([b"", b"\x00\xff\n", b"[1]\n", b'["call",{"x":1}]\n', b"[]"]))
def test_any_torn_end_of_a_queue_is_survived(
    tmp_path_factory: pytest.TempPathFactory, cut: int, rubbish: bytes
) -> None:
    """A segment that ends anywhere, with rubbish behind it: whole records are written, the rest is set aside."""
    path = tmp_path_factory.mktemp("torn") / "a.db"
    lines = [line_of("session", Session("reach", "s"))]
    lines += [line_of("message", {"session_id": "s", "kind": "user", "text": f"m{n}", "seq": n}) for n in range(1, 5)]
    whole = "".join(lines).encode()
    cut = min(cut, len(whole))
    folder_of(path).mkdir()
    kept = whole[: len(whole) - cut]
    (folder_of(path) / "dead-000001.queue").write_bytes(kept + rubbish)
    with EventLog(path):
        pass
    complete = kept.count(b"\n")
    assert table(path, "SELECT count(*) FROM message") == [(max(0, complete - 1),)]
    assert not folder_of(path).exists()


def test_how_far_a_segment_is_written_goes_with_its_rows(tmp_path: Path) -> None:
    """Died between the commit and the removal of the segment: the mark in the database keeps the rows single."""
    path = tmp_path / "a.db"
    with EventLog(path, interval_s=60) as log:
        key = make_call(log)
        assert log.flush()
        (segment,) = log._journal.segments
        assert table(path, "SELECT segment, applied FROM reach_queue") == [(segment.name, segment.stat().st_size)]
        log.record(None, [event_of(key, detail="after the commit")])
        shutil.copytree(tmp_path, tmp_path / "as it was")
    copy = tmp_path / "as it was" / "a.db"
    with EventLog(copy):
        pass
    assert table(copy, "SELECT detail FROM event ORDER BY id") == [(None,), (None,), ("after the commit",)]
    assert table(copy, "SELECT name FROM sqlite_master WHERE name = 'reach_queue'") == []


def test_a_full_disk_is_told_and_leaves_no_half_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journal = Journal(tmp_path / "a.db")
    journal.append(b'["a",{}]\n')
    real = os.write

    def full(file: int, data: bytes) -> int:
        if len(data) > 4:
            return real(file, data[:4])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(StoreError, match="queue cannot be written"):
        journal.append(b'["b",1]\n')
    monkeypatch.setattr(os, "write", real)
    journal.append(b'["c",{}]\n')
    (segment,) = journal.segments
    assert segment.read_bytes() == b'["a",{}]\n["c",{}]\n'
    assert [one.kind for one in records(segment, 0, 9) if isinstance(one, Record)] == ["a", "c"]
    assert list(leftovers(tmp_path / "a.db")) == [], "its process lives"
    journal.close()
    journal.release()


def test_tokens_are_redacted_before_anything_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with EventLog(path, redact=lambda text: text.replace("hush-hush", "[redacted]"), interval_s=60) as log:
        log.message("s", StepKind.USER, "my token is hush-hush")
        raw = b"".join(segment.read_bytes() for segment in log._journal.segments)
        assert b"hush" not in raw
    assert all(b"hush" not in one.read_bytes() for one in tmp_path.iterdir())


def test_a_program_that_forgets_to_close_leaves_nothing_in_the_queue(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    program = (
        "from pathlib import Path; from reach_tui.model import StepKind; from reach_tui.reach import EventLog\n"
        f"EventLog(Path({str(path)!r}), interval_s=60).message('s', StepKind.USER, 'the last words')"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
    assert not folder_of(path).exists()
    with reading(path) as connection:
        assert [row[0] for row in connection.execute("SELECT text FROM message")] == ["the last words"]


def test_power_safe_flushes_every_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    flushed: list[float] = []
    real = os.fsync

    def noted(file: int) -> None:
        flushed.append(time.monotonic())
        real(file)

    monkeypatch.setattr(os, "fsync", noted)
    with EventLog(tmp_path / "a.db", power_safe=True) as log:
        make_call(log)
    assert len(flushed) == 3  # the session, the call's begin, its end


def test_what_is_no_native_database_is_refused_at_once(tmp_path: Path) -> None:
    path = tmp_path / "notes.db"
    with closing(open_owned(path)) as other:
        other.execute("CREATE TABLE notes (text)")
    with pytest.raises(StoreError, match="not a native"):
        EventLog(path)
    (tmp_path / "text.db").write_text("not a database at all, but long enough to be looked at " * 20)
    with pytest.raises(StoreError):
        EventLog(tmp_path / "text.db")
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError):
        EventLog(tmp_path / "file" / "a.db")
