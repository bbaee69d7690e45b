"""What harnesses put around a result, taken off before anything is matched, and the facts written in it.

Every text is one that a known program writes (Peri, Claude Code, codex, gemini-cli, qwen-code, copilot-cli, opencode,
pi, OpenHands, AutoGen), read from its source or from recordings.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(slots=True)
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
    timed_out: bool = False


_HEAD_PATTERNS: tuple[tuple[str, str, str | None], ...] = (
    ("T", r"Tool execution failed: (?:[\w.-]{1,60} - )?", "harness.tool_execution_failed"),
    ("T", r"The tool execution failed with the following error:\s*(?:<error>\s*)?", "harness.tool_execution_failed"),
    (
        "T",
        r"The output of your call to [^\n]{1,80} was too long to be displayed\.\nHere is a truncated version:\n"
        r"<START_TOOL_OUTPUT>\n",
        None,
    ),
    ("T", r"The script ran, then exited with [^\n]*\n(?:Its output was:\n)?", None),
    ("<", r"<tool_use_error>", "harness.tool_use_error"),
    ("<", r"<error_details>\s*", "harness.error_tag"),
    ("<", r"<returncode>-?\d+</returncode>\s*(?:<output>\s*)?", None),
    ("<", r"<error>(?!Content truncated)(?=[^<]{0,500}</error>\s*\Z)\s*", "harness.error_tag"),
    ("<", r"<untrusted_context>\s*(?:Output: )?", None),
    ("<", r"<task id=\"[^\"\n]*\"[^>\n]*>\s*<task_result>\s*", None),
    ("<", r"<(?:output|stdout|stderr|result)>\s*", None),
    ("E", r"Error (?:executing|calling) tool '?[\w.:-]{1,80}'?: ", "harness.tool_raised"),
    ("E", r"ERROR:\r?\n", "harness.error_block"),
    ("E", r"EXECUTION RESULT of \[[\w.-]{1,60}\]:\n", None),
    ("O", r"(?:OBSERVATION|Observation):\s+", None),
    ("#", r"### (?:Result|Error)\n", None),
    ("[", r"\[[\w.-]{1,60}(?: for '[^'\n]{0,300}'[^\]\n]{0,300})?\] Result:\n", None),
    ("[", r"\[Below is the output of the previous command\.\]\n", None),
    ("[", r"\[An error occurred during execution\.\]\s*", "harness.error_block"),
    ("E", r"(?:Error: )?Exit code:? -?\d+(?:\n(?!Wall time)|\Z)", None),
    ("E", r"Exit code: -?\d+\nWall time: [^\n]*\n(?:Total output lines: \d+\n)?Output:\n", None),
    ("C", r"Chunk ID: \S+\nWall time: [^\n]*\n(?:Process [^\n]*\n)?(?:Original token count: \d+\n)?Output:\n", None),
    (
        "W",
        r"Wall time: [^\n]*\n(?:Process [^\n]*\n)?"
        r"(?:Original token count: \d+\n)?(?:Total output lines: \d+\n)?Output:\n",
        None,
    ),
    ("C", r"Command: [^\n]*\nDirectory: [^\n]*\n(?:Stdout|Output): ", None),
    ("C", r"Content type \S+ cannot be simplified[^\n]*\n", None),
    ("C", r"Contents of (?:https?|file)://[^\n]*:\n", None),
    ("e", r"exitcode: -?\d+ \([^)\n]*\)\n(?:Code output:[ \n]?)?", None),
    ("t", r"task_id: [^\n]*\n+<task_result>\s*", None),
    ("c", r"child_thread_id: [^\n]*\n+", None),
    ("S", r"Status Code: [123]\d\d\.? (?:Response: )?", None),
    ("R", r"Response: ", None),
    ("m", r"meta=\S+ content=\[TextContent\(type='text', text=['\"]", None),
    ("c", r"content=\[TextContent\(type='text', text=['\"]", None),
    ("[", r"\[TextContent\(type='text', text=['\"]", None),
)
_HEADS: dict[str, list[tuple[re.Pattern[str], str | None]]] = {}
for _letter, _pattern, _rule in _HEAD_PATTERNS:
    _HEADS.setdefault(_letter, []).append((re.compile(_pattern), _rule))
_EXIT_LETTERS = frozenset("eETCW<")
_AFTER_BRACKET = frozenset("teruos")  # what follows `<` in those that begin with it
_ANY_HEAD = {
    letter: re.compile("|".join(f"(?:{pattern.pattern})" for pattern, _ in patterns))
    for letter, patterns in _HEADS.items()
}

_HEAD_EXIT = re.compile(
    r"(?:exitcode: (-?\d+) \(|The script ran, then exited with (?:Unix |POSIX )?exit code: (-?\d+)"
    r"|(?:Error: )?Exit code:? (-?\d+)(?:\n|\Z)|<returncode>(-?\d+)</returncode>"
    r"|(?:Chunk ID: \S+\n)?Wall time: [^\n]*\nProcess exited with code (-?\d+)\n)"
)
_TAIL_EXIT = re.compile(
    r"(?m)^[ \t]*(?:(?P<weak>\[Exit code: (?P<w>-?\d+)\])"
    r"|<shellId: [^>\n]*?completed with exit code (?P<a>-?\d+)>"
    r"|\(?(?:Command|Process|Script) (?:exited|finished|failed|completed) with (?:exit )?(?:code"
    r"|status):? (?P<b>-?\d+)\.?\)?"
    r"|\[(?:The )?[Cc]ommand (?:completed|finished) with exit code (?P<c>-?\d+)\.?[^\]\n]*\]"
    r"|\[Command (?:-?\d+ )?finished with exit code (?P<d>-?\d+)\]"
    r"|\(exit(?: code)? (?P<e>-?\d+)\)"
    r"|Exit Code: (?P<f>-?\d+)"
    r"|(?:\[)?exit (?:code|status):? (?P<g>-?\d+)\]?"
    r"|<(?:exit_code|returncode|exitcode)>(?P<h>-?\d+)</\w+>)[ \t]*$"
)
_FLAGGED_STATUS = re.compile(r"(?m)^\[Execution status: failed(?:, exit_code: (-?\d+))?\]\s*\Z")
_TAIL_LINE = re.compile(
    r"[ \t]*(?:\[Exit code: -?\d+\]|<shellId: [^>\n]*>|Command exited with code -?\d+|\[Execution status: [^\]\n]*\]"
    r"|\[(?:The )?[Cc]ommand (?:-?\d+ )?(?:completed|finished) with exit code [^\]\n]*\]"
    r"|\[(?:Jupyter )?Python [Ii]nterpreter: [^\]\n]*\]|\[Jupyter current working directory: [^\]\n]*\]"
    r"|\[Current working directory: [^\]\n]*\]|Exit Code: -?\d+|Process Group PGID: [^\n]*|Signal: [^\n]*"
    r"|Background PIDs: [^\n]*|Error: \(none\)|\[Tool loop warning: [^\n]*)"
)
_TAIL_BEGINNINGS = frozenset(" \t[<CEPSB")  # of `_TAIL_LINE`
_SHELL_ID = "<shellId: "
_CLOSING_TAGS = (
    "</untrusted_context>", "</task_result>", "</task>", "</tool_use_error>", "</output>", "</stdout>", "</stderr>",
    "</error>", "</error_details>", "<END_TOOL_OUTPUT>",
)  # fmt: skip
_TAIL_LINE_LIMIT = 400
_TAIL_LETTERS = frozenset("]>)0123456789es.")  # a mark ends in one of these: most texts are settled by that
_TAIL_WINDOW = 400
_TIMED_OUT = re.compile(
    r"(?:terminated command after exceeding timeout|^Command (?:exceeded timeout|timed out)"
    r"|^\[The command timed out after )[^\n]*\s*(?:</\w+>\s*)?\Z",
    re.M,
)


def wrapped(text: str, log: bool) -> bool:
    """False if `unwrap` surely takes nothing off `text`, which does not begin with a blank, and reads no fact in it."""
    letter = text[0]
    if (  # every letter of `_EXIT_LETTERS` is one of `_ANY_HEAD`
        letter in _ANY_HEAD
        and (letter != "<" or text[1:2] in _AFTER_BRACKET)
        and (_ANY_HEAD[letter].match(text) or (log and letter in _EXIT_LETTERS and _HEAD_EXIT.match(text)))
    ):
        return True
    if not log:
        return text[-1] == ">" and _closes(text[-_TAIL_WINDOW:], text)
    tail = text[-_TAIL_WINDOW:]
    if ("xit" in tail or "returncode" in tail) and _TAIL_EXIT.search(tail):
        return True
    return ("time" in tail and _TIMED_OUT.search(tail) is not None) or _closes(tail, text)


def _closes(tail: str, text: str) -> bool:
    """True if the last line of the text may be a harness's."""
    last = tail[-1:]
    if last not in _TAIL_LETTERS:
        if not last.isspace():
            return False
        tail = tail.rstrip()
        if tail[-1:] not in _TAIL_LETTERS:
            return not tail
    start = tail.rfind("\n") + 1
    if not start and len(text) > _TAIL_WINDOW:
        return True
    letter = tail[start]
    if letter in _TAIL_BEGINNINGS and (letter != "<" or tail.startswith(_SHELL_ID, start)):
        return _TAIL_LINE.fullmatch(tail, start) is not None or tail.endswith(_CLOSING_TAGS)
    return tail.endswith(_CLOSING_TAGS)


def unwrap(text: str, log: bool) -> Body:
    """The tool's own part of `text`. Marks of exit status are looked for only in the output of programs (`log`)."""
    body = Body(0, len(text))
    first = text[:1]
    if first in _HEADS or first.isspace():
        _strip_head(text, body, log)
    if log:
        _read_tail(text, body)
    elif text[-1:] == ">":
        _strip_tail(text, body)
    return body


def _strip_head(text: str, body: Body, log: bool) -> None:
    start = len(text) - len(text.lstrip()) if text[:1].isspace() else 0
    if log and text[start : start + 1] in _EXIT_LETTERS and (mark := _HEAD_EXIT.match(text, start)):
        body.exit_code = _number(next(group for group in mark.groups() if group is not None))
        body.exit_span = mark.span()
    for _ in range(3):  # wrappers nest: codex around gemini's tags, Peri's around an Error:
        for pattern, rule in _HEADS.get(text[start : start + 1], ()):
            if hit := pattern.match(text, start):
                start = hit.end()
                if rule and body.failed is None:
                    body.failed = rule
                break
        else:
            break
    body.start = start


def _read_tail(text: str, body: Body) -> None:
    offset = max(body.start, len(text) - _TAIL_WINDOW)
    tail = text[offset:]
    if body.exit_code is None and ("xit" in tail or "returncode" in tail):
        for mark in _TAIL_EXIT.finditer(tail):
            code = next(group for name, group in mark.groupdict().items() if name != "weak" and group is not None)
            if tail[mark.end() :].count("\n") <= 6:
                body.exit_code, body.weak_mark = _number(code), mark["weak"] is not None
                body.exit_span = (offset + mark.start(), offset + mark.end())
        if body.exit_code is not None and (flagged := _FLAGGED_STATUS.search(tail)):
            body.weak_mark = False
            body.exit_span = (offset + flagged.start(), offset + flagged.end())
    if "time" in tail and _TIMED_OUT.search(tail):
        body.timed_out = True
    _strip_tail(text, body)


def _strip_tail(text: str, body: Body) -> None:
    end = body.end
    for _ in range(8):
        while end > body.start and text[end - 1].isspace():
            end -= 1
        line_start = max(text.rfind("\n", body.start, end) + 1, body.start)
        if end - line_start > _TAIL_LINE_LIMIT or end == line_start:
            break
        line = text[line_start:end]
        if line.endswith(_CLOSING_TAGS):
            end = line_start + line.rindex("<")
        elif line[-1] in _TAIL_LETTERS and _TAIL_LINE.fullmatch(line):
            end = line_start
        else:
            return
        body.end = end


def _number(text: str) -> int | None:
    return int(text) if len(text) < 12 else None
