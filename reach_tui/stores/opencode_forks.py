"""Forks of opencode sessions: copies of messages and parts under new ids, known by their title (notes, section 4)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from reach_tui.base.clock import parse_time
from reach_tui.base.jsonio import as_object, as_text
from reach_tui.base.sqlite import text_of
from reach_tui.model import ToolCall
from reach_tui.stores.content import json_text
from reach_tui.stores.opencode_parts import Part, result_in

FORK = re.compile(r"\A(.*) \(fork #(\d+)\)\Z", re.DOTALL)
"""The title that the program gives to a fork."""


class Originals:
    """The calls of earlier sessions that a fork may have copied, by call id, tool, start and text."""

    def __init__(self) -> None:
        self._keys: dict[int, str] = {}

    def add(self, session_id: str, part: Part) -> None:
        """Remember a tool part; the first one with the same content stays the original."""
        if part.value is not None and part.value.get("type") == "tool":
            state = as_object(part.value.get("state"))
            identity = (
                as_text(part.value.get("callID")) or "",
                json_text(part.value.get("tool")),
                parse_time(as_object(state.get("time")).get("start")),
                result_in(state, as_text(state.get("status"))),
            )
            self._keys.setdefault(hash(identity), f"{session_id}/{part.id}")

    def marked(self, call: ToolCall) -> ToolCall:
        """The call with `copy_of` set, if an earlier session has it."""
        identity = (call.id, call.tool, call.started_at, call.result)
        original = self._keys.get(hash(identity)) if call.id else None
        return replace(call, copy_of=original) if original else call


def family_of(rows: Sequence[dict[str, Any]]) -> dict[tuple[str, str], list[tuple[int, str]]]:
    """Sessions by folder and title, with time and id: where a fork's original is looked up."""
    family: dict[tuple[str, str], list[tuple[int, str]]] = {}
    for row in rows:
        place = (text_of(row["directory"]), text_of(row["title"]))
        family.setdefault(place, []).append((parse_time(row["time_created"]) or 0, text_of(row["id"])))
    return family


def copied_from(row: dict[str, Any], family: dict[tuple[str, str], list[tuple[int, str]]]) -> str | None:
    """The session that a fork was copied from, by folder, title and time; None for a session that is no fork."""
    fork = FORK.match(text_of(row["title"]))
    if not fork:
        return None
    created, folder = parse_time(row["time_created"]) or 0, text_of(row["directory"])
    number = int(fork[2][:9])
    for title in (f"{fork[1]} (fork #{number - 1})", fork[1]):
        earlier = [entry for entry in family.get((folder, title), []) if entry[0] < created]
        if earlier:
            return max(earlier)[1]
    return None
