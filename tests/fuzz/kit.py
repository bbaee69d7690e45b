"""What a damaged store may do: end in an error of ours, within seconds, and leave its folder as it was."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from itertools import islice
from pathlib import Path

from reach_tui.base.errors import ReachError
from reach_tui.cli.output import encode
from reach_tui.workspace import Workspace, open_paths
from reach_tui.workspace.records import call_record, step_record

DATA = Path(__file__).resolve().parents[1] / "data"
SECONDS = 5.0
_SESSIONS = 3
_CALLS = 60
Damage = Callable[[bytearray, random.Random], bytearray]


def stores() -> dict[str, Path]:
    """Every recorded file that holds sessions, by its name below the test data."""
    files = (path for path in sorted(DATA.rglob("*")) if path.is_file() and ".truth" not in path.name)
    return {
        path.relative_to(DATA).as_posix(): path
        for path in files
        if path.suffix in (".db", ".sqlite", ".vscdb", ".jsonl", ".json")
    }


def listing(folder: Path) -> dict[str, tuple[int, int]]:
    """Names, sizes and times of everything in a folder."""
    return {
        str(path.relative_to(folder)): (path.lstat().st_size, path.lstat().st_mtime_ns) for path in folder.rglob("*")
    }


def survive(path: Path, sessions: int = _SESSIONS, calls: int = _CALLS) -> list[ReachError]:
    """Open it, list it, judge calls, print records; the errors of ours it ended in. Everything else is a failure."""
    before = listing(path.parent)
    begun = time.monotonic()
    found = open_paths([path])
    faults = list(found.problems)
    for source in found.sources:
        workspace = Workspace([path])
        try:
            listed = list(islice(source.reader.sessions(), 200))
            for session in listed[:sessions]:
                source.reader.session(session.id)
                for one in workspace.judged_steps(source, session.id):
                    encode(step_record(one))
                source.reader.troubles(session.id)
            for judged in islice(workspace.judged_calls(source), calls):
                encode(call_record(source, judged))
        except ReachError as error:
            faults.append(error)
        finally:
            workspace.close()
    for fault in faults:
        assert "\n" not in fault.line()
    assert time.monotonic() - begun < SECONDS
    assert listing(path.parent) == before
    return faults


def flip(body: bytearray, chance: random.Random) -> bytearray:
    """Some bits, anywhere."""
    for _ in range(chance.choice((1, 3, 20, 200))):
        body[chance.randrange(len(body))] ^= 1 << chance.randrange(8)
    return body


def flip_head(body: bytearray, chance: random.Random) -> bytearray:
    """Some bytes of the first pages: header, schema, first lines."""
    for _ in range(chance.choice((1, 2, 5))):
        body[chance.randrange(min(len(body), 8192))] = chance.randrange(256)
    return body


def overwrite(body: bytearray, chance: random.Random) -> bytearray:
    """One page with noise, zeros, or another page."""
    size = min(4096, len(body) // 4)
    start, other = (chance.randrange(0, len(body) - size) // size * size for _ in range(2))
    body[start : start + size] = chance.choice((chance.randbytes(size), bytes(size), body[other : other + size]))
    return body


def cut(body: bytearray, chance: random.Random) -> bytearray:
    """The end is missing."""
    return body[: chance.randrange(len(body))]


def cut_out(body: bytearray, chance: random.Random) -> bytearray:
    """A piece in the middle is missing: everything after it has moved."""
    start = chance.randrange(len(body))
    return body[:start] + body[start + chance.choice((1, 100, 4096)) :]


def stray_text(body: bytearray, chance: random.Random) -> bytearray:
    """Signs that split lines, end strings, or are no UTF-8, in the place of others."""
    for _ in range(20):
        sign = chance.choice((b"\xe2\x80\xa8", b"\x00", b"\n", b'"', b"\xed\xa0\xbd", b"\\ud83d", b"\xff", b"{", b"]"))
        start = chance.randrange(len(body))
        body[start : start + len(sign)] = sign
    return body


DAMAGES: tuple[Damage, ...] = (flip, flip, flip_head, overwrite, overwrite, cut, cut_out, stray_text)
