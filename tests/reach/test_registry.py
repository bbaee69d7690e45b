"""The registry: fields and their defaults, mistakes with file, line and field, reload, and hostile files."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from random import Random
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from reach_tui.reach.documents import LARGEST, MOST_NODES, read_document
from reach_tui.reach.problems import RegistryError
from reach_tui.reach.registry import FolderRegistry, ToolList, load_tools, parse_tool, read_tool
from reach_tui.reach.schema import schema_mistakes, validator
from reach_tui.reach.spec import RetryPolicy, ToolSpec
from tests.reach.tools import GOOD, shop, tool

REQUIRED = (
    "name", "description", "params_schema", "auth_type", "timeout_ms", "idempotent", "side_effect", "sample_calls",
)  # fmt: skip


def problems_of(text: str | bytes) -> list[str]:
    """Every mistake in a file as `line: field: what`."""
    raw = text.encode() if isinstance(text, str) else text
    with pytest.raises(RegistryError) as caught:
        parse_tool(raw, "t.yaml")
    assert all(problem.file == "t.yaml" for problem in caught.value.problems)
    return [f"{problem.line}: {problem.text()}" for problem in caught.value.problems]


def write(folder: Path, name: str, text: str) -> Path:
    """A file whose time is long past, so that the next look relies on time, size and inode alone."""
    path = folder / name
    path.write_text(text, encoding="utf-8")
    old = path.stat().st_mtime_ns - 60_000_000_000
    os.utime(path, ns=(old, old))
    return path


def test_a_file_is_a_tool_with_the_documented_defaults() -> None:
    spec = parse_tool(GOOD.encode(), "t.yaml").spec
    assert spec.name == "query_refund"
    assert spec.required == ("order_id",)
    assert spec.properties["order_id"]["pattern"] == "^[0-9]{16}$"
    assert spec.retry_policy == RetryPolicy(max_attempts=3, backoff_ms=(200, 800))
    assert (spec.rate_limit, spec.endpoint, spec.slots, spec.intents, spec.version) == (None, None, {}, (), None)


def test_two_retries_after_200_and_800_ms_and_none_where_not_idempotent() -> None:
    policy = RetryPolicy()
    assert tool("a").retries == 2
    assert [policy.wait_ms(retry) for retry in (1, 2, 3)] == [200, 800, 800]
    assert tool("a", idempotent=False, retry_policy={"max_attempts": 9}).retries == 0
    assert tool("a", retry_policy={"max_attempts": 1}).retries == 0
    assert RetryPolicy(backoff_ms=()).wait_ms(1) == 0


@pytest.mark.parametrize("field", REQUIRED)
def test_a_missing_field_is_named_with_its_file_and_line(field: str) -> None:
    document = yaml.safe_load(GOOD)
    del document[field]
    assert problems_of(yaml.safe_dump(document)) == [f"1: {field}: is missing"]


def test_an_unknown_field_is_named_with_its_line_and_what_was_meant() -> None:
    assert problems_of(GOOD + "time_out_ms: 5\n") == ["19: time_out_ms: is unknown: did you mean timeout_ms?"]
    nested = GOOD + "retry_policy:\n  max_attempt: 2\n"
    assert problems_of(nested) == ["20: retry_policy.max_attempt: is unknown: did you mean max_attempts?"]


def test_all_mistakes_are_told_at_once() -> None:
    text = (
        GOOD.replace("timeout_ms: 1200", 'timeout_ms: "1200"')
        .replace("idempotent: true", "idempotent: yes")
        .replace("auth_type: service_token", "auth_type: token")
        .replace("type: string,", "type: strin,")
    )
    found = problems_of(text)
    assert [line.split(": ")[:2] for line in found] == [
        ["9", "params_schema.properties.order_id.type"],
        ["12", "auth_type"],
        ["13", "timeout_ms"],
        ["14", "idempotent"],
    ]
    assert "'strin' is not a JSON Schema type" in found[0]
    assert "got '1200'" in found[2]


@pytest.mark.parametrize(
    ("added", "told"),
    [
        ("slots:\n  order_i: {sources: [user]}\n", "20: slots.order_i: is no parameter of params_schema: did you mean"),
        ("slots:\n  order_id: {sources: []}\n", "20: slots.order_id.sources"),
        ("slots:\n  order_id: {sources: [result], result_of: search_order}\n", "20: slots.order_id.result_of"),
        ("intents:\n  - pattern: '(?P<order_id>'\n", "20: intents[0].pattern: not a regular expression that RE2"),
        ("intents:\n  - pattern: '(?P<order>x)'\n", "20: intents[0].pattern: the group order is no parameter"),
        ("intents:\n  - pattern: '(?=x)'\n", "20: intents[0].pattern: not a regular expression"),
        ("rate_limit: {qps: 0}\n", "19: rate_limit.qps"),
        ("rate_limit: {qps: 5, burst: 0}\n", "19: rate_limit.burst"),
        ("retry_policy: {max_attempts: 0}\n", "19: retry_policy.max_attempts"),
        ("retry_policy: {backoff_ms: [-1]}\n", "19: retry_policy.backoff_ms[0]"),
        ("endpoint: {url: 'ftp://x'}\n", "19: endpoint.url"),
        ("endpoint: {python: 'module'}\n", "19: endpoint.python"),
        ("endpoint: {}\n", "19: endpoint.url: is missing"),
        ("name: twice\n", "19: name: stands twice, first in line 1"),
        ("version: 2\n", "19: version"),
        ("sample_calls: 5\n", "19: sample_calls: stands twice"),
    ],
)
def test_every_field_is_checked_and_named_with_its_line(added: str, told: str) -> None:
    (found,) = problems_of(GOOD + added)
    assert found.startswith(told)


def test_use_instead_belongs_to_a_counter_example() -> None:
    (found,) = problems_of(GOOD + "  - utterance: money back\n    use_instead: create_refund\n")
    assert found == "19: sample_calls[1]: use_instead stands only in a counter_example"


@pytest.mark.parametrize(
    ("schema", "told"),
    [
        ({"type": "string"}, "type: must be"),
        ({}, "type: must be"),
        ({"type": "object", "required": "order_id"}, "required"),
        ({"type": "object", "properties": {"a": {"minLength": "x"}}}, "properties.a.minLength"),
        ({"type": "object", "properties": {"a": {"pattern": "("}}}, "properties.a.pattern"),
        ({"type": "object", "properties": {"a": {"pattern": "(?!a)b"}}}, "properties.a.pattern"),
        ({"type": "object", "properties": {"a": {"$ref": "file:///etc/passwd"}}}, "properties.a.$ref: points outside"),
        ({"type": "object", "properties": {"a": {"$ref": "http://127.0.0.1:1/x"}}}, "properties.a.$ref: points outs"),
        ({"type": "object", "properties": {"a": {"$ref": "#/nowhere"}}}, ""),
        ({"type": "object", "$schema": "http://example.com/own"}, "$schema: not a JSON Schema draft"),
        ({"type": "object", "$schema": 7}, "$schema: not a JSON Schema draft"),
    ],
)
def test_a_schema_that_is_none_is_refused(schema: dict[str, Any], told: str) -> None:
    mistakes = [f"{'.'.join(map(str, path))}: {what}" for path, what in schema_mistakes(schema)]
    assert mistakes
    assert any(mistake.startswith(told) for mistake in mistakes)


def test_older_drafts_and_references_inside_are_schemas() -> None:
    schema = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "definitions": {"id": {"type": "string", "pattern": "^[0-9]+$"}},
        "properties": {"a": {"$ref": "#/definitions/id"}},
    }
    assert schema_mistakes(schema) == []
    assert validator(schema).is_valid({"a": "12"})
    assert not validator(schema).is_valid({"a": "x"})


def test_patterns_run_in_linear_time() -> None:
    check = validator({"type": "object", "properties": {"a": {"pattern": "^(a+)+$"}}})
    assert not check.is_valid({"a": "a" * 50_000 + "!"})  # with backtracking it would not end


@pytest.mark.parametrize(
    ("raw", "told"),
    [
        (b"", "empty"),
        (b"# only a comment\n", "empty"),
        (b"- a\n", "not a mapping"),
        (b"just text", "not a mapping"),
        (b"a: [1\n", "not YAML"),
        (b"a: 'x\n", "not YAML"),
        (b"a: 1\n b: 2\n", "not YAML"),
        (b"a: \x00\n", "not YAML"),
        (b"a: \xff\xfe\n", "not UTF-8"),
        (b"a: 1\n---\nb: 2\n", "second document"),
        (b"a: &x 1\nb: *x\n", "anchors and aliases"),
        (b"a: *x\n", "anchors and aliases"),
        (b"a: !!python/object/apply:os.system ['true']\n", "the tag"),
        (b"a: !own 1\n", "the tag"),
        (b"? [a, b]\n: 1\n", "a key must be a word"),
        (b"a: " + b"[" * 60 + b"]" * 60, "nested deeper"),
        (b"a: " + b"[" * 200_000, "not"),
        (b"a: [" + b"1," * (MOST_NODES + 1) + b"1]", "more than"),
        (b"a: '" + b"x" * LARGEST + b"'", "larger than 256 KiB"),
    ],
)
def test_hostile_files_are_refused_with_a_reason(raw: bytes, told: str) -> None:
    assert any(told in problem for problem in problems_of(raw))


def test_a_billion_laughs_stay_one() -> None:
    bomb = "a0: &a0 [x, x]\n" + "".join(f"a{i}: &a{i} [*a{i - 1}, *a{i - 1}]\n" for i in range(1, 40))
    assert "anchors and aliases" in problems_of(bomb)[0]


def test_values_are_what_json_would_have() -> None:
    text = "a: [yes, no, on, 2026-06-01, 12:30, 0123, 1_000, '5', 5, -5, 1.5, .5, 1e3, true, False, null, ~, ]\nb:\n"
    document, problems = read_document(text.encode(), "t")
    assert document.value == {
        "a": [
            "yes", "no", "on", "2026-06-01", "12:30", "0123", "1_000", "5", 5, -5, 1.5, 0.5, 1000.0, True, False, None,
            None,
        ],
        "b": None,
    }  # fmt: skip
    assert problems == []
    _, problems = read_document(b"a: 1e999", "t")
    assert [problem.field for problem in problems] == ["a"]


def test_lines_are_those_of_keys_and_items() -> None:
    document, _ = read_document(b"a: 1\nb:\n  - c: 2\n  - d: |\n      text\n    e: 3\n", "t")
    assert document.lines == {
        (): 1, ("a",): 1, ("b",): 2, ("b", 0): 3, ("b", 0, "c"): 3, ("b", 1): 4, ("b", 1, "d"): 4, ("b", 1, "e"): 6,
    }  # fmt: skip
    assert document.line_of(("b", 1, "nowhere", 5)) == 4


def test_a_byte_order_mark_is_no_mistake() -> None:
    assert parse_tool(b"\xef\xbb\xbf" + GOOD.encode(), "t").spec.name == "query_refund"


@given(st.binary(max_size=400) | st.text(max_size=400).map(lambda text: text.encode("utf-8", "surrogatepass")))
def test_whatever_a_file_holds_only_registry_errors_come(raw: bytes) -> None:
    told = None
    try:
        parse_tool(raw, "t.yaml")
    except RegistryError as error:
        told = error
    assert told is None or (told.problems and "\n" not in told.line())


_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=50)
@given(st.dictionaries(st.sampled_from(sorted(ToolSpec.model_fields)), _values), st.booleans())
def test_whatever_a_field_holds_only_registry_errors_come(fields: dict[str, Any], whole: bool) -> None:
    document = (yaml.safe_load(GOOD) if whole else {}) | fields
    try:
        spec = parse_tool(yaml.safe_dump(document, allow_unicode=True).encode("utf-8", "replace"), "t.yaml").spec
    except RegistryError:
        return
    validator(spec.params_schema)  # what was let through can be used


@given(_values)
def test_whatever_a_schema_holds_it_is_usable_or_refused(schema: Any) -> None:
    candidate = {"type": "object", "properties": {"a": schema}}
    if not schema_mistakes(candidate):
        validator(candidate).is_valid({"a": 1})


def test_the_spec_is_frozen_and_converts_nothing() -> None:
    spec = tool("a")
    with pytest.raises(ValidationError):
        spec.name = "b"
    with pytest.raises(ValidationError):
        tool("a", timeout_ms="5")
    with pytest.raises(ValidationError):
        tool("a b")


def test_a_folder_is_read_in_any_order(tmp_path: Path) -> None:
    names = [f"tool_{number}" for number in range(12)]
    shuffled = names.copy()
    Random(5).shuffle(shuffled)
    for name in shuffled:
        write(tmp_path, f"{name}.yaml", GOOD.replace("query_refund", name))
    registry = FolderRegistry(tmp_path)
    assert [one.name for one in registry.tools()] == sorted(names)
    assert registry.get("tool_3") is not None
    assert registry.get("nothing") is None
    assert registry.problems == ()
    assert registry.tools() is registry.tools()


def test_subfolders_count_and_hidden_and_other_files_do_not(tmp_path: Path) -> None:
    (tmp_path / "orders").mkdir()
    (tmp_path / ".git").mkdir()
    write(tmp_path / "orders", "a.yml", GOOD)
    write(tmp_path / ".git", "b.yaml", GOOD)
    write(tmp_path, ".hidden.yaml", GOOD)
    write(tmp_path, "README.md", "no tool")
    registry = FolderRegistry(tmp_path)
    assert [file.file for file in registry.files] == ["orders/a.yml"]
    assert registry.problems == ()


def test_changes_come_without_a_restart(tmp_path: Path) -> None:
    registry = FolderRegistry(tmp_path)
    assert (registry.tools(), registry.version) == ((), 1)
    path = write(tmp_path, "a.yaml", GOOD)
    assert registry.refresh().added == ("query_refund",)
    assert not registry.refresh()
    assert registry.version == 2
    write(tmp_path, "a.yaml", GOOD.replace("1200", "1300"))
    assert registry.refresh().changed == ("query_refund",)
    spec = registry.get("query_refund")
    assert spec is not None
    assert spec.timeout_ms == 1300
    write(tmp_path, "a.yaml", GOOD.replace("query_refund", "other"))
    changes = registry.refresh()
    assert (changes.added, changes.removed) == (("other",), ("query_refund",))
    path.unlink()
    assert registry.refresh().removed == ("other",)
    assert registry.tools() == ()


def test_a_change_of_comments_alone_changes_no_tool(tmp_path: Path) -> None:
    write(tmp_path, "a.yaml", GOOD)
    registry = FolderRegistry(tmp_path)
    before = registry.tools()
    write(tmp_path, "a.yaml", "# a comment\n" + GOOD)
    assert not registry.refresh()
    assert registry.tools() is before


@pytest.mark.parametrize("keep_times", [True, False])
def test_a_change_of_the_same_size_is_seen(tmp_path: Path, keep_times: bool) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(GOOD)
    registry = FolderRegistry(tmp_path)
    info = path.stat()
    path.write_text(GOOD.replace("1200", "1201"))
    if keep_times:  # as a tool would that restores times
        os.utime(path, ns=(info.st_atime_ns, info.st_mtime_ns))
    registry.refresh()
    assert registry.tools()[0].timeout_ms == 1201


def test_a_broken_file_keeps_its_last_good_version_and_says_so(tmp_path: Path) -> None:
    write(tmp_path, "a.yaml", GOOD)
    registry = FolderRegistry(tmp_path)
    write(tmp_path, "a.yaml", GOOD.replace("timeout_ms: 1200", "timeout_ms: soon"))
    assert not registry.refresh()
    assert registry.tools()[0].timeout_ms == 1200
    (problem,) = before = registry.problems
    assert (problem.file, problem.line, problem.field) == ("a.yaml", 13, "timeout_ms")
    assert problem.error().line().startswith("a.yaml:13: timeout_ms: input should be a valid integer, got 'soon'")
    registry.refresh()
    assert registry.problems == before
    write(tmp_path, "a.yaml", GOOD.replace("1200", "1400"))
    registry.refresh()
    assert registry.tools()[0].timeout_ms == 1400
    assert not registry.problems


def test_a_file_broken_from_the_start_leaves_the_others_in_force(tmp_path: Path) -> None:
    write(tmp_path, "a.yaml", "name: [")
    write(tmp_path, "b.yaml", GOOD)
    registry = FolderRegistry(tmp_path)
    assert [one.name for one in registry.tools()] == ["query_refund"]
    assert [problem.file for problem in registry.problems] == ["a.yaml"]
    with pytest.raises(RegistryError, match="not YAML"):
        load_tools(tmp_path)


def test_a_name_claimed_twice_stays_with_the_file_that_had_it(tmp_path: Path) -> None:
    write(tmp_path, "b.yaml", GOOD)
    registry = FolderRegistry(tmp_path)
    write(tmp_path, "a.yaml", GOOD.replace("1200", "9"))
    registry.refresh()
    assert registry.tools()[0].timeout_ms == 1200
    (problem,) = registry.problems
    assert (problem.file, problem.line, problem.field) == ("a.yaml", 1, "name")
    assert "b.yaml:1" in problem.what
    fresh = FolderRegistry(tmp_path)  # who comes anew takes the first by path, every time
    assert fresh.tools()[0].timeout_ms == 9
    assert [problem.file for problem in fresh.problems] == ["b.yaml"]


def test_a_folder_that_cannot_be_read_is_told_and_what_was_read_stays(tmp_path: Path) -> None:
    with pytest.raises(RegistryError, match="cannot be read"):
        FolderRegistry(tmp_path / "nowhere")
    folder = tmp_path / "tools"
    folder.mkdir()
    write(folder, "a.yaml", GOOD)
    now = [0.0]
    registry = FolderRegistry(folder, poll_ms=1000, clock=lambda: now[0])
    folder.rename(tmp_path / "gone")
    with pytest.raises(RegistryError):
        registry.refresh()
    now[0] = 1.0
    assert [one.name for one in registry.tools()] == ["query_refund"]
    assert "cannot be read" in registry.problems[0].what
    (tmp_path / "gone").rename(folder)
    now[0] = 2.0
    assert registry.get("query_refund") is not None
    assert registry.problems == ()


def test_polling_looks_not_before_it_is_due(tmp_path: Path) -> None:
    now = [0.0]
    registry = FolderRegistry(tmp_path, poll_ms=1000, clock=lambda: now[0])
    write(tmp_path, "a.yaml", GOOD)
    now[0] = 0.999
    assert registry.tools() == ()
    now[0] = 1.0
    assert len(registry.tools()) == 1
    assert FolderRegistry(tmp_path / ".").poll_ms is None


def test_what_is_no_regular_file_is_not_opened(tmp_path: Path) -> None:
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe.yaml")  # to open it would wait for ever
    (tmp_path / "folder.yaml").mkdir()
    (tmp_path / "dangling.yaml").symlink_to(tmp_path / "nowhere")
    registry = FolderRegistry(tmp_path)
    assert registry.tools() == ()
    assert {problem.file for problem in registry.problems} <= {"pipe.yaml", "dangling.yaml"}
    assert registry.problems


def test_a_folder_that_is_no_registry_is_left_soon(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a", "b", "c"):
        (tmp_path / name).mkdir()
        write(tmp_path / name, f"{name}.yaml", GOOD.replace("query_refund", name))
    assert len(FolderRegistry(tmp_path).tools()) == 3
    for limit in ("MOST_FILES", "MOST_FOLDERS"):
        with monkeypatch.context() as patch:
            patch.setattr(f"reach_tui.reach.registry.{limit}", 2)
            with pytest.raises(RegistryError, match="is this a registry"):
                FolderRegistry(tmp_path)


def test_one_file_is_read_alone(tmp_path: Path) -> None:
    path = write(tmp_path, "a.yaml", GOOD)
    assert read_tool(path).spec.name == "query_refund"
    with pytest.raises(OSError, match="No such file"):
        read_tool(tmp_path / "b.yaml")


def test_a_list_of_tools_is_a_registry_too() -> None:
    registry = ToolList([tool("b"), tool("a")])
    assert [one.name for one in registry.tools()] == ["a", "b"]
    assert registry.get("b") is not None
    with pytest.raises(RegistryError, match="stands twice"):
        ToolList([tool("a"), tool("a")])


def test_the_shop_is_a_registry_of_22_tools_and_more() -> None:
    assert len(shop()) >= 22
    assert {"read", "write", "notify"} == {one.side_effect for one in shop()}
    assert {"service_token", "user_delegated", "none"} == {one.auth_type for one in shop()}


def test_importing_the_layer_loads_nothing_heavy() -> None:
    code = (
        "import sys, reach_tui.reach\n"
        "heavy = {'pydantic', 'yaml', 'httpx', 'textual', 'click', 'jsonschema_rs', 're2', 'sqlite3'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)\n"
        "from reach_tui.reach import Router\n"
        "assert not {'textual', 'click', 'httpx', 'sqlite3', 'reach_tui.stores'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
