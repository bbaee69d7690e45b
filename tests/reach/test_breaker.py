"""The breaker at each boundary of the seed (60 s, 5 in a row, 40 % of more than 10, 30 s), and against a model."""

from __future__ import annotations

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from reach_tui.reach.breaker import Breaker, Breakers, BreakerSettings, BreakerState, Permit
from tests.reach.clocks import Clock


@pytest.fixture
def clock() -> Clock:
    return Clock()


def call(breaker: Breaker, fine: bool) -> None:
    permit = breaker.acquire()
    assert permit is not None
    permit.succeeded() if fine else permit.failed()


def state_of(breaker: Breaker) -> str:
    return breaker.state.value


def outcomes(breaker: Breaker, pattern: str) -> None:
    for mark in pattern:
        call(breaker, mark == "+")


def test_the_defaults_are_the_seeds() -> None:
    assert BreakerSettings() == BreakerSettings(60.0, 5, 0.4, 10, 30.0)


def test_four_in_a_row_stay_closed_and_the_fifth_opens(clock: Clock) -> None:
    breaker = Breaker(now=clock)
    outcomes(breaker, "----")
    assert state_of(breaker) == "closed"
    outcomes(breaker, "-")
    assert state_of(breaker) == "open"
    assert breaker.acquire() is None


def test_a_success_between_starts_the_row_anew(clock: Clock) -> None:
    breaker = Breaker(now=clock)
    outcomes(breaker, "----+----")
    assert state_of(breaker) == "closed"


@pytest.mark.parametrize(("age", "state"), [(60.0, BreakerState.OPEN), (60.001, BreakerState.CLOSED)])
def test_five_in_a_row_count_within_sixty_seconds(clock: Clock, age: float, state: BreakerState) -> None:
    breaker = Breaker(now=clock)
    outcomes(breaker, "-")
    clock.ahead(age)
    outcomes(breaker, "----")
    assert breaker.state is state


@pytest.mark.parametrize(
    ("pattern", "state"),
    [
        ("+-+-+-+-+-", BreakerState.CLOSED),  # 5 of 10: more than 40 %, but not more than ten calls
        ("+-+-+-+-+-+", BreakerState.OPEN),  # 5 of 11 = 45 %
        ("++-++-++-++", BreakerState.CLOSED),  # 3 of 11
        ("+++++++++----", BreakerState.CLOSED),  # 4 of 13 = 31 %
        ("++-++-++-++--++", BreakerState.CLOSED),  # 5 of 15 = 33 %
        ("+++++-++-+-+-+-", BreakerState.CLOSED),  # 5 of 15
        ("+++-++-+-+-+-+-", BreakerState.CLOSED),  # 6 of 15 = 40 %: not more than 40 %
        ("+++-++-+-+-+-+--", BreakerState.OPEN),  # 7 of 16 = 44 %
    ],
)
def test_more_than_forty_percent_of_more_than_ten(clock: Clock, pattern: str, state: BreakerState) -> None:
    breaker = Breaker(now=clock)
    outcomes(breaker, pattern)
    assert breaker.state is state


def test_outcomes_leave_the_window(clock: Clock) -> None:
    breaker = Breaker(now=clock)
    outcomes(breaker, "+-+-+-+-+-")
    clock.ahead(60.001)
    outcomes(breaker, "+")
    assert state_of(breaker) == "closed"


@pytest.mark.parametrize(("seconds", "probe"), [(29.999, False), (30.0, True)])
def test_the_probe_comes_after_thirty_seconds(clock: Clock, seconds: float, probe: bool) -> None:
    breaker = Breaker(now=clock)
    outcomes(breaker, "-----")
    clock.ahead(seconds)
    assert breaker.blocks is not probe
    assert breaker.wait_s == pytest.approx(30.0 - seconds, abs=1e-6)
    assert (breaker.acquire() is not None) is probe


def test_one_probe_at_a_time_and_it_decides(clock: Clock) -> None:
    breaker = Breaker(now=clock)
    outcomes(breaker, "-----")
    clock.ahead(30)
    probe = breaker.acquire()
    assert probe is not None
    assert state_of(breaker) == "half_open"
    assert breaker.acquire() is None
    probe.failed()
    assert state_of(breaker) == "open"
    clock.ahead(29.999)
    assert breaker.acquire() is None
    clock.ahead(0.001)
    second = breaker.acquire()
    assert second is not None
    second.succeeded()
    assert state_of(breaker) == "closed"
    outcomes(breaker, "----")
    assert state_of(breaker) == "closed", "what came before the opening is forgotten"


def test_a_probe_that_was_given_up_makes_room_for_another(clock: Clock) -> None:
    breaker = Breaker(now=clock)
    outcomes(breaker, "-----")
    clock.ahead(30)
    probe = breaker.acquire()
    assert probe is not None
    probe.dropped()
    assert state_of(breaker) == "half_open"
    assert breaker.acquire() is not None


def test_calls_from_before_the_opening_say_nothing_after_it(clock: Clock) -> None:
    breaker = Breaker(now=clock)
    slow = [breaker.acquire() for _ in range(6)]
    for permit in slow[:5]:
        assert permit is not None
        permit.failed()
    assert state_of(breaker) == "open"
    clock.ahead(30)
    probe = breaker.acquire()
    assert probe is not None
    last = slow[5]
    assert last is not None
    last.succeeded()
    assert state_of(breaker) == "half_open", "only the probe decides"
    last.failed()
    probe.succeeded()
    probe.failed()
    assert state_of(breaker) == "closed", "a permit reports once"


def test_breakers_of_tools_are_apart(clock: Clock) -> None:
    breakers = Breakers(now=clock)
    outcomes(breakers.of("down"), "-----")
    call(breakers.of("up"), True)
    assert breakers.blocked() == {"down"}
    assert breakers.blocks("down")
    assert not breakers.blocks("never called")


class BreakerMachine(RuleBasedStateMachine):
    """The breaker against the words of the seed, written down as plainly as possible."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = Clock()
        self.breaker = Breaker(now=self.clock)
        self.log: list[tuple[float, bool]] = []
        self.opened: float | None = None
        self.probing = False
        self.generation = 0
        self.permits: list[tuple[Permit, int]] = []

    @rule(seconds=st.sampled_from([0.0, 0.5, 1.0, 7.0, 29.0, 30.0, 31.0, 59.0, 60.0, 61.0]))
    def wait(self, seconds: float) -> None:
        self.clock.ahead(seconds)

    def may_call(self) -> bool:
        return self.opened is None or (self.clock() - self.opened >= 30.0 and not self.probing)

    @rule()
    def acquire(self) -> None:
        permit = self.breaker.acquire()
        assert (permit is not None) is self.may_call()
        if permit is not None:
            self.permits.append((permit, self.generation))
            self.probing = self.opened is not None

    @precondition(lambda self: self.permits)
    @rule(data=st.data(), report=st.sampled_from(["failed", "failed", "failed", "succeeded", "dropped"]))
    def answer(self, data: st.DataObject, report: str) -> None:
        permit, generation = self.permits.pop(data.draw(st.integers(0, len(self.permits) - 1)))
        getattr(permit, report)()
        getattr(permit, report)()
        if generation != self.generation:
            return
        if self.opened is not None:
            self.probing = False
            if report == "failed":
                self.change(self.clock())
            elif report == "succeeded":
                self.change(None)
            return
        if report == "dropped":
            return
        self.log.append((self.clock(), report == "succeeded"))
        recent = [fine for at, fine in self.log if at >= self.clock() - 60.0]
        failures = recent.count(False)
        if recent[-5:] == [False] * 5 or (len(recent) > 10 and failures / len(recent) > 0.4):
            self.change(self.clock())

    def change(self, opened: float | None) -> None:
        self.opened, self.log, self.probing = opened, [], False
        self.generation += 1

    @invariant()
    def same_state(self) -> None:
        if self.opened is None:
            expected = BreakerState.CLOSED
        else:
            expected = BreakerState.HALF_OPEN if self.clock() - self.opened >= 30.0 else BreakerState.OPEN
        assert self.breaker.state is expected
        assert self.breaker.blocks is not self.may_call()


BreakerMachine.TestCase.settings = settings(max_examples=40, stateful_step_count=60, deadline=None)
TestBreakerMachine = BreakerMachine.TestCase
