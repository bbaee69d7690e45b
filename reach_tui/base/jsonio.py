"""JSON in and out, for values that other programs wrote and we must survive."""

from __future__ import annotations

import json
from math import isfinite
from typing import TypeAlias, cast

import msgspec

from reach_tui.base.text import scrub_surrogates

JsonValue: TypeAlias = "bool | int | float | str | list[JsonValue] | dict[str, JsonValue] | None"

_decoder = msgspec.json.Decoder()
_TRAILING = "trailing characters"


class BadJson(ValueError):
    """Bytes that are not JSON, or nested too deeply to be read."""


def loads(raw: bytes | str) -> JsonValue:
    """The JSON value in `raw`. Invalid UTF-8 and lone surrogates become U+FFFD.

    Raises `BadJson` where it is no JSON, or deeper than the interpreter's recursion allows.
    """
    try:
        return _decoder.decode(raw)  # type: ignore[no-any-return]
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        if _TRAILING in str(error):  # after a value that is sound: nobody reads that
            raise BadJson(str(error)) from error
    text = raw.decode("utf-8", "replace") if isinstance(raw, bytes) else raw
    try:
        return _scrubbed(json.loads(text, strict=False))
    except (ValueError, RecursionError) as error:
        raise BadJson(str(error) or type(error).__name__) from error


def _scrubbed(value: JsonValue) -> JsonValue:
    if isinstance(value, str):
        return scrub_surrogates(value)
    if isinstance(value, list):
        return [_scrubbed(item) for item in value]
    if isinstance(value, dict):
        return {scrub_surrogates(key): _scrubbed(item) for key, item in value.items()}
    if isinstance(value, float) and not isfinite(value):  # NaN and the infinities have no place in JSON
        return None
    return value


def dumps(value: object, *, indent: int | None = None) -> str:
    """Compact (or indented) JSON text, non-ASCII as it is, lone surrogates replaced, keys in the order given."""
    separators = (",", ":") if indent is None else None
    try:
        text = json.dumps(value, ensure_ascii=False, indent=indent, separators=separators, allow_nan=False)
    except ValueError:
        text = json.dumps(_scrubbed(cast("JsonValue", value)), ensure_ascii=False, indent=indent, separators=separators)
    return scrub_surrogates(text)


def encode_fast(value: object) -> str:
    """`dumps` at a third of its time, for records that are printed, not hashed: floats may be spelled otherwise."""
    try:
        return msgspec.json.encode(value).decode()
    except (UnicodeError, RecursionError, TypeError, OverflowError):  # lone surrogates, depth, integers beyond 64 bits
        return dumps(value)


DEEPEST = 200


def shallow(value: JsonValue, levels: int = DEEPEST) -> JsonValue:
    """`value` with what is nested deeper than `levels` replaced by a mark, so that any code may walk it."""
    if levels == 0 and isinstance(value, list | dict):
        return f"[cut: nested deeper than {DEEPEST} levels]"
    if isinstance(value, list):
        return [shallow(item, levels - 1) for item in value]
    if isinstance(value, dict):
        return {key: shallow(item, levels - 1) for key, item in value.items()}
    return value


def as_object(value: JsonValue) -> dict[str, JsonValue]:
    """`value` if it is a JSON object, else an empty one."""
    return value if isinstance(value, dict) else {}


def as_text(value: JsonValue) -> str | None:
    """`value` if it is a string, else None."""
    return value if isinstance(value, str) else None


def as_int(value: JsonValue) -> int | None:
    """`value` as a whole number if it is one (true and false are not), else None."""
    if isinstance(value, bool):
        return None
    if isinstance(value, float):
        return int(value) if value == value and abs(value) < 2**63 else None
    return value if isinstance(value, int) else None
