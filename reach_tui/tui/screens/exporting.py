"""`x`: choose a form, then a path; written in a worker."""

from __future__ import annotations

from pathlib import Path

from textual import work

from reach_tui.base.errors import ReachError
from reach_tui.tui.screens.base import FramedScreen
from reach_tui.tui.screens.dialogs import Choice, NoteDialog, PickDialog
from reach_tui.workspace.report_export import FORMS, proposed_path


class Exports(FramedScreen):
    """A screen whose contents can be written to a file."""

    def export_name(self) -> str | None:
        """The file's name without its suffix; None while there is nothing to write."""
        raise NotImplementedError  # the screen does

    def export_to(self, form: str, target: Path) -> int:
        """Write it in a form of `FORMS`, in a worker; the bytes written. Raises `ReachError`."""
        raise NotImplementedError  # the screen does

    def action_export(self) -> None:
        """Choose a form, then a path."""
        name = self.export_name()
        if name is None:
            self.reach.say("it is not there yet: wait until everything is read")
            return
        choices = [Choice(str(number), form, form, text) for number, (form, text) in enumerate(FORMS.items(), 1)]

        def chosen(form: str | None) -> None:
            if form is not None:
                self._ask_path(form, name)

        self.app.push_screen(PickDialog("export as", choices), chosen)

    def _ask_path(self, form: str, name: str) -> None:
        title = f"write {form} to (an existing file is replaced)"

        def chosen(text: str | None) -> None:
            if text is not None and text.strip():
                self._write(form, Path(text.strip()).expanduser())

        self.app.push_screen(NoteDialog(title, str(proposed_path(form, name))), chosen)

    @work(thread=True, group="export", description="export", exit_on_error=False)
    def _write(self, form: str, target: Path) -> None:
        try:
            size = self.export_to(form, target)
        except ReachError as error:
            self.app.call_from_thread(self.reach.say, error.line(), severity="error")
            return
        self.app.call_from_thread(self.reach.say, f"{target.absolute()}: written, {size:,} bytes")
