"""Where one value came from: every place it stands in before the call, the best of them, and what lowers its worth."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime
from posixpath import basename, dirname, relpath

from reach_tui.base.jsonio import JsonValue
from reach_tui.detect.files import resolved
from reach_tui.infer.kinds import Kind, is_free
from reach_tui.infer.sources import ARGUMENT, ASSISTANT, RESULT, USER, Hit, Sources
from reach_tui.infer.weights import Weights
from reach_tui.model import ToolCall
from reach_tui.reach.dictionary import CALENDAR, ROLLING, BusinessDictionary
from reach_tui.reach.entities import Shape, shape_of

_TELLING = 5  # digits of a number that can be told from others of its kind
_RANK = {USER: 0, RESULT: 1, ARGUMENT: 2, ASSISTANT: 3}
_ISO = re.compile(r"(\d{4})[-/.年](\d{1,2})[-/.月](\d{1,2})日?(?:[T ].*)?$")
_RANGE = re.compile(r"(?:/|\.\.\.?|…|~| to )")


@dataclass(frozen=True, slots=True)
class Provenance:
    """What is known of one value's origin before the call."""

    source: str
    confidence: float | None
    origin: str | None = None
    step: int | None = None
    matches: int = 0
    notes: tuple[str, ...] = ()
    """What lowered the confidence, each by name."""

    def capped(self, most: float, note: str) -> Provenance:
        """With at most that confidence, and the reason."""
        confidence = most if self.confidence is None else min(self.confidence, most)
        return replace(self, confidence=confidence, notes=(*self.notes, note))


COMPOSED = Provenance("composed", None)


@dataclass(frozen=True, slots=True)
class Seeker:
    """Looks values up in what came before a call."""

    sources: Sources
    weights: Weights
    dictionary: BusinessDictionary
    folder: str | None = None

    def find(
        self, value: str, kind: Kind, schema: Mapping[str, JsonValue], call: ToolCall, *, new: bool = False
    ) -> Provenance:
        """The provenance of a value. `new`: the call makes the file that a path names, so that it need not be known."""
        hits = self.sources.hits(value, call.step, call.started_at)
        good = [hit for hit in hits if not (hit.text.source == ARGUMENT and hit.text.failed)]
        if not good:
            good = list(self._derived(value, kind, call))
        found = self._best(good, kind, value, call) if good else None
        if found is None or found.source in (ARGUMENT, ASSISTANT):
            other = self._declared(value, kind, schema, call)
            found = other if other is not None else found
        if found is None:
            return self._nowhere(value, kind, new=new)
        return self._with_rivals(found, value, kind, schema, call)

    def _best(self, hits: list[Hit], kind: Kind, value: str, call: ToolCall) -> Provenance:
        weights = self.weights
        best = min(hits, key=lambda hit: (bool(hit.derived), _RANK[hit.text.source], -hit.text.step))
        source = best.text.source
        confidence = {
            USER: weights.user, RESULT: weights.result, ARGUMENT: weights.argument, ASSISTANT: weights.assistant,
        }[source]  # fmt: skip
        notes: tuple[str, ...] = ()
        if best.derived:
            confidence *= weights.base_name if best.derived == "base name" else weights.derived
            notes = (f"found in another form: {best.derived}",)
        if source == ASSISTANT:
            notes = (*notes, "only in the agent's own words")
        return Provenance(source, confidence, best.text.label, best.text.step, len(hits), notes)

    def _derived(self, value: str, kind: Kind, call: ToolCall) -> Iterator[Hit]:
        forms = (
            _path_forms(value, self.folder)
            if kind is Kind.PATH
            else _value_forms(value)
            if kind is not Kind.PHRASE
            else ()
        )
        for form, how in forms:
            hits = self.sources.hits(form, call.step, call.started_at, meant=value)
            kept = [Hit(hit.text, how) for hit in hits if not (hit.text.source == ARGUMENT and hit.text.failed)]
            if kept:
                yield from kept
                return
        for hit in self.sources.hits(value, call.step, call.started_at, folded=True):
            if not (hit.text.source == ARGUMENT and hit.text.failed):
                yield hit

    def _declared(self, value: str, kind: Kind, schema: Mapping[str, JsonValue], call: ToolCall) -> Provenance | None:
        if kind is Kind.DATE and (found := self._dated(value, call)) is not None:
            return found
        if schema.get("default") == value or schema.get("const") == value or schema.get("enum") == [value]:
            return Provenance("default", self.weights.default, "the tool's schema", None, 1)
        if kind is Kind.PATH and self.folder and resolved(value, self.folder) == resolved(self.folder, None):
            return Provenance("default", self.weights.default, "the session's folder", None, 1)
        return None

    def _dated(self, value: str, call: ToolCall) -> Provenance | None:
        """A day, or a first and last day, that the dictionary gives for a phrase of the person."""
        if call.started_at is None:
            return None
        days = [day for part in _RANGE.split(value) if (day := _day(part)) is not None]
        if not days:
            return None
        for text in self.sources.user_texts(call.step):
            for rule in (None, CALENDAR, ROLLING):
                for one in self.dictionary.ranges(text.forms[0], call.started_at, rule):
                    if all(day in (one.first, one.last) for day in days):
                        found = Provenance(
                            "dictionary",
                            self.weights.dictionary,
                            text.label,
                            text.step,
                            1,
                            (f"{one.phrase}: {one.words}",),
                        )
                        if rule is None:
                            return found
                        return found.capped(self.weights.other_rule, f"the dictionary does not read it as {one.rule}")
        return None

    def _nowhere(self, value: str, kind: Kind, *, new: bool) -> Provenance:
        if kind is Kind.PATH:
            if new:
                return Provenance("composed", None, notes=("a new file",))
            return Provenance("none", self.weights.invented_path, notes=("INVENTED: stands nowhere before this call",))
        if kind is Kind.PHRASE:
            return COMPOSED
        if kind is Kind.ID and is_free(value) and shape_of(value) is None:
            return COMPOSED
        most = self.weights.invented_url if shape_of(value) is Shape.URL else self.weights.invented_id
        return Provenance("none", most, notes=("INVENTED: stands nowhere before this call",))

    def _with_rivals(
        self, found: Provenance, value: str, kind: Kind, schema: Mapping[str, JsonValue], call: ToolCall
    ) -> Provenance:
        if kind is not Kind.ID or found.source not in (USER, RESULT):
            return found
        pattern = schema.get("pattern")
        shape = shape_of(value)
        if not isinstance(pattern, str):
            pattern = None
            if shape is None or shape is Shape.URL:
                return found
        if len(value) < _TELLING and value.isdigit():
            return found
        rivals = self.sources.rivals(value, shape, pattern, call.step)
        if rivals <= 1:
            return found
        most = self.weights.two if rivals == 2 else self.weights.several
        return found.capped(most, f"AMBIGUOUS: one of {rivals} different values of this kind")


def _path_forms(value: str, folder: str | None) -> Iterator[tuple[str, str]]:
    """Other ways in which a path may have been named, the surest first."""
    path = value.removeprefix("./").rstrip("/")
    if path != value:
        yield path, "path"
    full = resolved(path, folder)
    if folder and full.startswith("/"):
        if full != path:
            yield full, "path joined to the folder"
        inside = relpath(full, folder)
        if inside not in (path, ".") and not inside.startswith(".."):
            yield inside, "path in the folder"
    parent, name = dirname(full), basename(full)
    if parent and name and basename(parent):
        yield f"{basename(parent)}/{name}", "end of the path"
    if len(name) > 2 and name != path:
        yield name, "base name"


def _value_forms(value: str) -> Iterator[tuple[str, str]]:
    """Other spellings of numbers and dates."""
    text = value.strip()
    day = _day(text)
    if day is not None:
        month = day.strftime("%B")
        for form in (
            day.isoformat(), f"{day:%Y/%m/%d}", f"{day:%Y%m%d}", f"{day.year}年{day.month}月{day.day}日",
            f"{day.month}月{day.day}日", f"{month} {day.day}, {day.year}", f"{day.day} {month} {day.year}",
            f"{month} {day.day}", f"{day.day} {month}", f"{day:%d.%m.%Y}", f"{day.day}.{day.month}.{day.year}",
        ):  # fmt: skip
            if form != text:
                yield form, "date format"
    digits = text.replace(",", "").replace("_", "")
    if digits.isascii() and digits.lstrip("-").isdigit() and len(digits) <= 30:
        for form in (digits, f"{int(digits):,}", digits.lstrip("0"), f"{digits}.0"):
            if form and form != text:
                yield form, "number format"
    elif len(text) > 4 and any(char in "-_ " for char in text):
        bare = text.translate({ord("-"): None, ord("_"): None, ord(" "): None})
        yield bare, "without separators"


def _day(text: str) -> date | None:
    found = _ISO.match(text.strip())
    if found is None:
        return None
    try:
        return datetime(int(found[1]), int(found[2]), int(found[3])).date()  # noqa: DTZ001
    except ValueError:
        return None
