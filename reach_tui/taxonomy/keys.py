"""Keys that the screens use for themselves: no category may be bound to one (Label Studio #1957, doccano #980)."""

from __future__ import annotations

KEYS = "1234567890"
"""The keys of categories, in their order."""
TAKEN = {
    "j": "next row", "k": "previous row", "g": "first row", "G": "last row", "n": "next failure, next item",
    "p": "previous failure, pause", "h": "next hidden failure", "H": "previous hidden failure", "/": "filter",
    "S": "soft signals", "s": "sort, skip", "c": "all calls, compare", "v": "which calls are shown", "R": "report",
    "x": "export", "q": "back, quit", "o": "origin of a slot, open coding", "!": "what could not be read",
    ";": "refine the label", ".": "repeat the label", "e": "note", "u": "undo", "U": "redo", "f": "first cause",
    "L": "labelling queue", "m": "label identical failures", "b": "blind", "N": "group the notes",
    "y": "copy the call", "Y": "copy the evidence", "F": "follow", "T": "next theme", "?": "help",
    "P": "replay", "Space": "defer", "Tab": "next panel", "Enter": "open", "Esc": "back",
    "↓": "next row", "↑": "previous row", "→": "unfold", "←": "fold",
}  # fmt: skip
"""Shown key -> what it does, so that a clash can be named; other letters and signs are refused as well."""
