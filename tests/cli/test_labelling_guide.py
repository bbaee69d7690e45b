"""The figures of docs/labelling.md, made again from the labels given while it was followed."""

from __future__ import annotations

import gzip
import json
import lzma
from pathlib import Path

import pytest

from tests.cli.conftest import Run

ROOT = Path(__file__).resolve().parents[2]
GUIDE = (ROOT / "docs/labelling.md").read_text(encoding="utf-8")


@pytest.fixture
def kilo(reach: Run, tmp_path: Path) -> Path:
    """The recording of the guide, with the labels of ann, bo and cy."""
    store = tmp_path / "kilo.db"
    store.write_bytes(lzma.decompress((ROOT / "tests/data/labels/kilo-7.7.9.db.xz").read_bytes()))
    log = tmp_path / "guide.events.jsonl"
    log.write_bytes(gzip.decompress((ROOT / "tests/data/labels/kilo-guide.events.jsonl.gz").read_bytes()))
    taken = json.loads(reach("labels", "import", store, log, "--json").out)
    assert taken == {"imported": 137, "known": 0, "elsewhere": 0, "refused": 0, "unknown_class": 0}
    return store


def test_agreement_is_as_the_guide_says(reach: Run, kilo: Path) -> None:
    found = json.loads(reach("labels", "agreement", kilo, "--json").out)
    pair = found["pairs"][0]
    assert (found["items"], found["adjudicated"], found["disputed"]) == (64, 9, [])
    told = {
        "raw agreement": pair["raw"]["value"],
        "Cohen's kappa": pair["kappa"]["value"],
        "PABAK": pair["pabak"],
        "Krippendorff's alpha": found["alpha"]["value"],
    }
    assert {name: round(value, 3) for name, value in told.items()} == {
        "raw agreement": 0.859, "Cohen's kappa": 0.829, "PABAK": 0.842, "Krippendorff's alpha": 0.83,
    }  # fmt: skip
    for value in told.values():
        assert f"{value:.3f}" in GUIDE


def test_the_detectors_score_as_the_guide_says(reach: Run, kilo: Path, tmp_path: Path) -> None:
    found = json.loads(reach("labels", "score", kilo, "--json").out)
    precision, recall, same = found["precision"], found["recall"], found["same_class"]
    assert (precision["count"], precision["of"], recall["count"], recall["of"]) == (45, 45, 45, 45)
    assert same["of"] == 45
    assert same["count"] >= 40, "the rules may have learnt from the guide since"
    assert "45 of 45" in GUIDE
    assert "40 of 45" in GUIDE
    rule = tmp_path / "ours.toml"
    rule.write_text(GUIDE.split("```toml\n", 1)[1].split("```", 1)[0], encoding="utf-8")
    assert reach("rules", "check", rule).code == 0
    tried = reach("rules", "test", rule, kilo)
    assert "the rules agree with 1 of 1 labelled calls they decide" in tried.out


def test_the_exports_hold_what_the_guide_says(reach: Run, kilo: Path, tmp_path: Path) -> None:
    cases = tmp_path / "cases.jsonl"
    assert reach("labels", "export", kilo, "--format", "cases", "-o", cases).code == 0
    made = [json.loads(line) for line in cases.read_text(encoding="utf-8").splitlines()]
    assert len(made) == 31
    assert f"{len(made)} cases" in GUIDE
    folder = tmp_path / "ds"
    told = reach("labels", "export", kilo, "--format", "dataset", "-o", folder).err
    assert "101 rows to develop with, 36 held back" in told
    assert "101 rows to develop with, 36 held back" in GUIDE
    assert reach("labels", "export", kilo, "--events").out.count("\n") == 137
