"""`report` as a command."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import MISSED, Run, call, write


def test_json_counts_hidden_and_flagged(reach: Run, trace: Path) -> None:
    ran = reach("report", trace, "--format", "json")
    assert (ran.code, ran.err) == (0, "")
    answer = json.loads(ran.out)
    tools = {row["tool"]: row for row in answer["tools"]}
    assert (tools["edit"]["calls"], tools["edit"]["hidden"]) == (2, 2)
    assert (tools["bash"]["flagged"], tools["bash"]["failed"], tools["bash"]["unknown"]) == (1, 1, 1)
    assert reach("report", trace, "--json").out == ran.out
    assert answer["scope"]["sessions"] == 2


@pytest.mark.parametrize(
    ("options", "begins"),
    [
        (["--format", "md", "--json"], "{"),
        (["--json", "--format", "md"], "# Hidden"),
        (["--json", "--format", "text"], "reach.db · "),
        (["--format", "text", "--json"], "{"),
    ],
)
def test_the_last_form_wins(reach: Run, trace: Path, options: list[str], begins: str) -> None:
    ran = reach("report", trace, *options)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith(begins)


@pytest.mark.parametrize("command", ["report", "calls"])
def test_a_span_that_ends_before_it_begins_is_a_mistake(reach: Run, trace: Path, command: str) -> None:
    ran = reach(command, trace, "--since", "2026-07-01", "--until", "2026-06-01")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("reach-tui: --since 2026-07-01T00:00:00.000Z is after --until 2026-06-01T00:00:00.000Z")
    assert ran.err.count("\n") == 1
    assert reach(command, trace, "--since", "2026-06-01", "--until", "2026-06-01").code == 0


@pytest.mark.parametrize("command", ["report", "calls"])
def test_times_need_no_newer_library_than_we_ask_for(trace: Path, command: str) -> None:
    code = (
        "import sys, click; click.ParamType.__class_getitem__ = None; from reach_tui.cli.main import run; "
        f"sys.exit(run([{command!r}, {str(trace)!r}, '--since', '2026-06-01']))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False, timeout=60)
    assert (done.returncode, b"fault of reach-tui" in done.stderr) == (0, False)


@pytest.mark.parametrize(("form", "begins"), [("text", "reach.db · "), ("md", "# Hidden"), ("html", "<!doctype html>")])
def test_every_form(reach: Run, trace: Path, form: str, begins: str) -> None:
    ran = reach("report", trace, "--format", form)
    assert ran.code == 0
    assert ran.out.startswith(begins)


def test_sessions_are_taken_whole_by_their_start(reach: Run, trace: Path) -> None:
    only = json.loads(reach("report", trace, "--json", "--since", "2026-06-01").out)
    assert (only["scope"]["sessions"], only["total"]["calls"]) == (1, 5)
    before = json.loads(reach("report", trace, "--json", "--until", "2026-06-01").out)
    assert (before["scope"]["sessions"], before["total"]["calls"]) == (1, 1)


def test_only_one_tool(reach: Run, trace: Path) -> None:
    answer = json.loads(reach("report", trace, "--json", "--tool", "edit").out)
    assert [row["tool"] for row in answer["tools"]] == ["edit"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--tool", "edti"], "no calls of edti: nothing was counted"),
        (["--until", "2020-01-01"], "no calls in sessions begun in that time: nothing was counted"),
    ],
)
def test_a_report_on_nothing_says_so(reach: Run, trace: Path, options: list[str], said: str) -> None:
    ran = reach("report", trace, *options)
    assert (ran.code, ran.err) == (0, f"reach-tui: {said}\n")


def test_a_registry_without_inferring_is_said(reach: Run, trace: Path, tmp_path: Path) -> None:
    assert "--registry changes nothing" in reach("report", trace, "--registry", "shop").err
    gone = reach("report", trace, "--registry", tmp_path / "gone")
    assert (gone.code, gone.out) == (2, "")


def test_copies_count_once(reach: Run, tmp_path: Path) -> None:
    from reach_tui.model import Session
    from reach_tui.native.writer import NativeWriter

    path = write(tmp_path / "forked.db")
    with NativeWriter(path) as writer:
        writer.add_session(Session("reach", "ses_3", title="fork", copy_of="ses_1"))
        writer.add_call(call("ses_3", 2, "edit", MISSED, copy_of="ses_1/c2"))
    answer = json.loads(reach("report", path, "--json").out)
    tools = {row["tool"]: row for row in answer["tools"]}
    assert tools["edit"]["calls"] == 2
    assert answer["scope"]["sessions"] == 2
    assert {"what": "copied calls, not counted", "count": 1} in answer["health"]


def test_compare_with_a_trace_and_with_a_saved_report(reach: Run, trace: Path, tmp_path: Path) -> None:
    saved, other = tmp_path / "before.json", write(tmp_path / "other.db", prefix="x")
    assert reach("report", other, "--json", "-o", saved).code == 0
    one = json.loads(reach("report", trace, "--json", "--compare", saved).out)
    two = json.loads(reach("report", trace, "--json", "--compare", other).out)
    assert one == two
    assert {row["change"] for row in one["compare"]["tools"]} == {0}
    assert "Before and after" in reach("report", trace, "--compare", other).out
    scoped = reach("report", trace, "--json", "--scope", "all", "--compare", saved)
    assert (scoped.code, "not alike: scope" in scoped.err) == (0, True)
    saved.write_text(saved.read_text().replace('"rules_version":"', '"rules_version":"0'), encoding="utf-8")
    refused = reach("report", trace, "--compare", saved)
    assert (refused.code, refused.out) == (2, "")
    assert refused.err.count("\n") == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"scope": {}, "tools": []}', "no saved report: a JSON object without guards"),
        ('{"scope": {}, "tools": [', "no saved report: broken JSON ("),
        ('[{"tool": "edit"}]', "no saved report: a JSON list"),
        ("hello", "no saved report: not JSON"),
        ("", "an empty file"),
    ],
)
def test_what_is_no_saved_report_is_told_so(reach: Run, trace: Path, tmp_path: Path, text: str, said: str) -> None:
    bad = tmp_path / "bad.json"
    bad.write_text(text, encoding="utf-8")
    ran = reach("report", trace, "--compare", bad)
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert said in ran.err
    assert "or a report saved by `reach-tui report PATH --format json" in ran.err


def test_a_database_that_is_torn_stays_told_as_one(reach: Run, trace: Path, tmp_path: Path) -> None:
    torn = tmp_path / "torn.db"
    torn.write_bytes(trace.read_bytes()[:5000])
    ran = reach("report", trace, "--compare", torn)
    assert (ran.code, "torn:" in ran.err, "saved report" in ran.err) == (2, True, False)


def test_faults_are_one_line_and_exit_2(reach: Run, trace: Path, tmp_path: Path) -> None:
    torn = tmp_path / "torn.db"
    torn.write_bytes(b"x" * 200)
    for arguments in (["gone.db"], [torn], [trace, "--compare", "gone.json"], [trace, "-o", trace]):
        ran = reach("report", *arguments)
        assert (ran.code, ran.err.count("\n")) == (2, 1), arguments
    both = reach("report", trace, torn, "--json")
    assert both.code == 2
    assert json.loads(both.out)["scope"]["sessions"] == 2


def test_hostile_text_reaches_no_terminal(reach: Run, hostile: Path) -> None:
    for form in ("text", "json", "md", "html"):
        out = reach("report", hostile, "--format", form).out
        assert "\x1b" not in out
        assert "\x9b" not in out
        assert "\u202e" not in out


def test_whole_sessions_are_attributed_and_bad_lines_named(process: Run) -> None:
    steps = [{"i": 0, "who": "user", "kind": "text", "text": "hi"}, {"who": "A", "kind": "text", "text": "plan"}]
    lines = json.dumps({"id": "a", "steps": steps}) + "\n[]\n"
    ran = process("classify", "--sessions", stdin=lines.encode())
    assert ran.code == 2
    (answer,) = ran.records
    assert (answer["id"], answer["step"], answer["agent"], answer["level1"]) == ("a", 1, "A", "model_reasoning")
    assert "line 2" in ran.err


def test_no_screen_library_is_loaded(trace: Path) -> None:
    code = (
        "import sys; from reach_tui.cli.main import run; "
        f"code = run(['report', {str(trace)!r}, '--format', 'html']); "
        "sys.exit(code or 'textual' in sys.modules or 'pydantic' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (0, b"")
