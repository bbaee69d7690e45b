"""Slots of any trace by provenance: each argument's value held against what the agent could see before the call."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from reach_tui.base.jsonio import JsonValue, as_object, dumps
from reach_tui.detect.checks import tool_names
from reach_tui.detect.files import EDIT, WRITE, access, resolved
from reach_tui.infer.changes import Change, changes, patch_of
from reach_tui.infer.held import Belief, Files, Standing
from reach_tui.infer.kinds import Kind, kind_of
from reach_tui.infer.leaves import Leaf, flatten
from reach_tui.infer.provenance import COMPOSED, Provenance, Seeker
from reach_tui.infer.sources import Sources, scalar_text
from reach_tui.infer.weights import DEFAULT, Weights
from reach_tui.model import Slot, Step, ToolCall, Verdict
from reach_tui.reach.dictionary import BusinessDictionary
from reach_tui.reach.entities import Shape, entities
from reach_tui.reach.schema_faults import faults, missing, needed, properties

Schemas = Mapping[str, JsonValue]
"""JSON schema of the arguments by tool name."""
_ABOUT_PARAMETERS = ("invalid_parameter", "context_gap", "stale_context")
_INSIDE = 8  # paths and ids of one command that are looked up
_SHOWN = 60  # characters of a value inside a slot's name
_LONGEST_KEY = 20_000  # characters of arguments that are remembered of a call
_LONGEST_PATTERN = 1000
_SEARCH_TOOL = re.compile(r"grep|search|ripgrep|^rg$")
_UNCLOSED = re.compile(r"unterminated|unbalanced|missing \)|nothing to repeat")  # wrong in every dialect
_NO_PATH = ("/dev/null", "/dev/stdout", "/dev/stderr", "/tmp", "/", "/bin/sh", "/bin/bash")  # known without being told


@dataclass(slots=True)
class _Past:
    """Calls with the same arguments before."""

    steps: list[tuple[int, bool]] = field(default_factory=list)
    """Step, and whether it failed for its parameters, in order."""


class SlotIndex:
    """A session as far as it was added. `slots(call)` looks at what came before the call's step and at nothing else."""

    def __init__(
        self,
        folder: str | None = None,
        schemas: Schemas | None = None,
        dictionary: BusinessDictionary | None = None,
        weights: Weights = DEFAULT,
    ) -> None:
        folder = folder if folder and folder.startswith("/") else None  # some stores keep a project's name
        self.folder = folder
        self.last_step = 0
        """Number of the last step that was added."""
        self._schemas = schemas or {}
        self._folded = {name.lower(): schema for name, schema in self._schemas.items()}  # some programs mind no case
        self._weights = weights
        self._sources = Sources()
        self._files = Files(folder)
        self._seeker = Seeker(self._sources, weights, dictionary or BusinessDictionary(), folder)
        self._past: dict[str, _Past] = {}
        self._changed: list[int] = []
        self._given: dict[tuple[str, frozenset[str]], int] = {}
        """Tool and names given -> the step at which such a call worked first."""

    def add(self, step: Step, verdict: Verdict | None = None) -> None:
        """The session's next step; a call with its verdict (else the store's flag counts)."""
        call = step.call
        failed = None
        if call is not None:
            failed = verdict.failed if verdict is not None else call.flagged
            succeeded = failed is False or (verdict is None and call.flagged is None)
            self._files.add(call, succeeded)
            about = verdict is None or verdict.category in _ABOUT_PARAMETERS
            self._past.setdefault(_key(call), _Past()).steps.append((call.step, failed is True and about))
            if succeeded and call.result is not None:
                self._given.setdefault((call.shown_tool, _given(call)), call.step)
            if succeeded and (call.tool and access(call, self.folder)[0] in (EDIT, WRITE)):
                self._changed.append(call.step)
        self._sources.add(step, failed)
        self.last_step = step.number

    def schema_of(self, call: ToolCall) -> Mapping[str, JsonValue] | None:
        """The JSON schema of the call's arguments, by the tool really called first; None where none is known."""
        for name in (call.target, call.tool):
            for each in (name, *tool_names(name)) if name else ():
                if isinstance(schema := self._schemas.get(each) or self._folded.get(each), dict):
                    return schema
        return None

    def slots(self, call: ToolCall) -> tuple[Slot, ...]:
        """The call's slots: gaps first, then its leaves in order. All steps before the call's must have been added."""
        schema = self.schema_of(call)
        if isinstance(call.arguments, str) and patch_of(call) is None:
            return (self._broken(call),) if call.arguments or call.problem else ()
        slots = [] if self._worked(call) else list(_gaps(call, schema))
        missed = {slot.name for slot in slots}
        file_kind, paths = access(call, self.folder)
        asked = {change.leaf: change for change in changes(call, self.folder) if change.leaf}
        wrong = _faults_of(call, schema)
        repeated = self._repeated(call)
        patch = patch_of(call)
        for leaf in flatten(call.arguments):
            if leaf.name in missed:
                continue
            declared = _declared(schema, leaf)
            value = leaf.value
            is_file = (
                isinstance(value, str)
                and bool(paths)
                and "." not in leaf.name
                and _names_file(value, paths, self.folder)
            )
            kind = kind_of(leaf, declared, is_edit=file_kind == EDIT, is_file=is_file)
            if patch is not None and leaf.root == patch[0]:
                kind = Kind.COMPOSED
            found = self._found(call, leaf, kind, declared, asked, new=is_file and file_kind == WRITE)
            fault = wrong.pop(leaf.name, None) or _broken_pattern(call, leaf)
            if fault is not None:
                found = found.capped(self._weights.broken, f"SCHEMA: {fault}")
            slots.append(_slot(leaf.name, value, self._less(found, repeated)))
            if kind is Kind.COMMAND and isinstance(value, str):
                inside = self._inside(call, leaf, value)
                slots += [_slot(name, part, self._less(found, repeated)) for name, part, found in inside]
        for name, fault in wrong.items():  # faults of containers and of names that are no leaf
            slots.append(_slot(name, None, Provenance("none", self._weights.broken, notes=(f"SCHEMA: {fault}",))))
        return tuple(slots + self._patched(call, asked))

    def belief(self, call: ToolCall) -> Belief | None:
        """For an edit: what the agent believed, what the file held, which step made it stale; the worst of several."""
        found = [
            belief
            for change in changes(call, self.folder)
            if change.old is not None and (belief := self._files.belief(change, call.step)) is not None
        ]
        return min(found, key=lambda one: self._standing(one.standing, every=False).confidence or 0.0, default=None)

    def confidence(self, call: ToolCall, slots: Sequence[Slot]) -> float | None:
        """The call's confidence from its slots; see `call_confidence`."""
        schema = self.schema_of(call)
        if schema is None:
            return call_confidence(slots)
        wrong = {slot.name for slot in slots if slot.confidence == 0 or "SCHEMA:" in slot.note}
        return call_confidence(slots, needed(schema, as_object(call.arguments)) | wrong)

    def _worked(self, call: ToolCall) -> bool:
        """True if a call with the same names given worked before: whatever the schema says, nothing is missing."""
        return self._given.get((call.shown_tool, _given(call)), call.step) < call.step

    def _less(self, found: Provenance, repeated: int | None) -> Provenance:
        """What is filled, with less confidence where the very same call has failed for its parameters before."""
        if repeated is None or found.confidence is None:
            return found
        return found.capped(self._weights.repeated, f"the same call failed at step {repeated}")

    def _found(
        self,
        call: ToolCall,
        leaf: Leaf,
        kind: Kind,
        schema: Mapping[str, JsonValue],
        asked: Mapping[str, Change],
        *,
        new: bool,
    ) -> Provenance:
        text = scalar_text(leaf.value)
        if kind in (Kind.COMPOSED, Kind.COMMAND) or not text:
            if leaf.value is not None and "default" in schema and leaf.value == schema["default"]:
                return Provenance("default", self._weights.default, "the tool's schema", None, 1)
            return COMPOSED
        if kind is Kind.OLD_TEXT:
            change = asked.get(leaf.name)
            return self._old_text(call, change, text, asked.values()) if change is not None else COMPOSED
        return self._seeker.find(text, kind, schema, call, new=new)

    def _old_text(self, call: ToolCall, change: Change, text: str, together: Iterable[Change]) -> Provenance:
        standing = self._files.standing(change, call.step)
        if standing.word != "held" and _made_before(change, together):
            label = f"step {call.step} · {call.shown_tool}"
            return Provenance("argument", self._weights.argument, label, None, 1)
        if standing.word != "unseen":
            return self._standing(standing, every=change.every)
        found = self._seeker.find(text, Kind.PHRASE, {}, call)
        if found.confidence is None:
            found = Provenance("none", self._weights.absent, notes=("INVENTED: stands nowhere before this call",))
        return found.capped(self._weights.unseen, "the session has not read this file")

    def _standing(self, standing: Standing, *, every: bool) -> Provenance:
        weights = self._weights
        source = "result" if standing.how == "read" else "argument"
        label = f"step {standing.step} · {standing.tool}" if standing.step is not None else None
        found = Provenance(source, weights.result, label, standing.step, standing.count)
        if standing.word == "held":
            if standing.count > 1 and not every:
                most = weights.twice if standing.count == 2 else weights.thrice
                return found.capped(most, f"AMBIGUOUS: stands {standing.count} times in the file")
            return found
        if standing.word == "stale":
            return found.capped(weights.stale, f"STALE: replaced by your own edit, step {standing.replaced_by}")
        if standing.word == "gone":
            return found.capped(weights.gone, f"STALE: no longer there when read again, step {standing.replaced_by}")
        if standing.word == "near":
            most = weights.case if standing.differs == "case" else weights.blanks
            return found.capped(most, f"stands there with other {standing.differs}")
        nowhere = Provenance("none", weights.absent_partial if standing.partial else weights.absent)
        seen = "the parts of the file that were read" if standing.partial else "the file"
        if standing.word == "lines":
            most = weights.by_lines * standing.share
            note = f"only {standing.share:.0%} of its lines stand together in {seen}"
            return Provenance("result", most, label, standing.step, 0, (note,))
        return Provenance("none", nowhere.confidence, label, standing.step, 0, (f"INVENTED: not in {seen}",))

    def _inside(self, call: ToolCall, leaf: Leaf, command: str) -> Iterator[tuple[str, str, Provenance]]:
        """The paths and ids in a shell command, each once; what the command itself makes, and what is no path, not."""
        known: set[str] = set()
        text = command[:4000]
        for one in entities(text):
            kind = Kind.PATH if one.shape == Shape.PATH else Kind.ID
            if one.shape in (Shape.NUMBER, Shape.QUOTED, Shape.DATE) or one.value in known or len(known) == _INSIDE:
                continue
            if kind is Kind.PATH and not _is_file_named(text, one.start, one.value):
                continue
            known.add(one.value)
            found = self._seeker.find(one.value, kind, {}, call, new=_is_made(text, one.start))
            if found.source != "composed":
                yield f"{leaf.name}[{one.value[:_SHOWN]}]", one.value, found

    def _patched(self, call: ToolCall, asked: Mapping[str, Change]) -> list[Slot]:
        """Files and replaced lines of a patch."""
        patch = patch_of(call)
        if patch is None:
            return []
        slots: list[Slot] = []
        known: set[str] = set()
        every = changes(call, self.folder)
        for number, change in enumerate(every, 1):
            if change.path not in known and not change.whole:
                known.add(change.path)
                found = self._seeker.find(change.path, Kind.PATH, {}, call)
                slots.append(_slot(f"{patch[0]}[{change.path[-_SHOWN:]}]", change.path, found))
            if change.old is not None:
                slots.append(
                    _slot(f"{patch[0]}[hunk {number}]", change.old, self._old_text(call, change, change.old, every))
                )
        return slots

    def _broken(self, call: ToolCall) -> Slot:
        note = f"SCHEMA: {call.problem or 'expected an object, received text'}"
        return _slot("arguments", str(call.arguments)[:200], Provenance("none", self._weights.broken, notes=(note,)))

    def _repeated(self, call: ToolCall) -> int | None:
        """The step at which the very same call failed last, if it never worked since and no file was changed since."""
        past = self._past.get(_key(call))
        before = [one for one in past.steps if one[0] < call.step] if past is not None else []
        if not before or not before[-1][1]:
            return None
        step = before[-1][0]
        return None if any(step < changed < call.step for changed in self._changed) else step


def infer_slots(
    steps: Iterable[tuple[Step, Verdict | None]],
    call: ToolCall,
    schema: Mapping[str, JsonValue] | None = None,
    folder: str | None = None,
) -> tuple[Slot, ...]:
    """The slots of one call, given the session's steps with the calls' verdicts; later steps are not looked at."""
    index = SlotIndex(folder, {call.tool: dict(schema)} if schema is not None else None)
    for step, verdict in steps:
        if step.number < call.step:
            index.add(step, verdict)
    return index.slots(call)


def call_confidence(slots: Sequence[Slot], required_names: frozenset[str] | None = None) -> float | None:
    """The lowest confidence of the filled required slots, of all filled ones where required is unknown; None: none."""
    counted = [slot.confidence for slot in slots if slot.confidence is not None and _counts(slot, required_names)]
    return min(counted, default=None)


def _counts(slot: Slot, names: frozenset[str] | None) -> bool:
    if not names:
        return True
    root = slot.name.split("[", 1)[0].split(".", 1)[0]
    return slot.name in names or root in names


def _given(call: ToolCall) -> frozenset[str]:
    """The names of the arguments that have a value."""
    return frozenset(name for name, value in as_object(call.arguments).items() if value not in (None, ""))


def _made_before(change: Change, together: Iterable[Change]) -> bool:
    """True if an earlier change of the same call puts in what this one replaces."""
    for one in together:
        if one is change:
            return False
        if one.path == change.path and change.old and change.old in one.new:
            return True
    return False


def _gaps(call: ToolCall, schema: Mapping[str, JsonValue] | None) -> Iterator[Slot]:
    if schema is None or not (call.arguments is None or isinstance(call.arguments, dict)):
        return
    for one in missing(schema, as_object(call.arguments)):
        for name in one.fields:
            unless = f", unless {' or '.join(one.unless)} is given" if one.unless else ""
            value = as_object(call.arguments).get(name)
            state = "absent" if name not in as_object(call.arguments) else "null" if value is None else "empty"
            yield Slot(name, value, "none", "inferred", None, None, 0, 0.0, f"GAP: required and {state}{unless}")


def _faults_of(call: ToolCall, schema: Mapping[str, JsonValue] | None) -> dict[str, str]:
    """What breaks the schema, by leaf: `expected …, received …`."""
    found: dict[str, str] = {}
    if schema is not None and isinstance(call.arguments, dict):
        for one in faults(call.arguments, {**schema, "type": "object"}, ""):
            found.setdefault(one.field, f"expected {one.expected}, received {one.received}")
    return found


def _broken_pattern(call: ToolCall, leaf: Leaf) -> str | None:
    """What is wrong with the regular expression of a search; None where nothing is, or it is none."""
    tool = (call.target or call.tool).lower()
    if leaf.key not in ("pattern", "regex") or not isinstance(leaf.value, str) or not _SEARCH_TOOL.search(tool):
        return None
    if len(leaf.value) > _LONGEST_PATTERN or as_object(call.arguments).get("fixed_strings") is True:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            re.compile(leaf.value)
    except (re.error, OverflowError, RecursionError) as error:
        if _UNCLOSED.search(str(error)):
            return f"expected a regular expression, received one with: {error}"
    return None


def _declared(schema: Mapping[str, JsonValue] | None, leaf: Leaf) -> Mapping[str, JsonValue]:
    """The leaf's own schema, through items and properties; empty where it is not declared."""
    if schema is None:
        return {}
    here: Mapping[str, JsonValue] = properties(schema).get(leaf.root, {})
    if leaf.name == leaf.root:
        return here
    for part in leaf.name[len(leaf.root) :].replace("]", "").replace("[", ".[").split("."):
        if part.startswith("["):
            here = as_object(here.get("items"))
        elif part:
            here = properties(here).get(part, {})
    return here


def _names_file(value: str, paths: Sequence[str], folder: str | None) -> bool:
    return len(value) < 4096 and resolved(value, folder) in paths


def _is_file_named(command: str, start: int, value: str) -> bool:
    if value in _NO_PATH or value.startswith(("-", "s/", "origin/")) or any(char in value for char in "*?[]{}$^\\|"):
        return False
    before = command[start - 1 : start]
    if before in ("@", "=", "$", ":") or ("/" not in value and not value.rsplit(".", 1)[-1].isalpha()):
        return False
    return not value.startswith(("/bin/", "/usr/", "/etc/", "/tmp/"))


def _is_made(command: str, start: int) -> bool:
    """True where the command writes the path rather than reads it."""
    before = command[:start].rstrip("\"' ")
    words = before.replace(";", " ").replace("&", " ").split()
    return before.endswith(">") or any(word in ("mkdir", "touch", "tee", "-o", "cp", "mv") for word in words[-3:])


def _slot(name: str, value: JsonValue, found: Provenance) -> Slot:
    confidence = None if found.confidence is None else round(max(0.0, min(1.0, found.confidence)), 3)
    return Slot(
        name, value, found.source, "inferred", found.origin, found.step,
        found.matches if found.source != "composed" else None, confidence, "; ".join(found.notes),
    )  # fmt: skip


def _key(call: ToolCall) -> str:
    try:
        return f"{call.shown_tool}\n{dumps(call.arguments)[:_LONGEST_KEY]}"
    except RecursionError:
        return f"{call.shown_tool}\n{call.key}"
