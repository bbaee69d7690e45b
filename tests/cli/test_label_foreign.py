"""Annotation exports of Langfuse and Label Studio, written here in their documented formats, as labels of ours."""

from __future__ import annotations

import csv
import io
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reach_tui.base.errors import LabelError
from reach_tui.labels.foreign import read_foreign, recognise
from tests.cli.conftest import Run

DATA = Path(__file__).resolve().parents[1] / "data"


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return Path(shutil.copy(DATA / "opencode/opencode-1.2.20.db", tmp_path))


def keys(reach: Run, store: Path, count: int) -> list[dict[str, Any]]:
    return reach("calls", store, "--failed", "--jsonl").records[:count]


def score(number: int, target: str, value: str | None, **more: Any) -> dict[str, Any]:
    """A score as `GET /api/public/v2/scores` gives it."""
    return {
        "id": f"score-{number}", "traceId": "trace-1", "sessionId": None, "observationId": target, "datasetRunId": None,
        "name": "failure", "source": "ANNOTATION", "dataType": "CATEGORICAL", "value": 3, "stringValue": value,
        "comment": f"note {number}", "authorUserId": "user-ann", "configId": "cfg", "queueId": "queue-1",
        "metadata": {}, "environment": "default", "timestamp": "2026-11-01T10:00:00.000Z",
        "createdAt": "2026-11-01T10:00:00.000Z", "updatedAt": f"2026-11-01T10:00:0{number % 10}.500Z", **more,
    }  # fmt: skip


def snake(record: dict[str, Any]) -> dict[str, Any]:
    """The same as the blob storage export writes it: snake_case, times without T and zone."""
    names = {
        "traceId": "trace_id", "sessionId": "session_id", "observationId": "observation_id", "dataType": "data_type",
        "stringValue": "string_value", "authorUserId": "author_user_id", "createdAt": "created_at",
        "updatedAt": "updated_at", "queueId": "queue_id", "configId": "config_id", "datasetRunId": "dataset_run_id",
    }  # fmt: skip
    found = {names.get(key, key): value for key, value in record.items()}
    for key in ("timestamp", "created_at", "updated_at"):
        found[key] = found[key].replace("T", " ").replace("Z", "000")
    return found


def table(records: list[dict[str, Any]], delimiter: str = ",") -> str:
    out = io.StringIO()
    writer = csv.DictWriter(out, list(records[0]), delimiter=delimiter)
    writer.writeheader()
    flat = [{k: json.dumps(v) if isinstance(v, dict | list) else v for k, v in one.items()} for one in records]
    writer.writerows(flat)
    return out.getvalue()


def scores(calls: list[dict[str, Any]]) -> list[dict[str, Any]]:
    one, two, three = (call["call_key"] for call in calls[:3])
    return [
        score(1, one, "Invalid parameter"),
        score(2, one, "context_gap/wrong_target", authorUserId="user-bo"),
        score(3, two, "Edit against an outdated copy"),
        score(4, "obs-7", "not_a_failure", metadata={"call_key": three}),
        score(5, two, "0.9", source="EVAL", dataType="NUMERIC"),
        score(6, "no-such-call", "Invalid parameter"),
        score(7, three, "Purple"),
        score(8, three, "not_a_failure", authorUserId=None),
    ]


@pytest.mark.parametrize("form", ["api.json", "blob.jsonl", "blob.json", "blob.csv"])
def test_scores_of_langfuse(reach: Run, store: Path, tmp_path: Path, form: str) -> None:
    calls = keys(reach, store, 3)
    made = scores(calls)
    file = tmp_path / form
    if form == "api.json":
        file.write_text(json.dumps({"data": made, "meta": {"page": 1, "totalItems": len(made)}}))
    elif form == "blob.jsonl":
        file.write_text("".join(json.dumps(snake(one)) + "\n" for one in made))
    else:
        made[3] |= {"metadata": {}, "observationId": calls[2]["call_key"]}
        file.write_text(table([snake(one) for one in made]) if form == "blob.csv" else json.dumps([*map(snake, made)]))
    labels = ["--labels", tmp_path / "team.db"]
    found = reach("labels", "import", store, file, "--json", *labels)
    assert found.code == 2, "three rows are named"
    assert json.loads(found.out) | {"elsewhere": 0} == {
        "imported": 4, "known": 0, "elsewhere": 0, "refused": 3, "unknown_class": 0,
    }  # fmt: skip
    assert "'Purple' is no class of reach-failure" in found.err
    assert "no call 'no-such-call'" in found.err
    assert "says not who answered" in found.err
    assert "1 scores of source EVAL" in found.err
    listed = json.loads(reach("labels", "list", store, "--json", *labels).out)
    assert sorted(
        (one["call_key"], one["by"], one["current"], one["note"], one["at"][-13:]) for one in listed
    ) == sorted(
        [
            (calls[0]["call_key"], "user-ann", "invalid_parameter", "note 1", "10:00:01.500Z"),
            (calls[0]["call_key"], "user-bo", "context_gap/wrong_target", "note 2", "10:00:02.500Z"),
            (calls[1]["call_key"], "user-ann", "stale_context/stale_edit", "note 3", "10:00:03.500Z"),
            (calls[2]["call_key"], "user-ann", "not_a_failure", "note 4", "10:00:04.500Z"),
        ]
    )
    again = json.loads(reach("labels", "import", store, file, "--json", *labels).out)
    assert (again["imported"], again["known"]) == (0, 4)


def task(number: int, call: dict[str, Any], answers: list[tuple[int | None, list[str], str]]) -> dict[str, Any]:
    """A task as Label Studio's JSON export writes it; its data is the record of `calls --json`."""
    return {
        "id": number, "project": 7, "created_at": "2026-11-01T09:00:00.000000Z", "updated_at": "2026-11-01T09:30:00Z",
        "data": call,
        "annotations": [
            {
                "id": 100 * number + place, "completed_by": who, "was_cancelled": not values, "ground_truth": False,
                "created_at": "2026-11-01T10:00:00.000000Z", "updated_at": "2026-11-01T10:05:00.250000Z",
                "lead_time": 4.2, "task": number,
                "result": [
                    {"id": "a", "from_name": "class", "to_name": "t", "type": "choices", "value": {"choices": values}},
                    {"id": "b", "from_name": "why", "to_name": "text", "type": "textarea", "value": {"text": [note]}},
                ],
            }
            for place, (who, values, note) in enumerate(answers)
        ],
        "predictions": [{"model_version": "m", "result": []}],
    }  # fmt: skip


def test_annotations_of_label_studio(reach: Run, store: Path, tmp_path: Path) -> None:
    calls = keys(reach, store, 3)
    tasks = [
        task(1, calls[0], [(3, ["Timeout or limit"], "slow"), (4, ["timeout_or_limit"], ""), (5, [], "cancelled")]),
        task(2, calls[1], [(3, ["Stale context", "Invalid parameter"], "two"), (4, ["Mine"], "own word")]),
        task(3, {"text": "no key here"}, [(3, ["Stale context"], "")]),
    ]
    file, words = tmp_path / "project-7.json", tmp_path / "words.toml"
    file.write_text(json.dumps(tasks))
    words.write_text('question = "class"\n[categories]\nMine = "model_reasoning/wrong_code"\n[people]\n"3" = "ann"\n')
    found = reach("labels", "import", store, file, "--map", words, "--from", "label-studio", "--json")
    counts = json.loads(found.out)
    assert (counts["imported"], counts["refused"]) == (3, 2)
    assert "names 2 classes" in found.err
    assert "no field 'call_key'" in found.err
    assert "cancelled annotations" in found.err
    listed = json.loads(reach("labels", "list", store, "--json").out)
    assert {(one["call_key"], one["by"], one["current"], one["note"]) for one in listed} == {
        (calls[0]["call_key"], "ann", "timeout_or_limit", "slow"),
        (calls[0]["call_key"], "4", "timeout_or_limit", ""),
        (calls[1]["call_key"], "4", "model_reasoning/wrong_code", "own word"),
    }


ANSWERS = ["Loop or repetition", {"choices": ["Permission denied"]}]


@pytest.mark.parametrize("form", ["json", "csv", "tsv"])
def test_one_row_an_annotation(reach: Run, store: Path, tmp_path: Path, form: str) -> None:
    """JSON_MIN and CSV: the data's fields, the answers by question, then the tool's own columns."""
    calls = keys(reach, store, 2)
    rows = [
        {**{key: call[key] for key in ("call_key", "tool", "category", "result")}, "class": answer, "note": "n",
         "id": 9, "annotator": 3, "annotation_id": number, "created_at": "2026-11-01T10:00:00Z",
         "updated_at": "2026-11-01T10:00:00Z", "lead_time": 2.5}
        for number, (call, answer) in enumerate(zip(calls, ANSWERS, strict=True))
    ]  # fmt: skip
    file = tmp_path / f"min.{form}"
    file.write_text(json.dumps(rows) if form == "json" else table(rows, "\t" if form == "tsv" else ","))
    assert json.loads(reach("labels", "import", store, file, "--json").out)["imported"] == 2
    listed = json.loads(reach("labels", "list", store, "--json").out)
    assert [(one["current"], one["note"], one["by"]) for one in sorted(listed, key=lambda one: one["current"])] == [
        ("loop_repetition", "n", "3"),
        ("permission_denied", "n", "3"),
    ]


def test_a_codebook_of_ones_own_takes_its_own_words(reach: Run, store: Path, tmp_path: Path) -> None:
    call = keys(reach, store, 1)[0]["call_key"]
    (tmp_path / "scores.json").write_text(
        json.dumps([score(1, call, "1.3 Step repeated"), score(2, call, "3", authorUserId="bo")])
    )
    found = reach("labels", "import", store, tmp_path / "scores.json", "--taxonomy", "mast")
    assert found.code == 0, found.err
    listed = json.loads(reach("labels", "list", store, "--json", "--taxonomy", "mast").out)
    assert sorted((one["taxonomy"], one["current"]) for one in listed) == [
        ("mast", "system_design/step_repetition"),
        ("mast", "task_verification"),
    ]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[]", "0 labels"),
        ("{broken", "not JSON"),
        ('[{"a": 1}]', "line 1"),
        ("target = 3", "not JSON"),
    ],
)
def test_what_is_neither_tools_is_said(reach: Run, store: Path, tmp_path: Path, text: str, words: str) -> None:
    file = tmp_path / "x.json"
    file.write_text(text)
    found = reach("labels", "import", store, file, "--from", "langfuse")
    assert words in found.out + found.err
    assert "Traceback" not in found.err


@pytest.mark.parametrize("text", ["x = 1", "target = 1", "[categories]\na = 1", "[", "categories = 'a'"])
def test_a_mapping_file_with_a_mistake_is_said(reach: Run, store: Path, tmp_path: Path, text: str) -> None:
    file, words = tmp_path / "s.json", tmp_path / "m.toml"
    file.write_text("[]")
    words.write_text(text)
    found = reach("labels", "import", store, file, "--from", "langfuse", "--map", words)
    assert found.code == 2
    assert "m.toml" in found.err
    assert reach("labels", "import", store, file, "--map", words, "--from", "reach-tui").code == 2


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda one: st.lists(one, max_size=3) | st.dictionaries(st.text(max_size=3), one, max_size=3),
    max_leaves=6,
)
NAMES = st.sampled_from(
    ["id", "name", "source", "traceId", "observationId", "value", "stringValue", "annotations", "data", "result",
     "choices", "completed_by", "annotator", "annotation_id", "updated_at", "call_key", "metadata", "type"]
)  # fmt: skip


@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.dictionaries(NAMES, VALUES | st.lists(st.dictionaries(NAMES, VALUES), max_size=2)) | VALUES, max_size=4)
)
def test_no_file_breaks_it(tmp_path: Path, records: list[Any]) -> None:
    file = tmp_path / "any.json"
    file.write_text(json.dumps(records), encoding="utf-8")
    recognise(file)
    for tool in (None, "langfuse", "label-studio"):
        try:
            found = read_foreign(file, tool)
        except LabelError:
            continue
        assert all(isinstance(value, str) for one in found.answers for value in (*one.values, *one.targets, one.by))
