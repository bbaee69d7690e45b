"""`regress` and `sweep` from the command line."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from xml.etree import ElementTree

import yaml

from reach_tui.replay.registry_source import BUNDLED
from tests.cli.conftest import Run


def test_the_bundled_set_runs_and_is_its_own_baseline(reach: Run, tmp_path: Path) -> None:
    base = tmp_path / "base.json"
    first = reach("regress", "shop", "--registry", "shop", "--write-baseline", base, "--json")
    assert first.code == 0
    found = json.loads(first.out)
    assert (found["cases"], found["compared"]) == (259, 0)
    assert found["accuracy"] > 0.7
    again = reach("regress", "shop", "--registry", "shop", "--baseline", base)
    assert again.code == 0
    assert "no regression" in again.out
    assert "0 lost, 0 won of 259" in again.out


def test_a_description_made_worse_fails_the_check(reach: Run, tmp_path: Path) -> None:
    tools = Path(shutil.copytree(BUNDLED / "shop", tmp_path / "tools"))
    base = tmp_path / "base.json"
    assert reach("regress", "shop", "--registry", tools, "--write-baseline", base).code == 0
    path = tools / "query_order_status.yaml"
    good = path.read_text(encoding="utf-8")
    document = yaml.safe_load(good)
    document["description"] += (
        " Track a parcel: where is the package, the courier station, last scan. 查快递到哪了物流信息。"
    )
    document["sample_calls"] += [
        {"utterance": words, "params": {"order_id": "2026053100018842"}}
        for words in (
            "where is my parcel",
            "track SF1234567890123",
            "查快递",
            "物流信息看一下",
            "last scan of the package",
        )
    ]
    path.write_text(yaml.safe_dump(document, allow_unicode=True), encoding="utf-8")
    worse = reach(
        "regress",
        "shop",
        "--registry",
        tools,
        "--baseline",
        base,
        "--junit",
        tmp_path / "j.xml",
        "--markdown",
        tmp_path / "r.md",
    )
    assert worse.code == 1
    lines = [line for line in worse.out.splitlines() if line.startswith("track_parcel")]
    assert "query_order_status" in lines[0]
    assert ElementTree.parse(tmp_path / "j.xml").getroot().attrib["failures"] != "0"
    assert "track\\_parcel" in (tmp_path / "r.md").read_text(encoding="utf-8")
    path.write_text(good, encoding="utf-8")
    assert reach("regress", "shop", "--registry", tools, "--baseline", base).code == 0


def test_bad_input_is_one_line_and_code_2(reach: Run, tmp_path: Path) -> None:
    for arguments in (
        ("regress", "shop", "--registry", tmp_path / "none"),
        ("regress", tmp_path / "none.jsonl", "--registry", "shop"),
        ("regress", "shop", "--registry", "shop", "--baseline", tmp_path / "none.json"),
        ("sweep", tmp_path / "none.jsonl", "--registry", "shop"),
    ):
        found = reach(*arguments)
        assert (found.code, found.out) == (2, "")
        assert found.err.count("\n") == 1


def test_a_minimum_and_a_foreign_baseline(reach: Run, tmp_path: Path) -> None:
    assert reach("regress", "shop", "--registry", "shop", "--min-accuracy", "0.99").code == 1
    assert reach("regress", "shop", "--registry", "shop", "--min-accuracy", "0.5").code == 0
    (tmp_path / "b.json").write_text('{"version": 1, "cases": {"other": {"case": "x", "right": true}}}')
    foreign = reach("regress", "shop", "--registry", "shop", "--baseline", tmp_path / "b.json")
    assert foreign.code == 1
    assert "nothing was compared" in foreign.err


def test_sweep_prints_the_optimum_and_writes_the_curve(reach: Run, tmp_path: Path) -> None:
    found = reach("sweep", "shop", "--registry", "shop", "--curve", tmp_path / "c.csv", "--json")
    assert found.code == 0
    value = json.loads(found.out)
    low, high = value["best"]["t1"]["interval"]
    assert 0.5 <= low <= value["best"]["t1"]["value"] <= high <= 1
    assert value["best"]["loss"] <= value["in_use"]["loss"]
    assert len((tmp_path / "c.csv").read_text().splitlines()) == 52
    shown = reach("sweep", "shop", "--registry", "shop", "--wrong", "50")
    assert "t1      best" in shown.out


def test_recorded_scores_count_before_the_router(reach: Run, tmp_path: Path) -> None:
    lines = [
        json.dumps(
            {
                "id": str(n),
                "utterance": "x",
                "tool": "query_refund",
                "candidates": [{"name": "query_refund" if n % 2 else "track_parcel", "score": 0.9 if n % 2 else 0.6}],
            }
        )
        for n in range(60)
    ]
    (tmp_path / "c.jsonl").write_text("\n".join(lines))
    value = json.loads(reach("sweep", tmp_path / "c.jsonl", "--registry", "shop", "--json").out)
    assert value["deciding"] == 60
    assert (value["best"]["loss"], value["supported"]) == (0.5, False)  # 0.75 is between the two already
    assert 0.6 < value["best"]["t1"]["value"] <= 0.9
    wide = json.loads(reach("sweep", tmp_path / "c.jsonl", "--registry", "shop", "--t1", "0.55", "--json").out)
    assert wide["supported"] is True or wide["gain"][0] > 0


def test_k_sweep(reach: Run) -> None:
    rows = reach("regress", "shop", "--registry", "shop", "--k-sweep", "--jsonl").records
    assert [row["k"] for row in rows] == [3, 5, 8, 26]
