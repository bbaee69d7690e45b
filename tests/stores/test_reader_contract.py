"""What every reader promises, on every recorded database."""

from __future__ import annotations

import shutil
from itertools import groupby
from pathlib import Path

import pytest

from reach_tui.base.jsonio import dumps
from reach_tui.base.sqlite_access import REGISTRY
from reach_tui.model import StepKind
from reach_tui.stores.catalog import open_store
from reach_tui.stores.reader import Reader
from reach_tui.stores.transcripts.reader import TranscriptReader
from reach_tui.workspace.sources import open_source
from tests.stores.conftest import TRANSCRIPT_FOLDERS

DATA = Path(__file__).resolve().parents[1] / "data"
RECORDED = sorted(path for path in DATA.rglob("*.db") if path.with_suffix(".truth.json").exists())
TRANSCRIPTS = [DATA / name for name in TRANSCRIPT_FOLDERS]


@pytest.fixture(params=[*RECORDED, *TRANSCRIPTS], ids=lambda path: f"{path.parent.name}-{path.stem}")
def reader(request: pytest.FixtureRequest) -> Reader:
    return open_source(request.param).reader


def check_calls_against_steps(reader: Reader) -> None:
    sessions = list(reader.sessions())
    streamed = list(reader.calls())
    assert len({call.key for call in streamed}) == len(streamed)
    assert [key for key, _ in groupby(call.session_id for call in streamed)] == [
        session.id for session in sessions if any(call.session_id == session.id for call in streamed)
    ]
    told = []
    for session in sessions:
        steps = list(reader.steps(session.id))
        assert [step.number for step in steps] == list(range(1, len(steps) + 1))
        turns = [step.turn for step in steps]
        assert turns == sorted(turns)
        for step in steps:
            assert (step.call is not None) == (step.kind is StepKind.CALL)
            if step.call is not None:
                assert (step.call.step, step.call.turn) == (step.number, step.turn)
                told.append(step.call)
    assert told == streamed


def test_calls_are_exactly_the_calls_of_steps(reader: Reader) -> None:
    check_calls_against_steps(reader)


def test_sessions_are_newest_first_and_found_by_id(reader: Reader) -> None:
    sessions = list(reader.sessions())
    starts = [session.started_at or 0 for session in sessions]
    assert starts == sorted(starts, reverse=True)
    assert all(reader.session(session.id) == session for session in sessions)
    assert reader.session("no such session") is None
    assert list(reader.steps("no such session")) == []
    assert reader.troubles("no such session") == []


def test_two_runs_say_the_same(reader: Reader) -> None:
    assert list(reader.calls()) == list(reader.calls())
    assert list(reader.sessions()) == list(reader.sessions())


def test_the_file_is_not_held_between_rows(reader: Reader) -> None:
    """A reader that waits for a person must not keep the agent's `-wal` from being reset."""
    for stream in (reader.calls(), reader.sessions(), reader.steps(next(reader.sessions()).id)):
        next(iter(stream), None)
        assert REGISTRY.open == {}


def test_data_version_changes_with_the_file(reader: Reader, tmp_path: Path) -> None:
    path = tmp_path / reader.path.name
    other: Reader
    if isinstance(reader, TranscriptReader):
        shutil.copytree(reader.path, path)
        other = TranscriptReader(reader.form, path)
        grown = reader.file_of(next(reader.sessions()).id).relative_to(reader.path)
    else:
        shutil.copyfile(reader.path, path)
        other = open_store(path).reader
        grown = Path(f"{path.name}-wal")
    before = other.data_version()
    assert other.data_version() == before
    with open(path / grown if path.is_dir() else tmp_path / grown, "ab") as file:
        file.write(b"more")
    assert other.data_version() != before


def test_calls_of_some_sessions_only(reader: Reader) -> None:
    ids = [session.id for session in reader.sessions()][:2]
    assert {call.session_id for call in reader.calls(ids)} <= set(ids)
    assert list(reader.calls([])) == []


def test_arguments_and_metadata_are_json(reader: Reader) -> None:
    for call in reader.calls():
        dumps(call.arguments)
        dumps(dict(call.metadata))


@pytest.mark.shared
def test_calls_against_steps_of_the_newest_opencode(shared: Path) -> None:
    check_calls_against_steps(open_store(shared / "real_traces" / "opencode" / "opencode-1.18.33.db").reader)
