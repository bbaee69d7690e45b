"""Content hashes: what a label was given for, so that a changed row is noticed."""

from __future__ import annotations

from reach_tui.base.jsonio import JsonValue, dumps


def content_hash(tool: str, arguments: JsonValue, result: str | None) -> str:
    """`sha256:` and 32 hex digits over the tool's name, its arguments with sorted keys, and the result's text."""
    import hashlib  # with it a millisecond and a half of start-up
    import json

    body = dumps([tool, json.dumps(arguments, sort_keys=True, ensure_ascii=True), result])
    return "sha256:" + hashlib.sha256(body.encode("utf-8", "replace")).hexdigest()[:32]
