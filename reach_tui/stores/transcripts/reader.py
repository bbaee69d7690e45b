"""One reader over the transcripts of one program: a file, or all of them below a folder."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from time import time_ns

from reach_tui.base.errors import StoreError
from reach_tui.model import Session, Step, StepKind, ToolCall
from reach_tui.stores.discover import transcript_candidates
from reach_tui.stores.reader import Trouble
from reach_tui.stores.transcripts.format import Format, Summary
from reach_tui.stores.transcripts.lines import Excerpt, read_lines, stamp_of
from reach_tui.stores.transcripts.recognition import of_kind, recognise
from reach_tui.stores.transcripts.story import Story

Stamp = tuple[tuple[int, int, int], ...]
_TICK = 2_000_000_000
"""Nanoseconds within which a second change of a folder may leave its time the same."""


@dataclass(frozen=True, slots=True)
class _Looked:
    """What a folder held, while the folders below it keep these times."""

    times: dict[str, int]
    files: list[Path]
    others: list[Path]
    """Files that may yet become transcripts."""


@dataclass(frozen=True, slots=True)
class _Entry:
    """One session and its file."""

    path: Path
    session: Session
    lost: bool = False
    """True where only a database knows the session."""


class TranscriptReader:
    """Fulfils `Reader` for the files of one format. The list of files is looked up anew, so that new ones are seen."""

    def __init__(self, form: Format, path: Path) -> None:
        self.form = form
        self.path = path
        self.kind = form.kind
        self.title = form.title
        self.flag_meaning = form.flag_meaning
        self.problems: list[StoreError] = []
        """Transcripts that could not be read when the sessions were listed last."""
        self._entries: dict[str, _Entry] = {}
        self._looked: _Looked | None = None
        self._summaries: dict[Path, tuple[Stamp, Summary]] = {}

    def files(self) -> list[Path]:
        """The transcripts there are now, sorted."""
        if self.path.is_dir():
            return self._below()
        found = recognise(self.path)
        if found is not None and found.kind == self.kind:
            return [self.path]
        return of_kind(self.kind, sorted(self.form.files_beside(self.path)))

    def _below(self) -> list[Path]:
        """The transcripts in the folder; looked for again only when one of its folders has changed."""
        looked = self._looked
        same = looked is not None and looked.times == _folder_times(looked.times)
        if looked is not None and same and not of_kind(self.kind, looked.others):  # one may have been empty before
            return looked.files
        folders: list[str] = []
        candidates = transcript_candidates(self.path, folders)
        files = of_kind(self.kind, candidates)
        times = _folder_times(folders)
        settled = all(time_ns() - changed > _TICK for changed in times.values())
        others = [path for path in candidates if recognise(path) is None]
        self._looked = _Looked(times, files, others) if settled else None
        return files

    def data_version(self) -> object:
        """Inodes, sizes and times of all files, and of the databases beside them."""
        files = self.files()
        folders = {path.parent: path for path in files}
        state = {database for path in folders.values() for database in self.form.state_beside(path)}
        return tuple((str(path), *stamp_of(path)) for path in (*files, *sorted(state)))

    def changed_since(self, mark: object, active: Iterable[str]) -> tuple[set[str], object]:
        """The sessions whose files changed, came or went since `mark`, and the mark for the next time."""
        before = mark if isinstance(mark, dict) else {}
        state: dict[Path, Stamp] = {}
        now = {name: self._stamp(entry.path, state) for name, entry in self._listed().items()}
        return {name for name in before.keys() | now.keys() if before.get(name) != now.get(name)}, now

    # Sessions

    def sessions(self) -> Iterator[Session]:
        """Every session, newest first, from the beginning and the end of each file."""
        entries = self._listed().values()
        yield from sorted((entry.session for entry in entries), key=lambda one: one.started_at or 0, reverse=True)

    def session(self, session_id: str) -> Session | None:
        """One session by its id, as its file is now."""
        entry = self._listed().get(session_id)
        return entry.session if entry else None

    def file_of(self, session_id: str) -> Path:
        """The file that holds a session; the reader's own path for an unknown one."""
        entry = self._entry(session_id)
        return entry.path if entry else self.path

    def _entry(self, session_id: str) -> _Entry | None:
        entry = self._entries.get(session_id)
        return entry if entry is not None else self._listed().get(session_id)

    def _listed(self) -> dict[str, _Entry]:
        problems: list[StoreError] = []
        told: list[tuple[Path, Summary]] = []
        state: dict[Path, Stamp] = {}
        for path in self.files():
            try:
                told.append((path, self._summary(path, self._stamp(path, state))))
            except StoreError as error:
                problems.append(error)
        self.problems = problems
        if problems and not told:
            raise problems[0]
        entries = _related(told)
        if not self._single():
            for database, session in self.form.without_file([path for path, _ in told]):
                entries.setdefault(session.id, _Entry(database, session, lost=True))
        self._entries = _without_cycles(entries)
        return self._entries

    def _single(self) -> bool:
        """True for one named transcript: what else its program knows was not asked for."""
        return not self.path.is_dir() and recognise(self.path) is not None

    def _summary(self, path: Path, stamp: Stamp) -> Summary:
        known = self._summaries.get(path)
        if known is not None and known[0] == stamp:
            return known[1]
        summary = self.form.summary(Excerpt(path))
        self._summaries[path] = (stamp, summary)
        return summary

    def _stamp(self, path: Path, state: dict[Path, Stamp]) -> Stamp:
        """The stamps of a file and of the databases beside it; `state` keeps the latter by folder."""
        beside = state.get(path.parent)
        if beside is None:
            beside = state[path.parent] = tuple(stamp_of(one) for one in self.form.state_beside(path))
        return (stamp_of(path), *beside)

    # Steps

    def steps(self, session_id: str) -> Iterator[Step]:
        """The steps of a session in the order of its file."""
        entry = self._entry(session_id)
        if entry is not None:
            yield from self._steps(entry, Story(session_id))

    def _steps(self, entry: _Entry, story: Story) -> Iterator[Step]:
        originals = self._originals(entry)
        for step in self._told(entry, story):
            call = step.call
            if originals and call is not None and (original := originals.get(_identity(call))):
                step = replace(step, call=replace(call, copy_of=original))
            yield step

    def _told(self, entry: _Entry, story: Story) -> Iterator[Step]:
        if entry.lost:
            story.say(StepKind.NOTE, "the transcript of this session is missing")
            yield from story.rest()
            return
        teller = self.form.teller(entry.path, story)
        for line in read_lines(entry.path):
            if line.fault is not None:
                story.raw(line)
            else:
                teller.tell(line)
            yield from story.ready()
        teller.end()
        yield from story.rest()

    def _originals(self, entry: _Entry) -> dict[tuple[object, ...], str]:
        """The keys of the calls of the session that this one is a copy of, by what a copy keeps."""
        original = self._entries.get(entry.session.copy_of or "")
        if original is None:
            return {}
        steps = self._told(original, Story(original.session.id))
        return {_identity(step.call): step.call.key for step in steps if step.call is not None}

    def calls(self, session_ids: Iterable[str] | None = None) -> Iterator[ToolCall]:
        """The calls of the steps, session by session; a file that breaks off is raised when the others are read."""
        broken: StoreError | None = None
        for session_id in [session.id for session in self.sessions()] if session_ids is None else session_ids:
            try:
                for step in self.steps(session_id):
                    if step.call is not None:
                        yield step.call
            except StoreError as error:
                broken = broken or error
        if broken is not None:
            raise broken

    def troubles(self, session_id: str) -> list[Trouble]:
        """What could not be read, or paired, in a session."""
        entry = self._entry(session_id)
        if entry is None:
            return []
        story = Story(session_id)
        for _ in self._told(entry, story):
            pass
        return story.troubles


def _folder_times(folders: Iterable[str]) -> dict[str, int]:
    return {folder: stamp_of(folder)[2] for folder in folders}


def _identity(call: ToolCall) -> tuple[object, ...]:
    return call.id, call.tool, call.started_at, call.result.bytes if call.result else None


def _related(told: Sequence[tuple[Path, Summary]]) -> dict[str, _Entry]:
    """Sessions by id. Files that begin alike, or share an id, are copies of the one among them that ended first."""
    families: dict[str, list[tuple[Path, Summary]]] = {}
    for path, summary in told:
        families.setdefault(summary.lineage or f"id:{summary.session.id}", []).append((path, summary))
    entries: dict[str, _Entry] = {}
    for members in families.values():
        first: str | None = None
        for path, summary in sorted(members, key=lambda one: (one[1].session.ended_at or 0, str(one[0]))):
            session = summary.session
            if session.id in entries:  # a copied file
                note = f"{path.name} has the session id of {entries[session.id].path.name}"
                session = replace(session, id=f"{session.id}@{path.stem}", notes=(*session.notes, note))
                while session.id in entries:
                    session = replace(session, id=session.id + "'")
            if first is None:
                first = session.id
            else:
                session = replace(session, copy_of=session.copy_of or first)
            entries[session.id] = _Entry(path, session)
    return entries


def _without_cycles(entries: dict[str, _Entry]) -> dict[str, _Entry]:
    """The entries with parents that lead in a circle cut, and a note that says so."""
    for session_id, entry in list(entries.items()):
        seen = {session_id}
        parent = entry.session.parent_id
        while parent is not None and parent not in seen:
            seen.add(parent)
            parent = entries[parent].session.parent_id if parent in entries else None
        if parent == session_id:
            notes = (*entry.session.notes, "its parents lead back to itself: cut")
            entries[session_id] = replace(entry, session=replace(entry.session, parent_id=None, notes=notes))
    return entries
