"""The screens in ASCII: the signs of ours and of the library's frames, replaced as a line is drawn, cell by cell."""

from __future__ import annotations

import re

from rich.cells import cell_len
from rich.segment import Segment
from textual.color import Color
from textual.filter import LineFilter

_SIGNS = str.maketrans({
    "·": "-", "–": "-", "—": "-", "×": "x", "≥": ">", "≤": "<", "→": ">", "←": "<", "↑": "^", "↓": "v",
    "▶": ">", "◀": "<", "▸": ">", "◂": "<", "“": '"', "”": '"', "‘": "'", "’": "'", "●": "*", "○": "o", "•": "*",
    "■": "#", "▓": "#", "▒": "-", "░": ".", "🔎": "/ ",
    **dict(zip("▁▂▃▄▅▆▇█", "_:-=+*#@", strict=True)),
    **dict.fromkeys("▏▎▍▋▊▉▐▌┊", "|"),
    "▔": "-",
    **{chr(code): "+" for code in range(0x2500, 0x2580)},
    **dict.fromkeys("─━╌╍┄┅┈┉═╴╶╸╺╼╾", "-"),
    **dict.fromkeys("│┃╎╏┆┇┊┋║╵╷╹╻╽╿", "|"),
})  # fmt: skip
_CUT = re.compile(r"^… |.?…|[≥≤] ", re.DOTALL)


def in_ascii(text: str) -> str:
    """The same cells in ASCII, as far as the signs are ours: `..` for the mark of a cut; other letters stay."""
    return text if text.isascii() else _CUT.sub(_wider, text).translate(_SIGNS)


def _wider(found: re.Match[str]) -> str:
    """What takes a neighbour's cells as well."""
    text = found[0]
    return f"{'>' if text[0] == '≥' else '<'}=" if text[0] in "≥≤" else "." * cell_len(text)


class AsciiFilter(LineFilter):
    """For terminals that show nothing else."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """The segments with their signs replaced, each as wide as before."""
        return [
            segment if segment.text.isascii() else Segment(in_ascii(segment.text), segment.style, segment.control)
            for segment in segments
        ]
