"""The documentation names every command, option, setting and exit code, and every command shows an example."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from reach_tui.cli.main import cli
from reach_tui.cli.names import COMMANDS, DEFAULT
from reach_tui.stores.catalog import BUILT_IN, load
from reach_tui.workspace import Settings
from tests.cli.conftest import Run

ROOT = Path(__file__).resolve().parents[2]


def commands(group: click.Group = cli, prefix: str = "reach-tui") -> Iterator[tuple[str, click.Command]]:
    """Every command with its whole name."""
    ctx = click.Context(group)
    for name in group.list_commands(ctx):
        command = group.get_command(ctx, name)
        assert command is not None
        yield f"{prefix} {name}", command
        if isinstance(command, click.Group):
            yield from commands(command, f"{prefix} {name}")


EVERY = dict(commands())


def section(name: str) -> str:
    """The part of docs/cli.md about one command."""
    text = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    found = re.search(rf"^#+ `{re.escape(name)}.*?$(.*?)(?=^#+ `|\Z)", text, re.M | re.S)
    assert found, f"docs/cli.md has no section for {name}"
    return found[0]


@pytest.mark.parametrize("name", sorted(EVERY))
def test_docs_name_every_command_and_option(name: str) -> None:
    text = section(name)
    for parameter in EVERY[name].params:
        words = [*parameter.opts, *parameter.secondary_opts] if isinstance(parameter, click.Option) else []
        for word in words:
            assert f"`{word}" in text or f" {word}" in text, f"{name}: {word}"


@pytest.mark.parametrize("name", sorted(EVERY))
def test_help_shows_an_example(reach: Run, name: str) -> None:
    ran = reach(*name.split()[1:], "--help")
    assert ran.code == 0
    assert re.search(r"Examples?:\n +.*reach-tui", ran.out)


def test_docs_name_no_command_that_is_not_there() -> None:
    text = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    for name in re.findall(r"^## `(reach-tui [a-z-]+)", text, re.M):
        assert name in EVERY


def test_docs_name_the_exit_codes() -> None:
    text = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    for code in ("0", "1", "2", "130"):
        assert re.search(rf"^\| {code} \|", text, re.M)


def test_docs_name_every_setting_and_its_variable() -> None:
    text = (ROOT / "docs" / "settings.md").read_text(encoding="utf-8")
    for field in dataclasses.fields(Settings):
        assert f"`{field.name}`" in text
    for variable in ("DATA", "CONFIG", "CACHE", "THEME", "BY", "LABELS", "PLUGINS", "ASCII", "DEBUG"):
        assert f"`REACH_TUI_{variable}" in text


def test_every_listed_command_exists_and_version_is_the_packages(reach: Run) -> None:
    from reach_tui import __version__

    for name in COMMANDS:
        assert reach(name, "--help").code == 0
    assert DEFAULT in COMMANDS
    assert reach("--version").out == f"reach-tui {__version__}\n"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_a_script_that_calls_us(reach: Run, shell: str) -> None:
    ran = reach("completion", shell)
    assert ran.code == 0
    assert "_REACH_TUI_COMPLETE" in ran.out


def test_completion_answers(process: Run) -> None:
    ran = process(_REACH_TUI_COMPLETE="bash_complete", COMP_WORDS="reach-tui cal", COMP_CWORD="1")
    assert ran.code == 0
    assert ran.out.split() == ["plain,calls"]
    path = process(_REACH_TUI_COMPLETE="bash_complete", COMP_WORDS="reach-tui ./tra", COMP_CWORD="1")
    assert path.out.split() == ["file,./tra"]


@pytest.mark.parametrize("marker", ["demo-command", "test-command"])
def test_the_readme_gives_one_command_after_its_marker(marker: str) -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    (block,) = re.findall(rf"<!-- {marker} -->\n```sh\n(.*?)\n```\n", text, re.S)
    assert block.startswith("python3 -m venv .venv && ")
    assert "\n" not in block


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", "docs/cli.md", "docs/settings.md", "docs/stores.md"])
def test_links_between_the_documents_hold(name: str) -> None:
    page = ROOT / name
    for target in re.findall(r"(?<!!)\[[^\]]*\]\((?!http)([^)#]+)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target


def test_docs_name_every_store_and_what_its_flag_means() -> None:
    text = (ROOT / "docs" / "stores.md").read_text(encoding="utf-8")
    for kind, built_in in BUILT_IN.items():
        reader = load(built_in.target)
        assert f"| `{kind}` | {reader.title} |" in text
        assert f"| `{kind}` | {reader.flag_meaning} |" in text
