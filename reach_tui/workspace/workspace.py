"""The façade that both shells use: open stores, judge calls, keep labels."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from reach_tui import __version__
from reach_tui.base.clock import now_ms
from reach_tui.base.errors import StoreError
from reach_tui.base.hashing import content_hash
from reach_tui.base.paths import labels_file
from reach_tui.model import Label, Result, Session, ToolCall
from reach_tui.workspace.judged import JudgedCall, JudgedSession, JudgedStep, SessionCounts
from reach_tui.workspace.opening import Opening
from reach_tui.workspace.settings import Settings
from reach_tui.workspace.sources import Found, Source, open_paths

if TYPE_CHECKING:
    from reach_tui.base.errors import ReachError
    from reach_tui.detect.engine import Engine
    from reach_tui.labels.store import LabelStore
    from reach_tui.taxonomy import Taxonomy
    from reach_tui.workspace.badges import Badges
    from reach_tui.workspace.codebooks import Folding
    from reach_tui.workspace.follow import Follower
    from reach_tui.workspace.inferring import Inference
    from reach_tui.workspace.rules import Detectors


class Workspace:
    """Open trace files, the detectors' rules and the person's labels. Methods may be called from any thread."""

    def __init__(self, paths: Sequence[Path] = (), settings: Settings | None = None, *, by: str | None = None) -> None:
        self.settings = settings or Settings(by="unknown")
        self.by = by or self.settings.by
        self.paths = tuple(paths)
        self._found: Found | None = None
        self._opening: Opening | None = None
        self._lock = threading.Lock()
        self._labels: dict[Path, LabelStore] = {}
        self.badges: Badges | None = None
        """The counts of the newest sessions, if they were started early."""
        self._inferences: dict[Source, Inference] = {}

    @property
    def found(self) -> Found:
        """What the paths hold; opened on first use."""
        if self._found is None:
            self._found = self._opening.found() if self._opening is not None else open_paths(self.paths)
        return self._found

    def opening(self) -> Opening:
        """The paths being opened and listed in a thread; the first call starts it."""
        with self._lock:
            if self._opening is None:
                self._opening = Opening(self.paths)
            return self._opening

    @cached_property
    def detectors(self) -> Detectors:
        """The detectors with the rules in force, and what is wrong with the person's own."""
        from reach_tui.workspace.rules import detectors

        return detectors()

    @property
    def rule_mistakes(self) -> Sequence[ReachError]:
        """What is wrong with the person's own rules; the detectors are not loaded where there are none."""
        from reach_tui.workspace.rules import own_rule_files

        return self.detectors.mistakes if own_rule_files() else ()

    @property
    def engine(self) -> Engine:
        """The detectors with the rules in force."""
        return self.detectors.engine

    def warm_up(self) -> None:
        """Compile every rule (half a second of processor time), so that the first session need not wait for it."""
        engine = self.engine
        for family in engine.rules.families:
            for tool in family.tools[:1]:
                engine.judge(ToolCall("", "", "", tool, {}, False, Result("x", 1)))

    @cached_property
    def taxonomy(self) -> Taxonomy:
        """The codebook this person labels with. Raises `ConfigError` where the one that is set cannot be used."""
        from reach_tui.taxonomy import default

        if not self.settings.taxonomy:
            return default()
        from reach_tui.workspace.codebooks import choose

        return choose(self.settings.taxonomy)

    @cached_property
    def folding(self) -> Folding:
        """What labels' classes are called in the codebooks of today."""
        from reach_tui.workspace.codebooks import Folding

        return Folding(self.taxonomy)

    def judged_steps(self, source: Source, session_id: str) -> Iterator[JudgedStep]:
        """The steps of a session in order, calls with verdict and label. Raises `StoreError`."""
        labels = self.labels_of(source, session_id)
        engine = self.engine
        for step in source.reader.steps(session_id):
            call = step.call
            if call is None:
                yield JudgedStep(step)
            else:
                yield JudgedStep(step, JudgedCall(call, engine.judge(call), labels.get(call.key)))

    def judged_again(self, source: Source, session_id: str, known: Sequence[JudgedStep]) -> Iterator[JudgedStep]:
        """The steps of a session that was read before: calls that are as they were keep verdict and label."""
        before = {one.judged.call.key: one.judged for one in known if one.judged is not None}
        engine = self.engine
        for step in source.reader.steps(session_id):
            call = step.call
            if call is None:
                yield JudgedStep(step)
                continue
            old = before.get(call.key)
            label = old.label if old else None
            yield JudgedStep(step, old if old and old.call == call else JudgedCall(call, engine.judge(call), label))

    def follower(self, source: Source) -> Follower:
        """What tells which sessions of a source changed; for one thread."""
        from reach_tui.workspace.follow import Follower

        return Follower(source)

    def inference(self, source: Source) -> Inference:
        """Routes and slots of a source's calls where it recorded none; made once a source."""
        from reach_tui.workspace.inferring import Inference

        with self._lock:
            if source not in self._inferences:
                self._inferences[source] = Inference(self, source)
            return self._inferences[source]

    def judged_calls(self, source: Source, session_ids: Iterable[str] | None = None) -> Iterator[JudgedCall]:
        """Calls with verdict and label, streamed. Raises `StoreError`."""
        yield from self.judge(source, source.reader.calls(session_ids))

    def judge(self, source: Source, calls: Iterable[ToolCall]) -> Iterator[JudgedCall]:
        """These calls of a source, session by session, with verdict and label."""
        engine = self.engine
        labels: dict[str | None, Label] = {}
        current: str | None = None
        for call in calls:
            if call.session_id != current:
                current = call.session_id
                labels = self.labels_of(source, current)
            yield JudgedCall(call, engine.judge(call), labels.get(call.key))

    def judged_sessions(self, source: Source) -> Iterator[JudgedSession]:
        """Every session with its sums (reads all its steps). Raises `StoreError`."""
        from reach_tui.index.totals import counted
        from reach_tui.index.workers import Workers

        labelled = self.labelled_counts(source)
        sessions = list(source.reader.sessions())
        known: dict[str, SessionCounts] = {}
        broken = False
        with Workers() as digester:
            counts = counted(source.reader, self.engine, sessions, digester)
            for session in sessions:
                try:
                    while not broken and session.id not in known and (one := next(counts, None)) is not None:
                        known[one.session_id] = one
                except StoreError:  # what can be read before it breaks off is told; then the error comes again
                    broken = True
                sums = known.pop(session.id, None) or self.session_counts(source, session.id)
                yield JudgedSession(session, sums, labelled.get(session.id, 0))

    def session_counts(self, source: Source, session_id: str) -> SessionCounts:
        """The sums of one session, from its steps. Raises `StoreError`."""
        from reach_tui.index.digest import counts_of, judged

        (one,) = judged(source.reader, self.engine, [Session(source.kind, session_id)])
        return counts_of(one)

    # Labels

    def label_path(self, source: Source) -> Path:
        """The label database for a source: the native database itself, the one set by the person, or their own."""
        if self.settings.labels is not None:
            return self.settings.labels
        return source.path if source.kind == "reach" else labels_file()

    def label_store(self, source: Source) -> LabelStore:
        """The open label store for a source; made on first use. Raises `LabelError`."""
        return self._open_store(self.label_path(source))

    def _open_store(self, path: Path) -> LabelStore:
        from reach_tui.labels.store import LabelStore

        if path not in self._labels:
            self._labels[path] = LabelStore.open(path)
            if self.settings.taxonomy:
                self._labels[path].codebook = self.taxonomy.id
        return self._labels[path]

    def queue_store(self) -> LabelStore:
        """The label database that keeps queues: the one set by the person, or their own. Raises `LabelError`."""
        return self._open_store(self.settings.labels or labels_file())

    def _existing_store(self, source: Source) -> LabelStore | None:
        return self.label_store(source) if self.label_path(source).exists() else None

    def labels_of(self, source: Source, session_id: str) -> dict[str | None, Label]:
        """The labels in force in a session by call key (None: the session's own); this person's before others'."""
        store = self._existing_store(source)
        if store is None:
            return {}
        chosen: dict[str | None, Label] = {}
        for (key, by), label in store.in_force(source.kind, session_id).items():
            known = chosen.get(key)
            if known is None or by == self.by or (known.by != self.by and label.at > known.at):
                chosen[key] = label
        return chosen

    def labels_in_force(self, source: Source) -> list[Label]:
        """Every label in force on a source's kind of store, whoever gave it."""
        store = self._existing_store(source)
        return store.all_in_force(source.kind) if store else []

    def labelled_counts(self, source: Source) -> dict[str, int]:
        """How many calls of each session are labelled."""
        store = self._existing_store(source)
        return store.counts_by_session(source.kind) if store else {}

    def make_label(
        self,
        source: Source,
        judged: JudgedCall,
        category: str,
        subcategory: str | None = None,
        note: str = "",
    ) -> Label:
        """A label for a call, not saved yet; what was shown is hashed when it is saved, off the UI's thread."""
        call = judged.call
        return Label(
            store=source.kind,
            session_id=call.session_id,
            call_key=call.key,
            content_hash=None,
            category=category,
            subcategory=subcategory,
            note=note,
            by=self.by,
            at=now_ms(),
            taxonomy=self.taxonomy.id,
            taxonomy_version=self.taxonomy.version,
            verdict=judged.verdict.failed,
            rule=judged.verdict.rule,
            tool_version=__version__,
        )

    def save_label(self, source: Source, judged: JudgedCall, label: Label) -> Label:
        """Make a call's label durable, with a hash of what was shown; it is then on disk. Raises `LabelError`."""
        call = judged.call
        shown = content_hash(call.tool, call.arguments, call.result.text if call.result else None)
        return self.label_store(source).save(replace(label, content_hash=shown))

    def close(self) -> None:
        """Close the label databases, and end what runs."""
        if self.badges is not None:
            self.badges.cancel()
        for store in self._labels.values():
            store.close()
        self._labels.clear()
