"""Figures of the report from the side index: the same as from the store alone, whatever is selected or happens."""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
from collections.abc import Generator
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reach_tui.analyze import tally as analyses
from reach_tui.analyze.tally import Tally
from reach_tui.base.paths import cache_dir
from reach_tui.detect.engine import default_engine
from reach_tui.index import figures, scanner, totals
from reach_tui.index.digest import encode_page
from reach_tui.index.freshness import fingerprint, row_states
from reach_tui.index.places import index_path
from reach_tui.index.scanner import scan
from reach_tui.index.store import Index
from reach_tui.index.totals import counted, tallied
from reach_tui.model import Session
from reach_tui.native.writer import NativeWriter
from reach_tui.report.jsonout import record
from reach_tui.report.model import Report
from reach_tui.stores.reader import Reader
from reach_tui.workspace import Workspace
from reach_tui.workspace.finding import CallQuery, matching
from reach_tui.workspace.reporting import Collector, Selection
from tests.analyze.test_analyses import _tallies
from tests.index.test_index import MISSED, Counting, aged, call, reader_of, write

DATA = Path(__file__).resolve().parents[1] / "data"
STORES = [*sorted(DATA.rglob("*.db")), *(DATA / kind for kind in ("claude_code", "codex", "gemini_cli", "pi"))]


def exact(reader: Reader, session: Session, selection: Selection) -> Tally:
    """One session's figures, from all its steps."""
    steps = list(reader.steps(session.id))
    pairs = [(step.call, default_engine().judge(step.call)) for step in steps if step.call is not None]
    return analyses.of_session(session, pairs, [step for step in steps if step.call is None], selection.wanted())


def expected(path: Path, selection: Selection | None = None) -> Tally:
    """The figures of a store without an index, the slow way."""
    reader, selection = reader_of(path), selection or Selection(scope="all")
    sessions = [session for session in reader.sessions() if selection.takes(session)]
    return sum((exact(reader, session, selection) for session in sessions), Tally())


def _tallied(reader: Reader, engine: Counting, chosen: list[Session] | None = None) -> Generator[str, None, Tally]:
    return tallied(reader, engine, lambda: list(reader.sessions()), lambda one: chosen is None or one in chosen)


def summed(path: Path, engine: Counting | None = None) -> Tally:
    """The figures of all sessions, by way of the index."""
    reader = reader_of(path)
    running = _tallied(reader, engine or Counting())
    while True:
        try:
            next(running)
        except StopIteration as done:
            result: Tally = done.value
            return result


def report(path: Path, **selection: object) -> Report:
    """The report on one trace."""
    workspace = Workspace([path])
    collector = Collector(workspace, Selection(**selection))  # type: ignore[arg-type]
    for source in workspace.found.sources:
        list(collector.tallies(source))
    return collector.report()


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return write(tmp_path / "reach.db", 20, 7)


@pytest.fixture
def small_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(totals, "GROUP", 3)


@pytest.mark.parametrize("path", STORES, ids=lambda path: str(path.relative_to(DATA)))
def test_figures_equal_those_of_the_steps(path: Path, small_groups: None) -> None:
    slow = expected(path)
    engine = Counting()
    assert summed(path, engine) == slow
    asked = engine.asked
    assert summed(path, engine) == slow
    assert engine.asked == asked  # nothing was judged again


@pytest.mark.parametrize("path", [path for path in STORES if path.name in ("schema_17.db", "opencode-1.14.48.db")])
@pytest.mark.parametrize("tools", [("Edit", "edit"), ("Read", "bash"), ("none of them",)])
def test_a_report_on_some_tools_equals_one_from_the_steps(path: Path, tools: tuple[str, ...]) -> None:
    selection = Selection(scope="all", tools=tools)
    workspace = Workspace([path])
    for _ in range(2):
        collector = Collector(workspace, selection)
        (source,) = workspace.found.sources
        list(collector.tallies(source))
        found = collector.tally
        found.health.counts.subtract({what: n for what, n in found.health.counts.items() if what.startswith("session")})
        assert found == expected(path, selection)


def test_sessions_at_the_border_of_a_span_count_on_one_side(store: Path) -> None:
    starts = sorted(session.started_at or 0 for session in reader_of(store).sessions())
    whole = record(report(store))
    for border in (starts[0] - 1, starts[0], starts[7], starts[7] + 1, starts[-1], starts[-1] + 1):
        before, after = report(store, until=border), report(store, since=border)
        early = [start for start in starts if start < border]
        assert before.scope.sessions == len(early)
        assert before.scope.calls + after.scope.calls == whole["scope"]["calls"]
        assert before.total + after.total == report(store).total
        assert (before.scope.first, before.scope.last) == ((early[0], early[-1]) if early else (None, None))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60)
@given(st.lists(_tallies, max_size=9), st.randoms(use_true_random=False))
def test_sums_of_packed_groups_equal_the_whole(tallies: list[Tally], chance: random.Random) -> None:
    whole = Tally()
    for one in tallies:
        whole.include(one)
    groups: list[list[Tally]] = [[]]
    for one in tallies:
        groups[-1].append(one)
        if chance.random() < 0.4:
            groups.append([])
    total = Tally()
    for group in groups:
        packed = figures.encode(sum(group, Tally()))
        assert packed is not None
        total.include(figures.decode(packed))
    assert total == whole
    assert sum(tallies, Tally()) == whole


def test_groups_that_did_not_change_are_not_summed_again(
    store: Path, small_groups: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    summed(aged(store))
    decoded: list[bytes] = []
    real = figures.decode

    def counting(packed: bytes) -> Tally:
        decoded.append(packed)
        return real(packed)

    monkeypatch.setattr(figures, "decode", counting)
    summed(store)
    assert len(decoded) == 7  # 20 sessions in groups of 3
    with NativeWriter(store) as writer:
        writer.add_call(call("s19", 99, MISSED))  # the newest: a group of its own with s18
    decoded.clear()
    assert summed(store) == expected(store)
    assert len(decoded) == 8
    decoded.clear()
    for number in range(3):
        with NativeWriter(store) as writer:
            writer.add_session(Session("reach", f"n{number}", started_at=1_790_000_000_000 + number))
            writer.add_call(call(f"n{number}", 1, MISSED))
    assert summed(store) == expected(store)


def test_changes_of_any_kind_are_in_the_next_sum(store: Path, small_groups: None) -> None:
    chance = random.Random(3)
    for number in range(8):
        with closing(sqlite3.connect(store)) as connection, connection:
            name = f"s{chance.randrange(20)}"
            match number % 4:
                case 0:
                    connection.execute("UPDATE tool_call SET result = ? WHERE session_id = ?", (MISSED, name))
                case 1:
                    for table, column in (("tool_call", "session_id"), ("message", "session_id"), ("session", "id")):
                        connection.execute(f"DELETE FROM {table} WHERE {column} = ?", (name,))
                case 2:
                    connection.execute("UPDATE session SET started_at = started_at + 86400000 WHERE id = ?", (name,))
                case 3:
                    connection.execute("DELETE FROM tool_call WHERE session_id = ? AND rowid % 2 = 0", (name,))
        assert summed(store) == expected(store)
        assert {one.session_id: one for one in counted(reader_of(store), Counting(), list(reader_of(store).sessions()))}


@pytest.mark.parametrize("seed", range(8))
def test_flipped_bytes_never_change_a_figure(store: Path, small_groups: None, seed: int) -> None:
    slow = expected(aged(store))
    summed(store)
    path = index_path(reader_of(store))
    chance = random.Random(seed)
    raw = bytearray(path.read_bytes())
    for _ in range(1 + seed * 30):
        raw[chance.randrange(len(raw))] ^= chance.randrange(1, 256)
    path.write_bytes(raw)
    assert summed(store) == slow
    assert summed(store) == slow


def test_figures_of_another_form_are_judged_anew(store: Path) -> None:
    slow = expected(store)
    summed(store)
    with closing(sqlite3.connect(index_path(reader_of(store)))) as connection, connection:
        connection.execute("UPDATE page SET figures = x'90'")
        connection.execute("DELETE FROM total")
    assert summed(store) == slow
    with closing(sqlite3.connect(index_path(reader_of(store)))) as connection, connection:
        connection.execute("DELETE FROM page")
        connection.execute("DELETE FROM total")
    assert summed(store) == slow


def test_without_a_place_to_write_the_report_does_without(store: Path) -> None:
    cache_dir().parent.mkdir(parents=True, exist_ok=True)
    cache_dir().write_text("a file, no folder")
    assert summed(store) == expected(store)
    assert record(report(store))["scope"]["calls"] == 140


def test_a_report_reads_only_what_is_in_its_span(store: Path) -> None:
    starts = sorted(session.started_at or 0 for session in reader_of(store).sessions())
    engine = Counting()
    reader = reader_of(store)
    sessions = [one for one in reader.sessions() if (one.started_at or 0) >= starts[-2]]
    assert sum(1 for _ in _tallied(reader, engine, sessions)) == 2
    assert engine.asked == 14
    assert summed(store, engine) == expected(store)
    assert engine.asked == 140


def test_two_reports_at_once_come_to_the_same(store: Path) -> None:
    reader = reader_of(store)
    both = [_tallied(reader, Counting()), _tallied(reader_of(store), Counting())]
    found = []
    while both:
        for one in list(both):
            try:
                next(one)
            except StopIteration as done:
                found.append(done.value)
                both.remove(one)
    assert found == [expected(store)] * 2


def test_a_session_that_cannot_be_kept_is_read_each_time(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = encode_page
    monkeypatch.setattr(
        "reach_tui.index.digest.encode_page", lambda name, pairs: None if name == "s5" else real(name, pairs)
    )
    engine = Counting()
    for asked in (147, 161):  # all and s5 once more to sum it up; then s5 to keep it in vain, and to sum it up
        assert summed(store, engine) == expected(store)
        assert engine.asked == asked
    names = [one.session_id for one in counted(reader_of(store), engine, list(reader_of(store).sessions()))]
    assert sorted(names) == sorted(f"s{number}" for number in range(20))


def test_the_calls_behind_a_number_come_from_their_sessions_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = Path(shutil.copy(DATA / "peri" / "schema_17.db", tmp_path / "threads.db"))
    workspace = Workspace([path])
    (source,) = workspace.found.sources
    row = next(tool for tool in report(path, scope="all").tools if tool.counts.hidden)
    query, selection = CallQuery(row.tool, hidden=True), Selection(scope="all")
    asked: list[str] = []
    real = workspace.judged_calls

    def watched(source: object, ids: list[str]) -> object:
        asked.extend(ids)
        return real(source, ids)  # type: ignore[arg-type]

    monkeypatch.setattr(workspace, "judged_calls", watched)
    found = [hit.judged and hit.judged.call.key for hit in matching(workspace, [source], query, selection)]
    assert len(found) == row.counts.hidden
    assert 0 < len(asked) < sum(1 for _ in source.reader.sessions())
    shutil.rmtree(cache_dir())
    assert [hit.judged and hit.judged.call.key for hit in matching(workspace, [source], query, selection)] == found
    os.utime(path)


def test_rows_edited_in_place_move_the_sum_over_all_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = aged(Path(shutil.copy(DATA / "kilo" / "kilo-7.7.9.db", tmp_path / "kilo.db")))
    asked: list[str] = []
    real = row_states

    def watched(reader: Reader, names: list[str]) -> dict[str, str]:
        asked.extend(names)
        return real(reader, names)

    monkeypatch.setattr(scanner, "row_states", watched)
    sessions = len(list(reader_of(path).sessions()))
    assert summed(path) == expected(path)
    assert not asked  # the states come with the rows that are read
    with closing(sqlite3.connect(path)) as connection, connection:
        name = connection.execute("SELECT session_id FROM part WHERE data LIKE '%\"tool\"%' LIMIT 1").fetchone()[0]
        connection.execute("UPDATE session SET time_updated = time_updated + 1 WHERE id = ?", (name,))
    asked.clear()
    assert summed(aged(path)) == expected(path)
    assert name not in asked
    assert len(asked) < sessions / 2  # the unfinished ones; the others' rows are known to be what they were
    with closing(sqlite3.connect(path)) as connection, connection:
        text = '{"type":"tool","tool":"bash","callID":"x","state":{"status":"error","input":{"a":1},"error":"no"}}'
        edit = "UPDATE part SET data = ?, time_updated = time_updated + 1 WHERE rowid = (SELECT max(rowid) FROM part)"
        connection.execute(edit, (text,))
    asked.clear()
    before = expected(path)
    assert summed(aged(path)) == before
    assert len(asked) >= sessions


def test_a_count_after_a_report_knows_every_session(tmp_path: Path) -> None:
    """The report left the children out; once they are counted too, the index answers without listing sessions."""
    path = aged(Path(shutil.copy(DATA / "kilo" / "kilo-7.7.9.db", tmp_path / "kilo.db")))
    reader, engine = reader_of(path), default_engine()
    own = [session for session in reader.sessions() if session.parent_id is None]

    def complete() -> str | None:
        with Index.opened(reader, engine.version) as index:
            return index.meta("complete")

    running = tallied(reader, engine, lambda: list(reader.sessions()), lambda session: session in own)
    for _ in running:
        pass
    assert len(own) < len(list(reader.sessions()))
    assert complete() is None
    assert len(list(scan(reader, engine))) >= len(own)
    assert complete() == fingerprint(reader)
