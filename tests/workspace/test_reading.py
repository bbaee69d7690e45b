"""Reading source after source: an error ends one and not the next, and who has left is not read for."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from reach_tui.base.errors import StoreError
from reach_tui.workspace.reading import Stopped, Watch, read_all
from reach_tui.workspace.sources import Source, open_source

DATA = Path(__file__).resolve().parents[1] / "data" / "peri"


@pytest.fixture
def sources() -> list[Source]:
    return [open_source(DATA / name) for name in ("schema_3.db", "schema_0.db", "schema_17.db")]


def test_a_source_that_breaks_off_counts_up_to_there_and_the_next_is_read(sources: list[Source]) -> None:
    seen: list[str] = []

    def read(source: Source) -> Iterator[int]:
        yield 1
        if source is sources[1]:
            raise StoreError("damaged", source.path)
        yield 2

    problems = read_all(sources, read, lambda: seen.append("one"))
    assert [problem.where for problem in problems] == [str(sources[1].path)]
    assert len(seen) == 5


def test_it_ends_at_once_when_nobody_waits(sources: list[Source]) -> None:
    begun: list[Source] = []
    told: list[int] = []

    def read(source: Source) -> Iterator[int]:
        begun.append(source)
        yield from range(10)

    watch = Watch(lambda: bool(told), told.append)
    watch._told -= 1  # a second has passed
    with pytest.raises(Stopped):
        read_all(sources, read, watch)
    assert told == [1]
    assert begun == sources[:1]


def test_the_number_is_told_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr("reach_tui.workspace.reading.time.monotonic", lambda: now)
    told: list[int] = []
    watch = Watch(lambda: False, told.append)
    for _ in range(10):
        now += 0.09
        watch()
    assert told == [3, 6, 9]
