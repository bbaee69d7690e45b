"""Filling a call's slots from declared sources, with a confidence each: used, asked for, or a gap (seed 3.3, B9)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Protocol

from reach_tui.base.jsonio import JsonValue
from reach_tui.model import Slot
from reach_tui.reach.dictionary import BusinessDictionary, DateRange
from reach_tui.reach.entities import EntityLog, Mention, Shape, shape_of
from reach_tui.reach.schema_faults import faults, missing, properties

UNIQUE, TWO, SEVERAL = 0.95, 0.5, 0.3
"""Confidence of a value that was the only one offered, one of two, one of more (seed: one high, three low)."""
BROKEN = 0.1
"""The most that a value may have which its schema does not allow."""
USE_FROM = 0.75
"""From here on a value is used without asking; the router's first threshold."""
_GIVEN = 0.9  # the caller's own value, which nothing in the context confirms
_SHAPES = {
    "order_id": Shape.ORDER_ID, "order": Shape.ORDER_ID, "path": Shape.PATH, "file": Shape.PATH,
    "email": Shape.EMAIL, "e_mail": Shape.EMAIL, "uuid": Shape.UUID, "url": Shape.URL, "uri": Shape.URL,
    "number": Shape.NUMBER, "amount": Shape.NUMBER, "date": Shape.DATE, "quoted": Shape.QUOTED,
}  # fmt: skip
_FORMATS = {
    "date": Shape.DATE, "date-time": Shape.DATE, "email": Shape.EMAIL, "uuid": Shape.UUID, "uri": Shape.URL,
}  # fmt: skip
"""What a declared `entity`, or the end of a parameter's name, looks like where its schema has no pattern."""


def by_rivals(different: int) -> float:
    """The confidence of a value that is one of so many different ones of its kind."""
    return UNIQUE if different <= 1 else TWO if different == 2 else SEVERAL


class Declared(Protocol):
    """Where one parameter may come from; `reach.spec.SlotSource` is one."""

    @property
    def sources(self) -> tuple[str, ...]:
        """Names of providers in the order they are asked."""

    @property
    def entity(self) -> str | None:
        """The kind of entity asked for; None: the parameter's name."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """One slot that is to be filled."""

    tool: str
    name: str
    schema: Mapping[str, JsonValue]
    entity: str
    """The declared kind of entity, else the parameter's name."""

    @property
    def pattern(self) -> str | None:
        """The schema's pattern."""
        found = self.schema.get("pattern")
        return found if isinstance(found, str) else None

    @property
    def shape(self) -> Shape | None:
        """The shape of what is wanted, by format, entity or the end of the name; None where nothing says it."""
        written = self.schema.get("format")
        if isinstance(written, str) and written in _FORMATS:
            return _FORMATS[written]
        name = self.entity.lower()
        return _SHAPES.get(name) or next((shape for end, shape in _SHAPES.items() if name.endswith(f"_{end}")), None)


@dataclass(frozen=True, slots=True)
class Match:
    """A value that a source offers."""

    value: JsonValue
    origin: str
    step: int | None = None
    confidence: float | None = None
    """The source's own doubt, 0..1; None: it has none."""
    note: str = ""
    source: str = "result"
    """Whose word it is, as a slot says it: user, result, dictionary, assistant."""


@dataclass(frozen=True, slots=True)
class Context:
    """What may be looked at: the request, the clock, the conversation's entities, and what the caller knows."""

    text: str
    """What the person asks for now."""
    now: int
    """Milliseconds since 1970 UTC."""
    history: EntityLog = field(default_factory=EntityLog)
    profile: Mapping[str, JsonValue] = field(default_factory=dict)
    """What is known of the person, by entity or parameter name."""
    results: EntityLog = field(default_factory=EntityLog)
    """What earlier calls of this task returned."""


class Provider(Protocol):
    """A declared source. Implement this for a business database: a lookup by entity that returns what it found."""

    def find(self, wanted: Wanted, context: Context) -> Sequence[Match]:
        """Every value on offer, the best first; the same value may come several times."""


class FromMentions:
    """Entities of the request (`user`), of the conversation (`history`) or of earlier results (`result`)."""

    def __init__(self, where: str) -> None:
        self._where = where

    def find(self, wanted: Wanted, context: Context) -> Sequence[Match]:
        """Mentions of the wanted shape or pattern, newest first; nothing where neither is declared."""
        log = {"history": context.history, "result": context.results}.get(self._where)
        if log is None:
            log = EntityLog()
            log.add(context.text, "user", "the request", context.now)
        return [_match(one) for one in mentions(log, wanted)]


def mentions(log: EntityLog, wanted: Wanted) -> list[Mention]:
    """The records that a slot could be filled from, newest first."""
    if wanted.pattern is not None:
        return log.mentions(pattern=wanted.pattern)
    return log.mentions(wanted.shape) if wanted.shape is not None else []


def _match(mention: Mention) -> Match:
    source = mention.by if mention.by in ("user", "result", "assistant") else "result"
    return Match(mention.entity.value, mention.origin, mention.step, source=source)


class FromProfile:
    """What is known of the person."""

    def find(self, wanted: Wanted, context: Context) -> Sequence[Match]:
        """The profile's value by entity or parameter name; a list offers all its items."""
        value = context.profile.get(wanted.entity, context.profile.get(wanted.name))
        if value is None:
            return []
        return [
            Match(one, "the user's profile", source="user") for one in (value if isinstance(value, list) else [value])
        ]


class FromDictionary:
    """The business dictionary: dated ranges and named values of the request."""

    def __init__(self, dictionary: BusinessDictionary) -> None:
        self._dictionary = dictionary

    def find(self, wanted: Wanted, context: Context) -> Sequence[Match]:
        """For an object or `..._range`: first and last day; for `...start|from|since`: the first; else the last day."""
        dated = [
            Match(
                _day_of(one, wanted),
                f"dictionary · {one.phrase}",
                note=f"{one.phrase} means {one.words} ({one.rule})",
                source="dictionary",
            )
            for one in self._dictionary.ranges(context.text, context.now)
            if _is_dated(wanted)
        ]
        return dated or [
            Match(value, f"dictionary · {phrase}", source="dictionary")
            for phrase, value in self._dictionary.lookup(context.text)
            if next(faults(value, wanted.schema, wanted.name), None) is None
        ]


_STARTS, _ENDS = ("start", "from", "since", "begin", "after", "first"), ("end", "to", "until", "before", "last")
_TIMES = (*_STARTS, *_ENDS, "date", "day", "time", "range", "period", "when")


def _is_dated(wanted: Wanted) -> bool:
    words = wanted.entity.lower().split("_") + wanted.name.lower().split("_")
    return wanted.shape is Shape.DATE or any(word in _TIMES for word in words)


def _day_of(one: DateRange, wanted: Wanted) -> JsonValue:
    words = set(wanted.name.lower().split("_"))
    kind = wanted.schema.get("type")
    if kind == "object":
        names = list(properties(wanted.schema)) or ["start", "end"]
        return {names[0]: str(one.first), names[-1]: str(one.last)}
    if kind == "array":
        return [str(one.first), str(one.last)]
    day: date | None = one.first if words & set(_STARTS) else one.last if words & set(_ENDS) else None
    if day is None and one.first != one.last:
        return f"{one.first}/{one.last}"  # an ISO 8601 interval
    return str(day or one.first)


@dataclass(frozen=True, slots=True)
class Gap:
    """A required slot that nothing fills."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class Question:
    """A slot that several values could fill: ask, do not guess."""

    name: str
    options: tuple[JsonValue, ...]
    """The different values on offer, newest first; at most five."""
    reason: str


@dataclass(frozen=True, slots=True)
class Filling:
    """The slots of one call as far as they are known."""

    slots: tuple[Slot, ...]
    gaps: tuple[Gap, ...] = ()
    clarify: tuple[Question, ...] = ()

    @property
    def complete(self) -> bool:
        """True if the call may be made: nothing is missing, nothing needs to be asked."""
        return not self.gaps and not self.clarify

    @property
    def arguments(self) -> dict[str, JsonValue]:
        """The values that may be used; what must be asked for is left out."""
        asked = {one.name for one in self.clarify}
        return {slot.name: slot.value for slot in self.slots if slot.value is not None and slot.name not in asked}

    @property
    def confidence(self) -> float | None:
        """The lowest of the filled slots; 0 with a gap; None where there is nothing to fill."""
        if self.gaps:
            return 0.0
        return min((slot.confidence for slot in self.slots if slot.confidence is not None), default=None)


class SlotFiller:
    """Fills what a call needs and does not have. Sources are declared per parameter; nothing else is looked at."""

    def __init__(
        self,
        providers: Mapping[str, Provider] | None = None,
        dictionary: BusinessDictionary | None = None,
        *,
        use_from: float = USE_FROM,
    ) -> None:
        """`providers` adds to (or replaces) user, history, result, profile and dictionary, by name."""
        self.use_from = use_from
        self._providers: dict[str, Provider] = {
            "user": FromMentions("user"),
            "history": FromMentions("history"),
            "result": FromMentions("result"),
            "profile": FromProfile(),
            "dictionary": FromDictionary(dictionary or BusinessDictionary()),
            **(providers or {}),
        }

    def fill(
        self,
        tool_name: str,
        params_schema: Mapping[str, JsonValue],
        given: Mapping[str, JsonValue],
        context: Context,
        declared: Mapping[str, Declared] | None = None,
    ) -> Filling:
        """Slots for everything given or required, and for optional parameters with a declared source.

        `declared` names the sources by parameter (`ToolSpec.slots`). A value that is given is never replaced.
        """
        declared = declared or {}
        known = properties(params_schema)
        slots: list[Slot] = []
        gaps: list[Gap] = []
        questions: list[Question] = []
        needed = {name: one for one in missing(params_schema, given) for name in one.fields}
        for name, value in given.items():
            if name not in needed and value is not None:
                slots.append(_given(name, value, known.get(name, {}), context))
        for name in dict.fromkeys([*needed, *(one for one in declared if one in known and given.get(one) is None)]):
            source = declared.get(name)
            wanted = Wanted(tool_name, name, known.get(name, {}), (source.entity if source else None) or name)
            slot, offered, tried = self._find(wanted, source.sources if source else (), context)
            if slot is None:
                default = wanted.schema.get("default")
                if default is not None:
                    slots.append(Slot(name, default, "default", "recorded", "the schema", None, 1, UNIQUE))
                elif name in needed:
                    gaps.append(Gap(name, f"not in {', '.join(tried)}" if tried else "no source is declared for it"))
                continue
            slots.append(slot)
            if (slot.confidence or 0.0) < self.use_from:
                questions.append(Question(name, tuple(offered[:5]), slot.note))
        return Filling(tuple(slots), tuple(gaps), tuple(questions))

    def _find(
        self, wanted: Wanted, sources: Sequence[str], context: Context
    ) -> tuple[Slot | None, list[JsonValue], list[str]]:
        """The slot from the first source that offers anything; the values on offer; the sources asked."""
        tried: list[str] = []
        for source in sources:
            provider = self._providers.get(source)
            tried.append(source if provider is not None else f"{source} (no such provider)")
            found = list(provider.find(wanted, context)) if provider is not None else []
            if not found:
                continue
            offered: list[JsonValue] = []
            for one in found:
                if one.value not in offered:
                    offered.append(one.value)
            best = found[0]
            confidence = min(by_rivals(len(offered)), 1.0 if best.confidence is None else best.confidence)
            note = best.note if len(offered) == 1 else f"{len(offered)} different values in {source}"
            fault = next(faults(best.value, wanted.schema, wanted.name), None)
            if fault is not None:
                confidence, note = min(confidence, BROKEN), fault.words
            matches = sum(one.value == best.value for one in found)
            slot = Slot(
                wanted.name, best.value, best.source, "recorded", best.origin, best.step, matches, confidence, note
            )
            return slot, offered, tried
        return None, [], tried


def _given(name: str, value: JsonValue, schema: Mapping[str, JsonValue], context: Context) -> Slot:
    """A value that the caller brought: the person's own where it stands in the request, and checked in any case."""
    fault = next(faults(value, schema, name), None)
    said = isinstance(value, str) and len(value) > 1 and value in context.text
    source, confidence = ("user", UNIQUE) if said else ("argument", _GIVEN)
    if fault is not None:
        return Slot(name, value, source, "recorded", None, None, int(said), BROKEN, fault.words)
    if isinstance(value, str) and shape_of(value) is None and schema.get("pattern") is None and not said:
        return Slot(name, value, "composed", "recorded")
    return Slot(name, value, source, "recorded", "the request" if said else None, None, int(said) or None, confidence)
