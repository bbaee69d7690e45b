"""Parts as Gemini's interface has them, which Gemini CLI and its relatives keep: text, thoughts, function responses."""

from __future__ import annotations

import re

from reach_tui.base.jsonio import JsonValue, as_object, as_text
from reach_tui.stores.content import json_text, size_text

_EXIT = re.compile(r"^Exit Code: (-?\d+)\s*$", re.MULTILINE)


def parts_of(content: JsonValue) -> list[JsonValue]:
    """Content as a list of parts; a string is one."""
    return content if isinstance(content, list) else [] if content is None else [content]


def part_text(part: JsonValue) -> str:
    """The text of a part; a file by its kind and size; nothing for calls and responses."""
    if not isinstance(part, dict):
        return json_text(part)
    if "functionCall" in part or "functionResponse" in part:
        return ""
    for name in ("inlineData", "fileData"):
        if data := as_object(part.get(name)):
            body, where = as_text(data.get("data")), as_text(data.get("fileUri")) or ""
            size = size_text(len(body) * 3 // 4) if body else where
            return f"[{json_text(data.get('mimeType')) or 'file'} {size}]"
    text = part.get("text")
    return text if isinstance(text, str) else json_text(part)


def parts_text(content: JsonValue) -> str:
    """The text of all parts."""
    return "".join(part_text(part) for part in parts_of(content))


def response_of(part: JsonValue) -> tuple[str, bool] | None:
    """Text of a part's function response, and whether it is an error; None for another part."""
    wrapper = as_object(part).get("functionResponse")
    if not isinstance(wrapper, dict):
        return None
    response = wrapper.get("response")
    fields = as_object(response)
    for name in ("error", "output"):
        if name in fields:
            return json_text(fields[name]), name == "error"
    return json_text(response), False


def shell_facts(text: str) -> dict[str, JsonValue]:
    """The exit code that the shell tool writes into its text, which is kept nowhere else."""
    found = _EXIT.findall(text)
    return {"exit_code": int(found[-1][:9])} if found else {}
