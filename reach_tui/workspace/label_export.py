"""Labelled rows as they leave the machine: redacted, with what was left out stated in each row, one type a field."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from reach_tui.base.jsonio import JsonValue, dumps
from reach_tui.export.redact import Redactor
from reach_tui.labels.exchange import Labelled, event_record, label_record
from reach_tui.labels.log import LogRow
from reach_tui.workspace.records import Record

_ANY_TYPE = frozenset(["arguments", "value"])
"""Fields of a call or slot that hold any JSON: written as its text, since readers of training data want one type."""


@dataclass(slots=True)
class Exporter:
    """Turns labelled calls into rows. `redacted`: what was replaced in all of them."""

    redact: bool = True
    """Secrets, and people's home folders in paths."""
    redacted: dict[str, int] = field(default_factory=dict)

    def rows(self, labelled: Iterable[Labelled]) -> Iterator[Record]:
        """One row a label: `label`, `call`, `context`, `omissions`."""
        for one in labelled:
            clean, omissions = self.cleaned(one)
            yield {
                "label": label_record(clean.label),
                "call": None if clean.call is None else _one_type(dict(clean.call)),
                "context": [_one_type(dict(step)) for step in clean.context],
                "omissions": omissions,
            }

    def cleaned(self, one: Labelled) -> tuple[Labelled, list[JsonValue]]:
        """A labelled call without secrets, and what was replaced: `{"kind", "count"}` each."""
        if not self.redact:
            return one, []
        redactor = Redactor(personal=True)
        call = None if one.call is None else dict(one.call)
        context = [dict(step) for step in one.context]
        redactor.learn([*([call] if call else []), *context])
        note = redactor.text(one.label.note)
        clean = Labelled(
            replace(one.label, note=note),
            None if call is None else redactor.call(call),
            [redactor.call(step) for step in context],
        )
        for kind, count in redactor.counts.items():
            self.redacted[kind] = self.redacted.get(kind, 0) + count
        return clean, [{"kind": kind, "count": count} for kind, count in sorted(redactor.counts.items())]

    def event(self, row: LogRow) -> Record:
        """A row of the log, its note without secrets; what was replaced under `omissions`."""
        clean, omissions = self.cleaned(Labelled(row.label))
        return {**event_record(replace(row, label=clean.label)), "omissions": omissions}

    def case(self, case: Record) -> Record:
        """A regression case without secrets."""
        if not self.redact:
            return case
        redactor = Redactor(personal=True)
        redactor.learn(case)
        clean = {key: redactor.value(value) if key in ("utterance", "intent", "parameters") else value
                 for key, value in case.items()}  # fmt: skip
        for kind, count in redactor.counts.items():
            self.redacted[kind] = self.redacted.get(kind, 0) + count
        return clean

    def words(self) -> str:
        """What was replaced in all rows, in one sentence; empty if nothing was."""
        if not self.redacted:
            return ""
        return "redacted: " + ", ".join(f"{count} {kind}" for kind, count in sorted(self.redacted.items()))


def _one_type(record: Record) -> Record:
    """The record with every field of any type as JSON text, at any depth."""
    shown: Record = {}
    for key, value in record.items():
        if key in _ANY_TYPE:
            shown[key] = None if value is None else dumps(value)
        elif isinstance(value, dict):
            shown[key] = _one_type(value)
        elif isinstance(value, list):
            shown[key] = [_one_type(item) if isinstance(item, dict) else item for item in value]
        else:
            shown[key] = value
    return shown
