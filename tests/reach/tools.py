"""Tools for tests: small ones made here, and the shop's."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from reach_tui.reach.registry import FolderRegistry
from reach_tui.reach.spec import ToolSpec

SHOP = Path(__file__).resolve().parents[2] / "reach_tui" / "registries" / "shop"

ORDER_ID = {"type": "string", "pattern": "^[0-9]{16}$", "description": "16 digits"}


def tool(name: str, description: str = "Does a thing.", **fields: Any) -> ToolSpec:
    """A read-only tool without parameters, but for `fields`."""
    document: dict[str, Any] = {
        "name": name,
        "description": description,
        "params_schema": {"type": "object", "properties": {}, "additionalProperties": False},
        "auth_type": "none",
        "timeout_ms": 1000,
        "idempotent": True,
        "side_effect": "read",
        "sample_calls": [],
    }
    return ToolSpec.model_validate(document | fields)


@cache
def shop() -> tuple[ToolSpec, ...]:
    """The tools of the shop's registry."""
    return tuple(FolderRegistry(SHOP).tools())


GOOD = """\
name: query_refund
description: |
  Looks up the refund of one order.
  Input is the order number, 16 digits.
  Does not start a refund.
params_schema:
  type: object
  properties:
    order_id: {type: string, pattern: '^[0-9]{16}$', description: Order number}
  required: [order_id]
  additionalProperties: false
auth_type: service_token
timeout_ms: 1200
idempotent: true
side_effect: read
sample_calls:
  - utterance: refund of 1000200030004001
    params: {order_id: "1000200030004001"}
"""
"""A tool's file without a mistake."""
