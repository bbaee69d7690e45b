"""Everything the agent could see, by step, and where a value stands in it: an index that grows with the session."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field

from reach_tui.base.jsonio import JsonValue
from reach_tui.infer.texts import bounded, comparable, find, texts_in, tokens
from reach_tui.model import Step, StepKind, ToolCall
from reach_tui.reach.entities import Shape, matching, of_shape

USER, RESULT, ARGUMENT, ASSISTANT = "user", "result", "argument", "assistant"
MOST_HITS = 256
"""Texts that are given for one value."""
_TOGETHER = 100  # ms between the starts of calls that were sent together
_ECHOED = 50  # arguments of a failed call that its result may repeat
_MOST_TOKENS = 24  # tokens of a value that choose where it is looked for
_MASK = str.maketrans("0123456789", "9999999999")
_LETTERS = re.compile(r"[A-Za-z]")


@dataclass(slots=True)
class Text:
    """Something the agent could see."""

    step: int
    turn: int
    source: str
    """user, result, argument or assistant."""
    label: str
    """`step 8 · read`."""
    forms: tuple[str, ...]
    """What is searched: as it is read, and with escapes undone."""
    began: int | None = None
    """When its call began and ended, in ms since 1970, where known: a call beside it did not see its result."""
    ended: int | None = None
    echo: frozenset[str] = frozenset()
    """For the result of a failed call: its own arguments, which it only repeats."""
    failed: bool = False


@dataclass(frozen=True, slots=True)
class Hit:
    """A text in which a value stands."""

    text: Text
    derived: str = ""
    """How the form that was found differs: case, path, base name, format …; empty for the value as it is."""


@dataclass(slots=True)
class _Found:
    """Where a value stands, as far as the texts were looked through."""

    texts: list[int] = field(default_factory=list)
    upto: int = 0
    """Number of the first text not looked at yet."""


class Sources:
    """The texts of a session with an index of their tokens. Grows only; questions name a step."""

    def __init__(self) -> None:
        self.texts: list[Text] = []
        self._steps: list[int] = []
        self._postings: dict[str, list[int]] = {}
        self._found: dict[tuple[str, bool], _Found] = {}
        self._entities: dict[str, _Entities] = {}
        self._users: list[int] = []

    def add(self, step: Step, failed: bool | None) -> None:
        """What a step shows to later ones."""
        call = step.call
        if call is not None:
            self._add_call(step, call, failed)
            return
        if step.kind in (StepKind.USER, StepKind.SYSTEM, StepKind.NOTE, StepKind.RAW):
            source = USER if step.kind is StepKind.USER else RESULT
        else:
            source = ASSISTANT
        if step.text:
            self._add(Text(step.number, step.turn, source, f"step {step.number} · {step.kind}", comparable(step.text)))

    def _add_call(self, step: Step, call: ToolCall, failed: bool | None) -> None:
        label = f"step {step.number} · {call.shown_tool}"
        given = call.arguments
        arguments = tuple(texts_in(given)) if not isinstance(given, str) else (given,)
        if arguments:
            text = bounded("\n".join(arguments))
            self._add(Text(step.number, step.turn, ARGUMENT, label, (text,), failed=failed is True))
        if call.result is not None and call.result.text:
            began, ended = call.started_at, None
            if began is not None and call.duration_ms is not None:
                ended = began + call.duration_ms
            echo = frozenset(one for one in arguments[:_ECHOED] if len(one) <= 4096) if failed else frozenset()
            forms = comparable(call.result.text)
            self._add(Text(step.number, step.turn, RESULT, label, forms, began, ended, echo, failed is True))

    def _add(self, text: Text) -> None:
        number = len(self.texts)
        self.texts.append(text)
        self._steps.append(text.step)
        if text.source == USER:
            self._users.append(number)
        postings = self._postings
        found = tokens(text.forms[0])
        for form in text.forms[1:]:
            found |= tokens(form)
        for token in found:
            known = postings.get(token)
            if known is None:
                postings[token] = [number]
            else:
                known.append(number)

    def _limit(self, step: int) -> int:
        return bisect_left(self._steps, step)

    def hits(self, value: str, step: int, at: int | None = None, *, folded: bool = False, meant: str = "") -> list[Hit]:
        """Texts before a step that hold the value, newest first, people's words last; `folded`: in any case.
        `meant` is the value as the call has it, where another form of it is looked for.

        `at` is when the call began: results of calls that ran beside it are left out, and so is what a failed call
        repeats of its own arguments. Of a value that stands everywhere the newest `MOST_HITS` texts are given, and
        people's.
        """
        numbers = self._numbers(value, folded, self._limit(step))
        chosen = numbers[-MOST_HITS:]
        if len(numbers) > MOST_HITS:
            chosen = [number for number in numbers[:-MOST_HITS] if self.texts[number].source == USER][-20:] + chosen
        found: list[Hit] = []
        for number in reversed(chosen):
            text = self.texts[number]
            if at is not None and _beside(text, at):
                continue
            if text.echo and any(value in one or (meant and meant in one) for one in text.echo):
                continue
            found.append(Hit(text, "case" if folded else ""))
        return found

    def _numbers(self, value: str, folded: bool, limit: int) -> list[int]:
        known = self._found.get((value, folded))
        if known is None:
            known = self._found[value, folded] = _Found()
        if known.upto < limit:
            wanted = value.casefold() if folded else value
            for number in self._candidates(value, known.upto, limit):
                forms = self.texts[number].forms
                for form in forms:
                    if find(form.casefold() if folded else form, wanted) >= 0:
                        known.texts.append(number)
                        break
            known.upto = limit
        return known.texts[: bisect_left(known.texts, limit)]

    def _candidates(self, value: str, first: int, limit: int) -> list[int]:
        """Texts, by number from `first`, that hold the value's two rarest tokens; none where a token stands nowhere."""
        found: list[list[int]] = []
        for token in list(tokens(value[:4096]))[:_MOST_TOKENS]:
            if len(token) == 1 and not token.isascii():
                continue  # it stands alone here, and inside a longer run of such characters elsewhere
            postings = self._postings.get(token)
            if postings is not None:
                found.append(postings)
            elif len(value) <= 4096:  # else the cut may have halved a token
                return []
        found.sort(key=len)
        if not found:
            return []
        rarest = found[0][bisect_left(found[0], first) : bisect_left(found[0], limit)]
        if len(rarest) > 8 and len(found) > 1:
            other = set(found[1][bisect_left(found[1], first) : bisect_left(found[1], limit)])
            return [number for number in rarest if number in other]
        return rarest

    def last_user(self, step: int) -> Text | None:
        """What the person said last before a step."""
        place = bisect_left(self._users, self._limit(step))
        return self.texts[self._users[place - 1]] if place else None

    def user_texts(self, step: int, most: int = 20) -> Iterator[Text]:
        """What the person said before a step, newest first."""
        place = bisect_left(self._users, self._limit(step))
        for number in reversed(self._users[max(0, place - most) : place]):
            yield self.texts[number]

    def rivals(self, value: str, shape: Shape | None, pattern: str | None, step: int) -> int:
        """How many different values of the same kind people and results offered before a step, this one included.

        Where the person's last words name it, only those count; where a look-up returned nothing else of its kind, it
        is the only one.
        """
        name = pattern if pattern is not None else f"{shape}:{mask(value)}"
        known = self._entities.get(name)
        if known is None:
            known = self._entities[name] = _Entities(shape, pattern, "" if pattern is not None else mask(value))
        limit = self._limit(step)
        known.read(self.texts, limit)
        last = self.last_user(step)
        if last is not None and any(find(form, value) >= 0 for form in last.forms):
            return max(1, len(known.values_in(last)))
        newest = known.newest_with(value, limit)
        if newest is not None and len(newest) == 1:
            return 1
        return max(1, known.different(limit))


class _Entities:
    """The different values of one kind, with the text that named each first."""

    def __init__(self, shape: Shape | None, pattern: str | None, masked: str) -> None:
        self._shape, self._pattern, self._mask = shape, pattern, masked
        self._first: dict[str, int] = {}
        self._firsts: list[int] = []
        self._named: list[tuple[int, frozenset[str]]] = []
        self._upto = 0

    def read(self, texts: list[Text], limit: int) -> None:
        for number in range(self._upto, limit):
            text = texts[number]
            if text.source not in (USER, RESULT):
                continue
            values = frozenset(self.values_in(text))
            if values:
                self._named.append((number, values))
            for value in values:
                if value not in self._first:
                    self._first[value] = number
                    self._firsts.append(number)
        self._upto = max(self._upto, limit)

    def values_in(self, text: Text) -> set[str]:
        found: set[str] = set()
        for form in text.forms:
            if self._pattern is not None:
                values = (one.value for one in matching(form, self._pattern))
            elif self._shape is not None:
                values = (one.value for one in of_shape(form, self._shape) if mask(one.value) == self._mask)
            else:
                continue
            found.update(value for value in values if not any(value in one for one in text.echo))
        return found

    def different(self, limit: int) -> int:
        return bisect_left(self._firsts, limit)

    def newest_with(self, value: str, limit: int) -> frozenset[str] | None:
        """What the newest text names that names anything of the kind, if it names the value."""
        for number, values in reversed(self._named):
            if number < limit:
                return values if value in values else None
        return None


def _beside(text: Text, at: int) -> bool:
    """True for the result of a call that was sent together with one that began at `at`, and ended after that.

    The time between two requests to a model is never so short. A process that runs on in the background ends late too,
    but what it said first was seen.
    """
    if text.began is None or text.ended is None:
        return False
    return text.ended > at and at - text.began < _TOGETHER


def mask(value: str) -> str:
    """`ORD-1234` -> `aaa-9999`: values alike in this are of one kind."""
    return _LETTERS.sub("a", value.translate(_MASK))


def scalar_text(value: JsonValue) -> str | None:
    """A scalar as the text that is looked for; None for null, true, false and containers."""
    return next(texts_in(value), None) if not isinstance(value, dict | list) else None
