"""The error tree. Every error a person can meet says what, where, and what to do, in one line."""

from __future__ import annotations

import os


class ReachError(Exception):
    """A fault a person can act on: `what` happened, `where`, and a `hint` what to do about it."""

    def __init__(self, what: str, where: str | os.PathLike[str] | None = None, hint: str | None = None) -> None:
        super().__init__(what)
        self.what = what
        self.where = None if where is None else os.fspath(where)
        self.hint = hint

    def line(self) -> str:
        """One line of text, without line breaks or control characters: `where: what (hint)`."""
        from reach_tui.base.text import one_line

        text = one_line(self.what) if self.where is None else f"{one_line(self.where)}: {one_line(self.what)}"
        return f"{text} — {one_line(self.hint)}" if self.hint else text


class UsageError(ReachError):
    """The command was called with something that cannot be meant."""


class StoreError(ReachError):
    """A trace store that cannot be read."""


class NotRecognised(StoreError):
    """Not a database or transcript of a known kind."""


class SchemaUnknown(StoreError):
    """A known store in a layout this version cannot read."""


class StoreLocked(StoreError):
    """Another process holds the file for longer than we wait."""


class StoreDamaged(StoreError):
    """Empty, torn, encrypted or otherwise broken."""


class StoreUnreadable(StoreError):
    """Missing, no permission, or not a regular file."""


class LabelError(ReachError):
    """A label that could not be made durable."""


class ConfigError(ReachError):
    """A settings, rule or theme file with a mistake in it."""
