"""An execution handle: what the router decided, and the one run that may follow, with its fallbacks and its events."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from uuid import uuid4

from reach_tui.base.errors import UsageError
from reach_tui.base.jsonio import JsonValue, dumps
from reach_tui.model import Candidate
from reach_tui.reach.asking import Asking, Clarification, Filler, forbidden, questions, rank
from reach_tui.reach.decision import EXECUTE, NoCapability, decide
from reach_tui.reach.events import Recorder
from reach_tui.reach.executor import Caller, Outcome
from reach_tui.reach.feedback import PEOPLE, Failure, Violation
from reach_tui.reach.ledger import Ledger
from reach_tui.reach.router import Routing
from reach_tui.reach.slots import Filling
from reach_tui.reach.spec import Registry, ToolSpec

OUT_OF_REACH = frozenset(
    {
        "timeout", "upstream_5xx", "network", "rate_limited", "bad_response", "auth_denied", "dependency_missing",
        "tool_unknown", "tool_internal", "environment",
    }
)  # fmt: skip
"""Failures of the way, not of the request: another tool may get there."""
FALLBACKS = 2
"""The second and the third candidate."""


@dataclass(frozen=True, slots=True)
class Layers:
    """The parts that a handle works with."""

    registry: Registry
    executor: Caller
    slots: Filler | None
    events: Recorder | None
    wall: Callable[[], int]
    """Milliseconds since 1970 UTC."""


@dataclass(frozen=True, slots=True)
class Answered:
    """What a run brought, for the orchestrator."""

    outcome: Outcome
    call_key: str | None
    """The call's key in the database; None where no call was made."""
    ask: tuple[Clarification, ...] = ()
    """What has to be asked first, where that is why no call was made."""
    fell_back_from: tuple[str, ...] = ()
    """The tools that were tried before this one."""
    step: int | None = None
    """The call's place in the session."""

    @property
    def ok(self) -> bool:
        """True where the executor saw no error."""
        return self.outcome.ok

    @property
    def tool(self) -> str:
        """The tool that answered."""
        return self.outcome.tool

    @property
    def value(self) -> JsonValue:
        """The whole answer."""
        return self.outcome.value

    @property
    def for_model(self) -> str:
        """What goes into the model's context: the trimmed answer, or the failure as JSON it can act on."""
        failure = self.outcome.failure
        return self.outcome.text if failure is None else dumps(failure.for_model())

    def for_people(self, texts: Mapping[str, str] = PEOPLE) -> str:
        """One short sentence where it failed, nothing where it did not."""
        return "" if self.outcome.failure is None else self.outcome.failure.for_people(texts)


@dataclass(slots=True)
class Handle:
    """One routed request. Run it once; asking again is a decision of its own."""

    layers: Layers
    asking: Asking
    intent: str
    routing: Routing
    tool: str | None
    """The tool that a run would call; None where the router would not execute and nobody has chosen."""
    chosen: bool = False
    """True where the model or the user chose the tool, not the router."""
    filling: Filling | None = None
    """The slots as far as they are known before the run."""
    _ran: bool = field(default=False, repr=False)

    @property
    def ledger(self) -> Ledger:
        """Where this request is written down."""
        layers = self.layers
        return Ledger(layers.events, self.asking, self.intent, self.routing.route, self.routing.left, layers.wall)

    @property
    def decision(self) -> str:
        """The router's: execute, clarify or no_capability."""
        return self.routing.route.decision

    @property
    def candidates(self) -> tuple[Candidate, ...]:
        """By falling score."""
        return self.routing.route.candidates

    @property
    def clarifications(self) -> tuple[Clarification, ...]:
        """What the layer would ask: which of up to three tools, or which values; empty where it can go on."""
        if self.decision == "clarify" and self.tool is None:
            names: tuple[JsonValue, ...] = tuple(one.name for one in self.candidates[:3])
            return (Clarification("tool", names, self.why),)
        return tuple(questions(self.filling)) if self.filling is not None else ()

    @property
    def no_capability(self) -> NoCapability | None:
        """The signal for a person to take over, None where there is a capability."""
        return self.routing.signal if self.tool is None else None

    @property
    def why(self) -> str:
        """The decision's reason in words."""
        route = self.routing.route
        if not route.candidates:
            return "no candidate"
        limits = route.thresholds
        top, gap = route.candidates[0].score, route.gap or 0.0
        if top < limits.floor:
            return f"top {top:.2f} < {limits.floor:.2f}"
        short = [f"top {top:.2f} < {limits.t1:.2f}"] if top < limits.t1 else []
        short += [f"gap {gap:.2f} < {limits.gap:.2f}"] if round(gap, 6) < limits.gap else []
        return ", ".join(short) or f"top {top:.2f}, gap {gap:.2f}"

    def choose(self, tool: str) -> None:
        """Take this tool, as the user or the model decided. Raises `UsageError` after the run."""
        if self._ran:
            raise UsageError("this handle has been run", hint="ask again")
        self.tool, self.chosen = tool, True
        spec = self.layers.registry.get(tool)
        self.filling = fill(self.layers.slots, spec, dict(self.routing.params), self.asking, self.layers.wall)

    async def run(self, params: Mapping[str, JsonValue] | None = None, *, fallback: bool | None = None) -> Answered:
        """Make the call, with fallbacks unless somebody chose the tool; failures are values, cancellation passes.

        Raises `UsageError` at a second run, and where there is no tool to run.
        """
        if self._ran:
            raise UsageError("this handle has been run", hint="ask again: repeating a call is a decision")
        if self.tool is None:
            raise UsageError(f"the decision is {self.decision}", hint="ask the user, then choose() a tool")
        self._ran = True
        given = {**self.routing.params, **(params or {})}
        first = await self._call(self.tool, given, "route", self.candidates)
        if not (not self.chosen if fallback is None else fallback):
            return first
        return await self._fall_back(first, given)

    async def _fall_back(self, answer: Answered, given: Mapping[str, JsonValue]) -> Answered:
        """Go on with the second and third candidate, as long as the double threshold holds for what is left.

        A tool that merely came near would give an answer to another question, which is worse than none.
        """
        tried = [answer.tool]
        for _ in range(FALLBACKS):
            failure = answer.outcome.failure
            spec = self.layers.registry.get(answer.tool)
            if failure is None or failure.error_type not in OUT_OF_REACH or spec is None:
                break
            if spec.side_effect != "read" and failure.sent:
                break  # it may have taken effect: doing it another way could do it twice
            rest = tuple(one for one in self.candidates if one.name not in tried)
            other = self.layers.registry.get(rest[0].name) if rest else None
            sure = decide(rest, self.routing.route.thresholds) == EXECUTE
            if other is None or not sure or rank(other) > rank(spec) or forbidden(other, self.asking) is not None:
                break
            known = {name: value for name, value in given.items() if name in other.properties}
            filled = fill(self.layers.slots, other, known, self.asking, self.layers.wall)
            if filled is not None and not filled.complete:
                break
            answer = await self._call(other.name, known, "fallback", rest, tuple(tried))
            tried.append(other.name)
        return answer

    async def _call(
        self,
        tool: str,
        given: Mapping[str, JsonValue],
        step: str,
        candidates: Sequence[Candidate],
        tried: tuple[str, ...] = (),
    ) -> Answered:
        spec = self.layers.registry.get(tool)
        refused = self._refused(tool, spec)
        filled = fill(self.layers.slots, spec, given, self.asking, self.layers.wall)
        if spec is not None and refused is None and filled is not None and not filled.complete:
            return self._ask(spec, given, filled)
        found = filled.arguments if filled is not None else {}
        params = {**given, **{name: value for name, value in found.items() if given.get(name) is None}}
        call = self.ledger.begin(tool, params, filled, step, tuple(candidates), tried, self.chosen)
        try:
            if refused is not None or spec is None:
                outcome = Outcome(tool, params, failure=refused, param_valid=None)
            else:
                outcome = await self.layers.executor.execute(
                    spec, params, user=self.asking.user, budget=self.asking.budget, key=f"{call.key}-{uuid4().hex[:12]}"
                )
        except BaseException as error:
            cancelled = isinstance(error, asyncio.CancelledError)
            self.ledger.end_early(call, "cancelled" if cancelled else "tool_internal")
            raise
        answered = Answered(outcome, call.key or None, fell_back_from=tried, step=call.step or None)
        self.ledger.end(call, outcome, answered.for_model)
        return answered

    def _refused(self, tool: str, spec: ToolSpec | None) -> Failure | None:
        if spec is None:
            names = ", ".join(one.name for one in self.layers.registry.tools()[:20])
            return Failure(tool, "tool_unknown", "no such tool", suggestion=f"the tools are {names}")
        barred = forbidden(spec, self.asking)
        return None if barred is None else Failure(tool, barred[0], f"not sent: {barred[1]}")

    def _ask(self, spec: ToolSpec, given: Mapping[str, JsonValue], filled: Filling) -> Answered:
        """Nothing is called: values are missing, or several fit."""
        asked = tuple(questions(filled))
        error_type = "needs_clarification" if filled.clarify else "slot_missing"
        violations = tuple(
            Violation(one.about, f"one of {', '.join(map(str, one.options))}" if one.options else "a value", one.reason)
            for one in asked
        )
        what = ", ".join(one.about for one in asked)
        failure = Failure(spec.name, error_type, what, violations, suggestion=f"ask the user for {what}; do not guess")
        place = self.ledger.clarify(error_type, what)
        return Answered(Outcome(spec.name, given, failure=failure), None, asked, step=place)


def fill(
    filler: Filler | None,
    spec: ToolSpec | None,
    given: Mapping[str, JsonValue],
    asking: Asking,
    wall: Callable[[], int],
) -> Filling | None:
    """The slots of a call, None where nobody fills slots or there is no such tool."""
    if filler is None or spec is None:
        return None
    return filler.fill(spec.name, spec.params_schema, given, asking.for_slots(wall()), spec.slots)
