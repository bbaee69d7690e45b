"""What the writer takes, the reader gives back; what is hostile or broken is shown and named, never dropped."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reach_tui.base.errors import StoreError, UsageError
from reach_tui.labels.store import LabelStore
from reach_tui.model import Candidate, Label, Result, Route, Session, Slot, StepKind, Thresholds, Tokens, ToolCall
from reach_tui.native import writer as writer_module
from reach_tui.native.event import Event
from reach_tui.native.schema import create
from reach_tui.native.writer import NativeWriter
from reach_tui.stores.reach import ReachReader

AT = 1_780_000_000_000
SESSION = Session(
    "reach",
    "s1",
    "p",
    "Título 标题",
    "shop",
    "model-1",
    AT,
    AT + 5,
    Tokens(3, 4),
    "success",
    False,
    "s0",
    ("a", "b"),
    2,
)
ROUTE = Route(
    "recorded", "refund", (Candidate("a", 0.8, "r"), Candidate("b", 0.7)), "clarify", Thresholds(0.7, 0.2, 0.4)
)
SLOTS = (
    Slot("x[0].y", {"deep": [1, None, "二"]}, "result", "recorded", "step 1 · read", 1, 3, 0.33, "ambiguous"),
    Slot("z", None, "none", "recorded", None, None, 0, 0.0, "gap"),
    Slot("text", "long", "composed", "recorded"),
)
CALL = ToolCall(
    "k1", "c1", "s1", "edit", {"b": 1, "a": ["\x00", "\x1b[31m"]}, False, Result("öl\r\n\x00", 6), 2, 1, AT + 1, 7,
    "completed", "edit_file", {"exit_code": 1}, ROUTE, SLOTS, "k0", False, "odd",
)  # fmt: skip


def a_label(call: str) -> Label:
    return Label(
        "reach", "s1", call, None, "stale_context", None, "", "dev", AT, "reach-failure", 1, None, None, "0.1.0"
    )  # fmt: skip


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "x.db"


def change(path: Path, sql: str) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA ignore_check_constraints = 1")
        connection.executescript(sql)


def test_sessions_messages_calls_routes_and_slots_come_back(path: Path) -> None:
    with NativeWriter(path) as writer:
        writer.add_session(SESSION)
        assert writer.add_message("s1", StepKind.USER, "hi [red]", turn=1, at=AT, visible=False) == 1
        assert writer.add_call(CALL) == 2
        assert writer.add_message("s1", StepKind.SYSTEM, "from the parent", inherited=True) == 3
    reader = ReachReader(path)
    assert list(reader.sessions()) == [SESSION]
    assert reader.session("s1") == SESSION
    assert reader.session("none") is None
    first, second, third = reader.steps("s1")
    assert (first.number, first.turn, first.kind, first.text, first.at, first.visible) == (
        1,
        1,
        StepKind.USER,
        "hi [red]",
        AT,
        False,
    )
    assert second.call == CALL
    assert list(reader.calls(["s1"])) == list(reader.calls()) == [CALL]
    assert third.inherited
    assert reader.troubles("s1") == []


def test_writing_the_same_again_changes_nothing(path: Path) -> None:
    def write() -> None:
        with NativeWriter(path) as writer:
            writer.forget_session("s1")
            writer.add_session(SESSION)
            writer.add_message("s1", StepKind.USER, "hi")
            writer.add_call(CALL)

    write()
    with closing(sqlite3.connect(path)) as connection:
        before = list(connection.iterdump())
    write()
    with closing(sqlite3.connect(path)) as connection:
        assert list(connection.iterdump()) == before


def test_labels_survive_a_new_import_of_their_session(path: Path) -> None:
    with NativeWriter(path) as writer:
        writer.add_session(SESSION)
        writer.add_call(CALL)
    with LabelStore.open(path) as labels:
        labels.save(a_label("k1"))
    with NativeWriter(path) as writer:
        writer.forget_session("s1")
        writer.add_session(SESSION)
    with LabelStore.open(path) as labels:
        assert len(labels.in_force("reach", "s1")) == 1
        assert list(ReachReader(path).calls()) == []


def test_only_what_was_recorded_is_kept(path: Path) -> None:
    guessed = ToolCall(
        "k1",
        "",
        "s1",
        "x",
        route=Route("inferred", "", (), "clarify"),
        slots=(Slot("a", 1, "user", "inferred"),),
        step=1,
    )
    with NativeWriter(path) as writer:
        writer.add_session(SESSION)
        writer.add_call(guessed)
    (call,) = ReachReader(path).calls()
    assert call.route is None
    assert call.slots is None


def test_decisions_without_a_call_are_steps(path: Path) -> None:
    event = Event(
        "t", "route", "s1", seq=2, intent="audio", candidates=(Candidate("a", 0.3),), decision="no_capability", at=AT,
        error_type="no_capability", detail="top too low",
    )  # fmt: skip
    with NativeWriter(path) as writer:
        writer.add_session(SESSION)
        writer.add_message("s1", StepKind.USER, "hi")
        writer.add_event(event)
        writer.add_message("s1", StepKind.ASSISTANT, "I cannot")
    reader = ReachReader(path)
    steps = list(reader.steps("s1"))
    assert [step.kind.value for step in steps] == ["user", "decision", "assistant"]
    assert steps[1].text == "route: no_capability · audio · a 0.30 · top too low"
    assert reader.events("s1") == [event]


@pytest.mark.parametrize("word", [{"error_type": "time_out"}, {"step": "rout"}, {"decision": "maybe"}])
def test_free_words_are_refused(path: Path, word: dict[str, str]) -> None:
    with NativeWriter(path) as writer:
        writer.add_session(SESSION)
        with pytest.raises(UsageError, match="unknown"):
            writer.add_event(Event(**({"trace_id": "t", "step": "execute", "session_id": "s1"} | word)))  # type: ignore[arg-type]
    assert ReachReader(path).events("s1") == []
    with pytest.raises(sqlite3.IntegrityError), closing(sqlite3.connect(path)) as connection:
        connection.execute(
            "INSERT INTO event (trace_id, step, session_id, error_type) VALUES ('t', 'execute', 's1', 'time_out')"
        )


def test_a_call_of_no_session_is_refused_in_one_line(path: Path) -> None:
    with pytest.raises(StoreError, match="not written: FOREIGN KEY") as caught, NativeWriter(path) as writer:
        writer.add_call(CALL)
    assert "add the session first" in caught.value.line()


def test_a_key_of_another_session_is_refused_not_overwritten(path: Path) -> None:
    with NativeWriter(path) as writer:
        writer.add_session(SESSION)
        writer.add_session(Session("reach", "s2"))
        writer.add_call(CALL)
    with pytest.raises(StoreError, match="'k1' of session 's2' is used by session 's1'"), NativeWriter(path) as writer:
        writer.add_call(ToolCall("k1", "", "s2", "other"))
    assert [(call.key, call.session_id) for call in ReachReader(path).calls()] == [("k1", "s1")]


def test_an_empty_file_becomes_a_database(path: Path) -> None:
    path.touch()
    with NativeWriter(path) as writer:
        writer.add_session(SESSION)
    assert list(ReachReader(path).sessions()) == [SESSION]


def test_an_exception_drops_what_was_not_yet_written(path: Path) -> None:
    def fail_half_way() -> None:
        with NativeWriter(path) as writer:
            writer.add_session(SESSION)
            writer.flush()
            writer.add_call(CALL)
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail_half_way()
    assert list(ReachReader(path).sessions()) == [SESSION]
    assert list(ReachReader(path).calls()) == []


def test_many_rows_go_in_batches(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer_module, "BATCH", 7)
    with NativeWriter(path) as writer:
        writer.add_session(SESSION)
        for number in range(50):
            writer.add_call(ToolCall(f"k{number}", "", "s1", "t", {"n": number}, slots=SLOTS, route=ROUTE))
    calls = list(ReachReader(path).calls())
    assert [call.arguments for call in calls] == [{"n": number} for number in range(50)]
    assert [call.step for call in calls] == list(range(1, 51))
    assert all(len(call.slots or ()) == 3 and call.route is not None for call in calls)


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(arguments=JSON, result=st.none() | st.text(), text=st.text(), title=st.text())
def test_any_text_and_json_comes_back(
    tmp_path_factory: pytest.TempPathFactory, arguments: object, result: str | None, text: str, title: str
) -> None:
    path = tmp_path_factory.mktemp("any") / "x.db"
    with NativeWriter(path) as writer:
        writer.add_session(Session("reach", "s1", title=title))
        writer.add_message("s1", StepKind.USER, text)
        found = None if result is None else Result(result, len(result.encode()))
        writer.add_call(ToolCall("k", "", "s1", "t", arguments, result=found))  # type: ignore[arg-type]
    reader = ReachReader(path)
    message, call = reader.steps("s1")
    assert message.text == text
    assert call.call is not None
    assert call.call.arguments == arguments
    assert (call.call.result and call.call.result.text) == result
    session = reader.session("s1")
    assert session is not None
    assert session.title == title


def test_too_deep_json_is_named_not_dropped(path: Path) -> None:
    deep: object = 1
    for _ in range(100_000):
        deep = [deep]
    with NativeWriter(path) as writer:
        writer.add_session(SESSION)
        writer.add_call(ToolCall("k", "", "s1", "t", deep))  # type: ignore[arg-type]
    (call,) = ReachReader(path).calls()
    assert call.problem == "not kept, no JSON: RecursionError"


def test_broken_rows_are_shown_and_counted(path: Path) -> None:
    with NativeWriter(path) as writer:
        writer.add_session(SESSION)
        writer.add_message("s1", StepKind.USER, "hi")
        writer.add_call(CALL)
    change(
        path,
        """
        PRAGMA foreign_keys = OFF;
        UPDATE tool_call SET arguments = '{"a": ', metadata = 'nope', flagged = 'maybe',
          duration_ms = 'long', seq = 'x';
        UPDATE slot SET value = '{', confidence = 'high', matches = -3, source = x'ff';
        UPDATE message SET kind = 'telepathy', text = x'ff41', at = 'never';
        UPDATE event SET candidates = '[{"name": 5}, {"name": "ok", "score": 0.5}]';
        INSERT INTO event (trace_id, step, session_id, call_key, candidates) VALUES ('t', 'route', 's1', 'gone', '{');
        UPDATE session SET notes = '{broken', started_at = 'long ago', tokens_input = x'00', own_work = 'x';
        """,
    )
    reader = ReachReader(path)
    (session,) = reader.sessions()
    assert session.notes == ("{broken",)
    assert session.started_at is None
    steps = list(reader.steps("s1"))
    assert [step.kind.value for step in steps] == ["raw", "note", "call"]
    assert steps[0].text == "\ufffdA"
    call = next(step.call for step in steps if step.call)
    assert call.arguments == '{"a": '
    assert call.problem == "odd; arguments: not valid JSON; metadata: not valid JSON"
    assert (call.flagged, call.duration_ms) == (None, None)
    assert call.slots is not None
    assert (call.slots[0].value, call.slots[0].confidence, call.slots[0].matches) == ("{", None, None)
    assert call.route is not None
    assert [one.name for one in call.route.candidates] == ["ok"]
    whats = sorted(trouble.what for trouble in reader.troubles("s1"))
    assert whats.count("malformed slot value") == 3
    assert {"malformed arguments", "malformed metadata", "unknown message kind", "orphan event", "unreadable candidate",
            "unreadable candidates"} <= set(whats)  # fmt: skip


def test_ids_stored_as_bytes_are_found(path: Path) -> None:
    create(path)
    change(
        path,
        "INSERT INTO session (id) VALUES (x'7331');INSERT INTO message VALUES (x'7331', 1, 1, 'user', 'hi', 1, 1, 0);",
    )
    reader = ReachReader(path)
    assert [session.id for session in reader.sessions()] == ["s1"]
    assert [step.text for step in reader.steps("s1")] == ["hi"]


def test_reading_beside_our_own_open_label_store_sees_every_commit(path: Path) -> None:
    with NativeWriter(path) as writer:
        writer.add_session(SESSION)
        writer.add_call(CALL)
    reader = ReachReader(path)
    with LabelStore.open(path) as labels:
        before = reader.data_version()
        labels.save(a_label("k1"))
        assert reader.data_version() != before
        assert [call.key for call in reader.calls()] == ["k1"]
        with NativeWriter(path) as writer:
            writer.add_call(ToolCall("k2", "", "s1", "t"))
        assert [call.key for call in reader.calls()] == ["k1", "k2"]
        labels.save(a_label("k2"))
        assert len(labels.in_force("reach", "s1")) == 2
    assert [entry.name for entry in path.parent.iterdir()] == ["x.db"]
