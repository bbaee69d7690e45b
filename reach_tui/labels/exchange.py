"""Labels in and out: JSON Lines with the call's record and its surroundings, and CSV for spreadsheets.

A round trip is the identity on labels: `uid` keeps a second import from doubling anything, times keep their
milliseconds, and a CSV cell that a spreadsheet would run as a formula is kept as text by a leading apostrophe.
"""

from __future__ import annotations

import csv
import hashlib
import io
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from reach_tui.base.clock import parse_time, to_iso
from reach_tui.base.errors import LabelError, UsageError
from reach_tui.base.jsonio import BadJson, dumps, loads
from reach_tui.base.text import scrub_surrogates
from reach_tui.labels.log import FIELDS, LogRow
from reach_tui.model import Label
from reach_tui.taxonomy import UNCODED, Taxonomy, default, preset, preset_ids

Record = Mapping[str, Any]
EVENT_SCHEMA = "reach-label-event/1"
LABEL_FIELDS = tuple(name for name in FIELDS if name != "id")
CALL_COLUMNS = ("tool", "arguments", "result")
_CELL_LIMIT = 2**31 - 1  # csv's default of 131,072 characters refuses longer notes
_RESULT_SHOWN = 2000  # characters of a result in a CSV cell; JSON Lines keep it whole
_FORMULA = re.compile(r"'*[=+\-@\t\r]")
_QUOTED_FORMULA = re.compile(r"'+[=+\-@\t\r]")
_ROLES = ("annotator", "adjudicator")
_ACTIONS = ("label", "undo", "redo", "import")
_WORDS = {"true": True, "false": False, "1": True, "0": False, "": None}


@dataclass(frozen=True, slots=True)
class Labelled:
    """A label with what training or review needs beside it."""

    label: Label
    call: Record | None = None
    """The call's record as `calls --jsonl` prints it; None for a session's label or a call that is gone."""
    context: Sequence[Record] = ()
    """Records of the steps around it, in order."""


@dataclass(frozen=True, slots=True)
class Problem:
    """A line that was not imported."""

    line: int
    """From 1, in the file."""
    what: str


@dataclass(frozen=True, slots=True)
class Codes:
    """The codebooks that a file's labels are held against."""

    chosen: Taxonomy = field(default_factory=default)
    """That of lines which name none."""
    find: Callable[[str], Taxonomy | None] = preset

    def book(self, codebook_id: str) -> Taxonomy | None:
        """The codebook of that id, None where it is not at hand."""
        return self.chosen if codebook_id == self.chosen.id else self.find(codebook_id)


@dataclass(slots=True)
class Imported:
    """What a file held: labels to merge, and the lines that are no label."""

    labels: list[Label] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    events: list[LogRow] = field(default_factory=list)
    """Rows of a whole log (`labels export --events`), in its order."""
    kept: Counter[str] = field(default_factory=Counter)
    """What was taken although nobody here knows its class, in words, and how many."""


def label_record(label: Label) -> dict[str, Any]:
    """All fields of a label; `at` as ISO 8601 in UTC with milliseconds."""
    record = {name: getattr(label, name) for name in LABEL_FIELDS}
    record["at"] = to_iso(label.at) or label.at
    return record


def to_jsonl(rows: Iterable[Record]) -> Iterator[str]:
    """One JSON object a line."""
    for row in rows:
        yield dumps(dict(row)) + "\n"


def to_csv(rows: Iterable[Labelled]) -> Iterator[str]:
    """A head line, then one line a call and person: the label, and the tool, arguments and result (its beginning)."""
    yield _csv_line([*LABEL_FIELDS, *CALL_COLUMNS])
    for row in rows:
        yield _csv_line([_cell(value) for value in flat_row(row).values()])


def flat_row(row: Labelled) -> dict[str, Any]:
    """A label and its call as one level of columns, for tables; arguments as JSON text, a long result cut."""
    call = row.call or {}
    arguments, result = call.get("arguments"), call.get("result")
    shown = arguments if arguments is None or isinstance(arguments, str) else dumps(arguments)
    return {
        **label_record(row.label),
        "tool": call.get("tool"),
        "arguments": shown,
        "result": cut(result, _RESULT_SHOWN) if isinstance(result, str) else result,
    }


def event_record(row: LogRow) -> dict[str, Any]:
    """A row of the log with what it did; `label` is the state it leads to, its category null where none is left."""
    return {
        "schema": EVENT_SCHEMA,
        "event": row.action,
        "refers": row.refers,
        "batch": row.batch,
        "late": row.late,
        "label": label_record(row.label),
    }


def from_jsonl(lines: Iterable[str], codes: Codes | None = None, found: Imported | None = None) -> Imported:
    """Labels from JSON Lines (split at line feeds only): `to_jsonl`'s objects, events, or plain label records."""
    found, codes = found or Imported(), codes or Codes()
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            record = loads(line)
        except BadJson as error:
            found.problems.append(Problem(number, f"not JSON: {error}"))
            continue
        event = record if isinstance(record, dict) and "event" in record else None
        if isinstance(record, dict) and isinstance(record.get("label"), dict):
            record = record["label"]
        if isinstance(record, dict):
            _take(found, number, record, codes, event)
        else:
            found.problems.append(Problem(number, "not an object"))
    return found


def from_csv(text: str, codes: Codes | None = None) -> Imported:
    """Labels from CSV with a head line that names the fields; unknown columns are ignored."""
    found = Imported()
    codes = codes or Codes()
    limit = csv.field_size_limit(_CELL_LIMIT)
    try:
        reader = csv.reader(io.StringIO(text, newline=""))
        head = next(reader, [])
        while True:
            line = reader.line_num + 1
            try:
                row = next(reader)
            except StopIteration:
                return found
            except csv.Error as error:
                found.problems.append(Problem(line, f"not CSV: {error}"))
                return found
            if row:
                cells = dict(zip(head, map(_uncell, row), strict=False))
                _take(found, line, _typed(cells), codes)
    finally:
        csv.field_size_limit(limit)


def read_file(path: Path, codes: Codes | None = None) -> Imported:
    """Labels from a file: CSV or Parquet if its name ends so, else JSON Lines; or both splits of a dataset's folder.

    Raises `LabelError` if it cannot be read.
    """
    codes = codes or Codes()
    if path.is_dir():
        splits = [path / f"{name}.jsonl" for name in ("dev", "test") if (path / f"{name}.jsonl").is_file()]
        if not splits:
            raise LabelError("a folder without dev.jsonl or test.jsonl", path, "name a folder of `labels export`")
        found = Imported()
        for split in splits:
            from_jsonl(_lines(split), codes, found)
        return found
    if path.suffix.lower() == ".parquet":
        from reach_tui.labels.parquet import read_rows

        found = Imported()
        for number, record in enumerate(read_rows(path), start=1):
            _take(found, number, record, codes)
        return found
    if path.suffix.lower() == ".csv":
        return from_csv(read_text(path), codes)
    return from_jsonl(_lines(path), codes)


def read_text(path: Path) -> str:
    """A file's text, whatever bytes it has. Raises `LabelError`."""
    try:
        return path.read_bytes().decode("utf-8-sig", "replace")
    except OSError as error:
        raise LabelError(f"cannot be read: {error.strerror}", path, "name a file of `labels export`") from error


def _lines(path: Path) -> list[str]:
    return read_text(path).split("\n")


def _csv_line(cells: Sequence[str]) -> str:
    buffer = io.StringIO(newline="")
    csv.writer(buffer, quoting=csv.QUOTE_ALL, lineterminator="\n").writerow(cells)
    return buffer.getvalue()


def _cell(value: object) -> str:
    if value is None:
        return ""
    text = scrub_surrogates(value) if isinstance(value, str) else dumps(value)
    return f"'{text}" if _FORMULA.match(text) else text


def _uncell(text: str) -> str:
    return text[1:] if _QUOTED_FORMULA.match(text) else text


def cut(text: str, limit: int) -> str:
    """The beginning of a text longer than `limit`, with its whole length and hash, so that nobody takes it for all."""
    if len(text) <= limit:
        return text
    digest = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]
    return f"{text[:limit]}… [cut: {len(text)} characters, sha256 {digest}]"


def _typed(cells: Mapping[str, str]) -> dict[str, Any]:
    """A CSV row with the types of a JSON record; empty cells are None."""
    record: dict[str, Any] = {name: value or None for name, value in cells.items()}
    record["note"] = cells.get("note", "")
    version = cells.get("taxonomy_version", "")
    record["taxonomy_version"] = int(version) if version.isdecimal() else version or None
    for name in ("verdict", "first_cause"):
        record[name] = _WORDS.get(cells.get(name, "").lower())
    at = cells.get("at", "")
    record["at"] = int(at) if re.fullmatch(r"-?\d{1,18}", at) else at
    return record


def _take(
    found: Imported, line: int, record: Mapping[str, Any], codes: Codes, event: Mapping[str, Any] | None = None
) -> None:
    try:
        label, doubt = _label(record, codes, cleared=event is not None)
        if event is None:
            found.labels.append(label)
        else:
            found.events.append(_event(event, label))
    except (LabelError, UsageError) as error:
        found.problems.append(Problem(line, error.line()))
        return
    if doubt:
        found.kept[doubt] += 1


def _event(record: Mapping[str, Any], label: Label) -> LogRow:
    action = _required(record, "event")
    if action not in _ACTIONS:
        raise LabelError(f"unknown event {action!r}", hint=f"one of {', '.join(_ACTIONS)}")
    if label.uid is None:
        raise LabelError("an event needs the `uid` of its label")
    return LogRow(label, action, _text(record, "refers"), _text(record, "batch"), record.get("late") is True)


def _label(record: Mapping[str, Any], codes: Codes, *, cleared: bool = False) -> tuple[Label, str | None]:
    """The label, and what about its class is unknown here, if anything."""
    if "utterance" in record and "category" in record and "call_key" not in record:
        raise LabelError("a regression case: it does not say which call it was", hint="import the JSON Lines instead")
    taxonomy, version = _codebook(record, codes)
    if cleared and record.get("category") is None:
        level1, level2, doubt = None, None, None
    else:
        level1, level2, doubt = _class(record, codes, taxonomy, version)
    at = record.get("at")
    moment = parse_time(at) if isinstance(at, str) or parse_time(at) == at else at
    if not isinstance(moment, int) or isinstance(moment, bool) or abs(moment) >= 2**63:
        raise LabelError("`at` is missing or no time", hint="ISO 8601, or milliseconds since 1970")
    verdict = record.get("verdict")
    label = Label(
        store=_required(record, "store"),
        session_id=_required(record, "session_id"),
        call_key=_text(record, "call_key"),
        content_hash=_text(record, "content_hash"),
        category=level1,
        subcategory=level2,
        note=_text(record, "note") or "",
        by=_required(record, "by"),
        at=moment,
        taxonomy=taxonomy,
        taxonomy_version=version,
        verdict=verdict if isinstance(verdict, bool) else None,
        rule=_text(record, "rule"),
        tool_version=_text(record, "tool_version") or "",
        role=_role(record),
        first_cause=record.get("first_cause") is True,
        shown=_text(record, "shown"),
        uid=_text(record, "uid"),
    )
    return label, doubt


def _codebook(record: Mapping[str, Any], codes: Codes) -> tuple[str, int]:
    named = _text(record, "taxonomy") or codes.chosen.id
    version = record.get("taxonomy_version")
    if type(version) is int:
        return named, version
    book = codes.book(named)
    return named, book.version if book else 1


def _class(
    record: Mapping[str, Any], codes: Codes, taxonomy: str, version: int
) -> tuple[str | None, str | None, str | None]:
    """Level 1 and 2 as they were given, and a doubt about them: what came out of a log is kept, never lost.

    A line without a `uid` was written by hand: there an unknown class is a mistake to name.
    """
    category, subcategory = _required(record, "category"), _text(record, "subcategory")
    path = f"{category}/{subcategory}" if subcategory else category
    level1, slash, level2 = path.partition("/")
    if level1 == UNCODED:
        return UNCODED, None, None
    book, logged = codes.book(taxonomy), _text(record, "uid") is not None
    if book is None:
        if not logged:
            raise LabelError(f"unknown taxonomy {taxonomy!r}", hint="`reach-tui labels codebook` lists those at hand")
        return level1, level2 or None, f"the codebook {taxonomy!r} is not at hand here"
    if (slash and not level2) or book.fold(level1, level2 or None).state == "unknown":
        if not logged or (book.id in preset_ids() and version <= book.version):
            try:
                book.parse(path)
            except UsageError as error:
                raise LabelError(f"{error.what} in {book.id}", hint=error.hint) from None
        return level1, level2 or None, f"{path!r} is not in the codebook {book.id!r} of version {book.version}"
    return level1, level2 or None, None


def _role(record: Mapping[str, Any]) -> str:
    role = _text(record, "role") or _ROLES[0]
    if role not in _ROLES:
        raise LabelError(f"unknown role {role!r}", hint=f"one of {', '.join(_ROLES)}")
    return role


def _text(record: Mapping[str, Any], name: str) -> str | None:
    value = record.get(name)
    if value is not None and not isinstance(value, str):
        raise LabelError(f"`{name}` is not text")
    return value


def _required(record: Mapping[str, Any], name: str) -> str:
    value = _text(record, name)
    if not value:
        raise LabelError(f"`{name}` is missing")
    return value
