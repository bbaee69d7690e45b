"""Labels of one trace: finding the call, listing what is in force with its surroundings, taking in exported ones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from reach_tui.base.errors import LabelError
from reach_tui.base.hashing import content_hash
from reach_tui.labels.events import events, take_events
from reach_tui.labels.exchange import Labelled, cut, label_record
from reach_tui.labels.log import LogRow
from reach_tui.model import Label
from reach_tui.workspace.codebooks import Folding
from reach_tui.workspace.judged import JudgedCall, JudgedStep
from reach_tui.workspace.records import Record, call_record, step_record
from reach_tui.workspace.sources import Source
from reach_tui.workspace.workspace import Workspace

CONTEXT = 3
"""Steps before and after a labelled call that an export carries."""
_CONTEXT_TEXT = 4_000  # characters of a text or result in the context


def find_call(workspace: Workspace, source: Source, key: str) -> JudgedCall | None:
    """The call of that key with its verdict, None if the trace has none. Raises `StoreError`."""
    session_id = next((call.session_id for call in source.reader.calls() if call.key == key), None)
    if session_id is None:
        return None
    return next((one for one in workspace.judged_calls(source, [session_id]) if one.call.key == key), None)


def labels_in(workspace: Workspace, source: Source, *, cleared: bool = False) -> list[Label]:
    """The labels in force for a trace's sessions, by session, call and person; `cleared` adds those taken away."""
    sessions = {session.id for session in source.reader.sessions()}
    labels = workspace.label_store(source).all_in_force(source.kind, cleared=cleared)
    mine = [label for label in labels if label.session_id in sessions]
    return sorted(mine, key=lambda label: (label.session_id, label.call_key or "", label.by))


def labelled(workspace: Workspace, source: Source, context: int = CONTEXT) -> Iterator[Labelled]:
    """The labels in force for a trace, each with its call's record and the steps around it. Raises `StoreError`."""
    for session_id, group in groupby(labels_in(workspace, source), key=lambda label: label.session_id):
        steps = list(workspace.judged_steps(source, session_id))
        places = {one.judged.call.key: index for index, one in enumerate(steps) if one.judged}
        for label in group:
            index = places.get(label.call_key) if label.call_key else None
            if index is None:
                yield Labelled(label)
                continue
            judged = steps[index].judged
            around = [*steps[max(0, index - context) : index], *steps[index + 1 : index + 1 + context]]
            record = call_record(source, judged) if judged else None
            yield Labelled(label, record, [_context(source, one) for one in around])


def _context(source: Source, judged: JudgedStep) -> Record:
    record = step_record(judged)
    record["text"] = cut(judged.step.text, _CONTEXT_TEXT)
    if judged.judged is not None:
        result = judged.judged.call.result
        shown = cut(result.text, _CONTEXT_TEXT) if result else None
        record["call"] = {**call_record(source, judged.judged), "result": shown, "route": None, "slots": None}
    return record


def list_record(source: Source, one: Labelled, folding: Folding) -> Record:
    """A label in force, its trace, what became of its call since (same, changed or gone), and its class of today."""
    label, call = one.label, one.call
    if label.call_key is None:
        target = "same"
    elif call is None:
        target = "gone"
    else:
        now = content_hash(str(call["tool"]), call["arguments"], call["result"])
        target = "same" if label.content_hash in (None, now) else "changed"
    return {
        "path": source.file_of(label.session_id),
        "tool": call["tool"] if call else None,
        "target": target,
        "current": folding.fold(label).path if label.category else None,
        "codebook": folding.fold(label).state,
        **label_record(label),
    }


@dataclass(slots=True)
class TakenIn:
    """What became of labels from a file."""

    new: int = 0
    known: int = 0
    """They were here already."""
    elsewhere: int = 0
    """They are for sessions that none of the traces has."""


def take_in(
    workspace: Workspace, sources: Iterable[Source], labels: Iterable[Label], log: Iterable[LogRow] = ()
) -> TakenIn:
    """Merge labels, and rows of whole logs, into the label databases of the traces they are for.

    Raises `LabelError`, `StoreError`.
    """
    taken = TakenIn()
    rest, rows = list(labels), list(log)
    for source in sources:
        sessions = {session.id for session in source.reader.sessions()}

        def mine(label: Label, source: Source = source, sessions: Set[str] = sessions) -> bool:
            return label.store == source.kind and label.session_id in sessions

        chosen, logged = [one for one in rest if mine(one)], [one for one in rows if mine(one.label)]
        rest, rows = [one for one in rest if not mine(one)], [one for one in rows if not mine(one.label)]
        store = workspace.label_store(source)
        new = (store.merge(chosen) if chosen else 0) + (take_events(store, logged) if logged else 0)
        taken.new += new
        taken.known += len(chosen) + len(logged) - new
    taken.elsewhere = len(rest) + len(rows)
    return taken


def log_of(workspace: Workspace, source: Source) -> Iterator[LogRow]:
    """Every row of the label log for a trace's sessions, oldest first. Raises `LabelError`, `StoreError`."""
    sessions = {session.id for session in source.reader.sessions()}
    return events(workspace.label_store(source), source.kind, sessions)


def write_labels_back(workspace: Workspace, source: Source) -> int:
    """Copy the labels in force into the trace database itself; how many. Raises `LabelError`."""
    from reach_tui.labels.write_back import write_back

    if source.access is None:
        what = "transcripts take no labels: they are text files of another program"
        raise LabelError(what, source.path, "`reach-tui labels export` writes them to a file")
    return write_back(Path(source.path), labels_in(workspace, source, cleared=True))
