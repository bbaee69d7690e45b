"""The same token buckets in Redis, for several processes that share a tool's limit (extra `reach`)."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from reach_tui.reach.rate_limit import Grant

if TYPE_CHECKING:
    from redis.asyncio import Redis

# Read, fill, decide and take in one step. The server's own clock counts: callers' clocks differ. The level is kept as
# text with all its digits, since Lua numbers returned to a client are cut to whole ones.
_SCRIPT = """
local qps, burst, longest = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local now = tonumber(ARGV[4])
if now == nil then
  local time = redis.call('TIME')
  now = tonumber(time[1]) + tonumber(time[2]) / 1000000
end
local kept = redis.call('HMGET', KEYS[1], 'level', 'at')
local level, at = tonumber(kept[1]), tonumber(kept[2])
if level == nil or at == nil then level, at = burst, now end
level = math.min(burst, level + math.max(0, now - at) * qps)
local wait = math.max(0, (1 - level) / qps)
if wait < 1e-6 then wait = 0 end
local granted = 0
if wait <= longest then
  granted = 1
  level = level - 1
end
redis.call('HSET', KEYS[1], 'level', string.format('%.9f', level), 'at', string.format('%.9f', math.max(at, now)))
redis.call('PEXPIRE', KEYS[1], math.ceil((burst - level) / qps * 1000) + 1000)
return {granted, string.format('%.9f', wait)}
"""


class RedisLimiter:
    """Limits shared through a Redis server. Counters only: they expire when the bucket would be full again.

    `fail_open` says what happens while the server is away, or silent for `patience_s` seconds: calls go unlimited
    (True), or its error is raised.
    """

    def __init__(
        self, client: Redis, *, prefix: str = "reach:limit:", fail_open: bool = True, patience_s: float = 0.25
    ) -> None:
        self._client = client
        self._prefix = prefix
        self._fail_open = fail_open
        self._patience_s = patience_s
        self._script = client.register_script(_SCRIPT)
        self.faults = 0
        """How often the server was away and a call went through unlimited."""

    async def take(self, tool: str, qps: float, burst: int, longest_wait_s: float, *, at: float | None = None) -> Grant:
        """Take a place in the tool's bucket if it is free within `longest_wait_s` seconds.

        `at` stands for the server's clock, in seconds.
        """
        from redis.exceptions import RedisError

        key = f"{self._prefix}{tool}:{qps:g}:{burst}"  # changed limits make a new bucket
        arguments: list[str | int] = [repr(qps), burst, repr(longest_wait_s), "" if at is None else repr(at)]
        try:
            async with asyncio.timeout(self._patience_s):
                granted, wait = await self._script(keys=[key], args=arguments)
        except (RedisError, OSError):  # TimeoutError is one
            if not self._fail_open:
                raise
            self.faults += 1
            return Grant(True, 0.0)
        return Grant(bool(granted), float(wait))
