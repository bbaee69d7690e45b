"""Public bug reports on search, live sessions and labels (section G) that no other module has.

G1 to G3 stand in tests/index/test_search.py and tests/tui/test_search_screen.py, G5 in tests/taxonomy, G6 and G8 to G10
in tests/tui/test_labelling_queue.py, G12 in tests/analyze/test_detector_scores.py, G13 in tests/tui/test_live.py and
benchmarks/follow_screen.py, G15 in tests/cli/test_label_codebook.py, G17 in tests/report/test_compare.py.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from reach_tui.base.clock import now_ms
from reach_tui.model import ToolCall, Verdict
from reach_tui.tui.panels import SILENT_MS, sentence
from reach_tui.workspace import JudgedCall
from tests.cli.conftest import Run

DATA = Path(__file__).resolve().parents[1] / "data"


@pytest.mark.parametrize(
    ("age", "said"),
    [
        (1_000, "may still be running"),
        (SILENT_MS + 5_000, "stopped, there was no answer for 10 minutes"),
        (None, "No result"),
    ],
)
def test_g14_a_call_without_an_answer_is_stopped_after_a_stated_time(age: int | None, said: str) -> None:
    started = None if age is None else now_ms() - age
    call = ToolCall("k", "i", "s", "bash", started_at=started, status="running")
    assert said in sentence(JudgedCall(call, Verdict(None)))


def test_g7_an_undo_is_on_disk_too(reach: Run, tmp_path: Path) -> None:
    from reach_tui.base.paths import labels_file
    from reach_tui.labels.store import LabelStore

    store = Path(shutil.copy(DATA / "opencode/opencode-1.2.20.db", tmp_path))
    key = reach("calls", store, "--failed", "--jsonl").records[0]["call_key"]
    assert reach("label", store, key, "stale_context", "--by", "ann").code == 0
    with LabelStore.open(labels_file()) as labels:
        labels.undo("ann")
    assert json.loads(reach("labels", "list", store, "--json").out) == []
    assert next(one for one in reach("calls", store, "--jsonl").records if one["call_key"] == key)["label"] is None
