"""Structural checks: small pure functions over a call's fields, for what no text pattern can say."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

from reach_tui.base.jsonio import JsonValue
from reach_tui.detect import command as commands
from reach_tui.detect.case import Case
from reach_tui.model import Evidence, ToolCall

_CUT_SHORT = frozenset(["aborted", "abort", "killed", "cancelled", "canceled", "interrupted", "terminated"])
_ABORT_ERRORS = frozenset(("messageabortederror", "aborterror", "aborted"))
_FINDINGS = re.compile(
    r"(?i)\b(?:\d+ (?:failed|failures?|errors?|problems?|warnings?|issues?|failing)\b|FAILED\b|FAIL\b"
    r"|error TS\d+|error\[E\d+\]|assert(?:ion)?(?:Error)?\b"
    r"|✗|✕|×|:\d+:\d+[: ]|\(\d+,\d+\): (?:error|warning)|would reformat|not ok \d|warnings? treated as errors?)"
)
_NOT_STARTED = re.compile(
    r"(?im)(?:command not found|not recognized as|no rule to make target|no such file or directory"
    r"|missing script|cannot find module '(?:/|\.{0,2}/|[\w@-]+')"
    r"|no module named|unknown (?:command|option)|could not find (?:a|the)? ?(?:package|script|project)"
    r"|ENOENT|is not installed|no tests? (?:found|ran|collected)"
    r"|unrecognized arguments|usage:)"
)
_EXCEPTION = re.compile(
    r"(?m)^[ \t]*(?:[A-Za-z_][\w.]*\.)?[A-Z]\w*(?:Error|Exception|Exit|Interrupt|Timeout|NotFound|Refused"
    r"|Denied|Privileges|Warning|Failure)\w*\b[^\n]*"
)
_TELLING = re.compile(
    r"(?i)error|fail|denied|not found|no such|cannot|could not|unable|invalid|missing|timed? ?out|refused|abort|错|失败"
)
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z][a-z\d]*")
_SPAN = 300
_REPORT = 20_000  # characters at each end of a check's output
_ENVELOPE_OF_CONTENT = 4000  # characters: a longer answer of a reading tool is the content itself

ENVELOPE_WORDS = {
    "json.is_error": "Flag and payload disagree: the payload says isError.",
    "json.not_ok": "The answer itself says it was no success.",
    "json.status_error": "The answer's own status is an error.",
    "json.type_error": "The answer is an error object.",
    "json.error": "The answer carries an error.",
    "json.failure_code": "The answer carries a failure code.",
    "json.refused": "The answer says that what the tool is there for was not done.",
}


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a non-zero exit status means for this command."""

    verdict: str
    rule: str
    explanation: str
    subcategory: str = ""
    confidence: float = 0.9


@dataclass(frozen=True, slots=True)
class Cut:
    """The store's own word that a call was cut short."""

    rule: str
    category: str
    explanation: str
    evidence: Evidence
    confidence: float = 0.9


def tool_names(tool: str) -> tuple[str, ...]:
    """The name in lower case, as it is and without prefixes: `mcp__server__`, `server.`, `functions.`, `server/`.

    `StrReplaceFile` is `str_replace_file` too.
    """
    given = tool.strip()
    name = given.lower()
    short = (name.rsplit(mark, 1)[1] for mark in ("__", ".", "/", ":") if mark in name)
    words = _WORDS.findall(given) if given[:1].isupper() and given.isalnum() else ()
    return tuple(dict.fromkeys(item for item in (name, *short, "_".join(words).lower()) if item))


def argument_evidence(arguments: JsonValue, wanted: Mapping[str, str]) -> Evidence | None:
    """The first argument a condition names, as it stands in the arguments' JSON."""
    shown = (
        json.dumps(arguments, ensure_ascii=True, default=str)[:_SPAN]
        if isinstance(arguments, Mapping)
        else str(arguments)[:_SPAN]
    )
    for name in wanted:
        if (at := shown.find(json.dumps(name))) >= 0:
            end = min(len(shown), at + 80)
            return Evidence(shown[at:end], at, end, "arguments")
    return Evidence(shown, 0, len(shown), "arguments")


def cut_short(call: ToolCall) -> Cut | None:
    """Aborted, killed or cancelled by the store's own word."""
    status = (call.status or "").strip().lower()
    if status in _CUT_SHORT:
        evidence = Evidence(call.status or "", 0, len(call.status or ""), "status")
        return Cut("store.aborted", "timeout_or_limit/cancelled", f"The store says the call was {status}.", evidence)
    if call.result is not None:
        return None
    error = call.metadata.get("message_error")
    if isinstance(error, str) and error.strip().lower() in _ABORT_ERRORS:
        return Cut(
            "store.aborted",
            "timeout_or_limit/cancelled",
            "Its message was aborted before an answer.",
            Evidence(error, 0, len(error), "metadata"),
        )
    if call.metadata.get("interrupted") is True:
        return Cut(
            "store.aborted",
            "timeout_or_limit/cancelled",
            "It was interrupted before an answer.",
            Evidence("interrupted", 0, 11, "metadata"),
        )
    if call.metadata.get("timed_out") is True:
        return Cut(
            "store.timed_out",
            "timeout_or_limit/timeout",
            "It ran out of time.",
            Evidence("timed_out", 0, 9, "metadata"),
        )
    return None


def outcome_of_exit(case: Case, code: int, output: str | None = None) -> Outcome:
    """What exit status `code` (not 0) means: failed, an honest no, a check that reported, or soft."""
    text = case.own_text if output is None else output
    shown = text.replace("(no output)", "").replace("(Bash completed with no output)", "").strip()
    if case.body.weak_mark and output is None and case.call.flagged is not True:
        return Outcome(
            "soft",
            "shell.exit_mark",
            "A mark in the text says it ended with an error status; its harness does not count that.",
            "",
            0.5,
        )
    command = case.command
    asked = commands.may_miss(command) and (not shown or commands.displays(command))
    if code == 1 and (asked or (not shown and commands.goes_on_if(command))):
        return Outcome(
            "ok", "shell.honest_no", "Exit status 1 without a message: it looked and found nothing.", "no_match", 0.9
        )
    if code == 1 and commands.is_diff(command):
        return Outcome("ok", "shell.differs", "A comparison that found differences.", "check_reported", 0.9)
    if code < 124 and reports_findings(command, shown):
        return Outcome(
            "check_reported", "shell.check_reported", "A check ran and reported findings.", "check_reported", 0.85
        )
    return Outcome("failed", "shell.exit_code", f"The command ended with exit status {code}.")


def reports_findings(command: str, output: str) -> bool:
    """True if the command is a check, its output holds findings, and nothing says that it could not start."""
    if not commands.is_check(command):
        return False
    shown = output if len(output) <= 2 * _REPORT else f"{output[:_REPORT]}\n{output[-_REPORT:]}"
    return bool(_FINDINGS.search(shown)) and not _NOT_STARTED.search(shown)


def may_be_envelope(case: Case) -> bool:
    """False where JSON is the content that was asked for: a file, a page, the output of a command that shows things."""
    if case.nature == "content":
        small = case.body.end - case.body.start < _ENVELOPE_OF_CONTENT
        return small and (
            not _names_json(case.call.arguments) or ('"error"' in case.own_text and '"content"' in case.own_text)
        )
    return case.nature != "log" or not case.displays or case.command.startswith("curl")


def _names_json(arguments: JsonValue) -> bool:
    if not isinstance(arguments, Mapping):
        return ".json" in str(arguments)
    return any(isinstance(value, str) and ".json" in value for value in arguments.values())


def message_span(text: str, begin: int, position: int, end: int) -> tuple[int, int]:
    """The message that begins at a hit: the exception's own line, else the hit's line and what comes next."""
    if found := exception_span(text, position, end):
        return found
    start = max(begin, text.rfind("\n", 0, position + 1) + 1)
    return start, min(end, max(start, position) + _SPAN)


def exception_span(text: str, position: int, end: int) -> tuple[int, int] | None:
    """The last exception line of the traceback that begins at `position`, None if there is no traceback."""
    if not text.startswith(("Traceback", "Unhandled", "Exception"), position + _blank(text, position, end)):
        return None
    last = None
    for last in _EXCEPTION.finditer(text, position + 1, min(end, position + 12_000)):
        if text.find("Traceback (most recent", last.end(), min(end, last.end() + 400)) < 0:
            break
    if last is None:
        return None
    start = last.start() + len(last[0]) - len(last[0].lstrip())
    return start, min(last.end(), start + _SPAN)


def _blank(text: str, position: int, end: int) -> int:
    count = 0
    while position + count < end and text[position + count].isspace():
        count += 1
    return count


def closing_message(text: str) -> str:
    """What a program said last, with its first lines: where the reason for an exit status stands."""
    text = text.strip()
    return text if len(text) <= 1600 else f"{text[-1200:]}\n{text[:400]}"


def telling_line(text: str, start: int, end: int) -> tuple[int, int]:
    """The line that says why, in a text that is a failure: the first with a word for it, else the first."""
    first: tuple[int, int] | None = None
    at = start
    for line in text[start : min(end, start + 8000)].split("\n"):
        if stripped := line.strip():
            begin = at + line.find(stripped[0])
            span = (begin, min(begin + len(stripped), begin + _SPAN))
            if _TELLING.search(line):
                return span
            first = first or span
        at += len(line) + 1
    return first or (start, start)


def find_message(text: str, message: str, start: int) -> Evidence:
    """Where an envelope's message stands in the text; where escapes hide it, the envelope's beginning."""
    needle = message.strip()[:_SPAN]
    for form in (
        needle,
        json.dumps(needle)[1:-1],
        json.dumps(needle, ensure_ascii=False)[1:-1],
        needle.split("\n")[0][:80],
    ):
        if form and (at := text.find(form[:_SPAN], start)) >= 0:
            return Evidence(form[:_SPAN], at, at + len(form[:_SPAN]))
    shown = text[start : start + 120]
    return Evidence(shown, start, start + len(shown))
