"""Bad input: one line on stderr, exit 2 for what was named, a warning for single files of a folder, no traceback."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from reach_tui.model import Result, Session, ToolCall
from reach_tui.native.writer import NativeWriter
from tests.cli.conftest import Run, write

COMMANDS = [
    ["stores"],
    ["sessions"],
    ["calls", "--jsonl"],
    ["labels", "list"],
    ["labels", "export"],
    ["export", "--session", "ses_1"],
]


def broken_files(folder: Path) -> dict[str, Path]:
    """Files that are no readable trace, by what is wrong with them."""
    folder.mkdir()
    good = write(folder / "good.db").read_bytes()
    contents = {
        "empty.db": b"",
        "text.db": b"not a database at all\n",
        "torn.db": good[: len(good) // 2],
        "header.db": good[:60],
        "noise.db": bytes(range(256)) * 64,
        "foreign.db": None,
    }
    (folder / "good.db").unlink()
    for name, content in contents.items():
        if content is not None:
            (folder / name).write_bytes(content)
    import sqlite3

    connection = sqlite3.connect(folder / "foreign.db")
    connection.execute("CREATE TABLE moz_places (id INTEGER)")
    connection.close()
    return {name: folder / name for name in contents}


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_named_file_that_cannot_be_read(reach: Run, tmp_path: Path, command: list[str]) -> None:
    files = {**broken_files(tmp_path / "bad"), "missing.db": tmp_path / "missing.db"}
    for name, path in files.items():
        ran = reach(*command, path)
        assert ran.code == 2, name
        (line,) = ran.err.splitlines()
        assert line.startswith("reach-tui: ")
        assert str(path) in line
        assert "Traceback" not in line
        assert "—" in line, "says what to do"


def test_without_permission(process: Run, trace: Path) -> None:
    if os.geteuid() == 0:  # root reads everything: a folder in the file's place is refused the same way
        trace.unlink()
        trace.mkdir()
    else:
        trace.chmod(0)
    ran = process("calls", trace)
    assert ran.code == 2
    assert len(ran.err.splitlines()) == 1


@pytest.mark.parametrize("command", COMMANDS[:5], ids=" ".join)
def test_single_bad_files_in_a_folder_are_warnings(reach: Run, tmp_path: Path, command: list[str]) -> None:
    files = broken_files(tmp_path / "mixed")
    write(tmp_path / "mixed" / "good.db")
    ran = reach(*command, tmp_path / "mixed")
    assert ran.code == 0
    lines = [line for line in ran.err.splitlines() if "no labels yet" not in line]
    assert len(lines) == len(files)


def test_a_folder_of_nothing_but_bad_files(reach: Run, tmp_path: Path) -> None:
    files = broken_files(tmp_path / "bad")
    ran = reach("calls", tmp_path / "bad", "--json")
    assert ran.code == 2
    assert len(ran.err.splitlines()) == len(files)
    assert json.loads(ran.out) == []


def test_an_empty_folder(reach: Run, tmp_path: Path) -> None:
    assert reach("calls", tmp_path).code == 2


def test_stores_says_why_not(reach: Run, tmp_path: Path) -> None:
    files = broken_files(tmp_path / "mixed")
    write(tmp_path / "mixed" / "good.db")
    records = json.loads(reach("stores", tmp_path / "mixed", "--json").out)
    assert {Path(record["path"]).name for record in records} == {*files, "good.db"}
    for record in records:
        assert record["readable"] == (Path(record["path"]).name == "good.db")
        assert (record["problem"] is None) == record["readable"]


def test_stores_of_a_home_without_agents(process: Run, tmp_path: Path) -> None:
    ran = process("stores", "--json", HOME=str(tmp_path), XDG_DATA_HOME=str(tmp_path / "share"), OPENCODE_DB="")
    assert (ran.code, ran.out) == (0, "[]\n")


def test_a_damaged_page_ends_a_valid_document_and_exit_2(reach: Run, tmp_path: Path) -> None:
    data = Path(__file__).resolve().parents[1] / "data" / "opencode" / "opencode-1.2.20.db"
    path = tmp_path / "opencode.db"
    content = bytearray(data.read_bytes())
    size = int.from_bytes(content[16:18], "big")
    for page in range(len(content) // size // 2, len(content) // size):
        content[page * size : (page + 1) * size] = b"\xa5" * size
    path.write_bytes(content)
    ran = reach("calls", path, "--json")
    assert isinstance(json.loads(ran.out), list)
    assert ran.code == 2
    assert "Traceback" not in ran.err


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["calls", "{}", "--session", "nope"], "nope"),
        (["export", "{}", "--session", "nope"], "nope"),
        (["calls", "{}", "--since", "yesterday-ish"], "yesterday-ish"),
        (["calls", "{}", "--nonsense"], "--nonsense"),
        (["calls"], "PATH"),
        (["export", "{}"], "--session"),
        (["export", "{}", "--session", "ses_1", "--format", "pdf"], "pdf"),
        (["label", "{}", "ses_1/c2", "stale_contexd"], "stale_context"),
        (["label", "{}", "ses_1/c2", "stale_context/nothing"], "nothing"),
        (["label", "{}", "no/such", "stale_context"], "no/such"),
        (["labels", "import", "{}", "missing.jsonl"], "missing.jsonl"),
        (["labels", "frobnicate"], "frobnicate"),
        (["classify", "missing.jsonl"], "missing.jsonl"),
        (["completion", "tcsh"], "tcsh"),
        (["labels"], "command"),
        (["calls", ""], "empty path"),
        (["reprot"], "reprot"),
        (["call", "{}"], "calls"),
        (["nosuch.db"], "nosuch.db"),
        (["\x1b[31mred.db"], "red.db"),
    ],
)
def test_bad_usage_is_one_line_and_exit_2(reach: Run, trace: Path, arguments: list[str], word: str) -> None:
    ran = reach(*[argument.format(trace) for argument in arguments])
    assert ran.code == 2
    (line,) = ran.err.splitlines()
    assert word in line
    assert "\x1b" not in ran.err


def test_the_screens_refuse_an_unreadable_file_before_they_open(process: Run, tmp_path: Path) -> None:
    bad = tmp_path / "bad.db"
    bad.write_bytes(b"")
    ran = process(bad)
    assert ran.code == 2
    assert "empty file" in ran.err


def test_the_screens_need_a_terminal(process: Run, trace: Path) -> None:
    ran = process(trace)
    assert ran.code == 2
    assert "terminal" in ran.err


def read_a_little(*arguments: str) -> tuple[bytes, int]:
    """What a command says on stderr, and how it ends, when its reader goes away after a hundred bytes."""
    command = [sys.executable, "-m", "reach_tui", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        running.stdout.read(100)
        running.stdout.close()
        return running.stderr.read(), running.wait(30)


def test_a_reader_that_goes_away_is_no_fault(tmp_path: Path) -> None:
    path = write(tmp_path / "a.db")
    import sqlite3

    with sqlite3.connect(path) as connection:  # more than a pipe holds
        connection.execute("UPDATE tool_call SET result = ? || seq", ("x" * 200_000,))
    connection.close()
    for form in (["--jsonl"], ["--json"]):
        assert read_a_little("calls", str(path), *form) == (b"", 0)


def test_a_reader_of_a_table_that_goes_away_is_no_fault(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with NativeWriter(path) as writer:  # more rows than a pipe holds
        writer.add_session(Session("reach", "ses_1"))
        for number in range(1_200):
            writer.add_call(ToolCall(f"ses_1/c{number}", f"id{number}", "ses_1", "read", {}, result=Result("x", 1)))
    assert read_a_little("calls", str(path)) == (b"", 0)


def test_a_full_disk_is_one_line(trace: Path) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full on this system")
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "reach_tui", "calls", str(trace), "--jsonl"],
            stdout=full,
            stderr=subprocess.PIPE,
            timeout=60,
            check=False,
        )
    assert done.returncode == 2
    assert len(done.stderr.decode().splitlines()) == 1


def test_ctrl_c_is_quiet_and_130() -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "reach_tui", "classify"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as running:
        assert running.stdin is not None
        assert running.stdout is not None
        assert running.stderr is not None
        running.stdin.write(b'{"id": "1", "tool": "bash", "result_text": "ok"}\n')
        running.stdin.flush()
        assert running.stdout.readline()
        running.send_signal(signal.SIGINT)
        assert running.wait(30) == 130
        assert running.stderr.read() == b""


def test_nothing_beside_the_trace_changes(process: Run, trace: Path) -> None:
    private = trace.parent / "agent"
    private.mkdir()
    copy = private / "reach.db"
    shutil.copy(trace, copy)
    before = copy.read_bytes()
    for command in COMMANDS:
        assert process(*command, copy).code == 0
    assert copy.read_bytes() == before
    assert [path.name for path in private.iterdir()] == ["reach.db"]


def test_a_foreign_database_is_no_label_database(reach: Run, trace: Path) -> None:
    foreign = Path(__file__).resolve().parents[1] / "data" / "opencode" / "opencode-1.14.48.db"
    before = foreign.read_bytes()
    for command in (["label", trace, "ses_1/c2", "stale_context"], ["labels", "list", trace], ["calls", trace]):
        ran = reach(*command, "--labels", foreign)
        assert ran.code == 2, command
        assert len(ran.err.splitlines()) == 1
    assert foreign.read_bytes() == before


def test_a_mistake_in_the_settings_names_file_and_key(reach: Run, trace: Path) -> None:
    folder = Path(os.environ["REACH_TUI_CONFIG"])
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.toml").write_text("colour = 'red'\n", encoding="utf-8")
    ran = reach("calls", trace)
    assert ran.code == 2
    (line,) = ran.err.splitlines()
    assert "config.toml" in line
    assert "colour" in line


@pytest.mark.parametrize("depth", [500, 990, 2_000])
def test_deep_arguments_are_printed_or_cut_with_a_mark(reach: Run, trace: Path, depth: int) -> None:
    import sqlite3

    with sqlite3.connect(trace) as connection:
        connection.execute("UPDATE tool_call SET arguments = ?", ('{"a":' * depth + "1" + "}" * depth,))
    connection.close()
    for command in (["calls"], ["calls", "--jsonl"], ["export", "--session", "ses_1"]):
        assert reach(*command, trace).code == 0, command
    for form in ("html", "json"):
        assert reach("export", trace, "--session", "ses_1", "--format", form).code == 0, form
    assert len(reach("calls", trace, "--jsonl").records) == 6
    assert reach("label", trace, "ses_1/c2", "stale_context").code == 0
