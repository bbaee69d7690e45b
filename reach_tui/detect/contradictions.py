"""Arguments and result that contradict each other, where no word of the result says that anything is wrong.

Asked only where nothing else speaks, and only about what a result states in a form of its own: the path in its frame,
line numbers in its gutter, paths it lists, a count, an address, an id. What a program could mean otherwise is soft.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from posixpath import basename, normpath
from typing import TypeAlias

from reach_tui.base.jsonio import JsonValue, as_int
from reach_tui.detect.acting import verb
from reach_tui.detect.pages import shown
from reach_tui.model import Evidence, Verdict

HEAD = 4000
"""Characters of a result that are looked at."""
_SPAN = 300
_FEW = 3  # numbered lines that make a gutter
_PATHS = ("filePath", "file_path", "path", "filename", "file", "absolute_path", "target_file")
_FOLDERS = ("path", "dir_path", "directory", "dir", "folder", "target_directory", "root")
_OFFSETS = ("offset", "start_line", "line_start", "startLine", "start_line_one_indexed", "from_line")
_NO_FOLDER = frozenset("*?{$")
_LINES = frozenset((*_OFFSETS, "view_range"))
_FRAME = re.compile(r"\s*<(?:path|file_path|file)>([^<>\n]{1,400})</(?:path|file_path|file)>")
_GUTTER = re.compile(r"[ \t]*0{0,7}(\d{1,7})(?:→|\t|\||: |:$)")
_LISTED = re.compile(r"(?m)^((?:/|[A-Za-z]:[\\/])[^\s:*?\"<>|][^:*?\"<>|\n]*?)(?::\d+(?::.*)?|:|/)?$")
_REPLACED = re.compile(
    r"(?i)\b(?:replaced|substituted|updated|changed) (\d{1,6}) (?:occurrence|instance|match|place)(?:e?s)?\b"
    r"|\b(\d{1,6}) (?:replacements?|substitutions?)(?: (?:were )?made)?\b"
)
_COUNTED_ON = ("expected", "count", "multiple", "edits", "global", "all")
_FINAL = re.compile(
    r"(?im)^[ \t>*-]*(?:final|resolved|effective|landing|redirected)[ _-](?:url|page|location|to)"
    r"[ \t]*(?::|=|→|->)[ \t]*(https?://[^\s<>\"')]+)"
)
_SIGN_IN = re.compile(
    r"(?i)^https?://(?:(?:accounts?|login|signin|sso|auth)\.[^/]*(?:[/?#]|$)"
    r"|[^/]*(?:/[^?#]*)?/(?:log-?in|sign-?in|sso|signon|session/new|authwall|users/sign_in)(?:\.\w{2,5})?(?:[/?#]|$))"
)
_WALL = re.compile(
    r"(?i)^https?://[^/]*/(?:[^?#]*/)?(?:(?:sorry|captcha|_?blocked|errors/validatecaptcha)(?:[/?#.]|$)"
    r"|cdn-cgi/(?:challenge|l/chk)|px/captcha|challenge/?(?:[?#]|$))"
)
_SAID = frozenset(("message", "msg", "detail", "text", "response"))
_REASON = re.compile(
    r"(?i)\b(?:not|cannot|can.t|unable|only|must|denied|declined|insufficient|exceeds?|unavailable|invalid|already|failed"
    r"|closed|full|no longer|too)\b|n['’]t\b"
)
_ONE = re.compile(r"(?:get|read|fetch|find|look_?up|show|retrieve|load|track|view|describe)(?=_|[A-Z]|-)", re.I)


@dataclass(frozen=True, slots=True)
class Contradiction:
    """What does not fit together, and how sure that is a failure."""

    rule: str
    explanation: str
    category: str
    subcategory: str
    evidence: Evidence
    failed: bool = True

    @property
    def verdict(self) -> Verdict:
        """A failure, or a soft signal."""
        confidence = 0.85 if self.failed else 0.5
        return Verdict(
            True if self.failed else None, confidence, self.category, self.subcategory, self.rule, self.evidence,
            self.explanation,
        )  # fmt: skip


def find(family: str, tool: str, arguments: JsonValue, text: str, start: int, value: JsonValue) -> Contradiction | None:
    """What the result (`text` from `start` on, `value` where it is JSON) says against the arguments, or None."""
    if not isinstance(arguments, Mapping):
        return None
    if isinstance(value, dict):
        return in_answer(tool, arguments, text, value)
    check = CHECKS.get(family)
    return check(arguments, text[start : start + HEAD], start) if check else None


def in_answer(tool: str, arguments: JsonValue, text: str, value: JsonValue) -> Contradiction | None:
    """What a JSON object says against the arguments, or against what the tool is there to do."""
    if not isinstance(arguments, Mapping) or not isinstance(value, dict):
        return None
    return _other_id(tool, arguments, text, value) or _nothing_done(tool, text, value)


def _text(arguments: Mapping[str, JsonValue], names: tuple[str, ...]) -> str:
    for name in names:
        value = arguments.get(name)
        if isinstance(value, str) and value:
            return value
    return ""


def _span(match: re.Match[str], start: int) -> Evidence:
    return Evidence(match[1], start + match.start(1), start + match.end(1))


@lru_cache(maxsize=512)
def _plain(path: str) -> str:
    """A path in one form: `/`, no `.` and `..`, lower case, without macOS's /private and a scheme."""
    path = normpath(path.strip().removeprefix("file://").replace("\\", "/")).lower()
    return path.removeprefix("/private")


def _absolute(path: str) -> bool:
    return path.startswith("/") or path[1:3] in (":/", ":\\")


# -- reading


def _of_reading(arguments: Mapping[str, JsonValue], head: str, start: int) -> Contradiction | None:
    return _other_file(arguments, head, start) or _other_lines(arguments, head, start)


def _other_file(arguments: Mapping[str, JsonValue], head: str, start: int) -> Contradiction | None:
    frame = _FRAME.match(head)
    if not frame or not (asked := _text(arguments, _PATHS)) or frame[1] == asked:
        return None
    if basename(_plain(frame[1])) == basename(_plain(asked)) or asked.rstrip("/\\").endswith("."):
        return None
    return Contradiction(
        "read.other_file", "The answer's frame names another file than the one asked for.", "upstream_error",
        "bad_response", _span(frame, start), failed=_absolute(asked) and _absolute(frame[1]),
    )  # fmt: skip


def _other_lines(arguments: Mapping[str, JsonValue], head: str, start: int) -> Contradiction | None:
    if _LINES.isdisjoint(arguments):
        return None
    wanted = next((number for name in _OFFSETS if (number := as_int(arguments.get(name))) is not None), None)
    view = arguments.get("view_range")
    if isinstance(view, list) and view:
        wanted = as_int(view[0])
    if wanted is None or wanted < 1:
        return None
    frame = _FRAME.match(head)
    at = frame.end() if frame else 0
    numbers: list[tuple[int, int, int]] = []
    for line in head[at:].split("\n"):
        if gutter := _GUTTER.match(line):
            numbers.append((int(gutter[1]), at + gutter.start(1), at + gutter.end(1)))
        elif numbers:
            break
        if len(numbers) == _FEW:
            break
        at += len(line) + 1
    first = numbers[0][0] if numbers else 0
    if [number for number, _, _ in numbers] != list(range(first, first + _FEW)) or first in (wanted, wanted + 1):
        return None
    _, begin, end = numbers[0]
    return Contradiction(
        "read.other_lines", f"Line {wanted} was asked for, and the numbers begin at {first}.", "upstream_error",
        "bad_response", Evidence(head[begin:end], start + begin, start + end), failed=False,
    )  # fmt: skip


# -- searching


def _outside(arguments: Mapping[str, JsonValue], head: str, start: int) -> Contradiction | None:
    asked = _text(arguments, _FOLDERS)
    if not _absolute(asked) or not _NO_FOLDER.isdisjoint(asked):
        return None
    folder = _plain(asked)
    name = basename(folder)
    if not name:
        return None
    listed: list[re.Match[str]] = []
    for found in _LISTED.finditer(head):
        if _absolute(found[1]):
            # a folder reached by a link keeps its name somewhere in the path
            path = _plain(found[1])
            if path.startswith(folder) or name in path.split("/"):
                return None
            listed.append(found)
    if not listed:
        return None
    return Contradiction(
        "search.outside_path", "Nothing it lists lies in the folder that was asked for.", "upstream_error",
        "bad_response", _span(listed[0], start), failed=len(listed) > 1,
    )  # fmt: skip


# -- editing, fetching, asking


def _count(arguments: Mapping[str, JsonValue], head: str, start: int) -> Contradiction | None:
    if arguments.get("replace_all") is not False and arguments.get("replaceAll") is not False:
        return None
    found = _REPLACED.search(head[:400])
    if found is None or int(found[1] or found[2]) < 2:
        return None
    names = arguments.keys() - {"replace_all", "replaceAll"}
    if any(word in name.lower() for name in names for word in _COUNTED_ON):
        return None
    evidence = Evidence(found[0], start + found.start(), start + found.end())
    words = "One place was to be changed, and it says that several were."
    return Contradiction("edit.count_contradicts", words, "upstream_error", "bad_response", evidence)


def _ended_elsewhere(arguments: Mapping[str, JsonValue], head: str, start: int) -> Contradiction | None:
    asked = _text(arguments, ("url", "uri", "link"))
    if final := _FINAL.search(head[:1000]):
        ended, at = final[1], final.start(1)
    elif page := shown(head, 0, len(head)):
        ended, at, asked = page.url, page.url_at, asked or page.asked
    else:
        return None
    evidence = Evidence(ended[:_SPAN], start + at, start + at + len(ended[:_SPAN]))
    asked = _with_scheme(asked) if asked else ""
    if _WALL.match(ended) and not _WALL.match(asked):
        words = "It ended at a wall against robots instead of the page that was asked for."
        return Contradiction("web.ended_at_wall", words, "permission_denied", "blocked_by_policy", evidence)
    if not asked or not _SIGN_IN.match(ended) or _SIGN_IN.match(asked):
        return None
    words = "It ended at a sign-in page instead of the page that was asked for."
    return Contradiction("web.ended_at_sign_in", words, "permission_denied", "auth_missing_or_expired", evidence)


def _with_scheme(address: str) -> str:
    return address if "://" in address else f"https://{address}"


def _other_id(
    tool: str, arguments: Mapping[str, JsonValue], text: str, value: dict[str, JsonValue]
) -> Contradiction | None:
    """One thing was asked for by its id, and the JSON object that came is about another."""
    if not _ONE.match(_name(tool)):
        return None
    ids = [name for name in arguments if name.lower().endswith("id")]
    if len(ids) != 1:
        return None
    name = ids[0]
    asked, given = arguments[name], value.get(name)
    if isinstance(asked, bool | float) or isinstance(given, bool | float):
        return None
    if not isinstance(asked, str | int) or not isinstance(given, str | int):
        return None
    one, other = (re.sub(r"\W", "", str(item)).lower() for item in (asked, given))
    if not one or not other or one in other or other in one:
        return None
    at = max(0, text.find(str(given)))
    words = f"{name} {str(asked)[:60]} was asked for, and the answer is about {str(given)[:60]}."
    return Contradiction(
        "json.other_id", words, "upstream_error", "bad_response", Evidence(str(given), at, at + len(str(given)))
    )


def _nothing_done(tool: str, text: str, value: dict[str, JsonValue]) -> Contradiction | None:
    """Something was to be made or changed, and the answer is null where it should stand, with the reason beside it."""
    if not verb(tool):
        return None
    told = {name: item for name, item in value.items() if item not in (None, "", [], {}, 0)}
    missing = [name for name in value if value[name] is None and not name.lower().startswith(("err", "warn", "next"))]
    if len(told) != 1 or not missing or _SAID.isdisjoint(told):
        return None
    (reason,) = told.values()
    if not isinstance(reason, str) or not _REASON.search(reason):
        return None
    at = max(0, text.find(reason[:40]))
    shown = text[at : at + min(len(reason), _SPAN)]
    words = f"There is no {missing[0]} in the answer, and it says why."
    return Contradiction(
        "json.nothing_done", words, "stale_context", "precondition_not_met", Evidence(shown, at, at + len(shown))
    )


def _name(tool: str) -> str:
    return tool.rsplit("__", 1)[-1].rsplit(".", 1)[-1]


Check: TypeAlias = Callable[[Mapping[str, JsonValue], str, int], Contradiction | None]
CHECKS: Mapping[str, Check] = {"read": _of_reading, "search": _outside, "edit": _count, "web": _ended_elsewhere}
"""By family, what can be said about its text: asked with the arguments, the first `HEAD` characters, and where those
begin. JSON is looked at in every family."""
