"""What harnesses put around a result, taken off before anything is matched, and the facts written in it.

Every text is one that a known program writes (Peri, Claude Code, codex, gemini-cli, qwen-code, copilot-cli, opencode,
pi, OpenHands, AutoGen), read from its source or from recordings.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Body:
    """The part of a result's text that the tool wrote, as `text[start:end]`, and what its wrapper said."""

    start: int
    end: int
    exit_code: int | None = None
    exit_span: tuple[int, int] | None = None
    """Where the exit status stands in the text."""
    weak_mark: bool = False
    """The status is a mark that its harness writes without calling the result an error (Peri until 2026-09)."""
    failed: str | None = None
    """Rule id of a wrapper that is itself the word for failure."""
    failed_span: tuple[int, int] | None = None
    timed_out: bool = False


_HEADS: tuple[tuple[re.Pattern[str], str | None], ...] = (
    (re.compile(r"Tool execution failed: (?:[\w.-]{1,60} - )?"), "harness.tool_execution_failed"),
    (re.compile(r"<tool_use_error>"), "harness.tool_use_error"),
    (re.compile(r"Error (?:executing|calling) tool '?[\w.:-]{1,80}'?: "), "harness.tool_raised"),
    (re.compile(r"ERROR:\r?\n"), "harness.error_block"),
    (re.compile(r"<untrusted_context>\s*(?:Output: )?"), None),
    (re.compile(r"Command: [^\n]*\nDirectory: [^\n]*\n(?:Stdout|Output): "), None),
    (re.compile(r"(?:Chunk ID: \S+\n)?(?:Exit code: -?\d+\n)?Wall time: [^\n]*\n(?:Process [^\n]*\n)?(?:Original token count: \d+\n)?"
                r"(?:Total output lines: \d+\n)?Output:\n"), None),
    (re.compile(r"exitcode: -?\d+ \([^)\n]*\)\n(?:Code output:[ \n]?)?"), None),
    (re.compile(r"The script ran, then exited with [^\n]*\n(?:Its output was:\n)?"), None),
    (re.compile(r"<task id=\"[^\"\n]*\"[^>\n]*>\s*<task_result>\s*"), None),
    (re.compile(r"task_id: [^\n]*\n+<task_result>\s*"), None),
    (re.compile(r"child_thread_id: [^\n]*\n+"), None),
    (re.compile(r"Exit code:? -?\d+\n"), None),
    (re.compile(r"<error>\s*"), "harness.error_tag"),
    (re.compile(r"<(?:output|stdout|stderr|result)>\s*"), None),
    (re.compile(r"Content type \S+ cannot be simplified[^\n]*\n"), None),
    (re.compile(r"Contents of (?:https?|file)://[^\n]*:\n"), None),
    (re.compile(r"meta=\S+ content=\[TextContent\(type='text', text=['\"]"), None),
)  # fmt: skip
_HEAD_LETTERS = frozenset("TEW<Cetcm")

_HEAD_EXIT = re.compile(
    r"(?:exitcode: (-?\d+) \(|The script ran, then exited with (?:Unix |POSIX )?exit code: (-?\d+)|Exit code:? (-?\d+)\n|(?:Chunk ID: \S+\n)?Wall time: [^\n]*\nProcess exited with code (-?\d+)\n)"
)
_TAIL_EXIT = re.compile(
    r"(?m)^[ \t]*(?:(?P<weak>\[Exit code: (?P<w>-?\d+)\])"
    r"|<shellId: [^>\n]*?completed with exit code (?P<a>-?\d+)>"
    r"|\(?(?:Command|Process|Script) (?:exited|finished|failed|completed) with (?:exit )?(?:code|status):? (?P<b>-?\d+)\.?\)?"
    r"|\[(?:The )?[Cc]ommand (?:completed|finished) with exit code (?P<c>-?\d+)\.?[^\]\n]*\]"
    r"|\[Command finished with exit code (?P<d>-?\d+)\]"
    r"|\(exit(?: code)? (?P<e>-?\d+)\)"
    r"|Exit Code: (?P<f>-?\d+)"
    r"|(?:\[)?exit (?:code|status):? (?P<g>-?\d+)\]?"
    r"|<(?:exit_code|returncode|exitcode)>(?P<h>-?\d+)</\w+>)[ \t]*$"
)
_FLAGGED_STATUS = re.compile(r"(?m)^\[Execution status: failed(?:, exit_code: (-?\d+))?\]\s*\Z")
_TAILS = re.compile(
    r"(?m)\s*(?:^\[Exit code: -?\d+\]|^<shellId: [^>\n]*>|^Command exited with code -?\d+|^\[Execution status: [^\]\n]*\]"
    r"|^\[(?:The )?[Cc]ommand (?:completed|finished) with exit code [^\]\n]*\]|^\[Python Interpreter: [^\]\n]*\]"
    r"|^\[Current working directory: [^\]\n]*\]|^Exit Code: -?\d+|^Process Group PGID: [^\n]*|^Signal: [^\n]*|^Background PIDs: [^\n]*"
    r"|^Error: \(none\)|</untrusted_context>|</?(?:task_result|task|tool_use_error|output|stdout|stderr|error)>)\s*\Z"
)
_TAIL_WINDOW = 400
_TIMED_OUT = re.compile(r"(?:terminated command after exceeding timeout|Command (?:exceeded timeout|timed out))")


def unwrap(text: str, log: bool) -> Body:
    """The tool's own part of `text`. Marks of exit status are looked for only in the output of programs (`log`)."""
    body = Body(0, len(text))
    if text[:1] in _HEAD_LETTERS or text[:1].isspace():
        body = _strip_head(text, body, log)
    if log:
        body = _read_tail(text, body)
    elif text[-1:] == ">":
        body = _strip_tail(text, body)
    return body


def _strip_head(text: str, body: Body, log: bool) -> Body:
    start = len(text) - len(text.lstrip()) if text[:1].isspace() else 0
    if log and (mark := _HEAD_EXIT.match(text, start)):
        code = next(group for group in mark.groups() if group is not None)
        body = replace(body, exit_code=_number(code), exit_span=mark.span())
    for _ in range(3):  # wrappers nest: codex around gemini's tags, Peri's around an Error:
        for pattern, rule in _HEADS:
            if hit := pattern.match(text, start):
                start = hit.end()
                if rule and body.failed is None:
                    body = replace(body, failed=rule, failed_span=hit.span())
                break
        else:
            break
    return replace(body, start=start)


def _read_tail(text: str, body: Body) -> Body:
    offset = max(body.start, len(text) - _TAIL_WINDOW)
    tail = text[offset:]
    if body.exit_code is None and "xit" in tail:
        for mark in _TAIL_EXIT.finditer(tail):
            code = next(group for name, group in mark.groupdict().items() if name != "weak" and group is not None)
            span = (offset + mark.start(), offset + mark.end())
            if tail[mark.end() :].count("\n") <= 6:
                body = replace(body, exit_code=_number(code), exit_span=span, weak_mark=mark["weak"] is not None)
        if (flagged := _FLAGGED_STATUS.search(tail)) and body.exit_code is not None:
            span = (offset + flagged.start(), offset + flagged.end())
            body = replace(body, weak_mark=False, exit_span=span)
    if "time" in tail and _TIMED_OUT.search(tail):
        body = replace(body, timed_out=True)
    return _strip_tail(text, body)


def _strip_tail(text: str, body: Body) -> Body:
    end = body.end
    for _ in range(6):
        offset = max(body.start, end - _TAIL_WINDOW)
        hit = _TAILS.search(text[offset:end])
        if hit is None:
            break
        end = offset + hit.start()
    return replace(body, end=max(end, body.start))


def _number(text: str) -> int | None:
    return int(text) if len(text) < 12 else None
