"""Diagnosing sessions: their stories for the symptom table, and the findings as records."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from reach_tui.analyze.story import Story, Told
from reach_tui.analyze.symptoms import Table, diagnose
from reach_tui.analyze.symptoms.model import Finding
from reach_tui.model import Session
from reach_tui.workspace.judged import JudgedStep
from reach_tui.workspace.records import Record
from reach_tui.workspace.sources import Source
from reach_tui.workspace.workspace import Workspace

if TYPE_CHECKING:
    from reach_tui.reach.spec import Registry

_WRITES = re.compile(
    r"(?:^|[_.\-/:])(?:create|send|submit|pay|transfer|refund|book|place|issue|post|notify|charge|purchase|buy)"
    r"(?=_(?!(?:\w*_)?(?:file|files|dir|directory|folder|todo|todos|task|plan|note|diff|branch)s?$))"
)
"""Names of tools that change something outside, where no registry says: `create_refund`, never `create_file`."""


def unsafe_tools(names: Iterable[str], registry: Registry | None) -> frozenset[str]:
    """Tools that write and may not be sent twice: by the registry where it knows them, else by their names."""
    found = set()
    for name in names:
        spec = registry.get(name) if registry is not None else None
        if spec is not None:
            if spec.side_effect != "read" and not spec.idempotent:
                found.add(name)
        elif _WRITES.search(name):
            found.add(name)
    return frozenset(found)


def stories(
    workspace: Workspace, source: Source, session_id: str | None = None, registry: Registry | None = None
) -> Iterator[Story]:
    """The sessions of a source (or one of them), judged, with what a symptom needs. Raises `StoreError`."""
    for session in source.reader.sessions():
        if session.copy_of is not None or session_id not in (None, session.id):
            continue
        told = [
            Told(one.step, one.judged.verdict if one.judged else None)
            for one in workspace.judged_steps(source, session.id)
        ]
        yield Story(session, told, unsafe_tools({one.step.call.tool for one in told if one.step.call}, registry))


def diagnosed(
    workspace: Workspace, sources: Iterable[Source], session_id: str | None = None, registry: Registry | None = None
) -> tuple[Finding, ...]:
    """The symptom table over all sessions of these sources, or over one session. Raises `StoreError`."""
    return diagnose(story for source in sources for story in stories(workspace, source, session_id, registry))


def diagnosed_steps(session: Session, steps: Iterable[JudgedStep]) -> tuple[Finding, ...]:
    """The symptom table over one session whose steps have been read already."""
    told = [Told(one.step, one.judged.verdict if one.judged else None) for one in steps]
    return diagnose([Story(session, told, unsafe_tools({one.step.call.tool for one in told if one.step.call}, None))])


class Diagnosis:
    """The symptom table over several sources, session by session, so that it can be watched and stopped."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._table = Table()
        self.homes: dict[str, Source] = {}
        """The source of each session, by its id; the first one where two have the same."""

    def take(self, source: Source) -> Iterator[str]:
        """Take in a source; gives the id of each session. Raises `StoreError`."""
        for story in stories(self._workspace, source):
            self._table.add(story)
            self.homes.setdefault(story.session.id, source)
            yield story.session.id

    def findings(self) -> tuple[Finding, ...]:
        """The table over everything taken in so far."""
        return self._table.findings()


def finding_record(finding: Finding) -> Record:
    """A symptom as the `diagnose` command prints it."""
    return {
        "symptom": finding.symptom.id,
        "title": finding.symptom.title,
        "found": finding.found,
        "cause": finding.symptom.cause,
        "action": finding.symptom.action,
        "evidence": [
            {"session_id": one.session_id, "step": one.step, "call_key": one.call_key, "words": one.words}
            for one in finding.evidence
        ],
    }
