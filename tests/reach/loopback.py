"""A small HTTP/1.1 server on the loopback that misbehaves on request, as real upstreams do."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TypeAlias


@dataclass(slots=True)
class Request:
    """What came in."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


@dataclass(slots=True)
class Reply:
    """What goes out, and how badly."""

    status: int = 200
    body: bytes = b"{}"
    headers: dict[str, str] = field(default_factory=lambda: {"content-type": "application/json"})
    delay_s: float = 0.0
    reset: bool = False
    """Close the connection after the first half of the answer, or before any of it where there is no body."""
    chunk_s: float = 0.0
    """Wait between the bytes of the body."""


Behaviour: TypeAlias = Callable[[Request], "Reply | Awaitable[Reply]"]


@dataclass(slots=True)
class Server:
    """A running one."""

    url: str
    requests: list[Request] = field(default_factory=list)
    connections: int = 0
    """Open now."""


def say(value: object, status: int = 200, **headers: str) -> Reply:
    """A JSON answer."""
    named = {name.replace("_", "-"): text for name, text in headers.items()}
    return Reply(status, json.dumps(value).encode(), {"content-type": "application/json", **named})


@asynccontextmanager
async def serving(behave: Behaviour, *, keep: bool = True) -> AsyncIterator[Server]:
    """A server for the time of the block; `keep` remembers every request."""
    found = Server("")
    tasks: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        found.connections += 1
        try:
            while (request := await _read(reader)) is not None:
                if keep:
                    found.requests.append(request)
                answer = behave(request)
                reply = answer if isinstance(answer, Reply) else await answer
                if not await _write(writer, reply):
                    return
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            return
        finally:
            found.connections -= 1
            tasks.discard(task)
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    found.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield found
    finally:
        server.close()
        left = list(tasks)
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)


async def _read(reader: asyncio.StreamReader) -> Request | None:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None
    first, *lines = head.decode("latin-1").split("\r\n")
    method, path, _ = first.split(" ", 2)
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines if line)}
    length = int(headers.get("content-length", "0"))
    return Request(method, path, headers, await reader.readexactly(length) if length else b"")


async def _write(writer: asyncio.StreamWriter, reply: Reply) -> bool:
    """Send the reply; False where the connection is over."""
    if reply.delay_s:
        await asyncio.sleep(reply.delay_s)
    if reply.reset and not reply.body:
        writer.transport.abort()
        return False
    lines = [f"HTTP/1.1 {reply.status} Status", f"content-length: {len(reply.body)}"]
    lines += [f"{name}: {value}" for name, value in reply.headers.items()]
    writer.write("\r\n".join(lines).encode() + b"\r\n\r\n")
    if reply.reset:
        writer.write(reply.body[: len(reply.body) // 2])
        await writer.drain()
        writer.transport.abort()
        return False
    if reply.chunk_s:
        for index in range(len(reply.body)):
            writer.write(reply.body[index : index + 1])
            await writer.drain()
            await asyncio.sleep(reply.chunk_s)
    else:
        writer.write(reply.body)
    await writer.drain()
    return True
