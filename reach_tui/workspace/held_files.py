"""Which version of a file a call believed in, and which one the file held, at any step of a session."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from reach_tui.analyze.story import Told
from reach_tui.detect.files import access
from reach_tui.infer.changes import changes
from reach_tui.infer.held import Belief, Files
from reach_tui.model import Session, ToolCall

_MOST = 3  # files of one call that are told


@dataclass(frozen=True, slots=True)
class FileState:
    """A file when a call that names it began, as far as the session saw it."""

    path: str
    versions: int
    """Reads and own changes before the call; 0: the session had not seen it."""
    held: int | None = None
    """The step that made the newest version."""
    how: str = ""
    """read, edit or write."""
    read: int | None = None
    """The step of the last look at the file."""
    belief: Belief | None = None
    """For an edit: what it believed to replace, and what stood there."""

    @property
    def stale(self) -> bool:
        """The call believed in a version that had been replaced."""
        return self.belief is not None and self.belief.standing.word in ("stale", "gone")


class HeldFiles:
    """The files of one session, step by step."""

    def __init__(self, session: Session, told: Sequence[Told]) -> None:
        project = session.project
        self._folder = project if project and project.startswith("/") else None
        self._files = Files(self._folder)
        for step, verdict in told:
            if step.call is not None and verdict is not None:
                self._files.add(step.call, verdict.failed is not True)

    def at(self, call: ToolCall) -> list[FileState]:
        """The files that the call names, before it was made."""
        wanted = changes(call, self._folder)
        paths = dict.fromkeys([one.path for one in wanted] or access(call, self._folder)[1])
        found = []
        for path in list(paths)[:_MOST]:
            beliefs = [self._files.belief(one, call.step) for one in wanted if one.path == path]
            known = [one for one in beliefs if one is not None]
            odd = next((one for one in known if one.standing.word != "held"), known[0] if known else None)
            versions = self._files.versions(path, call.step)
            newest = versions[-1] if versions else None
            read = next((one.step for one in reversed(versions) if one.how == "read"), None)
            held, how = (newest.step, newest.how) if newest is not None else (None, "")
            found.append(FileState(path, len(versions), held, how, read, odd))
        return found
