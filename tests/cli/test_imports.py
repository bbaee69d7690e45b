"""What a command loads: the screens' toolkit is not on the way of anything but the screens."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = ("textual", "pydantic", "sqlite_utils", "yaml", "numpy")
PROBE = """
import json, sys
from reach_tui.cli.main import run
code = run(json.loads(sys.argv[1]))
names = {name.split(".")[0] for name in sys.modules}
print(json.dumps([code, sorted(names)]), file=sys.stderr)
"""


def loaded(arguments: list[str], stdin: str = "") -> set[str]:
    """Top-level modules in the interpreter after a command."""
    done = subprocess.run(
        [sys.executable, "-c", PROBE, json.dumps(arguments)],
        input=stdin,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    code, names = json.loads(done.stderr.splitlines()[-1])
    assert code == 0
    return set(names)


@pytest.mark.parametrize(
    "command",
    [
        ["--version"],
        ["calls", "{}", "--jsonl", "--no-infer"],
        ["classify"],
        ["sessions", "{}", "--json"],
        ["stores", "{}", "--json"],
    ],
    ids=" ".join,
)
def test_scripts_load_nothing_heavy(trace: Path, command: list[str]) -> None:
    names = loaded([word.format(trace) for word in command], '{"id": "1", "tool": "bash", "result_text": "ok"}\n')
    assert not names & {*HEAVY, "rich"}


@pytest.mark.parametrize(
    "command", [["--help"], ["calls", "{}"], ["export", "{}", "--session", "ses_1"], ["completion", "bash"]]
)
def test_no_command_but_the_screens_loads_textual(trace: Path, command: list[str]) -> None:
    assert "textual" not in loaded([word.format(trace) for word in command])


def test_version_loads_no_database_code() -> None:
    assert not loaded(["--version"]) & {"sqlite3", "msgspec", "re2", "asyncio"}


def cpu_seconds(*arguments: str) -> float:
    """User and system time of one interpreter, the best of five."""
    times = []
    for _ in range(5):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, *arguments], capture_output=True, timeout=60, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(times)


def test_version_costs_at_most_half_of_importing_the_toolkit() -> None:
    assert cpu_seconds("-m", "reach_tui", "--version") <= cpu_seconds("-c", "import textual.app") / 2
