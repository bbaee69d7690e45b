"""What several stores share: message content as text, and the running numbers of a session's steps."""

from __future__ import annotations

from reach_tui.base.jsonio import JsonValue, as_object, as_text, dumps
from reach_tui.model import Result, Step, StepKind, ToolCall
from reach_tui.stores.reader import Trouble

_HANDLED_ELSEWHERE = {"tool_use", "tool_result", "reasoning", "thinking", "toolCall", "tool"}
_OPAQUE = {"responses_native_history"}
_ATTACHED = {
    "image", "document", "file", "audio", "video", "image_url", "input_image", "input_file", "input_audio",
}  # fmt: skip


def json_text(value: JsonValue) -> str:
    """A value as text: strings as they are, everything else as compact JSON; empty for None."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    try:
        return dumps(value)
    except (RecursionError, ValueError):
        return "[nested too deeply to be shown]"


def result_of(text: str) -> Result:
    """The text as a `Result` with its size in UTF-8."""
    return Result(text, len(text) if text.isascii() else len(text.encode("utf-8", "replace")))


def size_text(count: int) -> str:
    """`48 kB`: a size in bytes for people."""
    return f"{count} B" if count < 1000 else f"{count / 1000:.0f} kB" if count < 1_000_000 else f"{count / 1e6:.1f} MB"


def attachment_text(block: dict[str, JsonValue]) -> str:
    """`[image 48 kB]` for an image, document or file block: base64 never reaches the screen."""
    kind = as_text(block.get("type")) or "file"
    source = as_object(block.get("source")) or as_object(block.get("image_url")) or block
    name = as_text(block.get("title")) or as_text(block.get("filename")) or ""
    url = as_text(source.get("url")) or as_text(source.get("uri")) or ""
    data = as_text(source.get("data")) or (url.partition(",")[2] if url.startswith("data:") else "")
    where = size_text(len(data) * 3 // 4) if data else "" if url.startswith("data:") else url
    return "[" + " ".join(part for part in (kind, name, where) if part) + "]"


def content_text(content: JsonValue) -> str:
    """The text of a message's content: a string, or a list of blocks joined without a separator."""
    if not isinstance(content, list):
        return json_text(content)
    return "".join(_block_text(block) for block in content)


def _block_text(block: JsonValue) -> str:
    if not isinstance(block, dict):
        return json_text(block)
    kind = as_text(block.get("type"))
    if kind in _HANDLED_ELSEWHERE:
        return ""
    if kind in _OPAQUE:
        return f"[{kind}]"
    if kind in _ATTACHED:
        return attachment_text(block)
    text = block.get("text")
    return text if isinstance(text, str) else json_text(block)


def first_line(content: JsonValue) -> str | None:
    """The first line that says something, at most 80 characters: a title for a session that has none of its own."""
    line = next((line.strip() for line in content_text(content).splitlines() if line.strip()), "")
    return (line if len(line) <= 80 else line[:79] + "…") or None


class Narrator:
    """Numbers the steps of one session, and collects what could not be read."""

    def __init__(self, session_id: str) -> None:
        self.session_id = session_id
        self.number = 0
        self.turn = 0
        self.troubles: list[Trouble] = []

    def step(
        self, kind: StepKind, text: str, at: int | None = None, *, visible: bool = True, inherited: bool = False
    ) -> Step:
        """The next step, not a call."""
        self.number += 1
        return Step(self.number, self.turn, kind, text, at, visible=visible, inherited=inherited)

    def call(self, call: ToolCall) -> Step:
        """The next step for a call made with `step=number + 1`."""
        self.number += 1
        return Step(self.number, self.turn, StepKind.CALL, at=call.started_at, call=call, visible=call.visible)

    def trouble(self, what: str, where: str) -> None:
        """Remember something that could not be read as it should."""
        self.troubles.append(Trouble(what, where, self.session_id))
