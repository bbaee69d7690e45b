"""The seed's ten symptoms (spec B17), each found or not over the sessions it is given, with the steps that show it.

Definitions are data (`symptoms.toml`); each has one small class here, named in `DETECTORS`, that takes in one session
at a time and keeps little of it.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from reach_tui.analyze.story import Story
from reach_tui.analyze.symptoms import calls, routes
from reach_tui.analyze.symptoms.model import Detector, Finding, Symptom

_FILE = Path(__file__).with_name("symptoms.toml")
DETECTORS: Mapping[str, Callable[[], Detector]] = {
    "unstable_route": routes.UnstableRoute,
    "undecidable_error": calls.UndecidableError,
    "stops_halfway": calls.StopsHalfway,
    "never_chosen": routes.NeverChosen,
    "malformed_parameters": calls.MalformedParameters,
    "peak_failures": calls.PeakFailures,
    "longer_is_worse": calls.LongerIsWorse,
    "many_clarifications": routes.ManyClarifications,
    "write_repeated": calls.WriteRepeated,
    "one_kind_of_user": calls.OneKindOfUser,
}


def page() -> str:
    """docs/symptoms.md: `python -m reach_tui.analyze.symptoms > docs/symptoms.md`."""
    lines = [_document()["head"]]
    for number, symptom in enumerate(table(), 1):
        lines += [
            f"## {number}. {symptom.title}\n",
            f"`{symptom.id}`. **Probable cause.** {symptom.cause}\n",
            f"**What to do.** {symptom.action}\n",
            f"**Found where:** {symptom.detect}\n",
        ]
    return "\n".join(lines)


@cache
def table() -> tuple[Symptom, ...]:
    """The ten symptoms in the seed's order."""
    return tuple(Symptom(**entry) for entry in _document()["symptom"])


def _document() -> dict[str, Any]:
    return tomllib.loads(_FILE.read_text(encoding="utf-8"))


class Table:
    """The ten detectors side by side, fed one session at a time."""

    def __init__(self) -> None:
        self._detectors = {symptom.id: DETECTORS[symptom.id]() for symptom in table()}

    def add(self, story: Story) -> None:
        """One more session."""
        for detector in self._detectors.values():
            detector.add(story)

    def findings(self) -> tuple[Finding, ...]:
        """Every symptom: found or not, the strongest evidence first; in the table's order."""
        return tuple(Finding(symptom, self._detectors[symptom.id].shown()) for symptom in table())


def diagnose(stories: Iterable[Story]) -> tuple[Finding, ...]:
    """Every symptom over these sessions: found or not, the strongest evidence first; in the table's order."""
    found = Table()
    for story in stories:
        found.add(story)
    return found.findings()
