"""What a shell command is for: does it only show things, is it a check, may it honestly find nothing?"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from reach_tui.base.jsonio import JsonValue

_ARGUMENTS = (
    "command",
    "cmd",
    "script",
    "code",
    "action",
    "input",
    "commands",
    "bash_command",
    "shell_command",
    "keystrokes",
    "args",
)
_LIMIT = 4000  # of the command looked at: the rest is a here-document or data


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_SHOWS = _words(
    "cat tac nl head tail less more bat sed awk gawk grep egrep fgrep zgrep rg ag ack strings xxd hexdump od "
    "jq yq column cut sort uniq wc tr fold rev paste diff comm cmp find fd ls tree stat file du history "
    "journalctl dmesg man type get-content select-string sls gc findstr printf open view scroll_down scroll_up "
    "goto"
)
_NEUTRAL = _words("cd pushd popd export set source . true : sleep pwd test [ [[ xargs echo")
_GIT_SHOWS = _words("show log diff blame grep status ls-files cat-file shortlog reflog branch tag")
_GIT_CHANGES = re.compile(
    r"\bgit (?:-\S+ )*(?:branch +-{1,2}(?:[dDmMcCfu]\b|delete|move|copy|set-|unset-|force)"
    r"|tag +-{1,2}(?:[dafsum]\b|delete))"
)
_FILTERS = re.compile(r"\b(?:perl|ruby)\s+(?:-[aFlMrw]\S*\s+)*-[alsw\d]*[np][alnpsw\d]*[eE]?\s")
"""Interpreters that run a line of code for every line of their input, as sed and awk do."""
_MISSES = _words(
    "grep egrep fgrep zgrep rg ag ack diff cmp comm find test [ [[ which pgrep pidof expr findstr getent "
    "command type jq"
)
_SHELLS = _words("bash sh zsh fish dash xargs sudo")
_SCRIPTS = (".sh", ".py", ".pl", ".rb", ".js", ".ts")
_INTERPRETERS = ("python", "node", "ruby", "perl", "php", "rscript", "deno", "bun", "npx", "uvx")
_EDITOR_VERBS = _words("view create str_replace insert delete rename undo_edit")
"""What editors with one tool for all take as `command`, beside a `path`: no shell's words."""
_PREFIXES = _words("sudo env time nice nohup command builtin exec stdbuf timeout xargs")

_QUOTED = re.compile(r"'[^']*'|\"(?:[^\"\\]|\\.)*\"")
_SPLIT = re.compile(r"\|\||&&|[|;&\n]|\$\(|`")
_STARTED = re.compile(r"\s-(?:exec|execdir|ok)\s+(\S+)")
_REDIRECT = re.compile(r"\d?>+&?\S*|<\S*")
_CHECK = re.compile(
    r"(?<![\w/.-])(?:(?:[\w./-]*/)?(?:py\.?test|tox|nox|unittest|jest|vitest|mocha|ava|karma|cypress"
    r"|playwright test|rspec|phpunit|ctest|"
    r"eslint|tslint|stylelint|prettier --check|biome|oxlint|tsc|tsgo|vue-tsc|mypy|pyright|basedpyright|ruff"
    r"|flake8|pylint|black --check|"
    r"isort --check|bandit|shellcheck|hadolint|rubocop|golangci-lint|staticcheck|clippy|checkstyle|ktlint"
    r"|detekt|pre-commit|lint-imports|"
    r"markdownlint|yamllint|xcodebuild|swiftlint|dialyzer|credo)(?![\w-]*\.\w)\b"
    r"|(?:npm|pnpm|yarn|bun|deno|cargo|go|dotnet|mvn|mvnw|gradle|gradlew|make|just|task|rake|mix|sbt|swift"
    r"|flutter|dart|composer|nx|turbo|"
    r"lerna|hatch|poetry run|uv run|zig)(?:\s+-{1,2}[\w=./-]+(?:\s+(?!run|test|check"
    r"|lint)[\w./@][\w./@-]*)?){0,8}\s+(?:run(?:-script)?\s+)?(?:-\S+\s+){0,8}"
    r"(?:test|tests|check|lint|typecheck|type-check|vet|verify|clippy|build|analyze|fmt|format|compile|tsc"
    r"|validate|ci)(?:[:\w-]*)\b"
    r"|(?:gcc|g\+\+|clang|clang\+\+|cc|javac|rustc|ghc|scalac|kotlinc|swiftc|nvcc)\s)"
)


def command_of(arguments: JsonValue) -> str:
    """The shell command or code among the arguments, empty if there is none."""
    if isinstance(arguments, str):
        return arguments[:_LIMIT]
    if not isinstance(arguments, Mapping):
        return ""
    for name in _ARGUMENTS:
        value = arguments.get(name)
        if isinstance(value, str):
            return "" if value in _EDITOR_VERBS and "path" in arguments else value[:_LIMIT]
        if isinstance(value, list):  # an argv, as codex keeps it
            words = [item for item in value if isinstance(item, str)]
            shell = len(words) > 2 and words[-2] in ("-lc", "-c", "-Command")
            return (words[-1] if shell else " ".join(words))[:_LIMIT]
    return ""


@lru_cache(maxsize=4096)
def programs(command: str) -> tuple[tuple[str, str], ...]:
    """The programs a command runs, in order, each with its first argument that is no option: `(("git", "log"), …)`."""
    bare = _REDIRECT.sub(" ", _QUOTED.sub(" _ ", command))
    found = []
    for part in _SPLIT.split(bare):
        words = [word for word in part.split() if not re.fullmatch(r"\w+=\S*", word)]
        while words and (words[0] in _PREFIXES or words[0].startswith("-") or words[0].isdigit()):
            words.pop(0)
        while len(words) > 2 and words[0].endswith("git") and words[1] in ("-C", "-c"):
            del words[1:3]
        if words:
            rest = [word for word in words[1:] if not word.startswith("-")]
            found.append((words[0].rsplit("/", 1)[-1].lower(), rest[0] if rest else ""))
            found += [(started.rsplit("/", 1)[-1].lower(), "") for started in _STARTED.findall(part)]
    return tuple(found)


@lru_cache(maxsize=4096)
def displays(command: str) -> bool:
    """True if all the command does is show files, matches, listings or history."""
    if _GIT_CHANGES.search(command):
        return False
    shown = False
    for name, first in programs(command):
        if (
            name in _SHOWS
            or (name == "git" and first in _GIT_SHOWS)
            or (name in ("gh", "kubectl", "docker") and "log" in command)
            or (name in ("perl", "ruby") and _FILTERS.search(command))
        ):
            shown = True
        elif name not in _NEUTRAL:
            return False
    return shown


@lru_cache(maxsize=4096)
def is_check(command: str) -> bool:
    """True if the command runs tests, a linter, a type checker or a compiler."""
    return _CHECK.search(_QUOTED.sub(" _ ", command)) is not None


@lru_cache(maxsize=4096)
def may_miss(command: str) -> bool:
    """True if exit status 1 of the last program is an honest no: grep, diff, test, find, `git diff --quiet` …"""
    ran = programs(command)
    if not ran:
        return False
    name, first = ran[-1]
    if (
        name in ("true", "echo", "wc", "head", "tail", "sort", "sed", "awk", "cut", "uniq")
        and len(ran) > 1
        and "pipefail" in command
    ):
        return any(program in _MISSES for program, _ in ran)
    if name == "git":
        return first in ("grep", "diff", "merge-base", "show-ref", "check-ignore", "config", "ls-remote", "rev-parse")
    return name in _MISSES


@lru_cache(maxsize=4096)
def goes_on_if(command: str) -> bool:
    """True if the rest runs only where a test, a search or a look-up said yes: `test -f x && cat x`."""
    first, joined, _ = _QUOTED.sub(" _ ", command).partition("&&")
    ran = programs(first)
    return bool(joined and ran) and ran[-1][0] in _MISSES


@lru_cache(maxsize=1024)
def is_diff(command: str) -> bool:
    """True if the command compares: output with exit status 1 is what it was asked for."""
    ran = programs(command)
    return bool(ran) and (ran[-1][0] in ("diff", "cmp", "comm") or ran[-1] == ("git", "diff"))


def names_program(command: str, word: str) -> bool:
    """True if `word` (a message's first word) is a program of the command, the module or script it runs, or a shell."""
    name = word.rsplit("/", 1)[-1].lower()
    return name in _SHELLS or any(
        name == program
        or (program.endswith(_SCRIPTS) and name == program.rsplit(".", 1)[0])
        or (first and program.startswith(_INTERPRETERS) and name in _module_names(first))
        for program, first in programs(command)
    )


def _module_names(path: str) -> tuple[str, ...]:
    """What a program may call itself that is run as `python -m pkg.cli` or `node bin/tool.js`."""
    last = path.rsplit("/", 1)[-1].lower()
    return last, *last.split(".")
