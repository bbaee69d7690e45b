"""Values that add up: every analysis gives one a session, and a report is their sum."""

from __future__ import annotations

from collections import Counter
from typing import Self, TypeVar

Key = TypeVar("Key")


class Sum:
    """What can be added to another of its kind, in any grouping; an empty one changes nothing."""

    __slots__ = ()

    def include(self, other: Self) -> None:
        """Add another one to this."""
        raise NotImplementedError

    def __add__(self, other: Self) -> Self:
        total = type(self)()
        total.include(self)
        total.include(other)
        return total


def add_up(total: Counter[Key], more: Counter[Key]) -> None:
    """Add counts to a counter (half the time of `Counter.update`)."""
    for key, count in more.items():
        total[key] = total.get(key, 0) + count
