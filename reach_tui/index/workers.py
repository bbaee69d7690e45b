"""Digests made in several processes: for a store of many calls, on a machine with more than one core.

Each worker is a Python process of its own at low priority, with a reader and an engine of its own. Over its pipes go
the rules, then a few sessions at a time, and digests come back; whoever asked writes them. A worker whose parent is
gone, however it went, ends at once: its input has ended. Whatever goes wrong with a worker costs time only, since the
sessions it still had are judged here.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import IO, TYPE_CHECKING, Self

import msgspec

from reach_tui.base.errors import ReachError, StoreError
from reach_tui.base.sqlite import Access, access_of, written_lately
from reach_tui.detect.engine import Engine
from reach_tui.detect.rules import RuleSet
from reach_tui.index.digest import Digest, Judge
from reach_tui.index.scanner import CHUNK, stated
from reach_tui.model import Session
from reach_tui.stores.catalog import open_store
from reach_tui.stores.reader import Reader, Scanned

if TYPE_CHECKING:
    import queue

LARGE = 1 << 30
"""Bytes of a store (some 200,000 calls) from which on workers are worth their start, a second of processor time."""
ALONE = 10_000
"""Calls judged here before they are started: after a change there are seldom more."""
MOST = 4
"""Workers at most; each reads and judges, about 70 MB."""
_MEMORY = 1 << 30  # bytes of address space: a worker that wants more ends, and its sessions are judged here
_PIECES, _PIECE = 8, 16  # at least so many for each worker from one request; at most so many sessions
_LIVE_SECONDS = 1.0  # a store written to so lately has a live writer
_LENGTH = 4  # bytes before each message
_ROOT = Path(__file__).resolve().parents[2]
_START = "import sys; sys.path.append(sys.argv.pop()); from reach_tui.index.workers import main; sys.exit(main())"
"""With `-P`, unlike `-m`: nothing is imported from the folder one happens to stand in, which may be anybody's."""
_FAULTS = (OSError, EOFError, ValueError, msgspec.MsgspecError)


class _Hello(msgspec.Struct, array_like=True):
    """What a worker is told first."""

    path: str
    kind: str
    rules: RuleSet


class _Answer(msgspec.Struct, array_like=True):
    """A digest; without one: the sessions asked for are done, or (`failed`) cannot be."""

    digest: Digest | None = None
    failed: bool = False


_hello = msgspec.msgpack.Decoder(_Hello)
_sessions = msgspec.msgpack.Decoder(list[Session])
_answer = msgspec.msgpack.Decoder(_Answer)


class Workers:
    """A `Digester` for one store: alone at first, with other processes once there is enough to do. Close it."""

    def __init__(self, count: int | None = None, *, alone: int = ALONE, large: int = LARGE) -> None:
        """`count`: processes (default: as many as there are cores, `MOST` at most); fewer than two: none."""
        self.count = min(MOST, os.cpu_count() or 1) if count is None else count
        self._alone = alone
        self._large = large
        self._workers: list[_Worker] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the workers at once; what they were at is lost."""
        for worker in self._workers or ():
            worker.end()
        self._workers = []

    @property
    def processes(self) -> list[int]:
        """Ids of the processes that run."""
        return [worker.process.pid for worker in self._workers or () if worker.alive]

    def __call__(self, reader: Reader, engine: Judge, sessions: Sequence[Session]) -> Iterator[Digest]:
        """The digests of these sessions, in any order. Raises `StoreError`."""
        left = {session.id: session for session in sessions}
        while left and self._alone > 0:
            yield from self._here(reader, engine, list(islice(left.values(), CHUNK)), left)
        if len(left) > 1:
            for one in self._spread(self._started(reader, engine), list(left.values()), reader.path):
                del left[one.session_id]
                yield one
        yield from self._here(reader, engine, list(left.values()), left)

    def _here(
        self, reader: Reader, engine: Judge, some: Sequence[Session], left: dict[str, Session]
    ) -> Iterator[Digest]:
        for one in stated(reader, engine, some):
            self._alone -= one.sums.counts.calls
            yield one
        for session in some:
            del left[session.id]

    def _started(self, reader: Reader, engine: Judge) -> list[_Worker]:
        if self._workers is None:
            self._workers = []
            if self.count > 1 and isinstance(engine, Engine) and self._worth_it(reader):
                hello = _Hello(os.fspath(reader.path.absolute()), reader.kind, engine.rules)
                with contextlib.suppress(*_FAULTS):
                    told = msgspec.msgpack.encode(hello)
                    for _ in range(self.count):
                        self._workers.append(_Worker(told))
        return [worker for worker in self._workers if worker.alive]

    def _worth_it(self, reader: Reader) -> bool:
        """True for a large file that every process can read itself: it is no private copy."""
        try:
            if not isinstance(reader, Scanned) or reader.path.stat().st_size < self._large:
                return False
            return access_of(reader.path) is not Access.PRIVATE
        except (OSError, StoreError):
            return False

    @staticmethod
    def _spread(workers: Sequence[_Worker], sessions: Sequence[Session], path: Path) -> Iterator[Digest]:
        """What the workers make of the sessions; some are missing if a worker failed."""
        if not workers:
            return
        import queue

        size = max(1, min(_PIECE, len(sessions) // (len(workers) * _PIECES)))
        pieces = deque(sessions[start : start + size] for start in range(0, len(sessions), size))
        out: queue.SimpleQueue[Digest | None] = queue.SimpleQueue()
        turns = Turns(path)
        for worker in workers:
            threading.Thread(target=worker.work, args=(pieces, out, turns), daemon=True).start()
        try:
            busy = len(workers)
            while busy:
                if (one := out.get()) is None:
                    busy -= 1
                else:
                    yield one
        finally:
            pieces.clear()


class Turns:
    """Workers take turns while the store is written to.

    More processes than cores would mean that one is put aside in the middle of a read, and a read that lasts keeps the
    writer from beginning its log anew.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._turn = threading.Lock()

    @contextlib.contextmanager
    def taken(self) -> Iterator[None]:
        """While a worker has a piece."""
        if written_lately(self._path, _LIVE_SECONDS):
            with self._turn:
                yield
        else:
            yield


class _Worker:
    """The parent's end of one worker. Raises `OSError` where none can be started."""

    def __init__(self, hello: bytes) -> None:
        import subprocess  # what small stores need not wait for

        self.process = subprocess.Popen(
            [sys.executable, "-P", "-c", _START, os.fspath(_ROOT)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self._lock = threading.Lock()  # a request that was given up may still be answered
        self.alive = True
        self._send(hello)

    def work(self, pieces: deque[Sequence[Session]], out: queue.SimpleQueue[Digest | None], turns: Turns) -> None:
        """Give the worker piece by piece and pass on its answers; None at the end. Runs in a thread of its own."""
        try:
            with self._lock:
                while self.alive and pieces:
                    with turns.taken():
                        self._send(msgspec.msgpack.encode(pieces.popleft()))
                        for one in self._answers():
                            out.put(one)
        except IndexError:  # another worker took the last piece
            pass
        except _FAULTS:
            self.end()
        finally:
            out.put(None)

    def _send(self, message: bytes) -> None:
        assert self.process.stdin is not None
        _write(self.process.stdin, message)

    def _answers(self) -> Iterator[Digest]:
        assert self.process.stdout is not None
        while True:
            answer = _answer.decode(_read(self.process.stdout))
            if answer.digest is None:
                return
            yield answer.digest

    def end(self) -> None:
        """Kill it, if it runs."""
        self.alive = False
        with contextlib.suppress(OSError):
            self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None and not self._lock.locked():
                with contextlib.suppress(OSError, ValueError):
                    pipe.close()


def _write(pipe: IO[bytes], message: bytes) -> None:
    pipe.write(len(message).to_bytes(_LENGTH, "big") + message)
    pipe.flush()


def _read(pipe: IO[bytes]) -> bytes:
    """The next message. Raises `EOFError` at the end."""
    head = pipe.read(_LENGTH)
    message = pipe.read(int.from_bytes(head, "big"))
    if len(head) < _LENGTH or len(message) < int.from_bytes(head, "big"):
        raise EOFError
    return message


# -- the worker's end


def _listen(pipe: IO[bytes], requests: queue.SimpleQueue[bytes]) -> None:
    """Pass on what the parent says; end the process when it says no more, whatever is being done."""
    with contextlib.suppress(*_FAULTS):
        while True:
            requests.put(_read(pipe))
    os._exit(0)


def _limit() -> None:
    with contextlib.suppress(OSError, AttributeError):
        os.nice(10)
    with contextlib.suppress(ImportError, OSError, ValueError):  # not on Windows
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, resource.getrlimit(resource.RLIMIT_AS)[1]))


def serve(requests: queue.SimpleQueue[bytes], out: IO[bytes]) -> None:
    """Answer requests: the first is a `_Hello`, each other one a list of sessions."""
    hello = _hello.decode(requests.get())
    engine = Engine(hello.rules)
    reader = open_store(Path(hello.path)).reader
    while True:
        failed = reader.kind != hello.kind
        try:
            sessions = _sessions.decode(requests.get())
            for one in stated(reader, engine, [] if failed else sessions):
                _write(out, msgspec.msgpack.encode(_Answer(one)))
        except (ReachError, MemoryError, UnicodeError, OverflowError):  # the parent meets the same, and says so
            failed = True
        _write(out, msgspec.msgpack.encode(_Answer(failed=failed)))


def main() -> int:
    """Serve the parent until it closes our input."""
    import queue

    _limit()
    requests: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(sys.stdin.buffer, requests), daemon=True).start()
    try:
        serve(requests, sys.stdout.buffer)
    except (*_FAULTS, ReachError, MemoryError):
        return 1
    return 0
