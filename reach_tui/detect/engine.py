"""The detector engine: did a call do what it was asked? Structure first, then the family's rules, then the flag."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

from reach_tui.base.jsonio import JsonValue
from reach_tui.detect import acting, checks, contradictions, envelope, pages, verdicts
from reach_tui.detect.case import STRONG, Case
from reach_tui.detect.codes import class_of_exit
from reach_tui.detect.desks import EDIT, FALLBACK, SHELL, Desk, Desks
from reach_tui.detect.matcher import Hit, Matcher, evidence_span, window
from reach_tui.detect.quick import FINE, FINE_CONTENT
from reach_tui.detect.rule_files import load
from reach_tui.detect.rules import RuleSet
from reach_tui.detect.wrappers import Body, unwrap
from reach_tui.model import Evidence, Glance, ToolCall, Verdict

RULES = Path(__file__).with_name("rules")
"""The rule files shipped with the package."""

_SHORT = 4000  # characters of an unknown tool's answer that may be read as a known one's
_BEGINNING = 200
_REST = 700  # characters of a long message that still tell its class
_UNANSWERED = Verdict(None, 0.0)


class Engine:
    """Judges calls, one by one, from call and result alone. Pure: the same call always gets the same verdict."""

    def __init__(self, rules: RuleSet) -> None:
        self.rules = rules
        self.desks = Desks(rules.families)
        self._classes = Matcher(rules.classes, exact=True)
        browsing = next((family.rules for family in rules.families if family.id == pages.BROWSING), ())
        self._of_page = Matcher(tuple(rule for rule in browsing if rule.family == pages.PACK))
        self._of_frame = Matcher(tuple(rule for rule in browsing if rule.family != pages.PACK))

    @property
    def version(self) -> str:
        """Hash of the rules: verdicts cached under another version are stale."""
        return self.rules.version

    def judge(self, call: Glance) -> Verdict:
        """The verdict on one call; the whole of it is looked at only if it is not plainly fine."""
        if call.plain:
            desk = self.desks.by_tool.get(call.tool) or self.desks.of(call.tool, call.arguments)
            quick = desk.quick
            if quick is not None and (verdict := quick.fine(call)):
                return verdict
        return self._judge(call.whole())

    def judge_all(self, calls: Sequence[Glance]) -> list[Verdict]:
        """The verdicts on some calls in order, found tool by tool: so rules stay in the processor's cache."""
        by_tool: dict[str, list[int]] = {}
        for number, call in enumerate(calls):
            if (numbers := by_tool.get(call.tool)) is None:
                numbers = by_tool[call.tool] = []
            numbers.append(number)
        found = [FINE] * len(calls)
        for tool, numbers in by_tool.items():
            desk = self.desks.by_tool.get(tool)
            quick = None if desk is None else desk.quick
            if quick is None:
                for number in numbers:
                    found[number] = self.judge(calls[number])
                continue
            fine = quick.fine
            for number in numbers:
                call = calls[number]
                found[number] = (fine(call) if call.plain else None) or self._judge(call.whole())
        return found

    def _judge(self, call: ToolCall) -> Verdict:
        desk = self.desks.of(call.tool, call.arguments)
        result = call.result
        text = result.text if result is not None else ""
        body = unwrap(text, desk.nature == "log") if text else Body(0, 0)
        view = window(text, body.start, body.end, desk.nature)
        page = pages.shown(text, body.start, body.end) if desk.family.id == pages.BROWSING else None
        case = Case(call, text, body, view, self._of_frame if page else desk.matcher, desk.nature, page=page)
        if desk.argument_rules and (verdict := self._by_arguments(case, desk)):
            return verdict
        if result is None:
            return self._unanswered(case)
        return self._judge_text(case)

    # -- the order of judgement

    def _by_arguments(self, case: Case, desk: Desk) -> Verdict | None:
        for rule in desk.argument_rules:
            if case.holds(rule.when):
                span = checks.argument_evidence(case.call.arguments, rule.when.arguments)
                return verdicts.verdict(
                    rule.verdict, rule.confidence, (rule.category, rule.subcategory), rule.id, span, rule.explain
                )
        return None

    def _unanswered(self, case: Case) -> Verdict:
        call = case.call
        if found := checks.cut_short(call):
            return verdicts.failed(found.confidence, found.category, found.rule, found.evidence, found.explanation)
        if call.flagged is True:
            return verdicts.failed(
                0.9,
                None,
                "flag.error",
                verdicts.status_evidence(call),
                "The store says the call failed; it kept no text.",
            )
        return _UNANSWERED

    def _judge_text(self, case: Case) -> Verdict:
        call = case.call
        value = self._parsed(case)
        # Words inside JSON are data, unless its envelope says that they are the answer.
        words_count = value is None or case.nature == "log"
        asked = case.view.text and (words_count or case.matcher.asks_json)
        hit = case.find(in_json=not words_count) if asked else None
        if hit and hit.rule.verdict == "failed" and hit.rule.confidence >= STRONG:
            return self._by_hit(case, hit)
        if hit and hit.rule.verdict == "check_reported" and not _debatable(case):
            return self._by_hit(case, hit)
        if call.metadata and (verdict := self._by_metadata(case)):
            return verdict
        if case.body.timed_out:
            return self._message_verdict(
                case, "shell.timed_out", "The command was cut at its time limit.", "timeout_or_limit/timeout", 0.95
            )
        if case.nature == "log" and (verdict := self._by_exit(case, hit)):
            return verdict
        for found in (envelope.examine(value), acting.refusal(case.call, value)) if value is not None else ():
            if found and (verdict := self._by_envelope(case, found)):
                return verdict
        if case.body.failed:
            return self._by_wrapper(case, hit)
        if hit and hit.rule.verdict == "failed":
            if case.nature == "log" and checks.reports_findings(case.command, case.own_text):
                return _reported(case, hit)
            return self._by_hit(case, hit)
        return self._last_word(case, hit, value)

    def _last_word(self, case: Case, hit: Hit | None, value: JsonValue) -> Verdict:
        if case.call.flagged is True:
            return self._by_flag(case, hit)
        if hit:
            return self._by_hit(case, hit)
        if (
            value is None
            and case.matcher is self.desks.by_id[FALLBACK].matcher
            and (verdict := self._as_known_tool(case))
        ):
            return verdict
        desk = self.desks.of(case.call.tool, case.call.arguments)
        if case.page and (verdict := self._by_page(case, case.page)):
            return verdict
        found = contradictions.find(
            desk.family.id, case.call.tool, case.call.arguments, case.text, case.body.start, value
        )
        return found.verdict if found else self._quiet(case)

    def _by_page(self, case: Case, page: pages.Shown) -> Verdict | None:
        """What a page says inside a browser's frame is judged by the rules for pages."""
        if not page.tells or page.start >= page.end:
            return None
        view = window(case.text, page.start, page.end, case.nature)
        body = Body(page.start, page.end)
        inner = Case(case.call, case.text, body, view, self._of_page, case.nature)
        if hit := inner.find():
            return self._by_hit(inner, hit)
        found = pages.complaint(inner.own_text)
        return self._by_envelope(case, found) if found else None

    def _as_known_tool(self, case: Case) -> Verdict | None:
        """A tool nobody knows may be a shell or an editor by another name: its short answer begins as theirs do."""
        if case.body.end - case.body.start > _SHORT:
            return None
        for name in (SHELL, EDIT):
            if (desk := self.desks.by_id.get(name)) is None:
                continue
            other = replace(case, matcher=desk.matcher, nature=desk.nature)
            hit = other.find()
            if (
                hit
                and hit.rule.verdict == "failed"
                and hit.rule.confidence >= STRONG
                and hit.start - case.body.start <= _BEGINNING
            ):
                return self._by_hit(other, hit)
        return None

    def _quiet(self, case: Case) -> Verdict:
        call = case.call
        if call.flagged is None and (found := checks.cut_short(call)):
            return verdicts.failed(found.confidence, found.category, found.rule, found.evidence, found.explanation)
        if call.metadata.get("interrupted") is True:
            evidence = Evidence("interrupted", 0, 11, "metadata")
            return Verdict(
                None,
                0.5,
                "timeout_or_limit",
                "cancelled",
                "store.interrupted",
                evidence,
                "It was interrupted without a word.",
            )
        if case.body.start > 0 and not case.own_text.strip() and case.nature == "content":
            words = "The frame of an answer came back with nothing in it."
            return Verdict(None, 0.5, "upstream_error", "bad_response", "store.empty_frame", None, words)
        return FINE_CONTENT if case.nature == "content" else FINE

    # -- one way each

    def _by_hit(self, case: Case, hit: Hit) -> Verdict:
        rule = hit.rule
        start, end = evidence_span(case.text, hit.start, hit.end)
        category: verdicts.Class = (rule.category, rule.subcategory)
        if rule.verdict == "ok":
            if case.call.flagged is not True:
                return Verdict(False, rule.confidence, *category, rule.id, None, hit.explanation)
            return Verdict(
                False,
                rule.confidence,
                "not_a_failure",
                "false_flag",
                rule.id,
                verdicts.span(case.text, start, end),
                hit.explanation,
            )
        if rule.verdict == "failed" and category == (None, None):
            category, shown = self._class_at(case, hit.start)
            start, end = shown or (start, end)
        return verdicts.verdict(
            rule.verdict, rule.confidence, category, rule.id, verdicts.span(case.text, start, end), hit.explanation
        )

    def _class_at(self, case: Case, position: int) -> tuple[verdicts.Class, tuple[int, int] | None]:
        message_start, message_end = checks.message_span(case.text, case.body.start, position, case.body.end)
        found = self._class_of(case.text[message_start : message_end + _REST])
        if found == (None, None):
            found = self._class_of(checks.closing_message(case.own_text))
        return found, checks.exception_span(case.text, position, case.body.end)

    def _class_of(self, message: str) -> verdicts.Class:
        """The class of a message already known to be a failure; (None, None) where no rule knows it."""
        view = window(message, 0, len(message), "answer")
        for rule in self._classes.hits(view):
            if not rule.unless or next(self._classes.spans(rule, view), None):
                return rule.category, rule.subcategory
        return None, None

    def _by_metadata(self, case: Case) -> Verdict | None:
        call = case.call
        if call.metadata.get("timed_out") is True:
            mark = Evidence("timed_out", 0, 9, "metadata")
            return verdicts.failed(
                0.97, "timeout_or_limit/timeout", "store.timed_out", mark, "The store says it ran out of time."
            )
        notice = call.metadata.get("notice")
        if isinstance(notice, str) and notice:
            view = window(notice, 0, len(notice), "log")
            inner = Case(call, notice, Body(0, len(notice)), view, case.matcher, case.nature)
            if (hit := inner.find()) and hit.rule.verdict == "failed":
                verdict = self._by_hit(inner, hit)
                found = verdict.evidence
                return replace(verdict, evidence=found and replace(found, where="metadata"))
        return None

    def _by_exit(self, case: Case, hit: Hit | None) -> Verdict | None:
        code = case.exit_code
        if code is None or code == 0:
            return None
        outcome = checks.outcome_of_exit(case, code)
        evidence = self._exit_evidence(case, code)
        if outcome.verdict != "failed":
            flagged = case.call.flagged is True and outcome.verdict == "ok"
            category: verdicts.Class = ("not_a_failure", "false_flag" if flagged else outcome.subcategory)
            if outcome.verdict == "soft":
                category = self._exit_class(case, code, hit)
            return verdicts.verdict(
                outcome.verdict, outcome.confidence, category, outcome.rule, evidence, outcome.explanation
            )
        if hit and hit.rule.verdict == "failed":
            return self._by_hit(case, hit)
        return verdicts.verdict(
            "failed", 0.9, self._exit_class(case, code, hit), outcome.rule, evidence, outcome.explanation
        )

    def _exit_class(self, case: Case, code: int, hit: Hit | None) -> verdicts.Class:
        if hit and hit.rule.category and hit.rule.verdict == "failed":
            return hit.rule.category, hit.rule.subcategory
        if code in (124, 137, 139, 143) and (known := class_of_exit(code)):
            return verdicts.split(known)
        category = self._class_of(checks.closing_message(case.own_text))
        if category == (None, None) and (known := class_of_exit(code)):
            return verdicts.split(known)
        return category if category != (None, None) else ("upstream_error", "tool_crash")

    def _exit_evidence(self, case: Case, code: int) -> Evidence:
        if case.body.exit_span and case.body.exit_code == code:
            return verdicts.span(case.text, *evidence_span(case.text, *case.body.exit_span))
        return Evidence(f"exit status {code}", 0, len(f"exit status {code}"), "metadata")

    def _parsed(self, case: Case) -> JsonValue:
        """The result as a JSON value, None where it is none or where JSON is the content that was asked for."""
        start = case.body.start
        if case.text[start : start + 60].lstrip()[:1] not in ("{", "[") or not checks.may_be_envelope(case):
            return None
        return envelope.parse(case.own_text)

    def _by_envelope(self, case: Case, found: envelope.Finding) -> Verdict | None:
        if found.inner:
            return self._by_inner_text(case, found)
        if found.false_flag:
            if case.call.flagged is not True:
                return None
            return Verdict(
                False, 0.8, "not_a_failure", "false_flag", found.rule, None, "An error word stands beside good data."
            )
        if found.exit_code is not None:
            return self._by_inner_exit(case, found)
        category = verdicts.split(found.category)
        by_words = self._class_of(found.message)
        if category[1] is None and by_words != (None, None):
            category = by_words
        if category == (None, None):
            category = ("upstream_error", "bad_response")
        evidence = checks.find_message(case.text, found.message, case.body.start)
        return verdicts.verdict(
            "failed", found.confidence, category, found.rule, evidence, checks.ENVELOPE_WORDS[found.rule]
        )

    def _by_inner_exit(self, case: Case, found: envelope.Finding) -> Verdict | None:
        code = found.exit_code or 0
        outcome = checks.outcome_of_exit(case, code, found.message)
        category: verdicts.Class = ("not_a_failure", outcome.subcategory)
        if outcome.verdict in ("failed", "soft"):
            by_words = self._class_of(checks.closing_message(found.message))
            category = (
                by_words
                if by_words != (None, None)
                else verdicts.split(class_of_exit(code) or "upstream_error/tool_crash")
            )
        evidence = checks.find_message(case.text, str(code), case.body.start)
        return verdicts.verdict(
            outcome.verdict, outcome.confidence, category, outcome.rule, evidence, outcome.explanation
        )

    def _by_inner_text(self, case: Case, found: envelope.Finding) -> Verdict | None:
        """The text inside an envelope that itself says nothing bad is judged by the same rules."""
        message = found.message
        body = unwrap(message, case.nature == "log")
        view = window(message, body.start, body.end, case.nature)
        inner = Case(case.call, message, body, view, case.matcher, case.nature)
        hit = inner.find()
        if hit is None or hit.rule.verdict == "ok" or (found.praised and hit.rule.confidence <= STRONG):
            return None
        if acting.echoes(case.call.arguments, message):
            return None
        category = (hit.rule.category, hit.rule.subcategory)
        if category == (None, None):
            category, _ = self._class_at(inner, hit.start)
        start, end = evidence_span(message, hit.start, hit.end)
        evidence = checks.find_message(case.text, message[start:end], case.body.start)
        return verdicts.verdict(hit.rule.verdict, hit.rule.confidence, category, hit.rule.id, evidence, hit.explanation)

    def _by_wrapper(self, case: Case, hit: Hit | None) -> Verdict:
        if hit and hit.rule.verdict == "failed":
            return self._by_hit(case, hit)
        words = "The harness wraps the text as a failed call."
        return self._message_verdict(case, str(case.body.failed), words, None, 0.93)

    def _by_flag(self, case: Case, hit: Hit | None) -> Verdict:
        knows_better = hit and (hit.rule.verdict == "check_reported" or hit.rule.category == "not_a_failure")
        if hit and knows_better:
            return self._by_hit(case, hit)
        return self._message_verdict(case, "flag.error", "The store itself says the call failed.", None, 0.95)

    def _message_verdict(self, case: Case, rule: str, words: str, category: str | None, confidence: float) -> Verdict:
        known = verdicts.split(category) if category else self._class_of(case.own_text)
        if known == (None, None):
            known = ("upstream_error", "tool_crash") if case.nature == "log" else ("invalid_parameter", None)
        start, end = checks.telling_line(case.text, case.body.start, case.body.end)
        evidence = verdicts.span(case.text, start, end) if end > start else verdicts.status_evidence(case.call)
        return verdicts.verdict("failed", confidence, known, rule, evidence, words)


def _reported(case: Case, hit: Hit) -> Verdict:
    start, end = evidence_span(case.text, hit.start, hit.end)
    words = "A check ran and reported findings."
    return verdicts.verdict(
        "check_reported", 0.8, (None, None), "shell.check_reported", verdicts.span(case.text, start, end), words
    )


def _debatable(case: Case) -> bool:
    """An error status that the harness writes into the text without counting it: soft, whatever the text says."""
    return case.body.weak_mark and bool(case.exit_code) and case.call.flagged is not True


@cache
def default_engine() -> Engine:
    """The engine with the shipped rules; read and compiled on first use."""
    return Engine(load(RULES, trusted=(RULES,)))
