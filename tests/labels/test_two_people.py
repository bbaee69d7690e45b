"""Two processes label the same calls at once while one is killed at random: nothing lost, nothing doubled."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

from benchmarks.label_kill import two_people
from reach_tui.labels.store import LabelStore

CALLS = 200
"""`benchmarks/label_kill.py --two` does it with 1,000, twenty times."""


def test_two_people_label_the_same_calls_while_one_is_killed(tmp_path: Path) -> None:
    path = tmp_path / "team.db"
    outcome = two_people(path, calls=CALLS, kills=3, chance=random.Random(7))
    assert outcome.lost == 0
    assert outcome.doubled == 0
    assert outcome.integrity == "ok"
    assert outcome.kills == 3
    with LabelStore.open(path) as store:
        labels = store.all_in_force()
    assert Counter(label.by for label in labels) == {"ann": CALLS, "bo": CALLS}
    assert len({(label.call_key, label.by) for label in labels}) == 2 * CALLS
    assert {label.category for label in labels if label.by == "ann"} == {"timeout_or_limit"}
