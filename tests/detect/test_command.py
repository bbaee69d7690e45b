"""What a shell command is for."""

from __future__ import annotations

import pytest

from reach_tui.detect.command import command_of, displays, is_check, may_miss, programs


@pytest.mark.parametrize(
    "command", ["cat a.log", "cd src && grep -n x a.py | head -3", "git log --oneline", "sed -n 1,9p a", "ls -la; pwd"]
)
def test_commands_that_only_show(command: str) -> None:
    assert displays(command)


@pytest.mark.parametrize(
    "command", ["python3 a.py", "cat a | python3 -", "make; ls", "echo hi", "find . -exec mkdir {} +", "", "git push"]
)
def test_commands_that_do_more(command: str) -> None:
    assert not displays(command)


@pytest.mark.parametrize(
    "command",
    [
        "pytest -q",
        "cd x && npm run check",
        "npx tsc --noEmit",
        "cargo test -p core",
        "make lint",
        "go vet ./...",
        "python -m pytest",
        "gcc -c a.c",
        "npm --prefix web test",
        "ruff check .",
    ],
)
def test_checks(command: str) -> None:
    assert is_check(command)


@pytest.mark.parametrize(
    "command",
    ["ls tests", "cat pytest.ini", "npm install", "make", "go run .", "python3 check_stock.py", "echo 'npm test'"],
)
def test_no_checks(command: str) -> None:
    assert not is_check(command)


@pytest.mark.parametrize(
    "command",
    [
        "grep x a",
        "ls | grep x",
        "diff a b",
        "test -f a",
        "[ -f a ]",
        "git diff --quiet",
        "which zebra",
        "find . -name x",
    ],
)
def test_commands_whose_exit_1_may_be_honest(command: str) -> None:
    assert may_miss(command)


@pytest.mark.parametrize("command", ["make", "grep x a && make", "python3 a.py", "", "git push"])
def test_commands_whose_exit_1_is_a_failure(command: str) -> None:
    assert not may_miss(command)


def test_programs_skip_prefixes_and_quotes() -> None:
    assert programs("FOO=1 sudo timeout 5 ./run.sh --fast 'a | b'; /usr/bin/git -C x log") == (
        ("run.sh", "_"),
        ("git", "x"),
    )


def test_the_command_is_found_in_many_shapes() -> None:
    assert command_of({"cmd": ["bash", "-lc", "ls -l"]}) == "ls -l"
    assert command_of({"cmd": ["ls", "-l"]}) == "ls -l"
    assert command_of({"code": "print(1)"}) == "print(1)"
    assert command_of("ls") == "ls"
    assert command_of({"command": 5}) == ""
    assert command_of(None) == ""
