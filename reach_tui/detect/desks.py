"""Which family's rules a call is judged by: by the tool's name, else by the names of its arguments."""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase

from reach_tui.base.jsonio import JsonValue
from reach_tui.detect import checks, pages
from reach_tui.detect.matcher import Matcher
from reach_tui.detect.quick import Quick
from reach_tui.detect.rules import Family

FALLBACK = "any"
SHELL = "shell"
EDIT = "edit"
_FETCH = "fetch"  # of a page, if the arguments name one; else of a mail, a row, whatever the server has
_KEPT = 10_000  # tools


class Desk:
    """A family's rules, ready to be asked."""

    __slots__ = ("argument_rules", "family", "matcher", "nature", "quick")

    def __init__(self, family: Family) -> None:
        self.family = family
        self.nature = family.nature
        self.matcher = Matcher(family.rules)
        self.argument_rules = tuple(rule for rule in family.rules if rule.where == "arguments")
        self.quick = Quick(family, self.matcher) if family.id != FALLBACK else None


class Desks:
    """The families, and which of them each tool belongs to."""

    def __init__(self, families: Iterable[Family]) -> None:
        self.by_id = {family.id: Desk(family) for family in families}
        self.by_tool: dict[str, Desk | None] = {}
        """Tools asked for before; None: it depends on the arguments."""

    def of(self, tool: str, arguments: JsonValue) -> Desk:
        """The rules for a call."""
        if tool not in self.by_tool:
            if len(self.by_tool) > _KEPT:
                self.by_tool.clear()
            self.by_tool[tool] = self._by_name(tool)
        return self.by_tool[tool] or self._by_arguments(tool, arguments)

    def _by_name(self, tool: str) -> Desk | None:
        names = checks.tool_names(tool)
        if _FETCH in names:
            return None
        for name in names:
            for desk in self.by_id.values():
                if name in desk.family.tools:
                    return desk
        for name in names:
            for desk in self.by_id.values():
                if any(fnmatchcase(name, pattern) for pattern in desk.family.tools):
                    return desk
        return None

    def _by_arguments(self, tool: str, arguments: JsonValue) -> Desk:
        if tool.lower().endswith(_FETCH) and pages.names_address(arguments) and pages.BROWSING in self.by_id:
            return self.by_id[pages.BROWSING]
        if isinstance(arguments, dict):
            action = arguments.get("action")
            if isinstance(action, str) and action.startswith(tool) and SHELL in self.by_id:  # SWE-agent: a command line
                return self.by_id[SHELL]
            for desk in self.by_id.values():
                if any(isinstance(arguments.get(name), str) for name in desk.family.argument_names):
                    return desk
        return self.by_id[FALLBACK]
