"""The tools that a call was chosen from, as far as a trace tells, ready to be scored."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from reach_tui.base.jsonio import JsonValue, as_object

if TYPE_CHECKING:
    from reach_tui.reach.lexical import LexicalIndex
    from reach_tui.reach.spec import ToolSpec

RECORDED, REGISTRY, SEEN = "recorded", "registry", "seen"
IN_WORDS: Mapping[str, str] = {
    RECORDED: "tools recorded as offered",
    REGISTRY: "tools of your registry",
    SEEN: "tools seen in this trace",
}
"""What `Route.candidates_from` says, for people."""
MOST_TOOLS = 2_000
_LONGEST = 20_000  # characters of a recorded description that are looked at


class ToolSet:
    """Tools with an index over their words, built when the first call is scored."""

    def __init__(self, tools: Iterable[ToolSpec], origin: str) -> None:
        self.origin = origin
        """`recorded`, `registry` or `seen`."""
        self._tools: dict[str, ToolSpec] = {}
        for tool in tools:
            if len(self._tools) == MOST_TOOLS:
                break
            self._tools.setdefault(tool.name, tool)
        self._index: LexicalIndex | None = None

    def __len__(self) -> int:
        return len(self._tools)

    @property
    def tools(self) -> Sequence[ToolSpec]:
        """The tools, by name."""
        return [self._tools[name] for name in sorted(self._tools)]

    @property
    def index(self) -> LexicalIndex:
        """The lexical index over the tools, by name."""
        if self._index is None:
            from reach_tui.reach.lexical import LexicalIndex

            self._index = LexicalIndex(self.tools)
        return self._index


def recorded(name: str, description: str = "", schema: JsonValue = None) -> ToolSpec:
    """A tool as a trace tells of it: whatever it says is taken, nothing is checked, the rest is unknown."""
    from reach_tui.reach.spec import ToolSpec

    return ToolSpec.model_construct(
        name=name, description=description[:_LONGEST], params_schema=as_object(schema), auth_type="none",
        timeout_ms=1, idempotent=False, side_effect="read", sample_calls=(),
    )  # fmt: skip


def seen(names: Iterable[str], described: Mapping[str, ToolSpec]) -> ToolSet:
    """Tools by the names they were called by; those that no registry describes have their name alone."""
    return ToolSet((described.get(name) or recorded(name) for name in sorted(set(names))), SEEN)
