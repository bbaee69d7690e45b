"""The report's four forms: the contract's keys, plain text, safe Markdown and HTML."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Any

import pytest

from reach_tui.analyze.tally import Tally, of_session
from reach_tui.model import Session, Verdict
from reach_tui.report import html, markdown, text
from reach_tui.report.build import build
from reach_tui.report.compare import compare
from reach_tui.report.jsonout import record
from reach_tui.report.model import Report, Scope, StoreScope
from tests.analyze.kit import bad, call, missed, ok
from tests.report.conftest import as_json

EVIL = "\x1b]52;c;aGk=\x07\x1b[2J|<script>alert(1)</script>[x](javascript:1)`\u202e\n# head **b**"


def made(*pairs: Any, path: str = "a.db", **more: Any) -> Report:
    """A report on one session by hand."""
    tally = of_session(Session("peri", "s", started_at=1_780_000_000_000), pairs) if pairs else Tally()
    fields = {
        "stores": (StoreScope("peri", path, 1, len(pairs)),), "scope": "roots", "tools": (), "since": None,
        "until": None, "sessions": 1, "calls": len(pairs), "first": 1_780_000_000_000, "last": 1_780_500_000_000,
        "rules_version": "r1", "taxonomy": "t 1", "tool_version": "0", **more,
    }  # fmt: skip
    return build(tally, Scope(**fields))


def test_json_has_the_contracts_keys(small: tuple[Report, dict[str, Any]]) -> None:
    answer = as_json(small[0])
    contract = {"scope", "tools", "stale_edits", "guards", "attribution", "success_path", "health"}
    assert contract <= answer.keys()
    tool = {
        "tool", "calls", "results", "flagged", "hidden", "failed", "soft", "unknown", "rate_flagged", "rate_failed",
        "interval", "classes", "avoidable",
    }  # fmt: skip
    for row in answer["tools"]:
        assert tool <= row.keys()
        assert row["avoidable"].keys() == {"count", "of", "share", "by"}
        for one in row["classes"]:
            assert {"category", "subcategory", "rule", "count", "share"} <= one.keys()
            assert 0 < one["share"] <= 1
        if row["rate_failed"] is not None:
            assert 0 <= row["interval"][0] <= row["rate_failed"] <= row["interval"][1] <= 1
    assert {"not_found", "stale", "share"} <= answer["stale_edits"].keys()
    assert answer["guards"].keys() == {"error_metric", "consecutive", "analyzer"}
    assert answer["guards"]["error_metric"].keys() == answer["guards"]["analyzer"].keys() == {"by_flag", "by_truth"}
    rows = [(row["rule"], row["after"]) for row in answer["guards"]["consecutive"]]
    assert rows == [(rule, after) for rule in ("same_error", "any_error") for after in (3, 5, 10)]
    assert all(
        row.keys() == {"after", "by_flag", "by_truth", "rule", "where"} for row in answer["guards"]["consecutive"]
    )
    assert all(row.keys() == {"cause", "count", "share"} for row in answer["attribution"])
    assert all({"tool", "hidden", "example_call_key"} <= row.keys() for row in answer["success_path"])
    assert all(row.keys() == {"what", "count"} for row in answer["health"])


def test_nothing_to_count_is_null_and_not_nought() -> None:
    answer = record(made())
    assert answer["tools"] == []
    assert answer["total"]["rate_failed"] is None
    assert answer["total"]["interval"] is None
    assert answer["stale_edits"]["share"] is None
    assert [row["share"] for row in answer["attribution"]] == [None] * 4
    for form in (text, markdown, html):
        assert "three guards" in form.render(made()).lower()


def test_text_is_laid_out_like_the_sketch(small: tuple[Report, dict[str, Any]]) -> None:
    lines = text.render(small[0], width=140).splitlines()
    assert lines[0].startswith("schema_3.db · ")
    assert set(lines[1]) == {"─"}
    assert len(lines[1]) == 140
    head = next(line for line in lines if line.startswith("Edit "))
    assert re.search(r"Edit +70 +0 +0 % +70 +18 +25\.71 % [▓▒]+ +old string not found 13 \(8 stale\)", head)
    assert any(re.match(r"three guards +error metric \d+ → \d+ +correction after 5: 1 → 3 times", one) for one in lines)
    assert any(line.startswith("fix first ") for line in lines)
    assert all(len(line) <= 140 for line in lines[: lines.index("")])


def test_a_rate_says_what_it_is_of() -> None:
    pairs = [*(bad("Bash", n) for n in range(7)), (call("Bash", 8, None), Verdict(None, 0.0))]
    report = made(*pairs)
    assert (report.tools[0].counts.calls, report.tools[0].counts.ended, report.tools[0].counts.failed) == (8, 7, 7)
    head, row = text.render(report).splitlines()[2:4]
    assert re.fullmatch(r"tool +calls +by flag +ended  in truth, of ended +classes", head)
    assert re.match(r"Bash +8 +0 +0 % +7 +7 100\.00 % ", row)
    assert row[head.index("ended") + 4] == row[head.index("in truth") + 5] == "7"  # right below their names
    assert row[head.index("classes") :] == "error 7"
    assert "| Bash | 8 | 0 | 0 % | 7 | 7 | 100.00 % |" in markdown.render(report)
    assert "| calls | by flag |  | ended | in truth |" in markdown.render(report)
    page = html.render(report)
    assert "<th class=n>ended</th><th class=n>in truth</th><th class=n>rate</th>" in page
    assert "<td class=n>7</td><td class=n>7</td><td class=n>100.00 %</td>" in page
    for form in (markdown, html):
        assert "In truth: of the ended calls." in form.render(report)


def test_one_is_not_told_in_the_plural() -> None:
    assert text.render(made(bad("Edit", 1))).splitlines()[0].endswith(" · 1 root session · 1 call")
    many = made(bad("Edit", 1), ok("Edit", 2), sessions=2, scope="all")
    assert text.render(many).splitlines()[0].endswith(" · 2 sessions · 2 calls")


def test_bars_show_something_for_everything_above_nought() -> None:
    assert text.bar(0, 1) == ""
    assert text.bar(0.0001, 1) == "▒"
    assert text.bar(1, 0.2) == "▓▓▓▓▓▓"
    assert text.bar(0.05, 0.1) == "▓▓▓"


class Tags(HTMLParser):
    """What a browser would make of it."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}


@pytest.mark.parametrize("form", ["text", "markdown", "html"])
def test_hostile_names_stay_text(form: str) -> None:
    pairs = [bad(EVIL, n, text=f"Error: {EVIL}", rule=f"x.{EVIL}", flagged=n == 1) for n in range(4)]
    report = made(*pairs, missed(f"/w/{EVIL}", 9), path=EVIL, tools=(EVIL,))
    other = made(*[ok(EVIL, n) for n in range(3)], path="b.db")
    both = compare(record(other), record(report))
    module = {"text": text, "markdown": markdown, "html": html}[form]
    written = module.render(report, both)
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", written)
    if form == "html":
        seen = Tags()
        seen.feed(written)
        assert "script" not in seen.tags
        assert not any(name.startswith("on") or name in ("href", "src") for name in seen.attributes)
        assert "default-src 'none'" in written
        assert "prefers-color-scheme: dark" in written
        assert "<svg" in written
    if form == "markdown":
        assert "<script" not in written
        assert "[x](" not in written
        rows = [line for line in written.splitlines() if line.startswith("| ")]
        assert all(len(re.findall(r"(?<!\\)\|", line)) >= 3 for line in rows)


def test_wide_characters_keep_the_columns(small: tuple[Report, dict[str, Any]]) -> None:
    from rich.cells import cell_len

    lines = text.render(made(bad("查询退款", 1), ok("Read", 2))).splitlines()
    rows = [line for line in lines if line.startswith(("查询退款", "Read ")) and "%" in line][:2]
    assert len({cell_len(line[: line.index("%")]) for line in rows}) == 1


def test_classes_of_the_same_words_are_told_once() -> None:
    other = {"category": "context_gap", "rule": "shell.git"}
    pairs = [*(bad("bash", n, rule="shell.git") for n in range(3)), bad("bash", 4, rule="shell.node")]
    report = made(*pairs, *(bad("bash", n, **other) for n in range(5, 7)))
    assert len(report.tools[0].classes) == 3
    for form in (text, markdown, html):
        assert "git 5 · node 1" in form.render(report)


def test_every_form_of_a_comparison_names_what_was_before() -> None:
    report, other = made(bad("Edit", 1)), made(ok("Edit", 1), path="older.db")
    both = compare(record(other), record(report))
    for form in (text, markdown, html):
        assert "efore: older.db · 2026-05-28 – 2026-06-03 · 1 session · 1 call" in form.render(report, both)
        assert "efore: " not in form.render(report)


def test_a_long_tool_name_that_is_cut_says_so() -> None:
    lines = text.render(made(ok("mcp__orderdesk.find_order_by_reference", 1), ok("mcp__orderdesk.find_order", 2)))
    assert "mcp__orderdesk.find_order_b…" in lines
    assert "mcp__orderdesk.find_order  " in lines


def test_html_names_its_colours_and_its_guards() -> None:
    page = html.render(made(bad("Bash", flagged=True)))
    assert '<span class="hidden">■</span> hidden failures, <span class="flagged">■</span> flagged ones' in page
    assert "<p>Three guards: error metric 1 → 1" in page
    assert "td:first-child { overflow-wrap: break-word; }" in page  # a tool's name is not broken in two


def test_secrets_in_evidence_are_redacted() -> None:
    key = "sk-ant-" + "a1B2c3D4" * 6
    report = made(bad("Bash", text=f"Error: bad key {key}"))
    assert report.success_path[0].evidence.startswith("Error: bad key [redacted")
    assert key not in html.render(report)
