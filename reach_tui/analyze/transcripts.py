"""Whole sessions of any agent team, given as lists of steps: who and which step decided that it failed.

The rule, in full: tool results are judged like any others. If a failure was never recovered from, the step that asked
for it decided (or the delegate that acted, where it was named). If every failure was repaired, the tools are not to
blame, and the first step of the agents' own, from which all the others follow, is named as the model's.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from reach_tui.analyze.attribution import decisive
from reach_tui.analyze.pairs import Pair
from reach_tui.base.jsonio import BadJson, JsonValue, as_int, as_text, loads
from reach_tui.detect.classify import identified
from reach_tui.model import Result, ToolCall, Verdict

_OUTSIDE = frozenset({"user", "human", "system"})
_ASIDE = re.compile(r"\s*\([^()]*\)\s*$")  # Orchestrator (thought), Orchestrator (-> WebSurfer)
_DELEGATE = re.compile(r"\(\s*->\s*([^()]+?)\s*\)\s*$")
_CODE = re.compile(r"```(?:\w+)?\n(.*?)```", re.S)


@dataclass(frozen=True, slots=True)
class TranscriptStep:
    """One step as recorded: its number from 0, who spoke, and kind (text, tool_call, tool_result, …)."""

    number: int
    who: str
    kind: str
    text: str
    tool: str | None = None

    @property
    def agent(self) -> str:
        """Who, without what is said about the step in brackets."""
        return _ASIDE.sub("", self.who) or self.who

    @property
    def delegate(self) -> str | None:
        """Whom the step hands over to by name."""
        found = _DELEGATE.search(self.who)
        return found[1] if found else None


@dataclass(frozen=True, slots=True)
class Transcript:
    """A session: its id and its steps in order."""

    id: str
    steps: tuple[TranscriptStep, ...]


@dataclass(frozen=True, slots=True)
class Blame:
    """The step that decided, whose it was, the class, and why; `step` None for a session without a step of an agent."""

    id: str
    step: int | None
    agent: str | None
    level1: str | None
    level2: str | None
    why: str


def parse_session(line: str | bytes) -> Transcript:
    """The session in one line of JSON: `id` and `steps` of {`i`, `who`, `kind`, `tool`, `text`}.

    Other fields (labels among them) are not looked at. Raises `ValueError` that says what is wrong.
    """
    identifier, record = identified(line)
    steps = record.get("steps")
    if not isinstance(steps, list):
        raise ValueError("steps is missing or no list")
    return Transcript(identifier, tuple(_step(number, one) for number, one in enumerate(steps)))


def _step(number: int, value: JsonValue) -> TranscriptStep:
    if not isinstance(value, dict):
        raise ValueError(f"step {number} is no object")
    given = as_int(value.get("i"))
    fields = {name: as_text(value.get(name)) or "" for name in ("who", "kind", "text")}
    return TranscriptStep(number if given is None else given, **fields, tool=as_text(value.get("tool")))


def blame(session: Transcript, judge: Callable[[ToolCall], Verdict]) -> Blame:
    """Who and which step decided, by the rule above."""
    pairs: list[Pair] = []
    actors: dict[str, TranscriptStep] = {}
    for place, step in enumerate(session.steps):
        if step.kind != "tool_result":
            continue
        call, actor = _call(session, place)
        pairs.append((call, judge(call)))
        actors[call.key] = actor
    if found := decisive(pairs):
        actor = actors[found.call_key]
        return Blame(session.id, actor.number, actor.agent, found.cause.category, found.subcategory, found.why)
    first = next((step for step in session.steps if step.agent.lower() not in _OUTSIDE), None)
    why = "no failure stayed unrepaired: the tools are not to blame, the work went wrong from its first step"
    if first is None:
        return Blame(session.id, None, None, None, None, "no step of an agent")
    return Blame(session.id, first.number, first.agent, "model_reasoning", None, why)


def _call(session: Transcript, place: int) -> tuple[ToolCall, TranscriptStep]:
    """The call behind a result, and the step that acted: the asking one, or the delegate's own."""
    result = session.steps[place]
    asking = _asking(session.steps, place)
    tool = result.tool or result.agent
    call = ToolCall(
        key=f"{session.id}/{place}",
        id=str(place),
        session_id=session.id,
        tool=tool,
        arguments=_arguments(asking) if asking else None,
        result=Result(result.text, len(result.text.encode("utf-8", "replace"))),
        step=result.number,
    )
    acted = asking is None or (asking.delegate or "").lower() == result.agent.lower()
    return call, result if acted or asking is None else asking


def _asking(steps: Sequence[TranscriptStep], place: int) -> TranscriptStep | None:
    """The step before a result that asked for it: the nearest that is no result and not from outside."""
    for step in reversed(steps[:place]):
        if step.kind == "tool_result":
            return None
        if step.kind == "tool_call" or step.delegate or step.agent.lower() not in _OUTSIDE:
            return step
    return None


def _arguments(step: TranscriptStep) -> JsonValue:
    if step.kind == "tool_call":
        try:
            return loads(step.text.strip())
        except BadJson:
            return step.text
    code = _CODE.search(step.text)
    return {"code": code[1]} if code else None


def blame_record(found: Blame) -> dict[str, JsonValue]:
    """id, step (from 0), agent, level1, level2, why."""
    return {
        "id": found.id,
        "step": found.step,
        "agent": found.agent,
        "level1": found.level1,
        "level2": found.level2,
        "why": found.why,
    }
