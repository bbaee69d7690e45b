"""The sample traces are what their README says, hold nothing private, and are written the same every time."""

from __future__ import annotations

import re
import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest

from reach_tui.stores.catalog import open_store
from reach_tui.stores.reader import Reader
from tests.builders.make_samples import write_shop

SAMPLES = Path(__file__).resolve().parents[2] / "sample_traces"
FILES = sorted(path.relative_to(SAMPLES).as_posix() for path in SAMPLES.rglob("*.db"))
README = (SAMPLES / "README.md").read_text(encoding="utf-8")


def reader(name: str) -> Reader:
    return open_store(SAMPLES / name).reader


@pytest.fixture(scope="module")
def shop() -> Reader:
    return reader("reach/shop.db")


def test_each_file_is_in_the_readme_and_all_are_small() -> None:
    assert FILES == ["opencode/opencode-1.18.33.db", "peri/threads.db", "reach/shop.db"]
    assert all(f"`{name}`" in README for name in FILES)
    assert sum((SAMPLES / name).stat().st_size for name in FILES) <= 3_000_000
    assert not [path for path in SAMPLES.rglob("*") if path.name.endswith(("-wal", "-shm", "-journal"))]


@pytest.mark.parametrize(
    ("name", "kind", "sessions", "calls", "flagged"),
    [
        ("reach/shop.db", "reach", 12, 62, 5),
        ("peri/threads.db", "peri", 27, 426, 25),
        ("opencode/opencode-1.18.33.db", "opencode", 48, 200, 71),
    ],
)
def test_figures_of_the_readme(name: str, kind: str, sessions: int, calls: int, flagged: int) -> None:
    store = reader(name)
    assert store.kind == kind
    assert len(list(store.sessions())) == sessions
    found = list(store.calls())
    assert len(found) == calls
    assert sum(call.flagged is True for call in found) == flagged
    assert f"{sessions} sessions" in README or f"{sessions} threads" in README
    assert f"{calls} calls" in README


@pytest.mark.parametrize("name", FILES)
def test_titles_of_the_readme_exist(name: str) -> None:
    part = README.split(f"`{name}`")[1].split("\n## ")[0]
    named = re.findall(r"^\| (?!session|---)(.+?) \|", part, re.M) + re.findall(r"(?:^- |\. )\*([^*]+)\*", part, re.M)
    titles = [session.title or "" for session in reader(name).sessions()]
    assert len(named) >= 2
    for title in named:
        assert any(known.startswith(title.removesuffix("…").strip()) for known in titles), title


@pytest.mark.parametrize("name", FILES)
def test_nothing_private_is_shipped(name: str) -> None:
    text = (SAMPLES / name).read_bytes().decode("utf-8", "replace")
    assert set(re.findall(r"/(?:home|Users)/([\w.-]+)", text)) <= {"dev"}
    assert not re.search(r"/(?:root|tmp|mnt|opt|srv)/", text)
    hosts = set(re.findall(r"https?://([\w.-]+)", text))
    assert all(re.search(r"(^|\.)example(\.(org|com))?$|^127\.0\.0\.1$", host) for host in hosts), hosts
    assert not re.search(r"\b[\w.]+@(?!session|message)[\w-]+\.(com|org|net|io)\b", text)
    assert not re.search(r"sk-[A-Za-z0-9]{20}|ghp_[A-Za-z0-9]{20}|BEGIN [A-Z ]*PRIVATE KEY", text)


def test_the_generator_writes_what_is_shipped(tmp_path: Path) -> None:
    write_shop(tmp_path / "shop.db")
    with (
        closing(sqlite3.connect(tmp_path / "shop.db")) as new,
        closing(sqlite3.connect(SAMPLES / "reach/shop.db")) as old,
    ):
        assert list(new.iterdump()) == list(old.iterdump())
        assert new.execute("PRAGMA journal_mode").fetchone() == ("delete",)


def test_every_decision_and_event_step_occurs() -> None:
    with closing(sqlite3.connect(SAMPLES / "reach/shop.db")) as connection:
        decisions = dict(
            connection.execute("SELECT decision, count(*) FROM event WHERE decision IS NOT NULL GROUP BY 1")
        )
        steps = dict(connection.execute("SELECT step, count(*) FROM event GROUP BY 1"))
    assert set(decisions) == {"execute", "clarify", "no_capability"}
    assert {"route", "execute", "fallback"} <= set(steps)


def test_good_and_bad_slots_occur(shop: Reader) -> None:
    slots = [slot for call in shop.calls() for slot in call.slots or ()]
    assert any(slot.matches == 3 and slot.confidence == 0.33 for slot in slots), "ambiguous"
    assert any(slot.source == "none" and slot.confidence == 0 for slot in slots), "a gap"
    assert any(slot.note.startswith("stale") for slot in slots)
    assert {slot.source for slot in slots} >= {
        "user",
        "result",
        "dictionary",
        "default",
        "argument",
        "assistant",
        "composed",
    }
    for session in shop.sessions():
        steps = {step.number: step for step in shop.steps(session.id)}
        for step in steps.values():
            for slot in (step.call.slots or ()) if step.call else ():
                assert slot.origin_step is None or slot.origin_step < step.number, (session.id, step.number, slot.name)
                word = (slot.origin or "").rpartition(" · ")[2]
                if slot.origin_step and word in {
                    "user",
                    "read_file",
                    "search_order",
                    "query_refund",
                    "query_order_status",
                }:
                    origin = steps[slot.origin_step]
                    assert word == (origin.call.tool if origin.call else origin.kind.value)


def test_loops_unfinished_calls_and_hostile_text_occur(shop: Reader) -> None:
    calls = list(shop.calls())
    repeated = Counter(
        (call.session_id, call.tool, call.result.text) for call in calls if call.result and not call.flagged
    )
    assert max(repeated.values()) >= 5
    assert [call.session_id for call in calls if call.result is None] == ["shop-07"]
    text = "".join(call.result.text for call in calls if call.result)
    assert all(mark in text for mark in ("\x1b]0;", "\x00", "\u202e", "[/bold]", "🐉"))
    assert [session.title for session in shop.sessions() if session.title and "[red]" in session.title]


@pytest.mark.parametrize("name", FILES)
def test_no_sample_has_trouble_but_those_planted(name: str) -> None:
    store = reader(name)
    troubles = [trouble.what for session in store.sessions() for trouble in store.troubles(session.id)]
    assert troubles == [] or name.startswith("peri/")
