"""LangGraph's serialised state (store notes on langgraph): msgpack with extension types, decoded without objects.

An extension becomes a `Built`: the name of its class and what it was made of. Pickle is never loaded.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

import msgspec

from reach_tui.base.jsonio import BadJson, JsonValue, as_object, as_text, loads, shallow
from reach_tui.base.text import scrub_surrogates
from reach_tui.stores.content import size_text

_CONSTRUCTED = {0: "argument", 1: "arguments", 2: "fields", 3: "argument", 4: "fields", 5: "fields"}
"""Extension codes of `JsonPlusSerializer`: what stands third in `[module, class, …]`."""
_ROLES = {
    "HumanMessage": "human", "AIMessage": "ai", "ToolMessage": "tool", "SystemMessage": "system",
    "FunctionMessage": "function", "ChatMessage": "chat", "RemoveMessage": "remove",
}  # fmt: skip
_FAULTS = (msgspec.MsgspecError, RecursionError, TypeError, ValueError, OverflowError)


class Unreadable(ValueError):
    """A value that cannot be read, or must not be."""


@dataclass(frozen=True, slots=True)
class Built:
    """An object of the program: its class and what it was built from, nothing of it executed."""

    name: str
    value: object


@dataclass(frozen=True, slots=True)
class Message:
    """A LangChain message."""

    role: str
    """human, ai, tool, system, function, chat, remove, or whatever the program says."""
    fields: dict[str, JsonValue]

    @property
    def id(self) -> str:
        """The message's id, empty if it has none."""
        return as_text(self.fields.get("id")) or ""


class Decoder:
    """Decodes the values of one thread; messages repeat in every checkpoint, and are decoded once."""

    def __init__(self) -> None:
        self._known: dict[bytes, Built] = {}
        self._messages: dict[int, tuple[Built, Message | None]] = {}
        self._msgpack = msgspec.msgpack.Decoder(ext_hook=self._extension)

    def decode(self, kind: object, raw: object) -> object:
        """The value of a column pair `type`, `value`. Raises `Unreadable`."""
        if kind in (None, "null", "empty"):
            return None
        if not isinstance(raw, bytes):
            raw = raw.encode("utf-8", "replace") if isinstance(raw, str) else b""
        if kind in ("bytes", "bytearray"):
            return raw
        if kind == "json":
            try:
                return loads(raw)
            except BadJson as fault:
                raise Unreadable(f"no JSON: {fault}") from None
        if kind != "msgpack":
            raise Unreadable(f"stored as {scrub_surrogates(str(kind))[:40]}, which is not read")
        try:
            return self._msgpack.decode(raw)
        except _FAULTS as fault:
            raise Unreadable(f"no msgpack: {fault or type(fault).__name__}") from None

    def messages_in(self, value: object) -> list[Message]:
        """The messages of a channel's value: one, or a list with at least one message in it."""
        items = value if isinstance(value, list | tuple) else [value]
        found = []
        for item in items:
            if not isinstance(item, Built):
                message = as_message(item)
            elif id(item) in self._messages:  # safe: what is kept below lives as long as the decoder
                message = self._messages[id(item)][1]
            else:
                message = as_message(item)
                self._messages[id(item)] = item, message
            if message is not None:
                found.append(message)
        return found

    def _extension(self, code: int, data: memoryview) -> object:
        raw = bytes(data)
        key = raw + code.to_bytes(2, "big", signed=True)
        if (known := self._known.get(key)) is not None:
            return known
        built = self._built(code, raw)
        self._known[key] = built
        return built

    def _built(self, code: int, raw: bytes) -> Built:
        if code not in _CONSTRUCTED:
            return Built(f"extension {code}", raw)
        value = self._msgpack.decode(raw)
        if not isinstance(value, list) or len(value) < 3:
            return Built(f"extension {code}", plain(value))
        return Built(scrub_surrogates(str(value[1])), value[2])


def plain(value: object, depth: int = 60) -> JsonValue:
    """A decoded value as JSON: objects by their content with `__class__`, bytes by their size."""
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, str):
        return scrub_surrogates(value)
    if depth == 0:
        return "[nested too deeply to be shown]"
    if isinstance(value, Built):
        inner = plain(value.value, depth - 1)
        return {"__class__": value.name, **(inner if isinstance(inner, dict) else {"value": inner})}
    if isinstance(value, Mapping):
        return {scrub_surrogates(str(key)): plain(item, depth - 1) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(item, depth - 1) for item in value]
    if isinstance(value, bytes | bytearray | memoryview):
        return f"[{size_text(len(value))} of bytes]"
    return value.isoformat() if isinstance(value, datetime) else scrub_surrogates(str(value))


def as_message(value: object) -> Message | None:
    """A message in one of its stored forms: a built object, LangChain's `constructor` JSON, or a plain dictionary."""
    if isinstance(value, Built):
        fields = plain(value.value) if isinstance(value.value, Mapping) else None
        name = value.name
    else:
        fields = shallow(value) if isinstance(value, dict) else None
        name = ""
        if isinstance(fields, dict) and fields.get("type") == "constructor":
            path = fields.get("id")
            name = as_text(path[-1]) or "" if isinstance(path, list) and path else ""
            fields = as_object(fields.get("kwargs"))
    if not isinstance(fields, dict) or "content" not in fields:
        return None
    role = _ROLES.get(name.removesuffix("Chunk")) or as_text(fields.get("type") or fields.get("role"))
    if role is None or not (name or "id" in fields or role in _ROLES.values()):
        return None
    return Message({"user": "human", "assistant": "ai"}.get(role, role), fields)


def sends(value: object) -> list[str]:
    """Ids of the calls that the `Send("tools", [call])` of `__pregel_tasks` carry, by place; empty for others."""
    found = []
    for item in value if isinstance(value, list) else []:
        parts = plain(item.value if isinstance(item, Built) else item)
        found.append(_call_id(parts))
    return found


def _call_id(value: JsonValue) -> str:
    """The id of the one tool call inside the arguments of a `Send`."""
    waiting = [value]
    while waiting:
        one = waiting.pop(0)
        if isinstance(one, list):
            waiting += one
        elif isinstance(one, dict):
            if "name" in one and "args" in one and (found := as_text(one.get("id"))):
                return found
            waiting += [item for item in one.values() if isinstance(item, dict | list)]
    return ""
