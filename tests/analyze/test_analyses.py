"""Each analysis on a few calls by hand."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from reach_tui.analyze import (
    attribution,
    classes,
    counts,
    guards,
    health,
    loops,
    metrics,
    rates,
    stale_edits,
    success_path,
)
from reach_tui.analyze.guards import FLAG, SAME, TRUTH, Firing
from reach_tui.analyze.pairs import Pair
from reach_tui.analyze.tally import Tally, of_session
from reach_tui.detect.files import access
from reach_tui.model import Candidate, Route, Session, Step, StepKind, Verdict
from reach_tui.taxonomy import default
from tests.analyze.kit import bad, call, edit, missed, ok


def test_rates_count_each_view_and_never_invent_a_denominator() -> None:
    pairs = [
        ok("Bash", 1),
        bad("Bash", 2),
        bad("Bash", 3, flagged=True),
        (call("Bash", 4, None), Verdict(None)),
        (call("Bash", 5), Verdict(None, 0.4, rule="shell.cut")),
        (call("Ask", 6, None), Verdict(None)),
    ]
    found = rates.of_session(pairs).tools
    bash = found["Bash"]
    assert (bash.calls, bash.results, bash.flagged, bash.failed, bash.hidden, bash.soft, bash.unknown) == (
        5, 4, 1, 2, 1, 1, 1,
    )  # fmt: skip
    assert bash.rate_flagged == 0.25
    assert bash.rate_failed == 0.5
    assert found["Ask"].rate_failed is None
    assert found["Ask"].rate_flagged is None
    assert found["Ask"].interval is None


def test_a_call_that_failed_without_a_result_is_in_its_own_denominator() -> None:
    aborted = call("Bash", 1, None), Verdict(True, 0.9, "timeout_or_limit", "cancelled", "store.aborted")
    counts = rates.of_session([aborted]).tools["Bash"]
    assert (counts.results, counts.ended, counts.rate_failed) == (0, 1, 1.0)


def test_the_lists_rate_is_of_the_same_calls_as_the_reports() -> None:
    """A call that was aborted without a word has ended; one that nobody answered has not."""
    aborted = call("Bash", 1, None, flagged=True), Verdict(True, 0.9, "timeout_or_limit")
    waiting = call("Bash", 2, None), Verdict(None, 0.0)
    pairs = [aborted, waiting, ok("Bash", 3)]
    sums = counts.count(pairs)
    assert (sums.calls, sums.failed, sums.unfinished) == (3, 1, 1)
    assert sums.calls - sums.unfinished == rates.of_session(pairs).total.ended == 2


def test_copies_are_counted_once_but_are_still_what_came_before() -> None:
    pairs = [edit("a.py", 1, copy_of="s0/1"), missed("a.py", 2)]
    assert rates.of_session(pairs).tools["Edit"].calls == 1
    assert stale_edits.of_session(pairs).stale == {"Edit": 1}
    assert health.of_session(pairs).counts[health.COPIES] == 1


def test_the_seeds_grouping_knows_its_own_tool_only() -> None:
    rules = ["subagent_type_missing_foreground", "background_limit", "definition_not_found", "prompt_missing"]
    kinds = ["missing_required", "concurrency_limit", "unknown_tool", "missing_required"]
    levels = ["invalid_parameter", "timeout_or_limit", "tool_not_covered", "invalid_parameter"]
    pairs = [
        bad("Agent", n, rule=f"agent.{rule}", category=level, subcategory=kind)
        for n, (rule, kind, level) in enumerate(zip(rules, kinds, levels, strict=True))
    ]
    found = classes.of_session([*pairs, missed("a.py", 9)])
    seed = classes.avoidable_by_seed(found, "Agent")
    assert seed is not None
    assert (seed.count, seed.of, seed.by) == (2, 4, "seed")
    ours = classes.avoidable(found, "Agent", default())
    assert (ours.count, ours.of, ours.by) == (3, 4, "taxonomy")
    assert classes.avoidable_by_seed(found, "Edit") is None
    assert classes.avoidable(found, "Read", default()).share is None


def test_paths_are_resolved_whatever_the_tool_calls_them() -> None:
    assert access(call("Read", arguments={"path": "src/../a.py"}), "/w") == ("read", ("/w/a.py",))
    assert access(call("edit", arguments={"filePath": "/w/a.py"})) == ("edit", ("/w/a.py",))
    assert access(call("mcp__fs__write_file", arguments={"path": "b"}), "/w") == ("write", ("/w/b",))
    view = {"command": "view", "path": "/a"}
    assert access(call("str_replace_based_edit_tool", arguments=view)) == ("read", ("/a",))
    patch = "*** Begin Patch\n*** Update File: a.py\n@@\n*** Add File: c/d.py\n*** End Patch"
    assert access(call("apply_patch", arguments={"input": patch}), "/w") == ("edit", ("/w/a.py", "/w/c/d.py"))
    assert access(call("apply_patch", arguments=patch), "/w") == ("edit", ("/w/a.py", "/w/c/d.py"))
    assert access(call("Bash", arguments={"path": "x"})) == (None, ())
    assert access(call("Edit", arguments=["x", None])) == ("edit", ())


def test_stale_is_by_verdict_in_order_in_the_session_and_by_resolved_path() -> None:
    def share(*pairs: Pair) -> tuple[int, int, int, int]:
        found = stale_edits.of_session(pairs, "/w")
        return (
            found.not_found.total(), found.stale.total(), found.re_read.total(), found.written_only.total(),
        )  # fmt: skip

    assert share(edit("/w/a.py", 1), missed("a.py", 2)) == (1, 1, 0, 0)
    assert share(edit("a.py", 1), edit("a.py", 2, tool="Read"), missed("a.py", 3)) == (1, 1, 1, 0)
    assert share(edit("a.py", 1, tool="Read"), edit("a.py", 2), missed("a.py", 3)) == (1, 1, 0, 0)
    assert share(edit("a.py", 1, tool="Write"), missed("a.py", 2)) == (1, 0, 0, 1)
    assert share(missed("a.py", 1), missed("a.py", 2)) == (2, 0, 0, 0)  # a hidden failure is no success
    assert share(missed("a.py", 1), edit("a.py", 2)) == (1, 0, 0, 0)
    assert share(edit("b.py", 1), missed("a.py", 2)) == (1, 0, 0, 0)
    assert stale_edits.of_session([]).share is None


def test_guards_by_flag_and_by_truth() -> None:
    hidden = [bad("Agent", n) for n in range(6)]
    found = guards.of_session(hidden)
    assert found.fired[Firing(SAME, 5, FLAG)] == 0
    assert found.fired[Firing(SAME, 5, TRUTH)] == 2  # at the 5th and at the 6th
    assert found.fired[Firing("any_error", 5, TRUTH)] == 1  # once
    assert found.metric == {TRUTH: 6}
    between = [*hidden[:4], ok("Read", 7), *hidden[4:]]
    found = guards.of_session(between)
    assert found.fired[Firing(SAME, 5, TRUTH)] == 2  # another tool's success does not matter
    assert found.fired[Firing("any_error", 5, TRUTH)] == 0  # here it does
    other = [bad("Agent", n, text=f"Error: {n % 2}") for n in range(6)]
    assert guards.of_session(other).fired[Firing(SAME, 3, TRUTH)] == 2
    unanswered = [*hidden[:4], (call("Agent", 8, None), Verdict(None)), hidden[4]]
    assert guards.of_session(unanswered).fired[Firing("any_error", 5, TRUTH)] == 1


def test_loops_of_each_kind() -> None:
    same = [ok("Read", n, arguments={"path": "a"}) for n in range(3)]
    (loop,) = loops.find(same)
    assert (loop.what, loop.first, loop.length) == (loops.SAME_CALL, 0, 3)
    errors = [bad("Edit", 1), ok("Read", 2), bad("Edit", 3), bad("Edit", 4, arguments={"x": 1})]
    (loop,) = loops.find(errors)
    assert (loop.what, loop.length, loop.first_key, loop.last) == (loops.SAME_ERROR, 3, "s/1", 3)
    different = [bad("Edit", n, arguments={"n": n}) for n in (1, 2, 4)]
    assert loops.find([*different[:2], ok("Edit", 3), different[2]]) == []  # a success between
    turns = [ok("Read" if n % 2 else "Grep", n) for n in range(5)]
    (loop,) = loops.find(turns)
    assert (loop.what, loop.length) == (loops.PING_PONG, 5)
    assert loops.find([ok("Read", n, arguments={"n": n}) for n in range(6)]) == []


def test_a_session_is_attributed_to_its_first_unrecovered_failure() -> None:
    first = bad("Bash", 1, category="context_gap", subcategory="wrong_target", arguments={"command": "ls x"})
    second = bad("Fetch", 3, category="permission_denied", subcategory="forbidden")
    repaired = ok("Bash", 2, arguments={"command": "ls y"})
    found = attribution.decisive([first, repaired, second])
    assert found is not None
    assert (found.step, found.cause, found.subcategory) == (3, ("execution", "permission_denied"), "forbidden")
    assert "Fetch" in found.why
    assert attribution.decisive([first, repaired]) is None
    sums = attribution.of_session([first, repaired])
    assert (sums.recovered, sums.sessions, sums.failures.total()) == (1, {}, 1)
    looping = attribution.decisive([bad("Agent", n) for n in range(3)])
    assert looping is not None
    assert looping.cause == ("model", "loop_repetition")


def test_success_path_names_one_to_look_at() -> None:
    found = success_path.of_session([bad("Edit", 4, text="Error: a\nb"), bad("Edit", 5, flagged=None), bad("X", 6)])
    assert (found.hidden["Edit"], found.recorded_success["Edit"]) == (2, 1)
    assert found.example["Edit"] == ("s/4", "any.error", "Error: a b")
    assert success_path.of_session([bad("Edit", flagged=True)]).hidden == {}


def test_health_sees_what_changed_midway() -> None:
    early = [bad("Edit", n, started_at=n) for n in (1, 2, 3)]
    late = [bad("Edit", n, started_at=n, flagged=True) for n in (5, 6, 7)]
    after = [bad("Edit", n, started_at=n) for n in (8, 9, 10)]
    ((habit, one, change),) = (health.of_session(early) + health.of_session(late)).changes()
    assert (habit, one.flagged, one.silent, change) == (("Edit", "any.error"), 3, 3, "unflagged, later flagged")
    assert health.of_session([*late, *after]).changes()[0][2] == "flagged, later unflagged"
    assert health.of_session([*early, *late, *after]).changes()[0][2] == "both"
    assert health.of_session([*early[:1], *late[:1]]).changes()[0][2] == "both"  # too few to speak of later
    assert health.of_session(early).changes() == []


def test_health_of_steps_and_sessions() -> None:
    steps = [
        Step(1, 0, StepKind.RAW, "{"),
        Step(2, 0, StepKind.NOTE, "orphan result (x): y"),
        Step(3, 0, StepKind.NOTE, "compacted"),
    ]
    assert health.of_steps(steps).counts == {health.UNREADABLE: 1, "orphan results": 1}
    session = Session("peri", "c", parent_id="p", notes=("messages not recorded",), started_at=1)
    assert health.of_sessions([session]).counts["sessions with messages not recorded"] == 1


def test_metrics_are_left_open_where_the_trace_says_nothing() -> None:
    route = Route("recorded", "x", (Candidate("edit", 0.8),), "execute")
    assert metrics.of_session([ok("Edit", route=route)]) == metrics.Metrics(1, 1, 1, 1)
    clarify = Step(1, 1, StepKind.DECISION, route=Route("recorded", "x", (Candidate("edit", 0.6),), "clarify"))
    assert metrics.of_session([ok("Edit")], [clarify]) == metrics.Metrics(1, 0, 1, 0)
    assert metrics.of_session([]) == metrics.Metrics()
    inferred = Route("inferred", "x", (), "execute")
    assert metrics.of_session([bad("Edit", route=inferred)]) == metrics.Metrics(1, 0, 0, 0)


_texts = st.sampled_from(["Error: a", "Error: b"])
_tools = st.sampled_from(["Edit", "Read", "Bash", "Write"])
_files = st.sampled_from([{"file_path": "a"}, {"file_path": "b"}, {"command": "ls"}, None, "broken"])


@st.composite
def _pairs(draw: st.DrawFn) -> list[Pair]:
    pairs: list[Pair] = []
    for number in range(draw(st.integers(0, 8))):
        tool, arguments = draw(_tools), draw(_files)
        flagged = draw(st.sampled_from([True, False, None]))
        made = draw(st.sampled_from(["ok", "bad", "missed", "none"]))
        more = {"arguments": arguments, "flagged": flagged, "started_at": draw(st.sampled_from([None, 1, 2]))}
        if made == "ok":
            pairs.append(ok(tool, number, **more))
        elif made == "none":
            pairs.append((call(tool, number, None, **more), Verdict(None)))
        else:
            own = {"category": "stale_context", "subcategory": "stale_edit"} if made == "missed" else {}
            pairs.append(bad(tool, number, draw(_texts), **own, **more))
    return pairs


_tallies = _pairs().map(lambda pairs: of_session(Session("peri", "s", project="/w", started_at=5), pairs))


@given(_tallies, _tallies, _tallies)
def test_tallies_add_up_in_any_grouping(one: Tally, two: Tally, three: Tally) -> None:
    assert (one + two) + three == one + (two + three)
    assert one + Tally() == one == Tally() + one


@given(_tallies)
def test_a_tally_agrees_with_itself(one: Tally) -> None:
    total = one.rates.total
    assert one.classes.failed.total() == one.attribution.failures.total() == one.guards.metric[TRUTH] == total.failed
    assert one.classes.hidden.total() == one.success_path.hidden.total() == total.hidden
    assert one.stale_edits.stale.total() <= one.stale_edits.not_found.total()
