"""`classify`: every good line answered in order, bad ones named."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from tests.cli.conftest import MISSED, Run

FIELDS = {"id", "failed", "confidence", "category", "subcategory", "rule", "evidence"}


def test_verdicts_in_the_inputs_order(process: Run) -> None:
    texts = [MISSED if number % 3 == 0 else "fine" for number in range(300)]
    lines = [json.dumps({"id": f"r{number}", "tool": "edit", "result_text": text}) for number, text in enumerate(texts)]
    ran = process("classify", stdin="\n".join(lines).encode())
    assert (ran.code, ran.err) == (0, "")
    assert [record["id"] for record in ran.records] == [f"r{number}" for number in range(300)]
    assert [bool(record["failed"]) for record in ran.records] == [text == MISSED for text in texts]
    for record in ran.records:
        assert record.keys() >= FIELDS


def test_bad_lines_are_named_and_the_others_answered(process: Run) -> None:
    good = b'{"id": "a", "tool": "bash", "result_text": "ok"}'
    lines = [
        good,
        b"{broken",
        b"",
        b"[1]",
        b'{"tool": "bash"}',
        b'{"id": "n", "tool": "x", "result_text": 5}',
        b"\xff\x00",
        good,
    ]
    ran = process("classify", stdin=b"\n".join(lines))
    assert ran.code == 2
    assert len(ran.records) == 2
    assert [line.split(": ")[2] for line in ran.err.splitlines()] == [f"line {number}" for number in (2, 4, 5, 6, 7)]


def test_from_a_file_as_one_document(reach: Run, tmp_path: Path) -> None:
    file = tmp_path / "in.jsonl"
    record = {"id": "1", "tool": "bash", "arguments": '{"command": "ls"}', "flagged": True, "result_text": "x"}
    file.write_bytes(b"\xef\xbb\xbf" + json.dumps(record).encode() + b"\r\n")
    (answer,) = json.loads(reach("classify", file, "--json").out)
    assert answer["id"] == "1"
    assert answer["failed"] is True


@pytest.mark.parametrize("depth", [100, 900, 5_000, 200_000])
def test_deep_arguments(process: Run, depth: int) -> None:
    nested = b"[" * depth + b"]" * depth
    line = b'{"id": "d", "tool": "x", "result_text": "ok", "arguments": ' + nested + b"}\n"
    ran = process("classify", stdin=line + b'{"id": "e", "tool": "x", "result_text": "ok"}\n')
    assert ran.records[-1]["id"] == "e"
    assert "Traceback" not in ran.err
    assert ran.code == (0 if len(ran.records) == 2 else 2)


@pytest.mark.shared
def test_the_benchs_records_go_in_as_they_are(reach: Run, shared: Path, tmp_path: Path) -> None:
    lines = gzip.decompress((shared / "bench" / "hidden_errors.dev.jsonl.gz").read_bytes())
    file = tmp_path / "records.jsonl"
    file.write_bytes(lines)
    ran = reach("classify", file)
    assert (ran.code, ran.err) == (0, "")
    assert [record["id"] for record in ran.records] == [json.loads(line)["id"] for line in lines.splitlines()]
