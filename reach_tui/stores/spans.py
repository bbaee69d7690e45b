"""Span-shaped stores: steps out of TOOL, LLM, AGENT and RETRIEVER spans, whoever wrote them.

A reader turns its rows into `Span`; `Story` tells them trace by trace. A call is a TOOL span, joined with the request
in the model span that asked for it; requests that nothing ran are calls without a span. Messages repeat in every model
span and are told where they first appear. Shapes: the store notes on Phoenix and MLflow.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from reach_tui.base.jsonio import JsonValue, as_object, as_text
from reach_tui.model import Route, Step, StepKind
from reach_tui.stores.content import Narrator, json_text
from reach_tui.stores.offered import OfferedTool
from reach_tui.stores.openai_messages import Entry, Request
from reach_tui.stores.span_messages import Fingerprint, answer_entries, fingerprint, request_entries
from reach_tui.stores.telling import Asked, Said, TellingReader, narrate, object_arguments

OTHER_KINDS = ("CHAIN", "AGENT", "EMBEDDING", "WORKFLOW", "TASK", "PARSER", "PROMPT", "MEMORY")
"""Kinds whose payload repeats what model and tool spans hold: not read, but for a trace's first span."""
_SHOWN = ("GUARDRAIL", "EVALUATOR", "HANDOFF")


@dataclass(slots=True)
class Span:
    """One span. Kinds are OpenInference's: LLM, TOOL, AGENT, RETRIEVER, RERANKER, CHAIN and others."""

    id: str
    parent: str
    name: str
    kind: str
    start: int | None
    end: int | None
    status: str
    """OK, ERROR or UNSET."""
    message: str = ""
    """The status message, or the exception's."""
    exception: str = ""
    """The exception's class."""
    raw: str | None = None
    """The payload's text where it cannot be read."""
    input: JsonValue = None
    output: JsonValue = None
    """Of a tool: the text that the model got, None without one."""
    tool: str = ""
    call_id: str = ""
    schema: JsonValue = None
    """JSON schema of a tool's parameters."""
    said: list[Entry] = field(default_factory=list)
    """Messages that went into a model."""
    answered: list[Entry] = field(default_factory=list)
    """Messages that came out of it."""
    offered: list[JsonValue] = field(default_factory=list)
    """Tools the model could choose from: `{name, description, parameters}`."""
    model: str = ""
    route: Route | None = None


@dataclass(slots=True)
class _Request:
    """A call that a model span asked for."""

    request: Request
    span: Span
    asked: Asked | None = None


def offered_tool(value: JsonValue) -> JsonValue:
    """`{name, description, parameters}` of a tool definition in OpenAI's or Anthropic's shape; None for others."""
    tool = as_object(value)
    tool = as_object(tool.get("function")) or tool
    name = as_text(tool.get("name"))
    schema = next((tool[key] for key in ("parameters", "input_schema", "args_schema") if key in tool), None)
    return {"name": name, "description": tool.get("description"), "parameters": schema} if name else None


class Story:
    """Tells the traces of one session."""

    def __init__(self) -> None:
        self.items: list[Said | Asked] = []
        self.offered: dict[str, JsonValue] = {}
        """Every tool that a model span of the session offered, by name."""
        self._seen: Counter[Fingerprint] = Counter()
        self._asked: set[str] = set()
        """Ids of the calls that model spans asked for."""
        self._open: dict[str, list[Asked]] = {}
        """Calls without a result, by id."""

    def trace(self, spans: Sequence[Span]) -> None:
        """Adds a trace's steps; spans in the order of their start."""
        by_id = {span.id: span for span in spans}
        _drop_wrapped(spans, by_id)
        requests = list(self._requests(spans))
        matched = _match(spans, requests)
        failed_inside = {span.parent for span in spans if span.status == "ERROR"}
        events: list[tuple[int, Said | Asked]] = []
        routes: list[tuple[int, Route, Said]] = []
        for span in spans:
            begin, end = span.start or 0, span.end or span.start or 0
            if span.raw is not None:
                said = Said(StepKind.RAW, span.raw, span.start, trouble="unreadable span", where=span.id)
                events.append((begin, said))
            if span.route is not None:
                said = Said(StepKind.NOTE, f"{span.kind.lower()} {span.name}".strip(), span.start, route=span.route)
                routes.append((begin, span.route, said))
                events.append((begin, said))
            if span.kind == "TOOL":
                found = matched.get(id(span))
                asked = _tool_call(span, found)
                asked.metadata |= _surroundings(span, by_id, found)
                if found is not None:
                    found.asked = asked
                events.append((begin, asked))
            elif span.kind == "LLM":
                events += ((begin, one) for one in self._new_messages(span))
                events += ((end, one) for one in self._model_said(span))
                for one in requests:
                    if one.span is span and one.asked is None and one not in matched.values():
                        one.asked = _unrun(one, by_id)
                        self._open.setdefault(one.asked.id, []).append(one.asked)
                        events.append((end, one.asked))
            elif span.kind in _SHOWN:
                events.append((begin, Said(StepKind.NOTE, _shown(span), span.start)))
            if span.status == "ERROR" and span.kind != "TOOL" and span.id not in failed_inside:
                text = ": ".join(filter(None, (span.name, span.message or span.exception)))
                events.append((end, Said(StepKind.ERROR, text, span.end)))
        events.sort(key=lambda event: event[0])
        _place_routes(events, routes)
        self._frame(spans, by_id, events)
        self.items += (one for _, one in events)

    def steps(self, narrator: Narrator) -> Iterator[Step]:
        """The steps of all traces added."""
        return narrate(narrator, self.items)

    def _requests(self, spans: Iterable[Span]) -> Iterator[_Request]:
        """What model spans asked for, each call once though a wrapper's span repeats it."""
        known: set[str] = set()
        for span in spans:
            for tool in span.offered:
                self.offered.setdefault(as_text(as_object(tool).get("name")) or "", tool)
            for entry in span.answered:
                for request in entry.requests:
                    if not request.id or request.id not in known:
                        known.add(request.id)
                        yield _Request(request, span)

    def _new_messages(self, span: Span) -> list[Said | Asked]:
        """Messages of a request that were in none before: the user's new words, or a history that was never traced."""
        counts: Counter[Fingerprint] = Counter()
        fresh: list[tuple[int, Entry]] = []
        for place, entry in enumerate(span.said):
            mark = fingerprint(entry)
            counts[mark] += 1
            ours = bool(entry.requests) and all(one.id in self._asked for one in entry.requests)
            if any(mark) and not ours and counts[mark] > self._seen[mark]:
                self._seen[mark] = counts[mark]
                fresh.append((place, entry))
        history = max((place for place, entry in fresh if entry.requests or _assistant(entry)), default=-1)
        items: list[Said | Asked] = []
        for place, entry in fresh:
            old = place <= history
            items += (Said(kind, text, span.start, inherited=old) for kind, text in entry.said if text.strip())
            for request in entry.requests:
                text = f"call {request.name}: {json_text(request.arguments)}"
                items.append(Said(StepKind.NOTE, text, span.start, inherited=True))
            for answer in entry.answers:
                waiting = self._open.get(answer.call_id)
                if waiting:
                    asked = waiting.pop(0)
                    asked.text, asked.ended, asked.flagged = answer.text, span.start, answer.flagged
                    asked.metadata["result_from"] = "the next request to the model"
                elif old:
                    items.append(Said(StepKind.NOTE, f"result: {answer.text}", span.start, inherited=True))
        return items

    def _model_said(self, span: Span) -> list[Said]:
        items = []
        for entry in span.answered:
            self._seen[fingerprint(entry)] += 1
            self._asked.update(one.id for one in entry.requests if one.id)
            items += [Said(kind, text, span.end) for kind, text in entry.said if text.strip()]
            if entry.fault is not None:
                items.append(Said(StepKind.RAW, entry.raw, span.end, trouble="unreadable message", where=span.id))
        return items

    def _frame(self, spans: Sequence[Span], by_id: dict[str, Span], events: list[tuple[int, Said | Asked]]) -> None:
        """Where no model span has the user's words or the answer, those of the trace's first span stand for them."""
        root = next((span for span in spans if span.parent not in by_id), None)
        if root is None or root.kind in ("LLM", "TOOL"):
            return
        told = {one.kind for _, one in events if isinstance(one, Said) and not one.inherited}
        if StepKind.USER not in told and not any(span.said for span in spans):
            users = [one for one in request_entries(root.input) if any(kind is StepKind.USER for kind, _ in one.said)]
            text = users[-1].said[-1][1] if users else json_text(root.input)
            if text.strip():
                events.insert(0, (0, Said(StepKind.USER, text, root.start)))
        if StepKind.ASSISTANT not in told and not any(span.answered for span in spans):
            answers = answer_entries(root.output)
            text = answers[-1].said[-1][1] if answers and answers[-1].said else json_text(root.output)
            if text.strip():
                events.append((0, Said(StepKind.ASSISTANT, text, root.end)))


def _shown(span: Span) -> str:
    text = json_text(span.output)
    name = span.name if span.kind == "HANDOFF" else f"{span.kind.lower()} {span.name}"
    return f"{name}: {text}" if text else name


def _ancestors(span: Span, by_id: dict[str, Span]) -> Iterator[Span]:
    """The spans around one, innermost first; a cycle ends it."""
    above, seen = by_id.get(span.parent), {span.id}
    while above is not None and above.id not in seen:
        yield above
        seen.add(above.id)
        above = by_id.get(above.parent)


def _drop_wrapped(spans: Sequence[Span], by_id: dict[str, Span]) -> None:
    """Takes the messages out of a model span inside another: two tracers wrote the same request."""
    for span in spans:
        if span.kind == "LLM" and any(one.kind == "LLM" and one.answered for one in _ancestors(span, by_id)):
            span.said, span.answered = [], []


def _assistant(entry: Entry) -> bool:
    return any(kind is StepKind.ASSISTANT and text.strip() for kind, text in entry.said)


def _same_arguments(span: Span, request: Request) -> bool:
    """Equal, or the bare value of a call with one argument (as LangChain's tracer writes it)."""
    arguments, _ = object_arguments(span.input)
    if arguments == request.arguments or (not arguments and not request.arguments):
        return True
    asked = as_object(request.arguments)
    return len(asked) == 1 and json_text(next(iter(asked.values()))) == json_text(span.input)


def _same_id(span: Span, request: Request) -> bool:
    return bool(span.call_id) and span.call_id == request.id


def _same_work(span: Span, request: Request) -> bool:
    return _same_tool(span, request) and _same_arguments(span, request)


def _same_tool(span: Span, request: Request) -> bool:
    return not span.call_id and span.tool == request.name


def _match(spans: Sequence[Span], requests: Sequence[_Request]) -> dict[int, _Request]:
    """Requests by `id()` of the TOOL span that ran them: by call id, else by name and arguments, else by name."""
    tools = [span for span in spans if span.kind == "TOOL"]
    found: dict[int, _Request] = {}
    left = list(requests)
    for same in (_same_id, _same_work, _same_tool):
        for span in tools:
            if id(span) in found:
                continue
            place = next((n for n, one in enumerate(left) if _before(one.span, span) and same(span, one.request)), None)
            if place is not None:
                found[id(span)] = left.pop(place)
    return found


def _before(model: Span, tool: Span) -> bool:
    return model.start is None or tool.start is None or model.start <= tool.start


def _tool_call(span: Span, found: _Request | None) -> Asked:
    arguments, problem = object_arguments(span.input)
    if found is not None and (problem or arguments is None):
        arguments, problem = found.request.arguments, found.request.problem
    elif problem and isinstance(span.input, str) and (name := _only_parameter(span)):
        arguments, problem = {name: span.input}, None
    asked = Asked(span.id, span.call_id, span.tool or span.name, arguments, span.start, problem=problem)
    asked.ended, asked.status = span.end, span.status
    failed = span.status == "ERROR"
    if span.output is not None:
        asked.text = json_text(span.output)
    elif failed:
        asked.text = span.message or span.exception or None
    if failed or span.status == "OK" or asked.text is not None:
        asked.flagged = failed
    if span.exception:
        asked.metadata["exception"] = span.exception
    return asked


def _only_parameter(span: Span) -> str | None:
    names = list(as_object(as_object(span.schema).get("properties")))
    return names[0] if len(names) == 1 else None


def _unrun(one: _Request, by_id: dict[str, Span]) -> Asked:
    """A call that only the model span names: an unknown tool, broken arguments, or a run that ended before it."""
    request = one.request
    asked = Asked(one.span.id, request.id, request.name, request.arguments, one.span.end or one.span.start)
    asked.problem = request.problem if request.name else "the call has no name"
    asked.metadata |= {**_surroundings(one.span, by_id, one), "not_run": True}
    return asked


def _surroundings(span: Span, by_id: dict[str, Span], found: _Request | None) -> dict[str, JsonValue]:
    """The agent around a call, and what the model that asked for it could choose from."""
    facts: dict[str, JsonValue] = {"span_id": span.id}
    if (agent := next((one for one in _ancestors(span, by_id) if one.kind == "AGENT"), None)) is not None:
        facts["agent"] = agent.name
    if found is not None:
        if span.kind == "TOOL" and found.request.id and found.request.id != span.call_id:
            facts["asked_as"] = found.request.id
        if found.span.model:
            facts["model"] = found.span.model
        if found.span.offered:
            facts["offered_tools"] = [as_object(tool).get("name") for tool in found.span.offered]
    return facts


def _place_routes(events: list[tuple[int, Said | Asked]], routes: list[tuple[int, Route, Said]]) -> None:
    """A recorded route among whose candidates the next call's tool is belongs to that call."""
    for at, route, said in routes:
        names = {candidate.name for candidate in route.candidates}
        for when, one in events:
            if isinstance(one, Asked) and when >= at and one.tool in names and one.route is None:
                one.route = route
                events[:] = [event for event in events if event[1] is not said]
                break
        else:
            if route.decision != "execute":
                said.kind = StepKind.DECISION


class SpanReader(TellingReader):
    """What readers of span-shaped stores share; a subclass has `sessions`, `session` and `_traces`."""

    def _traces(self, session_id: str) -> Iterator[list[Span]]:
        """The traces of a session by their start, the spans of each by theirs; the file is not open in between."""
        raise NotImplementedError

    def _story(self, session_id: str) -> Story:
        story = Story()
        for spans in self._traces(session_id):
            story.trace(spans)
        return story

    def _tell(self, narrator: Narrator) -> Iterator[Step]:
        yield from self._story(narrator.session_id).steps(narrator)

    def offered_tools(self, session_id: str) -> list[OfferedTool]:
        """Tools that the models of a session could choose from, as first offered."""
        offered = map(as_object, self._story(session_id).offered.values())
        return [
            OfferedTool(as_text(one.get("name")) or "", as_text(one.get("description")) or "", one.get("parameters"))
            for one in offered
        ]
