"""A tool as the registry holds it (spec B2, seed 2.3): every field answers one decision of router or executor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal, Protocol, TypeAlias

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag, model_validator

from reach_tui.base.jsonio import JsonValue

AuthType: TypeAlias = Literal["service_token", "user_delegated", "none"]
SideEffect: TypeAlias = Literal["read", "write", "notify"]

NAME_PATTERN = r"^[A-Za-z][A-Za-z0-9_.:/\-]{0,127}$"
"""Agents' own tool names (`mcp__x`, `web-fetch`, `Edit`) are names too; that ours are snake_case is for the lint."""
MAX_ATTEMPTS = 3
"""The first try and the seed's two retries (4.3)."""
BACKOFF_MS = (200, 800)
"""Waits before the first and the second retry (seed 4.3)."""
LONGEST_TIMEOUT_MS = 86_400_000


class _Document(BaseModel):
    """What people write: frozen, no unknown field, no silent conversion (`"500"` is not 500)."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


class RetryPolicy(_Document):
    """How often and after which waits a failed call may be sent again; it says nothing about whether it may be."""

    max_attempts: Annotated[int, Field(ge=1, le=10)] = MAX_ATTEMPTS
    """Tries in all, the first included: 3 is the first try and two retries."""
    backoff_ms: Annotated[tuple[Annotated[int, Field(ge=0)], ...], Field(strict=False)] = BACKOFF_MS
    """Wait before retry 1, 2, …, in milliseconds; the last one stands for all that follow."""

    def wait_ms(self, retry: int) -> int:
        """Milliseconds to wait before retry number `retry`, counted from 1."""
        return self.backoff_ms[min(retry, len(self.backoff_ms)) - 1] if self.backoff_ms else 0


class RateLimit(_Document):
    """A token bucket: `qps` calls a second in the long run, `burst` at once."""

    qps: Annotated[float, Field(gt=0)]
    burst: Annotated[int, Field(ge=1)] = 1


class SampleCall(_Document):
    """What a person says and the call that follows, or a counter-example: what sounds alike and belongs elsewhere."""

    utterance: Annotated[str, Field(min_length=1)]
    params: dict[str, Any] = Field(default_factory=dict)
    """The call's parameters; empty for a counter-example."""
    counter_example: bool = False
    """True: this tool is the wrong one for the utterance."""
    use_instead: str | None = None
    """The tool that a counter-example belongs to; None where no tool does it."""

    @model_validator(mode="after")
    def _instead_is_a_counter_example(self) -> SampleCall:
        if self.use_instead is not None and not self.counter_example:
            raise ValueError("use_instead stands only in a counter_example")
        return self


class HttpEndpoint(_Document):
    """Where a call goes over HTTP. `{name}` in the URL is filled from the parameters."""

    method: Literal["GET", "POST", "PUT", "PATCH", "DELETE"] = "POST"
    url: Annotated[str, Field(pattern=r"^https?://\S+$")]


class PythonEndpoint(_Document):
    """A callable of this process, `package.module:function`, plain or async."""

    python: Annotated[str, Field(pattern=r"^[A-Za-z_][\w.]*:[A-Za-z_][\w.]*$")]


Endpoint: TypeAlias = Annotated[HttpEndpoint, Tag("http")] | Annotated[PythonEndpoint, Tag("python-callable")]


def _endpoint_kind(value: object) -> str:
    """Which endpoint is meant, so that a mistake is told once and not for each kind."""
    names_python = "python" in value if isinstance(value, dict) else isinstance(value, PythonEndpoint)
    return "python-callable" if names_python else "http"


class SlotSource(_Document):
    """Where one parameter's value may come from; nothing else is looked at (seed 3.3: sources are declared)."""

    sources: Annotated[
        tuple[Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")], ...], Field(min_length=1, strict=False)
    ]
    """Names of providers in the order they are asked: user, history, result, profile, database, dictionary, or own."""
    entity: str | None = None
    """The kind of entity that `history` and `profile` are asked for, e.g. `order_id`; None: the parameter's name."""
    result_of: Annotated[str, Field(pattern=r"^[^\s.]+\.[^\s]+$")] | None = None
    """For `result`: tool and field that return the value, e.g. `search_order.order_id`."""


class IntentRule(_Document):
    """A fixed-format intent (seed 3.2, third way): the whole utterance matches, named groups are the parameters."""

    pattern: Annotated[str, Field(min_length=1, max_length=1000)]
    """RE2 syntax, matched against the whole utterance without blanks at its ends."""
    params: dict[str, Any] = Field(default_factory=dict)
    """Parameters that the pattern implies, beside its named groups."""


class ToolSpec(_Document):
    """One tool. Without a default: what nobody may leave to chance. With one: `retry_policy` and what follows."""

    name: Annotated[str, Field(pattern=NAME_PATTERN)]
    """How the model calls it; unique in a registry."""
    description: Annotated[str, Field(min_length=1)]
    """What it does, its exact input, what it does not do, when to use which other tool."""
    params_schema: dict[str, Any]
    """JSON Schema of the parameters, an object."""
    auth_type: AuthType
    """How the executor authenticates the call."""
    timeout_ms: Annotated[int, Field(ge=1, le=LONGEST_TIMEOUT_MS)]
    """The longest wait for one try; P99 × 1.3 is the seed's advice (4.3)."""
    idempotent: bool
    """Whether a second identical call changes nothing more; False forbids every automatic retry."""
    side_effect: SideEffect
    """Whether the world is changed: `write` and `notify` tools leave a read-only session."""
    sample_calls: Annotated[tuple[SampleCall, ...], Field(strict=False)]
    """Two or three real utterances, one of them a counter-example."""
    retry_policy: RetryPolicy = RetryPolicy()
    rate_limit: RateLimit | None = None
    """None: not limited."""
    endpoint: Annotated[Endpoint, Discriminator(_endpoint_kind)] | None = None
    """None: whoever calls the executor hands it the callable."""
    slots: dict[str, SlotSource] = Field(default_factory=dict)
    """Declared sources by parameter name."""
    intents: Annotated[tuple[IntentRule, ...], Field(strict=False)] = ()
    """Fixed-format intents that need no scoring."""
    version: str | None = None

    @property
    def retries(self) -> int:
        """How often the executor may send a failed call again: none where the tool is not idempotent."""
        return self.retry_policy.max_attempts - 1 if self.idempotent else 0

    @property
    def properties(self) -> dict[str, dict[str, JsonValue]]:
        """The parameters' schemas by name; empty where the schema declares none."""
        found = self.params_schema.get("properties")
        return {k: v if isinstance(v, dict) else {} for k, v in found.items()} if isinstance(found, dict) else {}

    @property
    def required(self) -> tuple[str, ...]:
        """Names of the parameters that a call must have."""
        found = self.params_schema.get("required")
        return tuple(name for name in found if isinstance(name, str)) if isinstance(found, list) else ()


class Registry(Protocol):
    """Whatever knows tools: a folder, a list, a service."""

    def tools(self) -> Sequence[ToolSpec]:
        """Every tool in force, by name."""
        ...

    def get(self, name: str) -> ToolSpec | None:
        """The tool of that name, None if there is none."""
        ...
