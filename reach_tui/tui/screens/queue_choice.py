"""Choosing a labelling queue: one that is begun, or a new one of some kind."""

from __future__ import annotations

from textual import work

from reach_tui.base.errors import ReachError
from reach_tui.base.text import one_line
from reach_tui.tui.screens.base import FramedScreen
from reach_tui.tui.screens.dialogs import Choice, PickDialog
from reach_tui.workspace.queueing import DISPUTES, WRONG_RULES, described, queue_records

_NEW = (
    ("hidden", "new: hidden errors", "nearest to doubt first, every tool in its turn, a fifth of random controls"),
    ("failed", "new: failures", "the same, of all failures, whether the store says so or not"),
    ("soft", "new: soft signals", "calls that look suspicious without proof"),
    ("all", "new: any calls", "drawn at random from everything: how much is missed"),
    (DISPUTES, "people disagree", "calls that two people labelled differently; your label settles them"),
    (WRONG_RULES, "rule and person disagree", "labelled calls where the verdict says otherwise, rule by rule"),
)
_DIGITS = "1234567890"
_BEGUN = 4


class ChoosesQueues(FramedScreen):
    """`L` where a queue can be chosen."""

    def action_choose_queue(self) -> None:
        """Choose a queue: those with something left first."""
        self._list_queues()

    @work(thread=True, group="queues", description="queues", exclusive=True, exit_on_error=False)
    def _list_queues(self) -> None:
        first = self.reach.sessions_screen
        sources = list(first.sources) if first is not None else []
        choices: list[Choice] = []
        try:
            for record in queue_records(self.reach.workspace, sources):
                done, total = record["done"], record["total"]
                if done != total and len(choices) < _BEGUN:
                    recipe = record["recipe"]
                    text = f"{done} of {total} · {described(recipe) if isinstance(recipe, dict) else ''}"
                    name = one_line(str(record["name"]))
                    choices.append(Choice(_DIGITS[len(choices)], str(record["id"]), name, text))
        except ReachError as error:
            self.app.call_from_thread(self.reach.say, error.line(), severity="error")
        choices += [Choice(_DIGITS[len(choices) + n], what, name, text) for n, (what, name, text) in enumerate(_NEW)]
        self.app.call_from_thread(self._choose, choices)

    def _choose(self, choices: list[Choice]) -> None:
        if self.app.screen is self:
            self.app.push_screen(PickDialog("labelling queue", choices), self._chosen)

    def _chosen(self, what: str | None) -> None:
        if what is not None:
            self.reach.open_queue(what)
