"""The page that a browser shows: the frame that a browsing tool writes around it, with title, address and visible text.

AutoGen's surfers, their kin and the text browsers that print `Address:` tell of the page in a frame of their own. What
the page itself says stands behind it: a wall, a missing page, a browser's own complaint. It is judged by the rules of
the pack `pages` alone, since the words on a page are no message of the tool.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from reach_tui.base.jsonio import JsonValue
from reach_tui.detect.envelope import Finding, examine, parse

BROWSING = "web"
"""The family of tools that show pages."""
PACK = "pages"
"""The rules that what a page says is judged by."""
HEAD = 6000
"""Characters of a result in which the frame must end."""
_FRAME = re.compile(
    r"(?:screenshot of|open to the page) \[(?P<title>[^\n]{0,300}?)\]\((?P<url>[a-z-]+:\S{1,2000}?)\)(?:[.,\s]|\Z)"
)
_ADDRESS = re.compile(r"(?m)\A(?:[^\n]*\n){0,3}?Address: (?P<url>[a-z-]+:\S+)(?:\nTitle: (?P<title>[^\n]{0,300}))?$")
_TYPED = re.compile(r"(?i)\bI typed '(https?://[^'\s]+)' into the browser address bar")
_TEXT = re.compile(
    r"(?:detected the following text|following text is visible[^:\n]*):\n+|^Viewport position: [^\n]*\n=+\n", re.M
)
_AFTER = "\nThe following metadata was extracted from the "
_FURTHER = re.compile(r"[1-9]\d?% down from|shows (?:\d|1[0-4])% of|Showing page (?:[2-9]|1\d|1 of (?:[2-9]|1\d))")
"""Marks of a long page: one that says it is missing, or a wall, is short and shown from its top."""
_ENTIRE = re.compile(r"shows (?:9[5-9]|100)% of|Showing page 1 of 1\b")
_NOTICE = 400
"""Characters: a page that is shown whole and says no more than this tells of nothing at length, errors neither."""
_SMALL = 600
"""Characters of JSON that a browser shows and that may be a service's complaint; more is what it serves."""
_ABOUT = re.compile(
    r"(?i)[/=_+?-](?:http[_-]?)?(?:4\d\d|50\d|errors?|not[_-]?found|denied|forbidden|unauthori[sz]ed|captcha|reached"
    r"|unavailable|blocked|status(?:[_-]codes?)?|err_\w+)(?:\b|_)"
)
_TITLED = re.compile(
    r"(?i)\b(?:errors?|exceptions?|4\d\d|50\d|how to|fix(?:ed|ing)?|troubleshoot\w*|codes?|captchas?|denied|forbidden"
    r"|verif\w+ (?:that )?you"
    r")\b|\w(?:Error|Exception)\b"
)


_ADDRESS_NAMES = ("url", "uri", "link", "href", "site", "page", "address")


@dataclass(frozen=True, slots=True)
class Shown:
    """A page in its frame."""

    url: str
    """Where the browser is."""
    url_at: int
    asked: str
    """The address that the frame says was typed, empty if none."""
    start: int
    """Where the page's visible text begins, and ends."""
    end: int
    tells: bool
    """Its words may be the page's own complaint: no file, no long page and, by title and address, not about errors."""


def framed(text: str) -> bool:
    """False if `shown` surely finds nothing: every frame tells of the viewport."""
    return text.find("iewport", 0, HEAD) >= 0


def names_address(arguments: JsonValue) -> bool:
    """False if a call has arguments and none of them is the address of a page."""
    if not isinstance(arguments, Mapping) or not arguments:
        return True
    return any(
        any(word in name.lower() for word in _ADDRESS_NAMES) or "://" in str(value) for name, value in arguments.items()
    )


def shown(text: str, start: int, end: int) -> Shown | None:
    """The page that `text[start:end]` tells of, or None. A local file tells nothing: its words are its own."""
    if not framed(text):
        return None
    head = text[start : min(end, start + HEAD)]
    frame = _FRAME.search(head) or _ADDRESS.match(head)
    if frame is None:
        return None
    body = _TEXT.search(head, frame.end())
    line = head.find("\n", frame.end())
    begin = start + (body.end() if body else line if line >= 0 else len(head))
    after = text.find(_AFTER, begin, end)
    typed = _TYPED.search(head, 0, frame.start())
    asked = typed[1] if typed else ""
    top = head[frame.end() : body.end() if body else len(head)]
    local = frame["url"].startswith("file:")
    finish = after if after >= 0 else end
    notice = finish - begin < _NOTICE and _ENTIRE.search(top)
    titled = not notice and _TITLED.search(frame["title"] or "")
    tells = not (local or _FURTHER.search(top) or _ABOUT.search(asked) or titled)
    return Shown(frame["url"], start + frame.start("url"), asked, begin, finish, tells)


def complaint(text: str) -> Finding | None:
    """What a small JSON page says where an error is all that it says."""
    said = text.strip()
    if not said.startswith("{") or len(said) > _SMALL:
        return None
    found = examine(parse(said))
    return found if found and found.rule in ("json.failure_code", "json.error") else None
