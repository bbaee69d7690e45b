"""The registries that ship with the program: whole, valid, in the seed's pattern, and covering what is recorded."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from reach_tui.infer.registries import FOLDER, SHARED, agents, bundled
from reach_tui.reach.lint import FAILS, lint
from reach_tui.reach.registry import FolderRegistry
from reach_tui.reach.schema import validator
from reach_tui.reach.spec import ToolSpec
from reach_tui.workspace.sources import open_paths

DATA = Path(__file__).parents[1] / "data"
KINDS = sorted({*agents(), *SHARED})
OWN = {
    "weather_lookup", "search_files", "str_replace_editor",  # names that models made up, or tools of the test's own
    "StrReplace", "todo_write", "GreP", "Gash", "Read</arg_value>",
}  # fmt: skip
"""Names in the recordings that are no built-in tool of the agent."""
SERVERS = ("orderdesk_", "mcp__orderdesk.")


def every_tool() -> Iterator[tuple[str, ToolSpec]]:
    for agent in agents():
        for tool in FolderRegistry(FOLDER / agent).tools():
            yield agent, tool


TOOLS = list(every_tool())


def tools_of(agent: str) -> list[ToolSpec]:
    return [tool for name, tool in TOOLS if name == agent]


def test_there_are_the_agents_whose_stores_are_read() -> None:
    assert set(agents()) >= {
        "opencode", "kilo", "peri", "claude_code", "codex", "gemini_cli", "qwen_code", "copilot_cli", "pi", "hermes",
        "goose", "crush", "zed", "cursor", "kiro",
    }  # fmt: skip
    assert len(TOOLS) > 200


@pytest.mark.parametrize("agent", agents())
def test_every_file_is_read_without_a_problem(agent: str) -> None:
    registry = FolderRegistry(FOLDER / agent)
    assert registry.problems == ()
    assert {file.file for file in registry.files} == {f"{file.spec.name}.yaml" for file in registry.files}


@pytest.mark.parametrize("agent", agents())
def test_samples_are_calls_that_the_schema_takes(agent: str) -> None:
    for tool in tools_of(agent):
        check = validator(tool.params_schema)
        calls = [sample for sample in tool.sample_calls if not sample.counter_example]
        assert len(calls) >= 2, tool.name
        for sample in calls:
            assert [error.message for error in check.iter_errors(sample.params)] == [], tool.name


@pytest.mark.parametrize("agent", agents())
def test_a_counter_example_names_another_tool_of_the_agent(agent: str) -> None:
    known = set(bundled(agent))
    for tool in tools_of(agent):
        others = [sample.use_instead for sample in tool.sample_calls if sample.counter_example]
        assert others, tool.name
        assert all(other is None or (other in known and other != tool.name) for other in others), tool.name


@pytest.mark.parametrize("agent", agents())
def test_a_description_has_the_four_parts(agent: str) -> None:
    for tool in tools_of(agent):
        lines = tool.description.strip().split("\n")
        assert len(lines) == 4, tool.name
        assert lines[1].split()[0] in ("Needs", "Takes"), tool.name
        words = {word.strip(".,:") for word in lines[2].split()}
        assert words & {"not", "no", "none", "nobody", "nothing"}, tool.name
        assert any(name in lines[3] for name in bundled(agent)), tool.name
        assert tool.idempotent or tool.side_effect != "read", tool.name


@pytest.mark.parametrize("agent", agents())
def test_the_lint_finds_nothing_that_fails(agent: str) -> None:
    assert [finding.what for finding in lint(FolderRegistry(FOLDER / agent).files) if finding.level == FAILS] == []


def test_required_parameters_are_declared() -> None:
    for _, tool in TOOLS:
        assert set(tool.required) <= set(tool.properties), tool.name


@pytest.mark.parametrize("kind", KINDS)
def test_built_in_tools_of_the_recordings_are_covered(kind: str) -> None:
    if not (DATA / kind).is_dir():
        return
    found = [source for source in open_paths([DATA / kind]).sources if source.kind == kind]
    wrappers = set(bundled(kind))  # a wrapper that is described is the tool; a placeholder (`invalid`) is not
    calls = [call for source in found for call in source.reader.calls()]
    seen = {call.tool if call.tool in wrappers else call.target or call.tool for call in calls}
    built_in = {name for name in seen if name not in OWN and not name.startswith(SERVERS)}
    assert built_in, "recordings without calls prove nothing"
    assert built_in <= set(bundled(kind))


def test_a_framework_has_no_tools_of_its_own() -> None:
    assert bundled("langgraph") == {}
    assert bundled("../peri") == {}


def test_sub_agents_need_a_type_unless_they_fork() -> None:
    check = validator(bundled("peri")["Agent"].params_schema)
    assert not check.is_valid({"prompt": "x"})
    assert not check.is_valid({"prompt": "x", "run_in_background": True})
    assert not check.is_valid({"prompt": "x", "subagent_type": None})
    assert not check.is_valid({"subagent_type": "explore"})
    assert check.is_valid({"prompt": "x", "subagent_type": "explore"})
    assert check.is_valid({"prompt": "x", "fork": True})
