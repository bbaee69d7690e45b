"""A session's figures as bytes: the analyses' sums, packed by the types that they are declared with.

Nothing here knows what an analysis counts: a field added to one is packed with the others (and `FORMAT` of the index
goes up). Dataclasses become arrays, counters and mappings stay mappings.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields, is_dataclass
from operator import attrgetter
from typing import Any, get_args, get_origin, get_type_hints

import msgspec

from reach_tui.analyze.tally import Tally

Change = Callable[[Any], Any]


def encode(tally: Tally) -> bytes | None:
    """The packed figures; None where a text or number in them cannot be packed."""
    try:
        return msgspec.msgpack.encode(_packed(tally))
    except (UnicodeError, OverflowError, msgspec.MsgspecError):
        return None


def decode(packed: bytes) -> Tally:
    """The figures. Raises `ValueError` for bytes that are none."""
    made: Tally = _made(_decoder.decode(packed))
    return made


def _as_is(value: Any) -> Any:
    return value


def _counter(value: dict[Any, int]) -> Counter[Any]:
    made: Counter[Any] = Counter.__new__(Counter)  # `Counter(value)` takes eight times as long
    if value:
        dict.update(made, value)
    return made


def _form(hint: Any) -> tuple[Any, Change, Change]:
    """The type to decode, what makes the declared one of it, and what makes plain values of that."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Counter:
        return dict[inner[0], int], _counter, _as_is  # type: ignore[valid-type]
    if origin is dict:
        form, make, pack = _form(inner[1])
        if make is _as_is:
            return hint, _as_is, _as_is
        return (
            dict[inner[0], form],  # type: ignore[valid-type]
            lambda value: {key: make(one) for key, one in value.items()},
            lambda value: {key: pack(one) for key, one in value.items()},
        )
    if is_dataclass(hint) and isinstance(hint, type):
        return _array(hint)
    return hint, _as_is, _as_is


def _array(kind: type) -> tuple[Any, Change, Change]:
    hints = get_type_hints(kind)
    forms = {field.name: _form(hints[field.name]) for field in fields(kind)}
    mirror = msgspec.defstruct(
        kind.__name__, [(name, form) for name, (form, _, _) in forms.items()], array_like=True, gc=False, frozen=True
    )
    picked = attrgetter(*forms) if len(forms) > 1 else lambda value: (getattr(value, next(iter(forms))),)
    makers = [(place, make) for place, (_, make, _) in enumerate(forms.values()) if make is not _as_is]
    packers = [(place, pack) for place, (_, _, pack) in enumerate(forms.values()) if pack is not _as_is]
    if not makers:
        return mirror, lambda value: kind(*picked(value)), picked
    return mirror, lambda value: kind(*_changed(picked(value), makers)), lambda value: _changed(picked(value), packers)


def _changed(values: Iterable[Any], changes: Sequence[tuple[int, Change]]) -> list[Any]:
    some = [*values]
    for place, change in changes:
        some[place] = change(some[place])
    return some


_type, _made, _packed = _form(Tally)
_decoder = msgspec.msgpack.Decoder(_type)
