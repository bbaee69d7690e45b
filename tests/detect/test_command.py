"""What a shell command is for."""

from __future__ import annotations

import pytest

from reach_tui.detect.command import command_of, displays, goes_on_if, is_check, may_miss, names_program, programs


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


def test_what_a_test_lets_go_on_may_honestly_not_happen() -> None:
    assert goes_on_if("cd /srv; test -f a.conf && cat a.conf")
    assert goes_on_if("[ -d out ] && ls out && rm -r out")
    assert not goes_on_if("make && test -f out")
    assert not goes_on_if("test -f a.conf")
    assert not goes_on_if("")


def test_a_message_begins_with_a_program_a_module_or_a_script() -> None:
    assert names_program("python3 -m depot.cli x", "depot")
    assert names_program("python3 -m depot.cli x", "cli")
    assert names_program("./tools/publish.sh 1", "publish")
    assert names_program("node bin/app.js", "app.js")
    assert names_program("true", "bash")
    assert not names_program("make report", "source")
    assert not names_program("python3 -m depot.cli x", "ledger")


def test_git_that_changes_names_shows_nothing() -> None:
    assert displays("git branch -a")
    assert displays("git -C sub log")
    assert not displays("git branch -D old")
    assert not displays("git tag -d v1")


def test_an_interpreter_run_for_every_line_shows() -> None:
    assert displays("perl -ne 'print if /x/' a.txt")
    assert displays("ruby -ne 'puts $_' a.txt | head")
    assert not displays("ruby -rjson -e 'puts 1'")
    assert not displays("perl -pi -e 's/a/b/' a.txt")


def test_an_editors_verb_is_no_command() -> None:
    assert command_of({"command": "view", "path": "/a"}) == ""
    assert command_of({"command": "view"}) == "view"


def test_programs_skip_prefixes_and_quotes() -> None:
    assert programs("FOO=1 sudo timeout 5 ./run.sh --fast 'a | b'; /usr/bin/git -C x log") == (
        ("run.sh", "_"),
        ("git", "log"),
    )


def test_the_command_is_found_in_many_shapes() -> None:
    assert command_of({"cmd": ["bash", "-lc", "ls -l"]}) == "ls -l"
    assert command_of({"cmd": ["ls", "-l"]}) == "ls -l"
    assert command_of({"code": "print(1)"}) == "print(1)"
    assert command_of("ls") == "ls"
    assert command_of({"command": 5}) == ""
    assert command_of(None) == ""
