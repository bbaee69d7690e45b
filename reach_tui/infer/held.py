"""What files held at each step, as far as the session saw them: reads, and the agent's own successful changes."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from reach_tui.base.jsonio import as_object, as_text
from reach_tui.detect.files import READ, access, resolved
from reach_tui.infer.changes import Change, changes
from reach_tui.infer.texts import bounded, inner_text, lines_of, squeezed, without_gutter
from reach_tui.model import ToolCall

_PARTIAL = (
    "offset",
    "limit",
    "view_range",
    "start_line",
    "end_line",
    "line_start",
    "line_end",
    "range",
    "lines",
    "head",
    "tail",
)
_FRAGMENTS = 8  # parts of one file that are kept apart
_SNAPSHOT = 16  # versions between two that are kept whole
_LOOKED_BACK = 200  # versions of a file that are searched for an old text
_SHOWN = 40  # lines of a belief
_SHELL_READ = re.compile(
    r"(?:^|&&|;)\s*(?P<program>cat|nl|bat|head|tail|less|more|sed\s+-n\s+\S+)(?:\s+-{1,2}[\w=]+|\s+\d+)*\s+(?P<path>[^\s|;&<>-][^\s|;&<>]*)\s*(?:$|&&|;|\|)"
)


@dataclass(frozen=True, slots=True)
class Version:
    """A file from one step on."""

    step: int
    how: str
    """read, edit or write."""
    tool: str
    fragments: tuple[str, ...] | None
    """What is known of its text, the newest part first; None: the version before with `change` made."""
    change: Change | None = None


@dataclass(frozen=True, slots=True)
class Standing:
    """How an edit's old text stands to the file before the call."""

    word: str
    """held, stale, gone, near, lines, absent; unseen where the session has not seen the file."""
    step: int | None = None
    """Where the text stands newest: the step that read or wrote it."""
    how: str = ""
    tool: str = ""
    count: int = 0
    """Places in the newest text where it is held."""
    replaced_by: int | None = None
    """The step after which it no longer stood there."""
    share: float = 0.0
    """For `lines`: how much of it stands together in the file, 0..1."""
    differs: str = ""
    """For `near`: what differs (blanks, case)."""
    partial: bool = False
    """Only parts of the file were seen."""


@dataclass(frozen=True, slots=True)
class Belief:
    """What the agent believed a file to hold, and what it held, as lines."""

    path: str
    believed: tuple[str, ...]
    held: tuple[str, ...]
    standing: Standing
    line: int | None = None
    """Line number of the first held line where the whole file was read, from 1."""


@dataclass(slots=True)
class _History:
    versions: list[Version] = field(default_factory=list)
    steps: list[int] = field(default_factory=list)
    whole: list[bool] = field(default_factory=list)
    _last: tuple[int, tuple[str, ...]] = (-1, ())

    def add(self, version: Version, whole: bool) -> None:
        number = len(self.versions)
        if version.fragments is None and (number == 0 or number % _SNAPSHOT == 0):
            version = Version(version.step, version.how, version.tool, self._made(number - 1, version), version.change)
        self.versions.append(version)
        self.steps.append(version.step)
        self.whole.append(whole)

    def _made(self, before: int, version: Version) -> tuple[str, ...]:
        assert version.change is not None
        return _applied(self.fragments(before) if before >= 0 else (), version.change)

    def fragments(self, number: int) -> tuple[str, ...]:
        """What is known of the file in that version."""
        if number < 0:
            return ()
        start = number
        while self.versions[start].fragments is None and self._last[0] != start:
            start -= 1
        known = self.versions[start].fragments
        state = known if known is not None else self._last[1]
        for place in range(start + 1, number + 1):
            change = self.versions[place].change
            assert change is not None
            state = _applied(state, change)
        self._last = (number, state)
        return state

    def backwards(self, number: int) -> Iterator[tuple[int, tuple[str, ...]]]:
        """Versions and what they held, newest first; each block of changes is made once."""
        lowest = max(0, number - _LOOKED_BACK)
        while number >= lowest:
            start = number
            while self.versions[start].fragments is None:
                start -= 1
            states = [self.versions[start].fragments or ()]
            for place in range(start + 1, number + 1):
                change = self.versions[place].change
                assert change is not None
                states.append(_applied(states[-1], change))
            for place in range(number, start - 1, -1):
                yield place, states[place - start]
            number = start - 1


def _applied(fragments: tuple[str, ...], change: Change) -> tuple[str, ...]:
    if change.whole:
        return (bounded(change.new),)
    if change.old is None:
        return (bounded(change.new), *fragments)[:_FRAGMENTS]
    if not any(change.old in one for one in fragments):
        return (bounded(change.new), *fragments)[:_FRAGMENTS]
    return tuple(
        one.replace(change.old, change.new, -1 if change.every else 1) if change.old in one else one
        for one in fragments
    )


class Files:
    """Every file that the session has read or changed, by resolved path. Grows only; questions name a step."""

    def __init__(self, folder: str | None = None) -> None:
        self.folder = folder
        self._files: dict[str, _History] = {}

    def add(self, call: ToolCall, succeeded: bool) -> None:
        """What a call showed or changed; a call that failed did neither."""
        if not succeeded or call.result is None:
            return
        tool = call.shown_tool
        made = changes(call, self.folder)
        for change in made:
            how = "write" if change.whole else "edit"
            self._add(change.path, Version(call.step, how, tool, None, change), change.whole)
        if made:
            return
        for path, whole in self._read(call):
            text = bounded(call.result.text)
            inner = inner_text(text)
            fragment = without_gutter(text if inner is None else inner).replace("\r\n", "\n")
            history = self._files.get(path)
            before = () if whole or history is None else history.fragments(len(history.versions) - 1)
            kept = (fragment, *(one for one in before if one != fragment))[:_FRAGMENTS]
            self._add(path, Version(call.step, "read", tool, kept), whole)

    def _read(self, call: ToolCall) -> Iterator[tuple[str, bool]]:
        kind, paths = access(call, self.folder)
        arguments = as_object(call.arguments)
        if kind == READ and len(paths) == 1:
            cut = call.metadata.get("truncated") is True
            yield paths[0], not cut and all(arguments.get(name) is None for name in _PARTIAL)
        elif kind is None:
            command = as_text(arguments.get("command")) or as_text(arguments.get("cmd")) or ""
            found = _SHELL_READ.search(command[:2000])
            if found:
                yield resolved(found["path"].strip("'\""), self.folder), found["program"] in ("cat", "nl", "bat")

    def versions(self, path: str, step: int) -> Sequence[Version]:
        """The versions of a file before that step, oldest first; none where the session has not seen it."""
        history = self._files.get(path)
        return history.versions[: bisect_left(history.steps, step)] if history is not None else ()

    def _add(self, path: str, version: Version, whole: bool) -> None:
        self._files.setdefault(path, _History()).add(version, whole)

    def standing(self, change: Change, step: int) -> Standing:
        """How the text that a change replaces stands to the file before that step."""
        history = self._files.get(change.path)
        number = bisect_left(history.steps, step) - 1 if history is not None else -1
        if history is None or number < 0 or change.old is None:
            return Standing("unseen")
        old = change.old.replace("\r\n", "\n")
        now = history.fragments(number)
        partial = not any(history.whole[place] for place in range(number + 1))
        count = max((one.count(old) for one in now), default=0)
        if count:
            return self._held(history, number, old, count, partial)
        before = -1
        for place, fragments in history.backwards(number):
            if any(old in one for one in fragments):
                before = place
                break
        if before >= 0:
            found, by = history.versions[before], history.versions[before + 1]
            word = "stale" if by.how != "read" else "gone"
            origin = self._origin(history, before, old) or found
            return Standing(word, origin.step, origin.how, origin.tool, 0, by.step, partial=partial)
        return self._near(history, number, old, now, partial)

    @staticmethod
    def _origin(history: _History, number: int, old: str) -> Version | None:
        """The newest read that shows the text without a change between; else the change that made it."""
        made: Version | None = None
        for place, fragments in history.backwards(number):
            if not any(old in one for one in fragments):
                break
            made = history.versions[place]
            if made.how == "read":
                break
        return made

    def _held(self, history: _History, number: int, old: str, count: int, partial: bool) -> Standing:
        origin = self._origin(history, number, old) or history.versions[number]
        return Standing("held", origin.step, origin.how, origin.tool, count, partial=partial)

    @staticmethod
    def _near(history: _History, number: int, old: str, now: tuple[str, ...], partial: bool) -> Standing:
        at = history.versions[number]
        plain = squeezed(old)
        if plain and any(plain in squeezed(one) for one in now):
            return Standing("near", at.step, at.how, at.tool, 0, differs="blanks", partial=partial)
        if plain and any(plain.casefold() in squeezed(one).casefold() for one in now):
            return Standing("near", at.step, at.how, at.tool, 0, differs="case", partial=partial)
        wanted = lines_of(old)
        share = max((_together(wanted, lines_of(one)) for one in now), default=0) / len(wanted) if wanted else 0.0
        word = "lines" if share > 0 else "absent"
        return Standing(word, at.step, at.how, at.tool, 0, share=share, partial=partial)

    def belief(self, change: Change, step: int) -> Belief | None:
        """What the change believed, and what the file held in that place; None where the session never saw the file."""
        standing = self.standing(change, step)
        if change.old is None or standing.word == "unseen":
            return None
        history = self._files[change.path]
        number = bisect_left(history.steps, step) - 1
        now = history.fragments(number)
        believed = change.old.replace("\r\n", "\n").split("\n")
        if standing.word in ("stale", "gone"):
            old = change.old.replace("\r\n", "\n")
            was = next((each for _, fragments in history.backwards(number) for each in fragments if old in each), "")
            found = _moved(was.split("\n"), was[: was.index(old)].count("\n"), len(believed), now)
        else:
            found = _nearest(believed, now)
        if found is None:
            return Belief(change.path, tuple(believed[:_SHOWN]), (), standing)
        start, held = found
        line = start + 1 if history.whole[number] and history.versions[number].how == "read" and len(now) == 1 else None
        return Belief(change.path, tuple(believed[:_SHOWN]), tuple(held[:_SHOWN]), standing, line)


def _together(wanted: list[str], there: list[str]) -> int:
    """The longest run of `wanted` lines that stand one after the other. Bounded by what lines repeat."""
    places: dict[str, list[int]] = {}
    for number, line in enumerate(there):
        places.setdefault(line, []).append(number)
    best, runs = 0, dict[int, int]()
    for line in wanted[:400]:
        runs = {place: runs.get(place - 1, 0) + 1 for place in places.get(line, ())[:200]}
        best = max(best, max(runs.values(), default=0))
    return best


def _moved(was: list[str], start: int, length: int, now: tuple[str, ...]) -> tuple[int, list[str]] | None:
    """The lines that stand now where lines `start`… stood: between the nearest unchanged lines above and below."""
    for fragment in now:
        lines = fragment.split("\n")
        places: dict[str, int] = {}
        for number, line in enumerate(lines):
            places[line] = -1 if line in places else number  # a line that repeats is no landmark
        above = next((i for i in range(start - 1, -1, -1) if places.get(was[i], -1) >= 0), None)
        first = 0 if above is None else places[was[above]] + 1
        end = start + length
        below = next((i for i in range(end, len(was)) if places.get(was[i], -1) >= first), None)
        if above is None and below is None:
            continue
        last = len(lines) if below is None else places[was[below]]
        # what repeats beside the landmarks is unchanged too
        for line in was[above + 1 : start] if above is not None else ():
            if first == last or lines[first] != line:
                break
            first += 1
        for line in reversed(was[end:below]) if below is not None else ():
            if first == last or lines[last - 1] != line:
                break
            last -= 1
        if above is None:
            first = max(first, last - length)
        if below is None:
            last = min(last, first + length)
        return first, lines[first:last]
    return None


def _nearest(believed: list[str], now: tuple[str, ...]) -> tuple[int, list[str]] | None:
    """The lines of the file that agree with most of the believed ones, by line."""
    wanted = [line.strip().casefold() for line in believed[:400]]
    best: tuple[int, int, list[str]] | None = None
    for fragment in now:
        lines = fragment.split("\n")
        places: dict[str, list[int]] = {}
        for number, line in enumerate(lines):
            places.setdefault(line.strip().casefold(), []).append(number)
        votes: dict[int, int] = {}
        for number, line in enumerate(wanted):
            for place in places.get(line, ())[:50] if len(line) > 2 else ():
                votes[place - number] = votes.get(place - number, 0) + 1
        if votes:
            start, agreeing = max(votes.items(), key=lambda one: one[1])
            if best is None or agreeing > best[0]:
                best = (agreeing, max(0, start), lines)
    if best is None:
        return None
    return best[1], best[2][best[1] : best[1] + len(believed)]
