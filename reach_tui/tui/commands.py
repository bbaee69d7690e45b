"""Every command once: id, keys, words, place. Bindings, footer, help, palette and remapping are made from it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from textual.binding import Binding

from reach_tui.base.errors import ConfigError

SESSIONS, SESSION, DETAIL, REPORT, CALLS = "sessions", "session", "detail", "report", "calls"
SEARCH, ALL_CALLS, COMPARE, QUEUE, NOTES = "search", "all-calls", "compare", "queue", "notes"
REPLAY, SYMPTOMS, METRICS, SUGGESTIONS = "replay", "symptoms", "metrics", "suggestions"
EVERYWHERE = (SESSIONS, SESSION, DETAIL, REPORT, CALLS, SEARCH, ALL_CALLS, COMPARE, QUEUE, NOTES, REPLAY, SYMPTOMS,
              METRICS, SUGGESTIONS)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Command:
    """Something a person can do.

    `action` is the Textual action; `footer` is the word beside its first key in the key line (empty leaves it out).
    """

    id: str
    keys: str
    help: str
    group: str
    screens: tuple[str, ...] = EVERYWHERE
    footer: str = ""
    action: str = ""

    @property
    def action_name(self) -> str:
        """The action; the id with underscores if none is given."""
        return self.action or self.id.replace("-", "_")

    def binding(self) -> Binding:
        """Textual's binding; its id is what a person remaps."""
        return Binding(self.keys, self.action_name, self.footer or self.help, show=False, id=self.id)


_LABELS = (
    ("1", "tool"), ("2", "param"), ("3", "context"), ("4", "stale"), ("5", "denied"),
    ("6", "limit"), ("7", "upstream"), ("8", "loop"), ("9", "model"), ("0", "fine"),
)  # fmt: skip

_LABELLING = (SESSION, DETAIL, QUEUE)

COMMANDS: tuple[Command, ...] = (
    Command("down", "j,down", "next row", "Move"),
    Command("up", "k,up", "previous row", "Move"),
    Command("page-down", "pagedown,ctrl+d", "a page down", "Move"),
    Command("page-up", "pageup,ctrl+u", "a page up", "Move"),
    Command("first", "g,home", "first row", "Move"),
    Command("last", "G,end", "last row", "Move"),
    Command("next-failure", "n", "next failure", "Find the failure", (SESSION, DETAIL), "failure"),
    Command("previous-failure", "p", "previous failure", "Find the failure", (SESSION, DETAIL)),
    Command("next-hidden", "h", "next hidden failure", "Find the failure", (SESSION, DETAIL), "hidden"),
    Command("previous-hidden", "H", "previous hidden failure", "Find the failure", (SESSION, DETAIL)),
    Command("filter", "slash", "filter the list; in a session: search texts, arguments and results", "Find the failure",
            (SESSIONS, SESSION), "filter"),
    Command("words", "slash", "back to the words", "Find the failure", (SEARCH,), "words", action="filter"),
    Command("search", "ctrl+f", "search the arguments and results of every call", "Find the failure",
            (SESSIONS, SESSION, DETAIL, REPORT, CALLS, ALL_CALLS, COMPARE), "search"),
    Command("soft", "S", "count soft signals as failures, or not; in the report: show them", "Find the failure",
            (SESSION, REPORT)),
    Command("sort", "s", "sort by the next column", "Find the failure", (SESSIONS,), "sort"),
    Command("pause", "p", "stop counting and indexing, or go on", "Program", (SESSIONS,)),
    Command("open", "enter", "open the row; in a session: the whole call", "Go",
            tuple(screen for screen in EVERYWHERE if screen not in (DETAIL, REPLAY)), "open"),
    Command("numbers", "enter", "the numbers behind the flip", "Replay", (REPLAY,), "numbers", action="open"),
    Command("all-calls", "c", "every call as one list", "Go", (SESSIONS,), "calls"),
    Command("view-calls", "v", "all calls, the failed ones, the hidden ones", "Find the failure", (ALL_CALLS,), "view"),
    Command("next-number", "v", "what the next number of the report's line counts", "Find the failure", (CALLS,),
            "next number"),
    Command("report", "R", "the report on all that is open", "Go", (SESSIONS,), "report"),
    Command("compare", "c", "compare with what was before", "Go", (REPORT,), "compare"),
    Command("export", "x", "write the report to a file", "Go", (REPORT, COMPARE, METRICS), "export"),
    Command("back", "escape,q", "back", "Go", tuple(screen for screen in EVERYWHERE if screen != SESSIONS)),
    Command("clear", "escape", "leave the filter, and clear it", "Go", (SESSIONS,)),
    Command("leave", "q", "quit", "Go", (SESSIONS,)),
    Command("next-panel", "tab", "next panel", "Go", (SESSION,)),
    Command("unfold", "right", "unfold sub-agents or repeats", "Go", (SESSIONS, SESSION)),
    Command("fold", "left", "fold them again", "Go", (SESSIONS, SESSION)),
    Command("origin", "o", "jump to where a slot's value came from; again: back", "Go", (SESSION,), "origin"),
    Command("replay", "P", "replay the session under other settings", "Go", (SESSIONS, SESSION), "replay"),
    Command("problems", "exclamation_mark", "what could not be read", "Go", (SESSIONS, SESSION)),
    Command("play", "space", "play in the recorded rhythm, or pause", "Replay", (REPLAY,), "play"),
    Command("slower", "left_square_bracket", "slower", "Replay", (REPLAY,), "slower", action="speed(-1)"),
    Command("faster", "right_square_bracket", "faster", "Replay", (REPLAY,), "faster", action="speed(1)"),
    Command("scrub-on", "right", "a step on; PgDn: ten", "Replay", (REPLAY,), action="scrub(1)"),
    Command("scrub-back", "left", "a step back; PgUp: ten", "Replay", (REPLAY,), action="scrub(-1)"),
    Command("next-difference", "n", "next step at which something differs", "Replay", (REPLAY,), "difference"),
    Command("previous-difference", "p", "previous one", "Replay", (REPLAY,)),
    Command("panel-down", "J", "scroll the panel down", "Replay", (REPLAY,), action="panel(1)"),
    Command("panel-up", "K", "scroll it up", "Replay", (REPLAY,), action="panel(-1)"),
    Command("flips", "f", "into the list of flips, and back", "Replay", (REPLAY,), "flips"),
    Command("next-setting", "tab", "next setting", "Replay", (REPLAY,), "setting"),
    Command("previous-setting", "shift+tab", "previous setting", "Replay", (REPLAY,)),
    Command("turn-up", "plus,equals_sign", "the setting one step up", "Replay", (REPLAY,), "up", action="turn(1)"),
    Command("turn-down", "minus", "one step down", "Replay", (REPLAY,), "down", action="turn(-1)"),
    Command("type-setting", "e", "type the setting's value: a number, a folder", "Replay", (REPLAY,), "type"),
    Command("reset-setting", "backspace", "the setting as recorded", "Replay", (REPLAY,)),
    Command("reset-all", "0", "every setting as recorded", "Replay", (REPLAY,)),
    Command("group", "b", "by tool, model, project, week", "Find the failure", (METRICS,), "group by"),
    Command("definitions", "d", "what each word means", "Find the failure", (METRICS,), "definitions"),
    *(
        Command(f"label-{key}", key, f"label: {word}", "Label", (*_LABELLING, NOTES), action=f"label('{key}')")
        for key, word in _LABELS
    ),
    Command("refine", "semicolon", "then a digit: second level of that label", "Label", _LABELLING, "refine"),
    Command("repeat-label", "full_stop", "give the last label again", "Label", _LABELLING, "again"),
    Command("note", "e", "write a note to the label", "Label", _LABELLING, "note"),
    Command("undo", "u", "undo the last label", "Label", (*_LABELLING, NOTES), "undo"),
    Command("redo", "U", "redo it", "Label", (*_LABELLING, NOTES)),
    Command("first-cause", "f", "mark the call as the session's first cause, or not", "Label", _LABELLING),
    Command("label-queue", "L", "go on with the labelling queue, or draw one", "Label", (SESSIONS, SESSION, ALL_CALLS),
            "queue"),
    Command("defer", "space", "later: the item comes back last", "Label", (QUEUE,), "later"),
    Command("skip", "s", "skip the item for good; on a skipped one: take it back", "Label", (QUEUE,), "skip"),
    Command("next-item", "n", "next item, without labelling", "Label", (QUEUE,), "next"),
    Command("previous-item", "p", "previous item", "Label", (QUEUE,)),
    Command("next-category", "right", "read on in the codebook: next class", "Label", (QUEUE,)),
    Command("previous-category", "left", "previous class", "Label", (QUEUE,)),
    Command("together", "m", "label identical failures of the session together", "Label", (QUEUE,), "together"),
    Command("blind", "b", "blind: verdict and others' labels wait for your answer, or not", "Label", (QUEUE,), "blind"),
    Command("open-coding", "o", "open coding: notes now, classes later", "Label", (QUEUE,)),
    Command("notes", "N", "group the notes that have no class yet", "Label", (QUEUE, SESSIONS)),
    Command("choose-note", "space", "choose the note, or not", "Label", (NOTES,), "choose"),
    Command("choose-queue", "L", "choose or draw another queue; where people, or rule and person, disagree", "Label",
            (QUEUE, REPORT)),
    Command("symptoms", "D", "diagnose: symptoms with cause, evidence and what to do", "Go",
            (SESSIONS, SESSION, REPORT), "symptoms"),
    Command("metrics", "M", "the four metrics over tasks", "Go", (SESSIONS, REPORT), "metrics"),
    Command("inferred", "i", "routes, slots, timeouts and chains, inferred; again: without", "Go", (REPORT,),
            "inferred"),
    Command("suggestions", "a", "what to change first, with the evidence", "Go", (REPORT,), "advice"),
    Command("copy-call", "y", "copy the call as JSON", "Copy", (SESSION, DETAIL)),
    Command("copy-evidence", "Y", "copy the evidence", "Copy", (SESSION, DETAIL)),
    Command("follow", "F", "follow live: show new steps while the agent writes", "Go", (SESSIONS, SESSION)),
    Command("theme", "T", "next theme", "Program"),
    Command("help", "question_mark,f1", "this list", "Program", footer="keys"),
    Command("palette", "ctrl+p", "find a command by name", "Program", action="app.command_palette"),
    Command("quit", "ctrl+q,ctrl+c", "quit", "Program", action="app.quit"),
)  # fmt: skip

LABEL_WORDS = dict(_LABELS)
SHORT_WORDS = LABEL_WORDS | {"3": "ctx", "7": "upstr"}
"""For 80 columns."""
_SHOWN = {
    "slash": "/", "semicolon": ";", "full_stop": ".", "question_mark": "?", "exclamation_mark": "!", "escape": "Esc",
    "enter": "Enter", "pagedown": "PgDn", "pageup": "PgUp", "home": "Home", "end": "End", "up": "↑", "down": "↓",
    "left": "←", "right": "→", "tab": "Tab", "f1": "F1", "space": "Space",
    "plus": "+", "equals_sign": "=", "minus": "-", "left_square_bracket": "[", "right_square_bracket": "]",
    "backspace": "Bksp", "shift+tab": "Shift+Tab",
}  # fmt: skip


def commands_for(screen: str) -> list[Command]:
    """The commands of a screen, in the order of the help."""
    return [command for command in COMMANDS if screen in command.screens]


def bindings_for(screen: str) -> list[Binding]:
    """The screen's bindings."""
    return [command.binding() for command in commands_for(screen)]


def shown_keys(keys: str) -> str:
    """Keys as a person reads them: `?, F1`."""
    return " ".join(_shown_key(key.strip()) for key in keys.split(","))


def _shown_key(key: str) -> str:
    return f"Ctrl+{key[5:].upper()}" if key.startswith("ctrl+") else _SHOWN.get(key, key)


def checked_keymap(keys: Mapping[str, str], where: str) -> dict[str, str]:
    """A person's remapping, checked. Raises `ConfigError` for an unknown command, or for two commands on one key."""
    known = {command.id: command for command in COMMANDS}
    for name in keys:
        if name not in known:
            near = ", ".join(sorted(one for one in known if one[0] == name[:1])) or "see ? for the names"
            raise ConfigError(f"keys.{name}: no such command", where, near)
    for screen in EVERYWHERE:
        taken: dict[str, str] = {}
        for command in commands_for(screen):
            for key in keys.get(command.id, command.keys).split(","):
                other = taken.setdefault(key.strip(), command.id)
                if other != command.id:
                    raise ConfigError(
                        f"key {key.strip()!r} is given to both {other} and {command.id}",
                        where,
                        "give one of them another key",
                    )
    return dict(keys)


def help_rows(screen: str, keys: Mapping[str, str]) -> Iterable[tuple[str, str, str]]:
    """(group, keys, help) of every command of a screen, with the keys in force."""
    for command in commands_for(screen):
        yield command.group, shown_keys(keys.get(command.id, command.keys)), command.help


def key_table() -> str:
    """The commands as the Markdown table of docs/screens.md: `python -m reach_tui.tui.commands`."""
    rows = ["| keys | does | where | id |", "|---|---|---|---|"]
    for command in COMMANDS:
        keys = " ".join(f"`{_shown_key(key.strip())}`" for key in command.keys.split(","))
        where = "everywhere" if command.screens == EVERYWHERE else ", ".join(command.screens)
        rows.append(f"| {keys} | {command.help} | {where} | `{command.id}` |")
    return "\n".join(rows) + "\n"


if __name__ == "__main__":
    print(key_table(), end="")
