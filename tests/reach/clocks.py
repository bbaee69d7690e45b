"""A clock that only moves when told, and tools as a registry would hold them."""

from __future__ import annotations

from typing import Any

from reach_tui.reach.spec import HttpEndpoint, PythonEndpoint, RateLimit, RetryPolicy, SideEffect, ToolSpec


class Clock:
    """Seconds that never go back; `sleep` moves it and remembers."""

    def __init__(self, at: float = 1000.0) -> None:
        self.at = at
        self.slept: list[float] = []

    def __call__(self) -> float:
        return self.at

    def ahead(self, seconds: float) -> None:
        """Let time pass."""
        self.at += seconds

    async def sleep(self, seconds: float) -> None:
        """What `asyncio.sleep` is replaced by."""
        self.slept.append(seconds)
        self.at += seconds


ORDER_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "order_id": {
            "type": "string",
            "pattern": "^[0-9]{16}$",
            "description": "16 digits, the field orderId of search_order",
        }
    },
    "required": ["order_id"],
    "additionalProperties": False,
}


def tool(
    name: str = "query_refund",
    *,
    side_effect: SideEffect = "read",
    idempotent: bool = True,
    timeout_ms: int = 20_000,
    schema: dict[str, Any] | None = None,
    auth_type: str = "none",
    url: str | None = None,
    endpoint_python: str | None = None,
    method: str = "POST",
    rate_limit: RateLimit | None = None,
    retry_policy: RetryPolicy | None = None,
    description: str = "",
    **more: Any,
) -> ToolSpec:
    """A tool; by default an idempotent read that takes anything."""
    endpoint: HttpEndpoint | PythonEndpoint | None = None
    if url is not None:
        endpoint = HttpEndpoint(method=method, url=url)  # type: ignore[arg-type]
    elif endpoint_python is not None:
        endpoint = PythonEndpoint(python=endpoint_python)
    return ToolSpec(
        name=name,
        description=description or f"{name.replace('_', ' ')} of one order",
        params_schema=schema or {"type": "object"},
        auth_type=auth_type,  # type: ignore[arg-type]
        timeout_ms=timeout_ms,
        idempotent=idempotent,
        side_effect=side_effect,
        sample_calls=(),
        endpoint=endpoint,
        rate_limit=rate_limit,
        retry_policy=retry_policy or RetryPolicy(),
        **more,
    )
