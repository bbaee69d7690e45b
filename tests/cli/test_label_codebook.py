"""Codebooks from the command line: chosen, printed, checked; several in one label file; new versions of them."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import jsonschema_rs
import pytest

from tests.cli.conftest import Run

DATA = Path(__file__).resolve().parents[1] / "data"
EVENTS = Path(__file__).resolve().parents[2] / "reach_tui/labels/event.schema.json"
FIRST = """\
id: checkout
version: 1
categories:
  - {key: 1, id: cost, name: Cost, definition: Wrong sum., maps_to: upstream_error}
  - {key: 2, id: coupon, name: Coupon, definition: Wrong discount.}
  - {key: 3, id: odd, name: Odd, definition: Odd.}
"""
SECOND = """\
id: checkout
version: 2
categories:
  - {key: 1, id: price, name: Price, definition: Wrong sum., renamed_from: cost, maps_to: upstream_error}
  - {key: 2, id: expired, name: Expired, definition: Out of date.}
  - {key: 4, id: unknown, name: Unknown, definition: Never issued.}
  - {id: coupon, split_into: [expired, unknown]}
"""


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Path]:
    """A recording in a folder of its own, which is the current one."""
    folder = tmp_path / "project"
    folder.mkdir()
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield Path(shutil.copy(DATA / "opencode/opencode-1.2.20.db", folder))
    finally:
        os.chdir(before)


def own(folder: Path, text: str, name: str = "checkout.yaml") -> Path:
    place = folder / ".reach-tui" / "taxonomies"
    place.mkdir(parents=True, exist_ok=True)
    (place / name).write_text(text, encoding="utf-8")
    return place / name


def failed(reach: Run, store: Path, count: int) -> list[str]:
    return [one["call_key"] for one in reach("calls", store, "--failed", "--jsonl").records[:count]]


def test_the_codebook_is_printed_in_words_and_as_json(reach: Run) -> None:
    words = reach("labels", "codebook")
    assert words.code == 0
    assert words.out.startswith("reach-failure 1\n")
    assert "4 stale_context  Stale context" in words.out
    record = json.loads(reach("labels", "codebook", "mast", "--json").out)
    assert (record["id"], record["version"], len(record["categories"])) == ("mast", 1, 4)
    assert record["categories"][0]["subcategories"][2]["maps_to"][0] == "loop_repetition/same_call_repeated"
    assert [json.loads(line)["id"] for line in reach("labels", "codebook", "--list", "--json").out.splitlines()] == [
        "reach-failure", "mast", "peri-seed", "reach-seed", "trail",
    ]  # fmt: skip


def test_an_own_codebook_is_chosen_by_option_setting_and_variable(
    reach: Run, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = own(store.parent, FIRST)
    call = failed(reach, store, 1)[0]
    assert reach("label", store, call, "cost", "--taxonomy", "checkout").code == 0
    assert reach("label", store, call, "cost", "--taxonomy", file).code == 0
    assert reach("label", store, call, "cost").code == 2, "ours has no such class"
    (store.parent / ".reach-tui.toml").write_text('taxonomy = "checkout"\n', encoding="utf-8")
    assert reach("label", store, call, "coupon").code == 0
    (store.parent / ".reach-tui.toml").write_text(f'taxonomy = ".reach-tui/taxonomies/{file.name}"\n', encoding="utf-8")
    assert reach("label", store, call, "coupon").code == 0
    monkeypatch.setenv("REACH_TUI_TAXONOMY", "mast")
    assert reach("label", store, call, "system_design/step_repetition", "--json").records[0]["taxonomy"] == "mast"
    found = reach("labels", "list", store, "--taxonomy", "chekout")
    assert found.code == 2
    assert "known: reach-failure, mast" in found.err


def test_a_codebook_with_a_mistake_is_named_and_loses_nothing(reach: Run, store: Path) -> None:
    call = failed(reach, store, 1)[0]
    own(store.parent, FIRST)
    assert reach("label", store, call, "cost", "--taxonomy", "checkout").code == 0
    file = own(store.parent, FIRST.replace("key: 2", "key: q"))
    found = reach("label", store, call, "cost", "--taxonomy", "checkout")
    assert found.code == 2
    assert f"{file.name}:5: categories 2, key: 'q' of 'coupon' is a key of the screens already" in found.err
    ran = reach("labels", "codebook", "--check", file, "--json")
    assert ran.code == 2
    assert json.loads(ran.out)["mistakes"][0]["where"].endswith(":5")
    listed = json.loads(reach("labels", "list", store, "--json").out)
    assert [(one["category"], one["codebook"]) for one in listed] == [("cost", "unknown")]
    own(store.parent, FIRST.replace("checkout", "mast"), "other.yaml")
    assert "is the id of a shipped codebook" in reach("labels", "codebook", "--list").err
    good = own(store.parent, FIRST)
    assert reach("labels", "codebook", "--check", good).out.strip().endswith("checkout 1, 8 classes")


def test_a_new_version_of_a_codebook_loses_no_label(reach: Run, store: Path) -> None:
    own(store.parent, FIRST)
    one, two, three, four = failed(reach, store, 4)
    book = ["--taxonomy", "checkout"]
    for call, category in ((one, "cost"), (two, "coupon"), (three, "odd"), (four, "not_a_failure")):
        assert reach("label", store, call, category, *book, "--by", "ann").code == 0
    before = reach("labels", "export", store, *book).out
    own(store.parent, SECOND)
    found = json.loads(reach("labels", "codebook", "checkout", store, "--json").out)
    assert found["labels"] == {"coupon": 1, "not_a_failure": 1, "odd": 1, "price": 1}
    assert [
        (row["call_key"], row["state"], row["into"]) for row in sorted(found["relabel"], key=lambda row: row["class"])
    ] == [
        (two, "split", ["expired", "unknown"]),
        (three, "unknown", []),
    ]
    words = reach("labels", "codebook", "checkout", store).out
    assert "2 labels want a person to label again" in words
    assert "split: expired or unknown" in words
    assert "renamed: cost -> price" in words
    assert reach("labels", "export", store, *book).out == before, "nothing is rewritten"
    assert "it was split: expired, unknown" in reach("label", store, two, "coupon", *book).err
    assert reach("label", store, two, "expired", *book, "--by", "ann").code == 0
    assert len(json.loads(reach("labels", "codebook", "checkout", store, "--json").out)["relabel"]) == 1
    # the old export is taken in elsewhere, the class that is gone with a word about it
    file = store.parent / "old.jsonl"
    file.write_text(before, encoding="utf-8")
    taken = reach("labels", "import", store, file, "--labels", store.parent / "t.db", "--json")
    assert taken.code == 0
    assert json.loads(taken.out) == {"imported": 4, "known": 0, "elsewhere": 0, "refused": 0, "unknown_class": 1}
    assert "'odd' is not in the codebook 'checkout' of version 2" in taken.err
    again = reach("labels", "export", store, "--labels", store.parent / "t.db").out
    assert again == before


def test_agreement_compares_a_renamed_class_with_its_new_name(reach: Run, store: Path) -> None:
    calls = failed(reach, store, 3)
    own(store.parent, FIRST)
    for call in calls:
        assert reach("label", store, call, "cost", "--taxonomy", "checkout", "--by", "ann").code == 0
        assert reach("label", store, call, "context_gap", "--by", "ann").code == 0
    own(store.parent, SECOND)
    for call in calls:
        assert reach("label", store, call, "price", "--taxonomy", "checkout", "--by", "bo").code == 0
    found = json.loads(reach("labels", "agreement", store, "--taxonomy", "checkout", "--json").out)
    assert (found["items"], found["pairs"][0]["raw"]["value"], found["disputed"]) == (3, 1.0, [])
    ours = json.loads(reach("labels", "agreement", store, "--json").out)
    assert (ours["items"], ours["single"]) == (0, 3)


def test_score_under_another_codebook(reach: Run, store: Path) -> None:
    """Classes are compared where they correspond; where they do not, only failed or not is."""
    calls = reach("calls", store, "--failed", "--jsonl").records
    upstream = next(one for one in calls if one["category"] == "upstream_error")
    argument = next(one for one in calls if one["category"] == "invalid_parameter")
    own(store.parent, FIRST)
    book = ["--taxonomy", "checkout"]
    assert reach("label", store, upstream["call_key"], "cost", *book).code == 0
    assert reach("label", store, argument["call_key"], "odd", *book).code == 0
    found = json.loads(reach("labels", "score", store, *book, "--json").out)
    assert (found["labelled"], found["precision"]["count"], found["disagreements"]) == (2, 2, [])
    assert (found["same_class"]["count"], found["same_class"]["of"]) == (1, 1)
    assert {row["verdict"] for row in found["confusion"]} == {"cost", "invalid_parameter (no counterpart)"}
    assert reach("label", store, argument["call_key"], "not_a_failure", *book).code == 0
    found = json.loads(reach("labels", "score", store, *book, "--json").out)
    assert [row["label"] for row in found["disagreements"]] == ["not_a_failure"]


def test_the_events_are_the_whole_log_and_scout_s_columns_the_settled_calls(reach: Run, store: Path) -> None:
    one, two, three = failed(reach, store, 3)
    for call, category, by in (
        (one, "context_gap", "ann"), (one, "context_gap/wrong_target", "bo"), (two, "context_gap", "ann"),
        (two, "upstream_error", "bo"), (three, "upstream_error", "ann"), (three, "context_gap", "ann"),
    ):  # fmt: skip
        assert reach("label", store, call, category, "--by", by).code == 0
    file, team = store.parent / "log.jsonl", store.parent / "team.db"
    assert reach("labels", "export", store, "--events", "-o", file).code == 0
    validator = jsonschema_rs.validator_for(json.loads(EVENTS.read_text(encoding="utf-8")))
    events = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    assert [[error.message for error in validator.iter_errors(one)] for one in events] == [[]] * 6
    assert json.loads(reach("labels", "import", store, file, "--labels", team, "--json").out)["imported"] == 6
    assert reach("labels", "export", store, "--events", "--labels", team).out == file.read_text(encoding="utf-8")
    rows = reach("labels", "export", store, "--format", "scout", "--labels", team).out.splitlines()
    assert rows[0] == "id,target,split"
    assert sorted(row.rsplit(",", 1)[0] for row in rows[1:]) == sorted(
        [f"{one},context_gap/wrong_target", f"{three},context_gap"]
    )
    assert reach("labels", "export", store, "--events", "--format", "csv").code == 2


def test_a_dataset_is_taken_in_again_and_cases_say_why_not(reach: Run, store: Path) -> None:
    for call in failed(reach, store, 4):
        assert reach("label", store, call, "context_gap", "--by", "ann").code == 0
    folder, cases = store.parent / "ds", store.parent / "cases.jsonl"
    assert reach("labels", "export", store, "--format", "dataset", "-o", folder).code == 0
    codes = json.loads((folder / "codebook.json").read_text(encoding="utf-8"))
    assert codes["id"] == "reach-failure"
    team = ["--labels", store.parent / "t.db"]
    assert json.loads(reach("labels", "import", store, folder, "--json", *team).out)["imported"] == 4
    assert reach("labels", "export", store, "--format", "cases", "-o", cases).code == 0
    found = reach("labels", "import", store, cases, *team)
    assert found.code == 2
    assert "a regression case" in found.err
    assert reach("labels", "import", store, store.parent / ".reach-tui", *team).code == 2


def test_a_long_result_is_whole_in_json_lines_and_its_cut_told_elsewhere(reach: Run, store: Path) -> None:
    """G15: 200 kB of evidence never look like all of it when they are not."""
    import hashlib
    import sqlite3
    from contextlib import closing

    call = next(
        one for one in reach("calls", store, "--jsonl").records if isinstance(one["result"], str) and one["result"]
    )
    long = "x" * 200_000 + " the end"
    part = call["call_key"].split("/")[-1]
    with closing(sqlite3.connect(store)) as connection:
        (data,) = connection.execute("SELECT data FROM part WHERE id = ?", (part,)).fetchone()
        value = json.loads(data)
        value["state"]["output"] = long
        connection.execute("UPDATE part SET data = ? WHERE id = ?", (json.dumps(value), part))
        connection.commit()
    assert reach("label", store, call["call_key"], "not_a_failure").code == 0
    (row,) = reach("labels", "export", store).records
    assert row["call"]["result"] == long
    digest = hashlib.sha256(long.encode()).hexdigest()
    flat = reach("labels", "export", store, "--format", "csv").out
    assert f"[cut: {len(long)} characters, sha256 {digest[:16]}]" in flat


def test_a_native_database_gets_the_labels_of_every_codebook_and_write_back_too(reach: Run, store: Path) -> None:
    import sqlite3
    from contextlib import closing

    call = failed(reach, store, 1)[0]
    for category, more in (
        ("context_gap", []),
        ("system_design", ["--taxonomy", "mast"]),
        ("loop_repetition", ["--adjudicate"]),
    ):
        assert reach("label", store, call, category, "--by", "ann", *more).code == 0
    assert reach("import", store, "--into", store.parent / "native.db").code == 0
    listed = json.loads(reach("labels", "list", store.parent / "native.db", "--json").out)
    wanted = [
        ("mast", "annotator", "system_design"),
        ("reach-failure", "adjudicator", "loop_repetition"),
        ("reach-failure", "annotator", "context_gap"),
    ]
    assert sorted((one["taxonomy"], one["role"], one["category"]) for one in listed) == wanted
    for _ in range(2):
        assert reach("labels", "write-back", store).code == 0
    with closing(sqlite3.connect(store)) as connection:
        rows = connection.execute("SELECT taxonomy, role, category FROM reach_label ORDER BY 1, 2").fetchall()
    assert rows == wanted
