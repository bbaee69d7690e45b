"""The engine: pure, total, and always able to show where its evidence stands."""

from __future__ import annotations

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from reach_tui.detect import default_engine
from reach_tui.model import Result, ToolCall, Verdict, is_hidden

_SPECIAL = st.sampled_from(
    [
        "Error: ",
        "Traceback (most recent call last):\n",
        "[Exit code: 1]",
        "Exit code 1\n",
        '{"error": ',
        "}",
        "[",
        "\x00",
        "\ud83d",
        "\u2028",
        "\x1b[31m",
        "Tool execution failed: ",
        "<tool_use_error>",
        "</task_result>",
        "not found",
        "错误：",
        "isError=True",
        "Chunk ID: a\nWall time: 1\nProcess exited with code 1\nOutput:\n",
        "exitcode: 9 (execution failed)\n",
        "\n",
        " ",
        "'",
        "(" * 300,
        "bash: x: command not found",
        "FAILED (failures=1)",
        "<error>",
        "Exit Code: 99999999999999",
        '{"results": [{"error": "x"}]}',
    ]
)
_TEXT = st.lists(st.one_of(st.text(max_size=40), _SPECIAL), max_size=12).map("".join)
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | _TEXT,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["error", "errors", "status", "code", "content", "results", "message", "ok", "x"]),
            inner,
            max_size=5,
        )
    ),
    max_leaves=12,
)
_TOOLS = st.one_of(
    st.sampled_from(
        [
            "bash",
            "Read",
            "Edit",
            "Agent",
            "Grep",
            "webfetch",
            "sql",
            "mcp__srv__thing",
            "invalid",
            "",
            "Write",
            "a.b/c:d",
        ]
    ),
    st.text(max_size=12),
)
_ARGUMENTS = st.one_of(
    _JSON,
    st.dictionaries(
        st.sampled_from(["command", "cmd", "filePath", "code", "action", "chars", "query"]), _JSON, max_size=3
    ),
)
_METADATA = st.dictionaries(
    st.sampled_from(["exit_code", "exit", "timed_out", "interrupted", "notice", "message_error", "truncated", "other"]),
    _JSON,
    max_size=4,
)


@st.composite
def _calls(draw: st.DrawFn) -> ToolCall:
    body = draw(st.one_of(_TEXT, _JSON.map(lambda value: json.dumps(value)), st.none()))
    return ToolCall(
        key="k",
        id="k",
        session_id="s",
        tool=draw(_TOOLS),
        arguments=draw(_ARGUMENTS),
        flagged=draw(st.sampled_from([True, False, None])),
        status=draw(
            st.one_of(st.none(), st.sampled_from(["completed", "aborted", "error", "weird"]), st.text(max_size=8))
        ),
        metadata=draw(_METADATA),
        result=None if body is None else Result(body, 0),
    )


@settings(max_examples=300, deadline=None)
@given(_calls())
def test_never_raises_is_deterministic_and_shows_its_evidence(call: ToolCall) -> None:
    engine = default_engine()
    verdict = engine.judge(call)
    assert engine.judge(call) == verdict
    assert isinstance(verdict, Verdict)
    assert 0 <= verdict.confidence <= 1
    if verdict.failed:
        assert verdict.rule
        assert verdict.category
        assert verdict.category != "not_a_failure"
    if call.flagged is True and verdict.failed is False:
        assert verdict.category == "not_a_failure"
    if call.result is None and call.flagged is None and verdict.failed is False:
        raise AssertionError("a call without an answer cannot be fine")
    found = verdict.evidence
    if found is not None and found.where == "result":
        assert call.result is not None
        assert call.result.text[found.start : found.end] == found.text
        assert len(found.text) <= 300


def _judge(tool: str, text: str | None, **fields: object) -> Verdict:
    result = None if text is None else Result(text, len(text))
    return default_engine().judge(ToolCall(key="k", id="k", session_id="s", tool=tool, result=result, **fields))  # type: ignore[arg-type]


def test_the_evidence_of_a_late_failure_is_found_in_a_long_output() -> None:
    text = "line of a build log, nothing to see\n" * 20_000 + "bash: zebra: command not found\n"
    verdict = _judge("bash", text, arguments={"command": "make && zebra"})
    assert verdict.failed is True
    assert verdict.evidence is not None
    assert text[verdict.evidence.start : verdict.evidence.end] == "bash: zebra: command not found"


def test_nothing_matches_across_the_cut_between_head_and_tail() -> None:
    head = ("y" * 2988 + "\nbash: zebra")[:3000]
    tail = (": command not found\n" + "z\n" * 3000)[:5000]
    text = head + "m" * 10_000 + tail
    assert _judge("bash", text, arguments={"command": "python3 a.py"}).rule != "shell.command_not_found"


def test_hidden_means_failed_and_not_flagged() -> None:
    call = ToolCall(
        key="k",
        id="k",
        session_id="s",
        tool="Edit",
        flagged=False,
        result=Result("Error: old_string not found in a", 32),
    )
    assert is_hidden(call, default_engine().judge(call))


def test_tool_names_are_matched_without_prefix_and_case() -> None:
    for tool in ("edit", "EDIT", "functions.edit", "mcp__files__edit", "files/edit"):
        assert _judge(tool, "Error: old_string not found in a").rule == "edit.old_string_not_found"


def test_a_command_line_as_tool_is_judged_as_a_shell() -> None:
    verdict = _judge("zebra", "bash: zebra: command not found", arguments={"action": "zebra --count\n"})
    assert verdict.rule == "shell.command_not_found"


def test_a_megabyte_on_one_line_is_judged_at_once() -> None:
    assert _judge("bash", "x" * 2_000_000, arguments={"command": "cat big"}).failed is False


def test_a_message_that_escapes_make_long_is_cut() -> None:
    verdict = _judge("lookup", json.dumps({"error": "\x1f\U00010000" * 80}))
    assert verdict.failed is True
    assert verdict.evidence is not None
    assert len(verdict.evidence.text) <= 300


def test_deep_json_is_no_fault() -> None:
    assert _judge("lookup", "[" * 100_000).failed is False
    assert _judge("lookup", '{"a":' * 5_000 + "1" + "}" * 5_000).failed is False


def test_version_is_stable_and_of_the_rules() -> None:
    assert default_engine().version == default_engine().rules.version
    assert len(default_engine().version) == 16
