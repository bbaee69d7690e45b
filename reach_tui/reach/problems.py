"""What is wrong with a registry, for people: file, line, field and what was expected."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from reach_tui.base.errors import ConfigError

_LONGEST = 300


@dataclass(frozen=True, slots=True)
class Problem:
    """One mistake in one file."""

    file: str
    what: str
    line: int | None = None
    """From 1; None where the file as a whole is meant."""
    field: str = ""
    """Dotted path, e.g. `sample_calls[1].params`; empty where no field is meant."""

    @property
    def where(self) -> str:
        """`file:line`, or the file alone."""
        return self.file if self.line is None else f"{self.file}:{self.line}"

    def text(self) -> str:
        """The mistake without its place: `field: what`."""
        return f"{self.field}: {self.what}" if self.field else self.what

    def error(self) -> RegistryError:
        """The mistake as an exception of its own, for `line()`."""
        return RegistryError([self])


class RegistryError(ConfigError):
    """A registry, or a file of one, with mistakes: all of them in `problems`, the first in its line."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        first = problems[0]
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        super().__init__(first.text() + more, first.where)
        self.problems = tuple(problems)


def shortened(message: str) -> str:
    """The first line of a message, cut: a schema's messages repeat the value, however long it is."""
    line = message.partition("\n")[0]
    return line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…"


def field_name(path: Sequence[str | int]) -> str:
    """`("sample_calls", 1, "params")` as `sample_calls[1].params`."""
    name = ""
    for part in path:
        name += f"[{part}]" if isinstance(part, int) else f".{part}" if name else part
    return name
