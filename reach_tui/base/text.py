"""Text from a trace is hostile: it is cleaned here before anything shows it."""

from __future__ import annotations

import re

# Whole escape sequences first (OSC and its kin with their text, CSI), so that their payload goes with them. A string
# sequence that nobody ends loses its introducer only: swallowing the rest would hide text of the trace.
_ESCAPES = re.compile(
    r"\x1b\][^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)"
    r"|\x1b[PX^_][^\x1b\x9c]*(?:\x1b\\|\x9c)"
    r"|\x1b\[[0-?]*[ -/]*[@-~]?"
    r"|\x9b[0-?]*[ -/]*[@-~]?"
    r"|\x1b[ -/]*[0-~]?"
)
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_BIDI = re.compile(r"[\u200e\u200f\u061c\u202a-\u202e\u2066-\u2069]")
_SURROGATES = re.compile(r"[\ud800-\udfff]")
_BREAKS = re.compile(r"[\t\n\r\x0b\x0c\x85\u2028\u2029]+")
_DIRTY = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u061c\u202a-\u202e\u2066-\u2069\ud800-\udfff\u2028\u2029\ufeff]"
)


def clean(text: str) -> str:
    """Text safe for a terminal: no escape sequence, no control but tab and newline, bidi and surrogates as marks."""
    if not _DIRTY.search(text):
        return text
    text = text.replace("\r\n", "\n")
    text = _ESCAPES.sub("", text)
    text = text.replace("\u2028", "\n").replace("\u2029", "\n").replace("\ufeff", "")
    text = _CONTROLS.sub(lambda match: "\n" if match[0] in "\r\x85" else "\ufffd" if match[0] == "\x00" else "", text)
    return _SURROGATES.sub("\ufffd", _BIDI.sub("\u2426", text))


def inline(text: str) -> str:
    """`clean` text on one line, runs of breaks and tabs folded to one blank; blanks at the ends stay."""
    return text if text.isascii() and text.isprintable() else _BREAKS.sub(" ", clean(text))


def one_line(text: str) -> str:
    """`inline` text without blanks at its ends."""
    return inline(text).strip()


def shown_name(name: str) -> str:
    """A name on one line; `(no name)` where there is nothing of it to see."""
    return one_line(name) or "(no name)"


def scrub_surrogates(text: str) -> str:
    """Lone surrogates become U+FFFD, so that the text can be encoded; everything else stays as it is."""
    return _SURROGATES.sub("\ufffd", text) if _SURROGATES.search(text) else text
