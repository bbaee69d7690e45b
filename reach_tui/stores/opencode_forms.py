"""What opencode's parts and messages look like where they are only counted: types that keep no more than that asks for.

Each is decoded once. What fits none of these is read by `opencode_parts`, as `steps` reads it.
"""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import Annotated, Any, Literal

import msgspec

from reach_tui.stores.opencode_parts import KNOWN, SILENT


class _State(msgspec.Struct, gc=False):
    status: str | None = None
    input: dict[str, Any] | None = None
    output: str | None = None
    error: str | None = None
    metadata: dict[str, Any] | None = None
    attachments: list[Any] | None = None
    time: dict[str, Any] | None = None


class ToolPart(msgspec.Struct, gc=False):
    """Any call whose fields have the right types."""

    type: str
    tool: str
    state: _State
    callID: str | None = None
    metadata: dict[str, Any] | None = None


decode_call = msgspec.json.Decoder(ToolPart).decode


class _Facts(msgspec.Struct, gc=False):
    """Metadata of a plain call: an exit status, and nothing else that tells how it ended."""

    exit: int | None = None
    exitCode: int | None = None
    exit_code: None = None
    timed_out: None = None
    interrupted: None = None
    notice: None = None


class _OuterFacts(msgspec.Struct, gc=False):
    """The part's own metadata, where the state's come first."""

    exit: None = None
    exitCode: None = None
    exit_code: None = None
    timed_out: None = None
    interrupted: None = None
    notice: None = None


class _PlainState(msgspec.Struct, gc=False):
    status: Literal["completed"]
    input: Annotated[dict[str, Any], msgspec.Meta(min_length=1)]
    output: str
    metadata: _Facts | None = None


class PlainPart(msgspec.Struct, gc=False, tag_field="type", tag="tool"):
    """A call that the store holds for a success, and that nothing odd is kept of."""

    tool: Annotated[str, msgspec.Meta(min_length=1)]
    state: _PlainState
    callID: str | None = None
    metadata: _OuterFacts | None = None


def _mute(kind: str) -> type[msgspec.Struct]:
    """A part of that kind, of which nothing is kept."""
    return msgspec.defstruct("_Mute", [], tag_field="type", tag=kind, gc=False)


class _Words(msgspec.Struct, gc=False):
    """What a person typed."""

    type: Literal["text"]
    text: str
    synthetic: None = None


class _Silent(msgspec.Struct, gc=False):
    """A message that says nothing about its calls."""

    role: Literal["assistant"]
    error: None = None


_Part: Any = reduce(or_, [PlainPart, *map(_mute, sorted((KNOWN | SILENT) - {"tool"}))])
decode_part = msgspec.json.Decoder(_Part).decode
decode_words = msgspec.json.Decoder(_Words).decode
decode_silent = msgspec.json.Decoder(_Silent).decode
UNREAD = (msgspec.DecodeError, UnicodeError, RecursionError)
"""What decoding raises for bytes that do not fit."""
