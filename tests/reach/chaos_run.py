"""Many calls at once through the whole layer, against upstreams that do everything wrong, with every answer checked."""

from __future__ import annotations

import asyncio
import os
import random
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from reach_tui.base.sqlite import reading
from reach_tui.reach.asking import Asking
from reach_tui.reach.auth import Auth, Secret, Token, TokenRequest
from reach_tui.reach.breaker import Breakers, BreakerSettings
from reach_tui.reach.events import EventLog
from reach_tui.reach.executor import Executor
from reach_tui.reach.handle import Answered
from reach_tui.reach.interface import Reach
from reach_tui.reach.registry import ToolList
from reach_tui.reach.router import Router
from reach_tui.reach.spec import RetryPolicy, ToolSpec
from tests.reach.clocks import tool
from tests.reach.loopback import Reply, Request, say, serving

SECRET = "chaos-secret-4711"
MODES: dict[str, tuple[int, str]] = {
    "fine": (50, "none"),
    "late": (12, "none"),
    "big": (3, "none"),
    "500": (3, "upstream_5xx"),
    "503": (3, "upstream_5xx"),
    "reset": (3, "network"),
    "torn": (3, "network"),
    "slow": (2, "timeout"),
    "hang": (2, "timeout"),
    "429": (3, "rate_limited"),
    "429 for long": (2, "rate_limited"),
    "no json": (3, "bad_response"),
    "403": (3, "auth_denied"),
    "401": (2, "auth_denied"),
    "404": (3, "not_found"),
    "422": (3, "invalid_param"),
}
"""What the upstream does, how often (in shares), and what must be told about it."""


@dataclass(slots=True)
class Report:
    """What the run found; `wrong` is empty where all is as it must be."""

    calls: int = 0
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    outcomes: Counter[str] = field(default_factory=Counter)
    refused_by_breaker: int = 0
    cancelled: int = 0
    requests: int = 0
    events: int = 0
    wrong: list[str] = field(default_factory=list)


BIG = say({"items": [{"id": number, "text": "t" * 40} for number in range(600)]})


def behave(request: Request) -> Reply:
    """One answer, as the parameter `mode` says."""
    mode = parse_qs(urlsplit(request.path).query)["mode"][0]
    answers = {
        "late": Reply(200, b'{"late": true}', delay_s=0.02),
        "big": BIG,
        "reset": Reply(200, b"", reset=True),
        "torn": Reply(200, b'{"half": "of an answer"}', reset=True),
        "slow": Reply(200, b"x" * 4_000, chunk_s=0.05),
        "hang": Reply(delay_s=30),
        "429": say({}, 429, retry_after="0"),
        "429 for long": say({}, 429, retry_after="3600"),
        "no json": Reply(200, b"<html>maintenance</html>"),
        "422": say({"detail": [{"loc": ["query", "mode"], "msg": "not this one"}]}, 422),
    }
    if mode in answers:
        return answers[mode]
    if mode == "fine":
        return say({"ok": True, "echo": request.headers.get("authorization", "")})
    return say({"error": mode, "echo": request.headers.get("authorization", "")}, int(mode))


def tools(url: str) -> list[ToolSpec]:
    """Reads that are retried, and writes that must not be; impatient ones for what hangs."""
    return [
        tool(
            f"{kind}_{pace}_{number}",
            url=f"{url}/{kind}",
            method="GET",
            side_effect="read" if kind == "read" else "write",
            idempotent=kind == "read",
            timeout_ms=20_000 if pace == "patient" else 400,
            auth_type="service_token",
            retry_policy=RetryPolicy(max_attempts=2, backoff_ms=(1,)),
        )
        for kind in ("read", "write")
        for pace in ("patient", "impatient")
        for number in range(5)
    ]


async def chaos(path: Path, calls: int, concurrency: int = 50, seed: int = 7) -> Report:
    """The run. The database at `path` is new."""
    report = Report(calls)
    dice = random.Random(seed)
    gate = asyncio.Semaphore(concurrency)
    before = len(asyncio.all_tasks())
    files = _open_files()
    told: dict[str, str] = {}
    began, cpu = time.monotonic(), time.process_time()

    def token(_: TokenRequest) -> Token:
        return Token(Secret(SECRET))

    async with serving(behave) as server:
        registry = ToolList(tools(server.url))
        executor = Executor(auth=Auth(service=token), breakers=Breakers(BreakerSettings(probe_after_s=0.05)))
        reach = Reach(registry, Router(registry), executor, events=EventLog(path))

        async def one(number: int, mode: str, kind: str, patience: float | None) -> None:
            pace = "impatient" if mode in ("slow", "hang") else "patient"
            name = f"{kind}_{pace}_{number % 5}"
            async with gate:
                handle = reach.ask("chaos", Asking(f"session-{number % 40}", trace_id=f"task-{number}"), tool=name)
                run = asyncio.create_task(handle.run({"mode": mode, "number": number}))
                try:
                    answered = await asyncio.wait_for(run, patience)
                except TimeoutError:
                    report.cancelled += 1
                    return
            _judge(report, mode, answered)
            told[answered.call_key or ""] = answered.outcome.failure.error_type if answered.outcome.failure else "none"

        names, shares = list(MODES), [share for share, _ in MODES.values()]
        async with asyncio.TaskGroup() as group:
            for number, mode in enumerate(dice.choices(names, shares, k=calls)):
                patience = dice.uniform(0, 0.03) if dice.random() < 0.03 else None
                group.create_task(one(number, mode, dice.choice(("read", "write")), patience))
        await reach.close()
        report.requests = len(server.requests)
        _no_write_twice(report, server.requests)
        for _ in range(100):
            if server.connections <= _hanging(server.requests):
                break
            await asyncio.sleep(0.02)
        if server.connections > _hanging(server.requests):
            report.wrong.append(f"{server.connections} connections left open")
    report.seconds, report.cpu_seconds = time.monotonic() - began, time.process_time() - cpu
    _no_leaks(report, before, files)
    _compare(report, path, told)
    return report


def _hanging(requests: list[Request]) -> int:
    """Connections on which the server sleeps on purpose; it notices only later that nobody listens."""
    return sum("mode=hang" in request.path or "mode=slow" in request.path for request in requests)


def _judge(report: Report, mode: str, answered: Answered) -> None:
    failure = answered.outcome.failure
    found = failure.error_type if failure else "none"
    report.outcomes[found] += 1
    if failure is not None and not failure.sent and "breaker is open" in failure.detail:
        report.refused_by_breaker += 1
        if found != "upstream_5xx":
            report.wrong.append(f"an open breaker told as {found}")
    elif found != MODES[mode][1] and not (failure is not None and "breaker is open" in failure.detail):
        report.wrong.append(f"{mode}: {found}, {failure.detail if failure else ''}")
    if SECRET in answered.for_model + repr(answered):
        report.wrong.append(f"{mode}: the token is in the answer")


def _no_write_twice(report: Report, requests: list[Request]) -> None:
    sent = Counter(parse_qs(urlsplit(one.path).query)["number"][0] for one in requests if one.path.startswith("/write"))
    report.wrong += [f"write {number} was sent {times} times" for number, times in sent.items() if times > 1]


def _no_leaks(report: Report, tasks: int, files: int) -> None:
    if len(asyncio.all_tasks()) != tasks:
        report.wrong.append(f"{len(asyncio.all_tasks()) - tasks} tasks left")
    if _open_files() > files:
        report.wrong.append(f"{_open_files() - files} files or connections left open")


def _open_files() -> int:
    folder = Path("/proc/self/fd")
    return len(os.listdir(folder)) if folder.is_dir() else 0


def _compare(report: Report, path: Path, told: dict[str, str]) -> None:
    """Each call has one row, one route event and at least one execute event, the last of which says what was told."""
    with reading(path) as connection:
        rows = connection.execute("SELECT key, status FROM tool_call").fetchall()
        routes = Counter(row[0] for row in connection.execute("SELECT call_key FROM event WHERE step = 'route'"))
        last = dict(
            connection.execute("SELECT call_key, error_type FROM event WHERE step = 'execute' ORDER BY id").fetchall()
        )
        report.events = int(connection.execute("SELECT count(*) FROM event").fetchone()[0])
    if SECRET.encode() in path.read_bytes():
        report.wrong.append("the token is in the database")
    if len(rows) > report.calls or len(rows) < report.calls - report.cancelled:
        report.wrong.append(f"{len(rows)} rows for {report.calls} calls, {report.cancelled} of them cancelled")
    if {row[0] for row in rows if row[1] == "running"}:
        report.wrong.append("calls that never ended")
    if set(routes) != {row[0] for row in rows} or set(routes.values()) != {1}:
        report.wrong.append("calls without one route event each")
    report.wrong += [
        f"{key}: told {word}, recorded {last.get(key)}" for key, word in told.items() if last.get(key) != word
    ]
    report.wrong += [
        f"{row[0]}: cancelled, recorded {last.get(row[0])}"
        for row in rows
        if row[0] not in told and last.get(row[0]) not in ("cancelled", "none", *ERRORS)
    ]


ERRORS = {error_type for _, error_type in MODES.values()}
