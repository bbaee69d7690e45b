"""Tools that are there to do something, by their names, and answers of theirs that say it was not done.

`{"status": "declined", "reason": …}` is what became of the call where the tool was to pay, and mere data where it was
to look a payment up; so is `{"deleted": false}`. Only the tool's own verb tells the two apart.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from reach_tui.base.jsonio import JsonValue
from reach_tui.detect.envelope import Finding
from reach_tui.detect.envelope_words import BAD_STATUS, BESIDE_STATUS, MESSAGES
from reach_tui.model import Glance

_VERBS = frozenset(
    [
        "activate", "add", "apply", "archive", "assign", "book", "buy", "cancel", "change", "charge", "checkin",
        "checkout", "close", "complete", "confirm", "connect", "create", "delete", "deploy", "deposit",
        "disable", "edit", "enable", "enrol", "enroll", "generate", "insert", "invite", "issue", "join", "make",
        "modify", "move",
        "open", "order", "pay", "place", "post", "publish", "purchase", "put", "redeem", "refund", "register",
        "remove", "rename", "rent", "reschedule", "reserve", "reset", "restart", "restore", "save", "schedule",
        "send", "set", "share", "start", "stop", "submit", "subscribe", "transfer", "turn", "unlock",
        "unsubscribe", "update", "upgrade", "upload", "vote", "withdraw", "renew", "extend", "merge", "link", "attach",
        "pause", "resume", "launch", "pair", "borrow", "ship",
    ]
)  # fmt: skip
_NOUNS = frozenset(
    [
        "book", "change", "charge", "deposit", "issue", "move", "order", "pay", "post", "purchase", "refund",
        "rent", "share", "transfer", "upgrade", "vote",
    ]
)  # fmt: skip
_ABOUT = frozenset(
    [
        "availability", "details", "fee", "fees", "history", "info", "list", "log", "logs", "options", "policy",
        "price", "prices", "quote", "rate", "rates", "report", "stats", "status",
    ]
)  # fmt: skip
"""What makes a question of a verb that is a noun too: `order_status`, `refundPolicy`."""
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_BETWEEN = re.compile(r"[^a-z]+")
_STATUS = ("status", "state", "result", "outcome")
_REFUSED = BAD_STATUS | {"declined", "rejected", "refused", "denied", "unsuccessful", "not_completed"}
_PARTICIPLES = {"buy": "bought", "make": "made", "pay": "paid", "send": "sent", "withdraw": "withdrawn"}
_IDEMPOTENT = frozenset(("change", "edit", "modify", "set", "turn", "update", "upgrade"))
"""Verbs whose `changed: false` may as well mean that all was so already."""
_GENERAL = frozenset(("accepted", "executed", "performed"))
"""What any such tool may say of its work, whatever its verb."""
_REASON = ("reason", "failure", "cause", "error", "errors", "message")
_INSIDE = ("data", "result", "response")


def verb(tool: str) -> str:
    """What a tool does, by the first verb of its name; empty if it only looks something up, or nobody knows."""
    words = [word.lower() for word in _WORD.findall(re.split(r"__|[.:/]", tool.strip())[-1])]
    asks = len(words) > 1 and words[0] in _NOUNS and words[-1] in _ABOUT
    return "" if asks else next((word for word in (*words[:1], *words[-1:]) if word in _VERBS), "")


def echoes(arguments: JsonValue, text: str) -> bool:
    """True if the text is one that the caller gave: no message of the tool's own."""
    values = arguments.values() if isinstance(arguments, Mapping) else (arguments,)
    said = text.strip().lower()
    return any(isinstance(value, str) and value.strip().lower() == said for value in values)


def refusal(call: Glance, value: JsonValue) -> Finding | None:
    """What the answer says of a call that should have done something and did not."""
    done = verb(call.tool)
    return refused(value, done, call.arguments) if done else None


def refused(value: JsonValue, done: str, arguments: JsonValue = None) -> Finding | None:
    """The answer of a tool whose verb is `done`: what was asked for did not come about, and why."""
    if not isinstance(value, Mapping):
        return None
    reason = _reason(value)
    if reason:
        bad = done not in _IDEMPOTENT and any(
            isinstance(said, str) and _BETWEEN.sub("_", said.lower()) in _REFUSED and not echoes(arguments, said)
            for name, said in value.items()
            if name in _STATUS or name.endswith(("Status", "_status"))
        )
        if (bad or _undone(value, done)) and not _made(value):
            return Finding("json.refused", reason, None, 0.86)
    for name in _INSIDE:
        if isinstance(value.get(name), Mapping) and (found := refused(value[name], done, arguments)):
            return found
    return None


def _undone(value: Mapping[str, JsonValue], done: str) -> bool:
    """The participle of the verb, or a general one, is false: `booked`, `deleted`."""
    return any(said is False and _tells(name, done) for name, said in value.items())


def _tells(name: str, done: str) -> bool:
    last = _WORD.findall(name)[-1:]
    word = last[0].lower() if last else ""
    if word in _GENERAL or done in _IDEMPOTENT:
        return word in _GENERAL
    return word == _PARTICIPLES.get(done) or (word.endswith("ed") and word.startswith(done.removesuffix("e")))


def _reason(value: Mapping[str, JsonValue]) -> str:
    for name, said in value.items():
        told = name in MESSAGES or name.lower().endswith(_REASON)
        if told and isinstance(said, list) and said:
            said = said[0]
        if told and isinstance(said, str) and said.strip():
            return said
    return ""


def _made(value: Mapping[str, JsonValue]) -> bool:
    """Something was made all the same: a name beside the status holds more than a plain complaint does."""
    return any(
        name.lower() not in BESIDE_STATUS
        and not name.lower().endswith((*_REASON, "id", "status"))
        and item is not None
        and item is not False
        and item not in ("", [], {})
        and not isinstance(item, int | float)
        for name, item in value.items()
    )
