"""Calls that are plainly fine, told without a `Case`: most of a store, in a fifth of the time.

Whatever might speak against a call (a wrapper, JSON, an exit status, one rule that matches, one condition that may
hold, a contradiction) makes it no such call: the engine then judges the whole of it. So verdicts are the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from reach_tui.base.jsonio import JsonValue
from reach_tui.detect import contradictions
from reach_tui.detect.acting import refusal
from reach_tui.detect.envelope import examine, parse
from reach_tui.detect.matcher import WINDOWS, Matcher, windowed
from reach_tui.detect.pages import BROWSING, framed
from reach_tui.detect.rules import Family
from reach_tui.detect.wrappers import unwrap, wrapped
from reach_tui.model import Glance, Verdict

FINE = Verdict(False, 0.9)
FINE_CONTENT = Verdict(False, 0.97)
"""Of tools whose result is content: what the text says proves nothing."""
_JSON = ("{", "[")
_SHORT = 80  # characters: many a short result comes thousands of times
_KEPT = 1000


class Quick:
    """Asks the rules of one family about plain calls."""

    __slots__ = (
        "_conditions",
        "_contradicts",
        "_harmless",
        "_head",
        "_log",
        "_matches",
        "_nature",
        "_pages",
        "_tail",
        "_verdict",
    )

    def __init__(self, family: Family, matcher: Matcher) -> None:
        self._nature = family.nature
        self._head, self._tail = WINDOWS[family.nature]
        self._log = family.nature == "log"
        self._pages = family.id == BROWSING
        self._verdict = FINE_CONTENT if family.nature == "content" else FINE
        self._matches = matcher.matches
        self._harmless: set[str] = set()
        self._contradicts = contradictions.CHECKS.get(family.id)
        conditions = [rule.when for rule in family.rules if rule.where == "arguments"]
        self._conditions = [
            (when.metadata.get("exit_code") == "missing", tuple(when.arguments.items()))
            for when in conditions
            if when.flag in (None, "false")
        ]

    def fine(self, call: Glance) -> Verdict | None:
        """The verdict on a call with `plain` set, None if the whole call must be judged."""
        text, code = call.text, call.exit_code
        if not text or (code and self._log) or (self._pages and framed(text)):
            return None
        if len(text) > _SHORT:
            if not self._silent(text, call):
                return None
        elif text not in self._harmless and not self._silent(text, call):
            return None
        arguments = call.arguments
        if not isinstance(arguments, dict):
            return None
        for no_code, wanted in self._conditions:
            if (code is None or not no_code) and _may_hold(wanted, arguments):
                return None
        if self._contradicts is not None and self._contradicts(arguments, text[: contradictions.HEAD], 0):
            return None
        return self._verdict

    def _silent(self, text: str, call: Glance) -> bool:
        """False if something in the text may speak against the call."""
        log, end, letter = self._log, len(text), text[0]
        if letter.isspace():
            return False
        taken_off = wrapped(text, log)
        if taken_off:
            body = unwrap(text, log)
            if body.start or body.timed_out or (body.exit_code and call.exit_code is None):
                return False
            end = body.end
        value = None
        if letter in _JSON:
            if taken_off:
                return False
            value = parse(text)
            if value is not None and (
                examine(value) is not None
                or refusal(call, value) is not None
                or contradictions.in_answer(call.tool, call.arguments, text, value)
            ):
                return False
        if end > self._head:
            seen = windowed(text, end, self._nature) if self._tail else text[: self._head]
        else:
            seen = text if end == len(text) else text[:end]
        if self._matches(seen):
            return False
        if end <= _SHORT and not taken_off and value is None:
            if len(self._harmless) >= _KEPT:
                self._harmless.clear()
            self._harmless.add(text)
        return True


def _may_hold(wanted: Iterable[tuple[str, str]], arguments: Mapping[str, JsonValue]) -> bool:
    """False if one of the conditions surely does not hold."""
    for name, form in wanted:
        value = arguments.get(name)
        if form == "missing":
            if value is not None:
                return False
        elif value is None or (form == "empty" and not (isinstance(value, str) and not value.strip())):
            return False
    return True
