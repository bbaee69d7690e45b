"""The layer behind the tools of an agent SDK (openai-agents): the model chooses, the layer checks, calls and records.

The model is a script here; in an application it is the SDK's own. Nothing is sent but to the loopback.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

from agents import Agent, FunctionTool, Model, ModelResponse, RunConfig, Runner, Usage
from agents.tool_context import ToolContext
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

from reach_tui.base.jsonio import BadJson, dumps, loads
from reach_tui.reach import Asking, Failure, Reach


def as_tools(reach: Reach, asking: Callable[[], Asking]) -> list[FunctionTool]:
    """Every tool of the registry as a tool of the SDK. `asking` says in which session and for whom a call is made."""
    return [_as_tool(reach, spec.name, spec.description, spec.params_schema, asking) for spec in reach.registry.tools()]


def _as_tool(
    reach: Reach, name: str, description: str, schema: dict[str, Any], asking: Callable[[], Asking]
) -> FunctionTool:
    async def invoke(_: ToolContext[Any], arguments: str) -> str:
        try:
            params = loads(arguments or "{}")
        except BadJson as error:
            return dumps(Failure(name, "model_output", f"arguments that are no JSON: {error}").for_model())
        handle = reach.ask(name, asking(), tool=name)
        answered = await handle.run(params if isinstance(params, dict) else {})
        return answered.for_model

    # The SDK's own strict mode rewrites schemas; the layer checks against the registry's, and tells every mistake.
    return FunctionTool(name, description, schema, invoke, strict_json_schema=False)


class Scripted(Model):
    """A model that says what it was told to, one response after the other."""

    def __init__(self, *responses: tuple[str, dict[str, Any]] | str) -> None:
        self._responses = iter(responses)
        self.heard: list[Any] = []
        """What it was given each time."""

    async def get_response(self, system_instructions: str | None, input: Any, *_: Any, **__: Any) -> ModelResponse:  # noqa: A002
        """The next response."""
        self.heard.append(input)
        response = next(self._responses)
        item: Any
        if isinstance(response, str):
            text = ResponseOutputText(text=response, type="output_text", annotations=[])
            item = ResponseOutputMessage(
                id=f"msg_{len(self.heard)}", content=[text], role="assistant", status="completed", type="message"
            )
        else:
            tool, params = response
            item = ResponseFunctionToolCall(
                arguments=dumps(params), call_id=f"call_{len(self.heard)}", name=tool, type="function_call"
            )
        return ModelResponse(output=[item], usage=Usage(), response_id=None)

    def stream_response(self, *_: Any, **__: Any) -> AsyncIterator[Any]:
        """Not used: the run is not streamed."""
        raise NotImplementedError


async def answer(reach: Reach, asking: Asking, model: Model, question: str, only: Sequence[str] = ()) -> str:
    """The SDK's own loop over the layer's tools."""
    tools = [tool for tool in as_tools(reach, lambda: asking) if not only or tool.name in only]
    agent = Agent(name="shop", instructions="Help the customer.", tools=list(tools), model=model)
    result = await Runner.run(agent, question, run_config=RunConfig(tracing_disabled=True))
    return str(result.final_output)
