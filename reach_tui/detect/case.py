"""One call being judged: what its rules may look at, each worked out only when it is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from reach_tui.base.jsonio import JsonValue
from reach_tui.detect import command as commands
from reach_tui.detect.matcher import Hit, Matcher, Window
from reach_tui.detect.pages import Shown
from reach_tui.detect.rules import Rule, When
from reach_tui.detect.wrappers import Body
from reach_tui.model import ToolCall

STRONG = 0.9
"""A text rule of at least this confidence stands, whatever exit status or envelope say."""
_FLAGS = {True: "true", False: "false", None: "unset"}


@dataclass
class Case:
    """A call with its result's text, the tool's own part of it, and the window on that."""

    call: ToolCall
    text: str
    body: Body
    view: Window
    matcher: Matcher
    nature: str
    page: Shown | None = None
    """The page that a browsing tool shows in its frame."""
    fields: dict[str, str] = field(default_factory=dict)

    @cached_property
    def command(self) -> str:
        """The shell command or code, empty if there is none."""
        return commands.command_of(self.call.arguments)

    @cached_property
    def displays(self) -> bool:
        """The command merely shows something."""
        return commands.displays(self.command)

    @cached_property
    def exit_code(self) -> int | None:
        """What the store or a mark in the text says."""
        for name in ("exit_code", "exit", "exitCode"):
            code = self.call.metadata.get(name)
            if isinstance(code, int) and not isinstance(code, bool):
                return code
        return self.body.exit_code

    @property
    def own_text(self) -> str:
        """The text without its wrapper."""
        return self.text[self.body.start : self.body.end]

    def find(self, *, in_json: bool = False) -> Hit | None:
        """The first strong rule that matches and whose conditions hold, else the first of the weaker ones.

        With `in_json` only rules that are meant for JSON too are asked.
        """
        weaker: Hit | None = None
        for rule in self.matcher.hits(self.view):
            if (weaker is not None and rule.confidence < STRONG) or rule.in_json < in_json:
                continue
            if self.holds(rule.when) and (hit := self._locate(rule)):
                if rule.confidence >= STRONG or rule.verdict == "check_reported":
                    return hit
                weaker = weaker or hit
        return weaker

    def _locate(self, rule: Rule) -> Hit | None:
        for start, end, fields in self.matcher.spans(rule, self.view):
            if rule.where == "edge" and not self._at_edge(rule, start, end):
                continue
            named = rule.when.own_program or (rule.when.names_program and self.displays)
            if named and not self._own_message(start, end):
                continue
            return Hit(rule, self.view.original(start), max(self.view.original(start), self.view.original(end)), fields)
        return None

    def _at_edge(self, rule: Rule, start: int, end: int) -> bool:
        lines = [line for line in self.view.text.split("\n") if line.strip()]
        before = sum(1 for line in self.view.text[:start].split("\n") if line.strip())
        after = sum(1 for line in self.view.text[end:].split("\n")[1:] if line.strip())
        if before < 3 or after < 5:
            return True
        return sum(1 for _ in self.matcher.spans(rule, self.view)) * 5 >= len(lines)

    def _own_message(self, start: int, end: int) -> bool:
        word = self.view.text[start:end].strip().split(":", 1)[0].split(" ", 1)[0]
        return commands.names_program(self.command, word)

    def holds(self, when: When) -> bool:
        """True if every condition holds."""
        call = self.call
        if when.flag is not None and when.flag != _FLAGS[call.flagged]:
            return False
        if when.max_chars is not None and self.body.end - self.body.start > when.max_chars:
            return False
        if when.max_lines is not None and self.text.count("\n", self.body.start, self.body.end) >= when.max_lines:
            return False
        if when.displays is not None and when.displays != self.displays:
            return False
        if when.status is not None and not self.matcher.contains(when.status, call.status or ""):
            return False
        if when.tool is not None and not self.matcher.contains(when.tool, call.tool):
            return False
        if when.not_tool is not None and self.matcher.contains(when.not_tool, call.tool):
            return False
        return self._holds_command(when) and self._holds_values(when)

    def _holds_command(self, when: When) -> bool:
        if when.command is not None and not self.matcher.contains(when.command, self.command):
            return False
        return when.not_command is None or not self.matcher.contains(when.not_command, self.command)

    def _holds_values(self, when: When) -> bool:
        for name, wanted in when.metadata.items():
            value = self.exit_code if name == "exit_code" else self.call.metadata.get(name)  # the text may state it
            if not self._value(wanted, value):
                return False
        if not when.arguments:
            return True
        arguments = self.call.arguments if isinstance(self.call.arguments, Mapping) else {}
        return all(self._value(wanted, arguments.get(name)) for name, wanted in when.arguments.items())

    def _value(self, wanted: str, value: JsonValue) -> bool:
        match wanted:
            case "missing":
                return value is None
            case "present":
                return value is not None
            case "empty":
                return isinstance(value, str) and not value.strip()
            case "no_regex":
                return isinstance(value, str) and not self.matcher.parses(value)
            case "true" | "false":
                return value is (wanted == "true")
        return isinstance(value, str | int | float) and self.matcher.contains(wanted[1:], str(value))
