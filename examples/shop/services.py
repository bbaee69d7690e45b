"""The shop's services: a FastAPI application that answers the tools of the bundled registry, and fails when told to.

Orders, customers and amounts are invented. Run it by itself: `uvicorn --factory examples.shop.services:build`.
"""

from __future__ import annotations

import asyncio
import threading
from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse, Response

from reach_tui.base.jsonio import JsonValue
from reach_tui.reach.auth import Secret, Token, TokenRequest
from reach_tui.reach.registry import ToolList
from reach_tui.reach.spec import HttpEndpoint, Registry

ORDERS = {
    "1000200030004001": {"nickname": "小鱼儿", "date": "2026-05-20", "total": 49.9, "parcelNo": "SF1234567890123"},
    "1000200030004101": {"nickname": "林小雨", "date": "2026-05-26", "total": 128.0, "parcelNo": "SF1234567890124"},
    "1000200030004102": {"nickname": "林小雨", "date": "2026-05-27", "total": 59.0, "parcelNo": "SF1234567890125"},
    "1000200030004103": {"nickname": "林小雨", "date": "2026-05-30", "total": 128.0, "parcelNo": "YT9876543210123"},
}
REFUNDS = {"1000200030004001": ("paid", 49.9), "1000200030004103": ("paid", 128.0)}


@dataclass(frozen=True, slots=True)
class Fault:
    """How one request goes wrong: a status with headers, or silence for some seconds and then an answer."""

    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    silence_s: float = 0.0


RATE_LIMITED = Fault(429, (("Retry-After", "0"),))
DOWN = Fault(503)
SILENT = Fault(silence_s=2.0)
DENIED = Fault(403)


@dataclass(slots=True)
class Desk:
    """Gives out tokens, and knows which are good. `revoke` makes those in use worthless, as a rotation does."""

    issued: int = 0
    good: set[str] = field(default_factory=set)
    every: list[str] = field(default_factory=list)

    def token(self, request: TokenRequest) -> Token:
        """The callback for `Auth`, for service and user tokens alike."""
        self.issued += 1
        value = f"shop-token-{request.user or 'service'}-{self.issued:04d}"
        self.good.add(value)
        self.every.append(value)
        return Token(Secret(value))

    def revoke(self) -> None:
        """No token given out so far is good any more."""
        self.good.clear()


@dataclass(slots=True)
class Shop:
    """State of the services: faults to come by tool, refunds made, requests seen."""

    desk: Desk = field(default_factory=Desk)
    faults: dict[str, deque[Fault]] = field(default_factory=lambda: defaultdict(deque))
    made: list[dict[str, JsonValue]] = field(default_factory=list)
    seen: list[str] = field(default_factory=list)

    def fail(self, tool: str, *faults: Fault) -> None:
        """The tool's next requests go wrong in this way, one after the other; then it has recovered."""
        self.faults[tool].extend(faults)

    def answer(self, tool: str, params: dict[str, JsonValue]) -> JSONResponse:
        """What the service says when nothing is wrong with it."""
        order_id = str(params.get("order_id", ""))
        order = ORDERS.get(order_id)
        if tool == "search_order":
            found = [
                {"orderId": number, "date": one["date"], "amount": one["total"]}
                for number, one in ORDERS.items()
                if one["nickname"] == params.get("nickname")
                and str(params.get("from_date", "")) <= str(one["date"]) <= str(params.get("to_date", "9"))
            ]
            return JSONResponse({"orders": found})
        if tool == "track_parcel":
            return JSONResponse(
                {"parcelNo": params.get("parcel_no"), "stations": [{"place": "Ningbo", "state": "sorted"}]}
            )
        if tool == "notify_customer":
            return JSONResponse({"sent": True})
        if order is None:
            return JSONResponse({"code": "ORDER_NOT_FOUND", "message": "no such order"}, 404)
        if tool == "query_refund":
            state, amount = REFUNDS.get(order_id, ("none", 0.0))
            return JSONResponse({"orderId": order_id, "status": state, "amount": amount})
        if tool == "create_refund":
            self.made.append(params)
            return JSONResponse({"refundId": f"rf-{len(self.made):04d}", "amount": params.get("amount")})
        return JSONResponse({"orderId": order_id, "status": "shipped", **order})


def build(shop: Shop | None = None) -> FastAPI:
    """The application: `POST /tools/NAME` with the parameters as JSON and a bearer token."""
    state = shop or Shop()
    app = FastAPI()

    @app.post("/tools/{tool}")
    async def call(tool: str, request: Request) -> Response:
        state.seen.append(tool)
        params = await request.json()
        token = request.headers.get("authorization", "").removeprefix("Bearer ")
        if token not in state.desk.good:
            return JSONResponse({"detail": f"unknown token {token}"}, 401)  # says it aloud, as careless services do
        if state.faults[tool]:
            fault = state.faults[tool].popleft()
            await asyncio.sleep(fault.silence_s)
            if fault.status != 200:
                return JSONResponse({"detail": f"HTTP {fault.status} for {token}"}, fault.status, dict(fault.headers))
        return state.answer(tool, params)

    return app


def registry(url: str, only: Sequence[str] = (), timeout_ms: int | None = None) -> Registry:
    """The bundled shop registry with the address of these services; `timeout_ms` shortens every timeout."""
    from importlib.resources import files
    from pathlib import Path

    from reach_tui.reach.registry import load_tools

    folder = Path(str(files("reach_tui"))) / "registries" / "shop"
    return ToolList(
        spec.model_copy(
            update={
                "endpoint": HttpEndpoint(method="POST", url=f"{url}/tools/{spec.name}"),
                "timeout_ms": timeout_ms or spec.timeout_ms,
            }
        )
        for spec in load_tools(folder).tools()
        if not only or spec.name in only
    )


@contextmanager
def served(shop: Shop) -> Iterator[str]:
    """The services on a free port of the loopback for the time of the block; gives their address."""
    import uvicorn

    config = uvicorn.Config(build(shop), host="127.0.0.1", port=0, log_level="warning", lifespan="off")
    server = uvicorn.Server(config)
    socket = config.bind_socket()
    thread = threading.Thread(target=server.run, kwargs={"sockets": [socket]}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{socket.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(5)
        socket.close()
