"""Answers from another tool's export as labels: the call found, the class recognised, what fits nothing named."""

from __future__ import annotations

import hashlib
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from reach_tui import __version__
from reach_tui.base.errors import ConfigError
from reach_tui.labels.exchange import Imported, Problem
from reach_tui.labels.foreign import Answer, Foreign
from reach_tui.model import Label
from reach_tui.taxonomy import Taxonomy
from reach_tui.workspace.sources import Source


@dataclass(frozen=True, slots=True)
class Mapped:
    """A mapping file: what the other tool's words are called here."""

    target: str = "call_key"
    """Label Studio: the field of the task's data that names the call."""
    question: str = ""
    """Only answers to this question, or scores of this name."""
    by: str = ""
    """Whose answers are, where the file does not say."""
    categories: Mapping[str, str] = field(default_factory=dict)
    people: Mapping[str, str] = field(default_factory=dict)


def read_mapping(path: Path | None) -> Mapped:
    """A mapping file in TOML; the empty one for None. Raises `ConfigError` naming file and field."""
    if path is None:
        return Mapped()
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"cannot be read: {error}", path, "name a mapping file in TOML") from None
    texts = {name: document.pop(name, "") for name in ("target", "question", "by")}
    tables = {name: document.pop(name, {}) for name in ("categories", "people")}
    if document:
        raise ConfigError(f"{next(iter(document))}: unknown field", path, f"known: {', '.join((*texts, *tables))}")
    for name, value in texts.items():
        if not isinstance(value, str):
            raise ConfigError(f"{name}: text is expected here", path)
    for name, table in tables.items():
        if not isinstance(table, dict) or not all(isinstance(one, str) for one in table.values()):
            raise ConfigError(f"{name}: a table of texts is expected here", path)
    return Mapped(texts["target"] or "call_key", texts["question"], texts["by"], tables["categories"], tables["people"])


class _Calls:
    """The calls and sessions of the traces, by everything that may name them."""

    def __init__(self, sources: Iterable[Source]) -> None:
        self.by_key: dict[str, list[tuple[str, str, str]]] = defaultdict(list)
        self.by_id: dict[str, list[tuple[str, str, str]]] = defaultdict(list)
        self.sessions: dict[str, str] = {}
        for source in sources:
            for session in source.reader.sessions():
                self.sessions.setdefault(session.id, source.kind)
            for call in source.reader.calls():
                place = (source.kind, call.session_id, call.key)
                self.by_key[call.key].append(place)
                if call.id:
                    self.by_id[call.id].append(place)

    def find(self, answer: Answer) -> tuple[str, str, str | None] | str:
        """Store, session and call key; or why there is none."""
        for target in answer.targets:
            for index in (self.by_key, self.by_id):
                places = list(dict.fromkeys(index.get(target, ())))
                if len(places) > 1 and answer.session:
                    places = [one for one in places if one[1] == answer.session] or places
                if len(places) > 1:
                    return f"{target!r} names {len(places)} calls"
                if places:
                    return places[0]
        if not answer.targets and answer.session in self.sessions:
            return self.sessions[answer.session], answer.session, None
        what = answer.targets[0] if answer.targets else answer.session
        return f"no call {what!r} in these traces" if answer.targets else f"no session {what!r} in these traces"


def as_labels(foreign: Foreign, sources: Iterable[Source], codebook: Taxonomy, mapping: Mapped) -> Imported:
    """The answers as labels of a codebook; those that fit nothing are named by their place in the file."""
    found = Imported(problems=list(foreign.problems))
    calls = _Calls(sources)
    words = _words(codebook)
    for answer in foreign.answers:
        label = _label(answer, foreign.tool, calls, codebook, mapping, words)
        if isinstance(label, str):
            found.problems.append(Problem(answer.line, label))
        else:
            found.labels.append(label)
    return found


def _label(
    answer: Answer, tool: str, calls: _Calls, codebook: Taxonomy, mapping: Mapped, words: Mapping[str, str]
) -> Label | str:
    place = calls.find(answer)
    if isinstance(place, str):
        return place
    paths = list(dict.fromkeys(_path(value, codebook, mapping, words) or f"?{value}" for value in answer.values))
    known = [path for path in paths if not path.startswith("?")]
    if not known:
        given = ", ".join(repr(value) for value in answer.values[:3]) or "nothing"
        return f"{given} is no class of {codebook.id}: name it under [categories] in a mapping file (--map)"
    if len(known) > 1:
        return f"names {len(known)} classes ({', '.join(known[:3])}): a label has one"
    by = mapping.people.get(answer.by, answer.by) or mapping.by
    if not by:
        return "says not who answered: set `by` in a mapping file (--map)"
    if answer.at is None:
        return "says not when it was answered"
    level1, _, level2 = known[0].partition("/")
    kind, session_id, call_key = place
    uid = hashlib.sha256(f"{tool}\x00{answer.id}\x00{answer.at}\x00{known[0]}".encode("utf-8", "replace")).hexdigest()
    return Label(
        store=kind,
        session_id=session_id,
        call_key=call_key,
        content_hash=None,
        category=level1,
        subcategory=level2 or None,
        note=answer.comment,
        by=by,
        at=answer.at,
        taxonomy=codebook.id,
        taxonomy_version=codebook.version,
        verdict=None,
        rule=None,
        tool_version=f"{tool} ({__version__})",
        uid=uid[:32],
    )


def _words(codebook: Taxonomy) -> dict[str, str]:
    """What may name a class: path, id, name; a word that two classes share names none."""
    found: dict[str, set[str]] = defaultdict(set)
    for path, one in codebook.paths():
        for word in (path, one.id, one.name):
            found[_plain(word)].add(path)
        if "/" in path:  # a path of names, as Label Studio's Taxonomy gives it
            above = codebook.category(path.partition("/")[0])
            found[_plain(f"{above.name}/{one.name}")].add(path)
    return {word: next(iter(paths)) for word, paths in found.items() if len(paths) == 1}


def _path(value: str, codebook: Taxonomy, mapping: Mapped, words: Mapping[str, str]) -> str | None:
    """The class of a word, in today's terms."""
    path = mapping.categories.get(value) or words.get(_plain(value)) or value
    if codebook.has(path):
        return path
    folded = codebook.fold(*_pair(path))
    if folded.state in ("renamed", "merged"):
        return folded.path
    category = codebook.by_key(value) if value not in mapping.categories else None
    return category.id if category else None


def _pair(path: str) -> tuple[str, str | None]:
    level1, _, level2 = path.partition("/")
    return level1, level2 or None


def _plain(word: str) -> str:
    return " ".join(word.casefold().replace("_", " ").replace("-", " ").split())
