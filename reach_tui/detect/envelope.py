"""A result that is JSON, or a Python literal, with its own word on success: `ok`, `status`, `error`, `isError` …"""

from __future__ import annotations

import ast
import re
import warnings
from dataclasses import dataclass, replace

from reach_tui.base.jsonio import BadJson, JsonValue, loads
from reach_tui.detect.codes import class_of_code, is_failure_code
from reach_tui.detect.envelope_words import (
    ANSWERS,
    BAD_STATUS,
    BESIDE,
    BESIDE_CODE,
    BESIDE_STATUS,
    CAPITALS,
    CHECKED,
    CODES,
    COUNTS,
    ERROR_ALONE,
    ERROR_KINDS,
    ERRORS,
    FOREIGN,
    INNER,
    ITEM_RULES,
    MESSAGES,
    NONE,
    NOTHING,
    REASONS,
    REFUSED_STATUS,
    SAYS,
)

LIMIT = 400_000
"""Longer texts are not parsed; their beginning is matched like any other."""
_LITERAL_LIMIT = 20_000
_NOTE_LIMIT = 1000
_DEPTH = 5
_BETWEEN = re.compile(r"[^a-z]+")
_PROBLEM = re.compile(r"(?i)about:blank$|(?:https?:/)?/\S*(?:prob(?:lem)?s?|errors?|rfc\d+)\b")
"""The type of an RFC 9457 problem: an address that names it."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What an envelope says: a failure with its message, or the inner text that must be judged by its words."""

    rule: str
    message: str
    """The message, as it stands in the parsed value."""
    category: str | None = None
    confidence: float = 0.9
    inner: bool = False
    """No word of failure in the envelope: `message` is the text inside it."""
    praised: bool = False
    """The envelope of that text says that all went well."""
    exit_code: int | None = None
    false_flag: bool = False
    """An error word beside good data."""


_CLOSING = {"{": "}", "[": "]"}


def parse(text: str) -> JsonValue:
    """The JSON or literal value of a text that begins like one; None if it is neither."""
    if len(text) > LIMIT:
        return None
    first = text[:1] if not text[:1].isspace() else text.lstrip()[:1]
    last = text[-1:] if not text[-1:].isspace() else text.rstrip()[-1:]
    whole = _CLOSING.get(first) in (None, last)  # else it can be neither
    if whole:
        try:
            return loads(text)
        except BadJson:
            pass
    if len(text) > _LITERAL_LIMIT:
        return None
    return _leading_json(text) or (_literal(text) if whole and "'" in text else None)


def _leading_json(text: str) -> JsonValue:
    """An object that a harness has put a note behind."""
    start = len(text) - len(text.lstrip())
    end = text.rfind("}") + 1
    if text[start : start + 1] != "{" or not start < end < len(text.rstrip()) or len(text) - end > _NOTE_LIMIT:
        return None
    try:
        return loads(text[start:end])
    except BadJson:
        return None


def _literal(text: str) -> JsonValue:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an odd escape in somebody's literal is no news
            value = ast.literal_eval(text.strip())
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
        return None
    return value if isinstance(value, dict | list) else None


def examine(value: JsonValue, depth: int = 0) -> Finding | None:
    """What the value says about success; None where it says nothing bad and holds no text of its own."""
    if isinstance(value, list):
        return _examine_list(value, depth)
    if not isinstance(value, dict) or not value:
        return None
    if not CAPITALS.keys().isdisjoint(value):
        value = {CAPITALS.get(name, name): item for name, item in value.items()}
    return _examine_status(value) or _examine_error(value) or _examine_inner(value, depth)


def _examine_list(items: list[JsonValue], depth: int) -> Finding | None:
    if not items or depth > _DEPTH or not all(isinstance(item, dict) for item in items[:200]):
        return None
    if len(items) <= 2 and isinstance(items[0], dict) and items[0].get("type") == "text":
        return _examine_text(items[0].get("text"), depth)
    if depth == 0:  # a bare list is data, whatever its rows say
        return examine(items[0], 2) if len(items) == 1 and _only_an_error(items[0]) else None
    found = [examine(item, depth + 2) for item in items[:200]]
    bad = [item for item in found if item is not None and item.rule in ITEM_RULES and not item.false_flag]
    return bad[0] if len(bad) == len(items) else None


def _only_an_error(item: JsonValue) -> bool:
    """True for `{"error": "a sentence"}`, with nothing but a code beside it: no row of a table has that alone."""
    error = item.get("error") if isinstance(item, dict) else None
    return isinstance(item, dict) and isinstance(error, str) and " " in error and item.keys() <= ERROR_ALONE


def _examine_status(value: dict[str, JsonValue]) -> Finding | None:
    for name in ("isError", "is_error", "iserror"):
        if value.get(name) is True:
            return Finding("json.is_error", _message(value), _code_class(value), 0.97)
    for name in ("success", "ok", "succeeded", "Success", "successful", "successfull", "isSuccess"):
        if value.get(name) is False or value.get(name) in ("false", "False"):
            return Finding("json.not_ok", _message(value), _code_class(value), 0.95)
        if value.get(name) == 0 and any(isinstance(value.get(key), str) for key in MESSAGES) and not _foreign(value):
            return Finding("json.not_ok", _message(value), _code_class(value), 0.9)
    status = value.get("status", value.get("state", value.get("result")))
    if isinstance(status, str) and _is_bad(status, value) and not _has_data(value):
        return Finding("json.status_error", _message(value) or status, _code_class(value), 0.93)
    if "error" in (value.get("type"), value.get("object")) and any(name in value for name in SAYS):
        return Finding("json.type_error", _message(value) or _as_message(value), _code_class(value), 0.93)
    kind = value.get("response_type", value.get("type"))
    if isinstance(kind, str) and kind in ERROR_KINDS and (kind != "error" or "response_type" in value):
        said = {name: item for name, item in value.items() if name not in ("type", "response_type")}
        return Finding("json.type_error", _message(value) or _as_message(said), ERROR_KINDS[kind], 0.93)
    return None


def _is_bad(status: str, value: dict[str, JsonValue]) -> bool:
    """True if the status is that of the call, not of a thing that the object is a record of."""
    word = status.lower()
    if word in BAD_STATUS:
        told = any(value.get(name) for name in ("error", *REASONS))
        return len(value) <= 2 or (told and (bool(value.get("error")) or _foreign(value) < FOREIGN))
    return _BETWEEN.sub("_", word) in REFUSED_STATUS and not _foreign(value)


def _foreign(value: dict[str, JsonValue]) -> int:
    """How many names hold something that no bare complaint has."""
    return sum(name.lower() not in BESIDE_STATUS and item not in ("", [], {}) for name, item in value.items())


def _examine_error(value: dict[str, JsonValue]) -> Finding | None:
    for name in (
        "error",
        "Error",
        "errors",
        "err",
        "exception",
        "error_message",
        "errorMessage",
        "error_msg",
        "errorMsg",
        "Error Message",
    ):
        error = value.get(name)
        if not _says_error(error) or (isinstance(error, list) and _counts(value)):
            continue  # the second is a checker's report
        if _has_data(value):
            return Finding("json.error_beside_data", _message(value), None, 0.6, false_flag=True)
        return Finding("json.error", _message(value), _code_class(value), 0.95)
    if found := _examine_form(value):
        return found
    meta = value.get("meta")
    if isinstance(meta, dict) and not _has_data(value) and any(is_failure_code(meta.get(name)) for name in CODES):
        return Finding("json.failure_code", _message(meta), _code_class(meta), 0.9)
    for name in CODES:
        if (
            is_failure_code(value.get(name))
            and (
                len(value) == 1
                or (len(value) == 2 and value.keys() - {name} <= BESIDE_CODE)
                or any(isinstance(value.get(key), str) for key in REASONS)
                or {"title", "type"} <= value.keys()
            )
            and not _has_data(value)
        ):
            return Finding("json.failure_code", _message(value), _code_class(value), 0.92)
    facts = value.get("metadata")
    for name in ("exit_code", "exitCode", "returncode", "return_code", "exit_status"):
        code = value.get(name, facts.get(name) if isinstance(facts, dict) else None)
        if isinstance(code, str) and code.lstrip("-").isdigit() and len(code) < 5:
            code = int(code)
        if isinstance(code, int) and not isinstance(code, bool) and code:
            return Finding("json.exit_code", _output(value), None, 0.9, exit_code=code)
    return None


def _examine_form(value: dict[str, JsonValue]) -> Finding | None:
    """The forms that frameworks give an error: SOAP's fault, FastAPI's detail, WeChat's code, a problem of RFC 9457."""
    fault = value.get("fault", value.get("Fault"))
    if isinstance(fault, dict) and "faultstring" in fault:  # SOAP and the gateways that keep its words
        return Finding("json.error", _as_message(fault["faultstring"]), _code_class(fault), 0.93)
    refused = value.get("detail")
    if isinstance(refused, list) and refused and isinstance(refused[0], dict) and {"loc", "msg"} <= refused[0].keys():
        return Finding(
            "json.error", _message({"error": refused[0]["msg"]}), "invalid_parameter", 0.93
        )  # FastAPI's form
    if value.get("errcode") and isinstance(value.get("errmsg"), str):
        return Finding("json.failure_code", str(value["errmsg"]), None, 0.92)
    kind = value.get("type")
    if isinstance(kind, str) and _PROBLEM.match(kind) and {"title", "detail"} <= value.keys() and not _has_data(value):
        return Finding("json.error", _message(value), _code_class(value), 0.9)
    return None


def _examine_inner(value: dict[str, JsonValue], depth: int) -> Finding | None:
    if depth > _DEPTH:
        return None
    word: Finding | None = None  # a sentence beside it says more
    for name in INNER:
        inner = value.get(name)
        if isinstance(inner, str):
            if not _stands_alone(value, name) or not (found := _examine_text(inner, depth)):
                continue
            found = replace(found, praised=True) if found.inner and _praises(value) else found
            if not found.inner or " " in inner.strip():
                return found
            word = word or found
        elif isinstance(inner, dict | list) and (found := examine(inner, depth + 1)) and not found.false_flag:
            return replace(found, praised=True) if found.inner and _praises(value) else found
    return word


def _praises(value: dict[str, JsonValue]) -> bool:
    status = value.get("status")
    well = isinstance(status, str) and status.lower() in ("success", "ok", "succeeded", "done", "completed")
    return well or any(value.get(name) is True for name in ("success", "ok", "succeeded", "successful"))


def _stands_alone(value: dict[str, JsonValue], name: str) -> bool:
    """True if the text is what the envelope is there for, not one field of a record among others."""
    if any(key.lower() in CHECKED for key in value):  # a checker's verdict on what it was asked about
        return False
    return all(
        key == name
        or key.lower() in BESIDE
        or item is None
        or item in ("", [], {})
        or isinstance(item, bool | int | float)
        for key, item in value.items()
    )


def _examine_text(text: JsonValue, depth: int) -> Finding | None:
    if not isinstance(text, str) or not text.strip():
        return None
    if text.lstrip()[:1] in "{[" and depth <= _DEPTH:
        inner = parse(text)
        if inner is not None:
            return examine(inner, depth + 1)
    return Finding("json.inner_text", text, inner=True)


def _says_error(error: JsonValue) -> bool:
    if error is None or isinstance(error, bool | int | float):
        return error is True
    if isinstance(error, str):
        return error.strip().lower() not in NOTHING and not error.lstrip().lower().startswith(NONE)
    return bool(error)


def _counts(value: dict[str, JsonValue]) -> bool:
    """True if the errors are what a checker found in what it was given: it numbers them, or has warnings too."""
    return "warnings" in value or "valid" in value or any(value.get(name) for name in COUNTS)


def _has_data(value: dict[str, JsonValue]) -> bool:
    """A payload of substance beside the error: the call brought something back."""
    for name in ("response", "result", "results", "data", "items", "content", "output", "records", "rows"):
        payload = value.get(name)
        if isinstance(payload, str):
            if len(payload) > 200 and "error" not in payload[:80].lower() and "'message'" not in payload[:20]:
                return True
        elif (isinstance(payload, list) and payload and not _all_bad(payload)) or (
            isinstance(payload, dict)
            and len(payload) > 1
            and examine(payload, _DEPTH) is None
            and any(isinstance(item, list | dict) and item for item in payload.values())
        ):
            return True
    return False


def _all_bad(items: list[JsonValue]) -> bool:
    found = _examine_list(items, 3)
    return found is not None and not found.inner


def _message(value: dict[str, JsonValue]) -> str:
    for name in (*ERRORS, *MESSAGES, *ANSWERS):
        text = _as_message(value.get(name))
        if text:
            return text
    return ""


def _as_message(value: JsonValue, depth: int = 0) -> str:
    if isinstance(value, str):
        return value if value.strip().lower() not in NOTHING else ""
    if depth > 3:
        return ""
    if isinstance(value, list):
        return next((text for item in value[:5] if (text := _as_message(item, depth + 1))), "")
    if isinstance(value, dict):
        for name in (*MESSAGES, "error", "text", "type"):
            if text := _as_message(value.get(name), depth + 1):
                return text
        return next((text for item in list(value.values())[:5] if (text := _as_message(item, depth + 1))), "")
    return ""


def _output(value: dict[str, JsonValue]) -> str:
    parts = [value.get(name) for name in ("stderr", "error", "output", "stdout", "message", "text")]
    return "\n".join(part for part in parts if isinstance(part, str) and part.strip())


def _code_class(value: dict[str, JsonValue]) -> str | None:
    places = [value]
    error = value.get("error")
    if isinstance(error, dict):
        places.insert(0, error)
    elif isinstance(error, str) and (found := class_of_code(error)):
        return found
    for place in places:
        for name in (*CODES, "name", "type"):
            if found := class_of_code(place.get(name)):
                return found
    return None
