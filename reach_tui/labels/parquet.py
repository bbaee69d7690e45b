"""Labels as a Parquet table, with the columns of the CSV; needs the extra `parquet`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from reach_tui.base.errors import LabelError, UsageError
from reach_tui.base.text import scrub_surrogates

_BATCH = 5_000
_TYPES = {"taxonomy_version": "int64", "verdict": "bool_", "first_cause": "bool_"}


def _library(where: Path) -> Any:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        hint = "pip install 'reach-tui[parquet]'"
        raise UsageError("Parquet needs a library that is not installed", where, hint) from None
    return pyarrow


def write_rows(rows: Iterable[Mapping[str, Any]], columns: Iterable[str], path: Path) -> int:
    """Write rows of these columns as they come, a few thousand at a time; how many. Raises `UsageError`."""
    arrow = _library(path)
    schema = arrow.schema([(name, getattr(arrow, _TYPES.get(name, "string"))()) for name in columns])
    count = 0
    partial = path.with_name(f".{path.name}.part")
    try:
        with arrow.parquet.ParquetWriter(partial, schema) as writer:
            for batch in _batches(rows):
                writer.write_table(arrow.Table.from_pylist(batch, schema=schema))
                count += len(batch)
        partial.replace(path)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise UsageError(f"cannot be written: {error.strerror or error}", path, "choose another file for -o") from None
    return count


def _batches(rows: Iterable[Mapping[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    batch: list[dict[str, Any]] = []
    for row in rows:
        batch.append({key: scrub_surrogates(value) if isinstance(value, str) else value for key, value in row.items()})
        if len(batch) == _BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


def read_rows(path: Path) -> Iterator[dict[str, Any]]:
    """The rows of a table. Raises `UsageError`, `LabelError` where it is no Parquet file."""
    arrow = _library(path)
    try:
        with arrow.parquet.ParquetFile(path) as file:
            for batch in file.iter_batches(_BATCH):
                yield from batch.to_pylist()
    except (OSError, arrow.ArrowException) as error:
        what = f"not a Parquet file: {str(error).splitlines()[0]}"
        raise LabelError(what, path, "name a file of `labels export`") from None
