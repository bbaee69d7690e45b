"""The numbers of slot confidence. Tuned on development data only: docs/inference.md says which, and what they give."""

from __future__ import annotations

from dataclasses import dataclass

from reach_tui.reach.slots import BROKEN, SEVERAL, TWO


@dataclass(frozen=True, slots=True)
class Weights:
    """Confidence by source, and the caps of what lowers it; 0..1."""

    user: float = 0.97
    result: float = 0.95
    dictionary: float = 0.9
    default: float = 0.9
    argument: float = 0.85
    """The agent itself passed it before, and that call succeeded."""
    assistant: float = 0.6
    invented_id: float = 0.15
    """An id, address or number that stands nowhere."""
    invented_path: float = 0.5
    """A path that stands nowhere: agents know the usual names of files, and are often right."""
    invented_url: float = 0.45
    derived: float = 0.9
    """Times this where only another form of the value was found (joined path, number format, case)."""
    base_name: float = 0.8
    """Times this where only the last part of a path was found."""
    two: float = TWO
    several: float = SEVERAL
    """Caps by how many different values of the kind the context offered (the layer's own)."""
    other_rule: float = 0.4
    """Cap of a date that the dictionary reads otherwise (calendar week for "last week" where it means seven days)."""
    stale: float = 0.08
    gone: float = 0.12
    blanks: float = 0.25
    case: float = 0.2
    """Caps of an old text that stands in the file only with other blanks, or in another case."""
    by_lines: float = 0.3
    """Times the share of an old text's lines that stand together in the file."""
    absent: float = 0.15
    """An old text of a file that was seen whole and does not hold it."""
    absent_partial: float = 0.25
    """The same where only parts of the file were seen."""
    unseen: float = 0.45
    """Cap of an old text of a file that the session has not read."""
    twice: float = 0.35
    thrice: float = 0.25
    """Caps of an old text that stands twice, or more often, in the file, where one place is meant."""
    repeated: float = 0.3
    """Cap where the very same call has failed before and nothing was changed since."""
    broken: float = BROKEN
    """Cap of a value that breaks its schema, and of arguments that are no JSON."""


DEFAULT = Weights()
