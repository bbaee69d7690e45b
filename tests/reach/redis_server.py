"""A Redis server of the tests' own on a free port of the loopback, gone afterwards."""

from __future__ import annotations

import asyncio
import shutil
import socket
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

BINARY = shutil.which("redis-server")


@asynccontextmanager
async def redis_client() -> AsyncIterator[Any]:
    """A client of a fresh, empty server."""
    from redis.asyncio import Redis
    from redis.exceptions import ConnectionError as NotThere

    assert BINARY, "redis-server is not installed: apt-get install redis-server"
    with tempfile.TemporaryDirectory() as folder:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        options = ["--port", str(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", folder]
        server = await asyncio.create_subprocess_exec(BINARY, *options, stdout=asyncio.subprocess.DEVNULL)
        try:
            async with Redis(host="127.0.0.1", port=port) as client:
                for _ in range(200):
                    try:
                        await client.ping()
                        break
                    except NotThere:
                        await asyncio.sleep(0.02)
                yield client
        finally:
            server.terminate()
            await server.wait()
