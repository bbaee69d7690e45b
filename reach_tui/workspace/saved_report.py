"""Reports that were saved as JSON, to be compared with; and what is wrong with a file that is none."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from reach_tui.base.errors import ReachError, UsageError
from reach_tui.base.jsonio import BadJson, loads
from reach_tui.base.sqlite import is_sqlite

_LIMIT = 64 << 20
_KEYS = {"scope": dict, "tools": list, "guards": dict}
_HINT = "name a trace, a folder, or a report saved by `reach-tui report PATH --format json -o FILE`"


def saved_report(path: Path) -> Mapping[str, Any] | None:
    """The JSON object of a report that was saved in a file; None where the file is something else."""
    try:
        found = _read(path) if path.is_file() else None
    except OSError as error:
        raise UsageError(error.strerror or str(error), path, "name a trace, or a saved report") from None
    return found if isinstance(found, dict) else None


def no_side(path: Path, problem: ReachError) -> ReachError:
    """Why a path that opens as no trace (`problem`) is no saved report either."""
    try:
        if not path.is_file() or is_sqlite(path):
            return problem
        fault = _read(path)
    except OSError:  # gone meanwhile
        return problem
    return UsageError(f"{problem.what}, and no saved report: {fault}" if fault else problem.what, path, _HINT)


def _read(path: Path) -> dict[str, Any] | str:
    """The report in a file, or what keeps the file from being one; nothing to say of an empty one."""
    size = path.stat().st_size
    if size > _LIMIT:
        return f"larger than {_LIMIT >> 20} MB"
    with open(path, "rb") as file:
        begins = file.read(64).lstrip()[:1]
        if begins not in (b"{", b"["):
            return "not JSON" if size else ""
        file.seek(0)
        try:
            value = loads(file.read())
        except BadJson as error:
            return f"broken JSON ({error})"
    if not isinstance(value, dict):
        return "a JSON list, not an object"
    absent = [key for key, kind in _KEYS.items() if not isinstance(value.get(key), kind)]
    return f"a JSON object without {', '.join(absent)}" if absent else value
