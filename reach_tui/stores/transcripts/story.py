"""The steps of one session in the making: calls wait for their results, all else for the calls before it."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from reach_tui.base.jsonio import BadJson, JsonValue, loads, shallow
from reach_tui.model import Step, StepKind, ToolCall
from reach_tui.stores.content import Narrator, json_text, result_of
from reach_tui.stores.transcripts.lines import Line


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back for a call."""

    text: str | None
    flagged: bool | None
    at: int | None = None
    status: str | None = None
    duration_ms: int | None = None
    """As recorded; without it the time between the two lines is taken."""
    metadata: Mapping[str, JsonValue] = field(default_factory=dict)


@dataclass(slots=True)
class _Queued:
    step: Step
    waiting: bool = False


class Story(Narrator):
    """Numbers steps in the order of the file, pairs calls with results by id and occurrence, and streams them out."""

    def __init__(self, session_id: str) -> None:
        super().__init__(session_id)
        self._queue: deque[_Queued] = deque()
        self._open: dict[str, deque[_Queued]] = {}
        self._seen: dict[str, int] = {}

    def say(self, kind: StepKind, text: str, at: int | None = None, *, visible: bool = True) -> None:
        """A step that is no call; one without any text is none."""
        if text.strip():
            self._queue.append(_Queued(self.step(kind, text, at, visible=visible)))

    def prompt(self, text: str, at: int | None = None, *, visible: bool = True) -> None:
        """What the user wrote: a new turn begins."""
        if text.strip():
            self.turn += 1
            self.say(StepKind.USER, text, at, visible=visible)

    def raw(self, line: Line) -> None:
        """A line that could not be read, shown as it stands; the torn end of a file being written is no step."""
        torn = line.fault == "torn"
        self.trouble("torn last line" if torn else "unreadable line", f"line {line.number}: {line.fault}")
        if not torn:
            self._queue.append(_Queued(self.step(StepKind.RAW, line.text or f"[{line.fault}]")))

    def misshapen(self, line: Line, part: str) -> None:
        """A line of JSON that lacks the object it should have; shown as it stands."""
        self.raw(replace(line, fault=f"{part} is no object", text=json_text(shallow(dict(line.value)))))

    def begin(
        self,
        call_id: str,
        tool: str,
        arguments: JsonValue,
        at: int | None,
        line: Line,
        *,
        visible: bool = True,
        metadata: Mapping[str, JsonValue] | None = None,
        problem: str | None = None,
    ) -> None:
        """A call, open until `answer` is told its id. Arguments that are text are parsed where they are JSON."""
        parsed, fault = parse_arguments(arguments)
        if fault is not None:
            self.trouble("malformed call", f"line {line.number}: {fault}")
        self.number += 1
        call = ToolCall(
            key=self._key(call_id or f"line-{line.number}"),
            id=call_id,
            session_id=self.session_id,
            tool=tool,
            arguments=parsed,
            step=self.number,
            turn=self.turn,
            started_at=at,
            metadata=metadata or {},
            visible=visible,
            problem=problem or fault,
        )
        queued = _Queued(Step(self.number, self.turn, StepKind.CALL, at=at, call=call, visible=visible), waiting=True)
        self._queue.append(queued)
        self._open.setdefault(call_id, deque()).append(queued)

    def _key(self, name: str) -> str:
        count = self._seen[name] = self._seen.get(name, 0) + 1
        return f"{self.session_id}/{name}" + (f"#{count}" if count > 1 else "")

    def is_open(self, call_id: str) -> bool:
        """True if a call of that id waits for its result."""
        return bool(self._open.get(call_id))

    def answer(self, call_id: str, answer: Answer, line: Line, *, visible: bool = True) -> None:
        """The result of the oldest open call of that id; without such a call it is a note."""
        waiting = self._open.get(call_id)
        if not waiting:
            self.trouble("orphan result", f"line {line.number}: {call_id}")
            self.say(
                StepKind.NOTE, f"result without a call ({call_id}): {answer.text or ''}", answer.at, visible=visible
            )
            return
        queued = waiting.popleft()
        call = queued.step.call
        assert call is not None
        duration = answer.duration_ms
        if duration is None and answer.at is not None and call.started_at is not None:
            duration = max(0, answer.at - call.started_at)
        call = replace(
            call,
            result=None if answer.text is None else result_of(answer.text),
            flagged=answer.flagged,
            status=answer.status,
            duration_ms=duration,
            metadata={**call.metadata, **answer.metadata},
        )
        queued.step = replace(queued.step, call=call)
        queued.waiting = False

    def started(self, call_id: str, at: int | None) -> None:
        """An open call began to run only now."""
        if at is not None and (waiting := self._open.get(call_id)):
            queued = waiting[0]
            assert queued.step.call is not None
            queued.step = replace(queued.step, at=at, call=replace(queued.step.call, started_at=at))

    def ready(self) -> Iterator[Step]:
        """The steps that nothing can change any more."""
        while self._queue and not self._queue[0].waiting:
            yield self._queue.popleft().step

    def rest(self) -> Iterator[Step]:
        """At the end of the file: everything, calls without a result as they are."""
        while self._queue:
            yield self._queue.popleft().step


def parse_arguments(value: JsonValue) -> tuple[JsonValue, str | None]:
    """Arguments as an object, from JSON text too; the text itself and why, where it is none."""
    if not isinstance(value, str):
        return shallow(value), None
    try:
        return shallow(loads(value)), None
    except BadJson:
        return value, "arguments are not valid JSON"
