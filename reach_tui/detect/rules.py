"""Detector rules as data: what a rule, a family and a set of rules are. `rule_files` reads them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

NATURES = ("content", "log", "answer", "edit")
"""What results are: content (a file, a page, a report), log (a program's output), answer (a service's), edit."""
PLACES = ("start", "line", "edge", "last", "anywhere", "whole", "arguments")
"""Where a rule looks; see `Rule.where`."""
VERDICTS = ("failed", "ok", "soft", "check_reported", "class")


@dataclass(frozen=True, slots=True)
class When:
    """Conditions beside the text. Every one that is given must hold."""

    flag: str | None = None
    """`true`, `false` or `unset`: what the store recorded."""
    status: str | None = None
    """Pattern for the store's own word for the call's state."""
    tool: str | None = None
    """Pattern that the tool's name must contain."""
    not_tool: str | None = None
    """Pattern that it must not contain."""
    arguments: Mapping[str, str] = field(default_factory=dict)
    """Argument to `missing`, `present`, `empty`, `true`, `false`, `no_regex` (does not parse), or `~` and a pattern."""
    metadata: Mapping[str, str] = field(default_factory=dict)
    """The same for metadata."""
    command: str | None = None
    """Pattern that the shell command must contain."""
    not_command: str | None = None
    """Pattern that it must not contain."""
    displays: bool | None = None
    """Whether the command merely shows files, matches or history (cat, grep, git log …)."""
    max_chars: int | None = None
    """The result is no longer than this."""
    max_lines: int | None = None
    names_program: bool = False
    """Where the command merely shows something: the line's first word must be a program of the command."""
    own_program: bool = False
    """The same, whatever the command does."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule: if the text matches and the conditions hold, this is the verdict."""

    id: str
    explain: str
    """One sentence a colleague could read aloud."""
    where: str
    """start (of the result) · line (any line begins with it) · edge (the same, but one of the first three or last five
    lines, or a fifth of all) · last (the last line begins with it) · anywhere · whole (the whole text) · arguments (no
    text is looked at, `when` decides)."""
    match: str
    """RE2 syntax, case is ignored unless `case`."""
    verdict: str
    category: str | None = None
    subcategory: str | None = None
    confidence: float = 0.9
    unless: str | None = None
    """If the line of the hit matches this, it is no hit."""
    when: When = When()
    case: bool = False
    in_json: bool = False
    """Asked also where the result is a JSON envelope, whose words are else data."""
    family: str = ""
    """The family or pack it stands in."""
    source: str = ""
    """File the rule stands in: the name of a shipped one, the path of a person's own."""

    @property
    def pattern(self) -> str:
        """The pattern with its place and flags, as RE2 compiles it."""
        body = f"(?:{self.match})"
        lead = r"[ \t]*(?:\x1b\[[0-9;]*m)*"
        anchored = {
            "start": rf"\A\s*(?:\x1b\[[0-9;]*m)*{body}",
            "line": rf"^{lead}{body}",
            "edge": rf"^{lead}{body}",
            "last": rf"^{lead}{body}[^\n]*\s*\z",
            "whole": rf"\A\s*{body}\s*\z",
        }
        return ("(?m)" if self.case else "(?im)") + anchored.get(self.where, body)


@dataclass(frozen=True, slots=True)
class Family:
    """The tools of one kind and their rules, in the order they are asked."""

    id: str
    title: str
    nature: str
    tools: tuple[str, ...]
    """Names and shell-style patterns, lower case."""
    argument_names: tuple[str, ...]
    """A tool of unknown name with one of these arguments belongs here."""
    rules: tuple[Rule, ...]


@dataclass(frozen=True, slots=True)
class RuleSet:
    """All families and the rules that find the class of a message already known to be a failure."""

    families: tuple[Family, ...]
    classes: tuple[Rule, ...]
    version: str
    """Hash of the rule files: verdicts cached under another version are stale."""

    def rule(self, rule_id: str) -> Rule | None:
        """The rule of that id, None if there is none (structural checks have ids of their own)."""
        pools: Iterable[tuple[Rule, ...]] = (*(family.rules for family in self.families), self.classes)
        return next((rule for pool in pools for rule in pool if rule.id == rule_id), None)
