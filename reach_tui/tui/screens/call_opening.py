"""What lists of calls over many sessions share: Enter opens the session at the call, and comes back to the list."""

from __future__ import annotations

from textual import work

from reach_tui.base.errors import ReachError
from reach_tui.model import Session
from reach_tui.tui.call_lines import CallLine
from reach_tui.tui.screens.base import FramedScreen
from reach_tui.workspace import JudgedSession, Source


class OpensCalls(FramedScreen):
    """A screen whose list holds calls."""

    several = False
    """True where the calls may be of several sources."""

    def open_call(self, one: CallLine) -> None:
        """Open the session of a call, at the call."""
        self.open_key(one.source, one.session_id, one.key)

    @work(thread=True, group="open", description="open", exclusive=True, exit_on_error=False)
    def open_key(self, source: Source, session_id: str, key: str | int) -> None:
        """Open a session at the call of that key, or at the step of that number."""
        try:
            session = source.reader.session(session_id)
        except ReachError as error:
            self.app.call_from_thread(self.reach.say, error.line(), severity="error")
            return
        self.app.call_from_thread(self._show, source, session, session_id, key)

    def _show(self, source: Source, session: Session | None, session_id: str, key: str | int) -> None:
        from reach_tui.tui.screens.session import SessionScreen

        if self.app.screen is not self:  # the person has gone on meanwhile
            return
        shown = session or Session(source.kind, session_id)
        self.app.push_screen(SessionScreen(source, JudgedSession(shown), several=self.several, at=key))
