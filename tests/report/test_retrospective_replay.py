"""The generated retrospective replayed with unchanged settings: every guard figure, and no decision that flips."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from reach_tui.workspace import Workspace
from reach_tui.workspace.replaying import Replay, ReplaySettings


def _spoken(path: Path, truth: dict[str, Any]) -> None:
    workspace = Workspace([path])
    source = workspace.found.sources[0]
    replay = Replay(workspace, source, ReplaySettings(infer=False))
    recordings = [replay.read(session) for session in replay.sessions()]
    guard = truth["guard"]
    for rule in ("same_error", "any_error"):
        replay.use(ReplaySettings(infer=False, guard_rule=rule, guard_after=guard["after"]))
        by_flag = by_truth = 0
        where: Counter[tuple[str, str]] = Counter()
        for recording in recordings:
            found = replay.run(recording)
            assert found.flips == ()
            flag, true = found.guard()
            by_flag, by_truth = by_flag + flag, by_truth + true
            speaks = [one for one in found.moments if one.guard is not None and one.guard.speaks_by_truth]
            where.update((recording.session.id, str(one.tool)) for one in speaks)
        expected = guard["counterfactual"][rule]
        assert (by_flag, by_truth) == (expected["by_flag"], expected["by_truth"])
        assert where == Counter((thread, tool) for thread, tool, *_ in expected["where"])
    fired = Counter(one["thread_id"] for one in guard["fired_in_the_trace"])
    assert sum(fired.values()) == guard["counterfactual"]["same_error"]["by_flag"]


def test_the_guards_of_a_shipped_database() -> None:
    import json

    folder = Path(__file__).resolve().parents[1] / "data" / "peri"
    _spoken(folder / "schema_3.db", json.loads((folder / "schema_3.truth.json").read_text(encoding="utf-8")))


@pytest.mark.shared
@pytest.mark.timeout(180)
def test_the_guards_of_the_retrospective(retrospective: tuple[Path, dict[str, Any]]) -> None:
    _spoken(*retrospective)
