"""`reach-tui rules` and a person's own rules in every command; the example of docs/rules.md, run."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from reach_tui.base.jsonio import JsonValue
from reach_tui.model import Result, Session, ToolCall
from reach_tui.native.writer import NativeWriter
from tests.cli.conftest import Run

DOCS = Path(__file__).resolve().parents[2] / "docs" / "rules.md"
MINE = 'family = "parcels"\nnature = "answer"\ntools = ["track_parcel"]\n'
RULE = MINE + '[[rule]]\nid = "parcels.closed"\nexplain = "Closed."\nmatch = "Depot .* closed"\n'


def blocks(language: str) -> list[str]:
    """The code blocks of a language in docs/rules.md."""
    return re.findall(rf"^```{language}\n(.*?)^```$", DOCS.read_text(encoding="utf-8"), re.M | re.S)


@pytest.fixture
def depot(tmp_path: Path) -> Path:
    """A trace in which depots are closed."""
    path = tmp_path / "traces.db"
    said = ["Parcel 1 is on its way", "Depot north closed until Monday", "Parcel 3 is on its way",
            "Depot south closed until Monday", '{"depot": "Depot east closed"}']  # fmt: skip
    with NativeWriter(path) as writer:
        writer.add_session(Session("reach", "depot"))
        for number, text in enumerate(said, 1):
            arguments: JsonValue = {"question": "opening hours"} if number == 4 else {"parcel": number}
            writer.add_call(
                ToolCall(f"depot/c{number}", f"c{number}", "depot", "track_parcel", arguments, False,
                         Result(text, len(text)), step=number, turn=1)
            )  # fmt: skip
    return path


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Makes rule files of the project that is the current folder."""
    folder = tmp_path / "project" / ".reach-tui" / "rules"
    below = tmp_path / "project" / "src"
    for one in (folder, below):
        one.mkdir(parents=True)
    monkeypatch.chdir(below)
    monkeypatch.setenv("PYTHONPATH", str(DOCS.parents[1]))  # subprocesses start in another folder

    def write(text: str, name: str = "mine.toml") -> Path:
        (folder / name).write_text(text, encoding="utf-8")
        return folder / name

    return write


def test_the_example_of_the_docs(reach: Run, depot: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rule, condition = blocks("toml")
    (tmp_path / "parcels.toml").write_text(rule, encoding="utf-8")
    for key, category in (("depot/c2", "stale_context"), ("depot/c4", "not_a_failure")):
        assert reach("label", depot, key, category, "--by", "dev").code == 0
    monkeypatch.setenv("REACH_TUI_BY", "dev")
    shown = blocks("console")[0].removeprefix("$ reach-tui rules test parcels.toml traces.db\n")
    ran = reach("rules", "test", "parcels.toml", "traces.db")
    assert (ran.code, ran.out) == (0, shown)
    (tmp_path / "parcels.toml").write_text(rule + condition, encoding="utf-8")
    sums = json.loads(reach("rules", "test", "parcels.toml", "traces.db", "--json").out)
    assert sums["labels"] == {"labelled": 1, "right": 1, "precision": 1.0}
    assert sums["flips"] == 1
    assert [tool["examples"][0]["call_key"] for tool in sums["tools"]] == ["depot/c2"]


def test_flips_one_a_line_and_files_in_place_are_not_counted_twice(
    reach: Run, depot: Path, project: Callable[..., Path]
) -> None:
    file = project(RULE)
    ran = reach("rules", "test", file, depot, "--jsonl")
    assert ran.code == 0
    assert [(one["call_key"], one["flips"]) for one in ran.records] == [("depot/c2", True), ("depot/c4", True)]
    assert ran.records[0]["before"]["failed"] is False
    assert ran.records[0]["after"]["rule"] == "parcels.closed"


def test_own_rules_are_in_force_everywhere(
    reach: Run, process: Run, depot: Path, project: Callable[..., Path], tmp_path: Path
) -> None:
    assert not reach("calls", depot, "--hidden", "--jsonl").records
    project(RULE)
    own = Path(os.environ["REACH_TUI_CONFIG"]) / "rules"
    own.mkdir(parents=True)
    (own / "json.toml").write_text(
        'family = "service"\n[[rule]]\nid = "mine.east"\nexplain = "East."\nwhere = "anywhere"\n'
        'match = "east closed"\njson = true\n',
        encoding="utf-8",
    )
    project(RULE.replace("[[rule]]", 'include = ["service"]\n[[rule]]'))
    rules = [one["rule"] for one in reach("calls", depot, "--hidden", "--jsonl").records]
    assert rules == ["parcels.closed", "parcels.closed", "mine.east"]
    assert reach("sessions", depot, "--jsonl").records[0]["hidden"] == 3
    line = {"id": "1", "tool": "track_parcel", "result_text": "Depot west closed"}
    said = process("classify", stdin=json.dumps(line).encode() + b"\n")
    assert json.loads(said.out)["rule"] == "parcels.closed"
    from reach_tui.workspace.scan import ScanProcess

    assert [sums.counts.hidden for sums in ScanProcess(depot)] == [3]


def test_a_broken_file_is_a_line_and_the_rest_loads(reach: Run, depot: Path, project: Callable[..., Path]) -> None:
    project(RULE)
    project("family = ", "broken.toml")
    project('family = "nobody"\n', "lost.toml")
    project(MINE.replace("parcels", "others") + 'include = ["nothing"]\n', "wrong.toml")
    ran = reach("calls", depot, "--hidden", "--jsonl")
    assert ran.code == 0
    assert len(ran.records) == 2
    lines = ran.err.splitlines()
    assert [next(name for name in ("broken", "lost", "wrong") if f"{name}.toml" in line) for line in lines] == [
        "broken", "lost", "wrong",
    ]  # fmt: skip


def test_list_names_file_and_class(reach: Run, project: Callable[..., Path]) -> None:
    file = project(RULE)
    records = reach("rules", "list", "--jsonl").records
    assert (records[0]["id"], records[0]["source"], records[0]["own"]) == ("parcels.closed", str(file), True)
    assert len({one["id"] for one in records}) == len(records) > 150
    assert {"id", "family", "verdict", "category", "source"} <= records[-1].keys()
    assert "parcels.closed" in reach("rules", "list").out


def test_check_tells_every_mistake(reach: Run, project: Callable[..., Path]) -> None:
    good = project(RULE)
    assert reach("rules", "check").code == 0
    assert reach("rules", "check", good, "--jsonl").records[0]["rules"] == 1
    bad = project(
        MINE + 'colour = 1\n[[rule]]\nid = "mine.bad"\nmatch = "("\ncategory = "nonsense"\n'
        'when = { flag = "no", max_chars = "a", arguments = { a = "q" } }\n'
        '[[rule]]\nid = "mine.worse"\nexplain = "x"\nverdict = "class"\n',
        "bad.toml",
    )
    ran = reach("rules", "check", bad)
    assert ran.code == 2
    told = [("'colour'",), ("mine.bad", "explain"), ("mine.bad", "category"), ("mine.bad", "when.flag"),
            ("mine.bad", "when.max_chars"), ("mine.bad", "when.arguments.a"), ("mine.bad", "match", "RE2"),
            ("mine.worse", "match"), ("mine.worse", "category")]  # fmt: skip
    lines = ran.err.splitlines()
    for words in told:
        assert sum(all(word in line for word in words) for line in lines) == 1, words
    assert len(lines) == len(told)
    assert reach("rules", "test", bad, bad).code == 2
    assert reach("rules", "check", "nowhere.toml").code == 2


def test_an_id_may_be_given_once(reach: Run, project: Callable[..., Path]) -> None:
    project(RULE, "a.toml")
    project(RULE.replace("parcels", "again").replace("again.closed", "parcels.closed"), "b.toml")
    ran = reach("rules", "check")
    assert ran.code == 2
    assert "already used in a.toml" in ran.err


def test_patterns_that_are_too_large_are_told_when_read(reach: Run, project: Callable[..., Path]) -> None:
    heavy = MINE + "".join(
        f'[[rule]]\nid = "p.r{n}"\nexplain = "x"\nmatch = "(?:\\\\pL{{500}}|q{n}\\\\pN{{400}})"\n' for n in range(40)
    )
    ran = reach("rules", "check", project(heavy, "heavy.toml"))
    assert ran.code == 2
    assert "heavy.toml" in ran.err
