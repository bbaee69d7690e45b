"""Text from a trace reaches terminals, files and browsers as text: no escape, no markup, no script."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tests.cli.conftest import HOSTILE, Run

CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


@pytest.mark.parametrize("command", [["calls"], ["sessions"], ["stores"], ["calls", "--failed"]], ids=" ".join)
def test_tables_are_clean(reach: Run, hostile: Path, command: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "400")
    ran = reach(*command, hostile)
    assert ran.code == 0
    assert not CONTROLS.search(ran.out)
    if command != ["stores"]:
        assert "[bold red]x[/foo]" in ran.out, "markup is text"
        assert len(ran.out.splitlines()) == 2, "one row a record, whatever breaks its text holds"


@pytest.mark.parametrize("form", ["--json", "--jsonl"])
def test_json_is_whole_and_obeyed_by_no_terminal(reach: Run, hostile: Path, form: str) -> None:
    out = reach("calls", hostile, form).out
    assert not CONTROLS.search(out)
    value = json.loads(out)
    record = value[0] if isinstance(value, list) else value
    assert record["call_key"] == f"ses_h/{HOSTILE}"
    assert record["arguments"] == {"x": HOSTILE, HOSTILE: ["<script>alert(1)</script>"]}


def test_a_hostile_call_can_be_labelled(reach: Run, hostile: Path, tmp_path: Path) -> None:
    labels = ["--labels", tmp_path / "l.db"]
    note = "lone \udcb2 surrogate"
    ran = reach("label", hostile, f"ses_h/{HOSTILE}", "stale_context", "--note", note, "--by", HOSTILE, *labels)
    assert ran.code == 0, ran.err
    assert not CONTROLS.search(ran.out)
    (listed,) = json.loads(reach("labels", "list", hostile, "--json", *labels).out)
    assert listed["note"] == "lone \ufffd surrogate"
    for form in ("jsonl", "csv"):
        assert "lone \ufffd surrogate" in reach("labels", "export", hostile, "--format", form, *labels).out
    assert not CONTROLS.search(reach("labels", "list", hostile, *labels).out)


def test_markdown_keeps_the_trace_in_its_fences(reach: Run, hostile: Path) -> None:
    out = reach("export", hostile, "--session", "ses_h", "--format", "md").out
    assert not CONTROLS.search(out)
    outside = unfenced(out)
    assert "# not a heading" in out
    assert "# not a heading" not in outside
    assert "<script>" not in re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)", "", outside)


def unfenced(markdown: str) -> str:
    """The lines outside fenced blocks, as CommonMark closes them; every fence must be closed."""
    outside: list[str] = []
    fence: str | None = None
    for line in markdown.splitlines():
        opening = re.match(r"(`{3,})[a-z]*$", line)
        if fence is None and opening:
            fence = opening[1]
        elif fence is not None and re.fullmatch(r"`+", line) and len(line) >= len(fence):
            fence = None
        elif fence is None:
            outside.append(line)
    assert fence is None
    return "\n".join(outside)


class Tags(HTMLParser):
    """The tags and the text a browser would see."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        assert not any(name.startswith("on") for name, _ in attrs)

    def handle_data(self, data: str) -> None:
        self.text += data


def test_html_shows_the_traces_markup_as_text(reach: Run, hostile: Path) -> None:
    out = reach("export", hostile, "--session", "ses_h", "--format", "html").out
    page = Tags()
    page.feed(out)
    assert not {"script", "img", "link", "iframe", "a"} & set(page.tags)
    assert page.text.count("<script>alert(1)</script>") >= 2
    assert "http://" not in out
    assert "https://" not in out
    assert not CONTROLS.search(out)
    assert "prefers-color-scheme: dark" in out
