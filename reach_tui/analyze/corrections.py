"""The user's own correction after a turn (seed B, 5.1): it counts against success, so it is found conservatively.

Only what a person says at the very beginning of the next message counts, and only wordings that reject what was done. A
further wish ("now also …", "and the tests?") is none. What is found is shown as evidence; a label overrides it.
"""

from __future__ import annotations

import re

_LOOKED_AT = 160  # characters: a correction comes first
_CORRECTION = re.compile(
    r"(?ix)^\W*(?:sorry,?\s+|hm+,?\s+|but\s+|well,?\s+|ok(?:ay)?,?\s+but\s+|actually,?\s+)?(?:"
    r"no+(?:\s*[,.!:;—-]|\s+(?:that|this|it|not|i)\b)"
    r"|(?:that(?:'s|\s+is|\s+was)?|this\s+is|it(?:'s|\s+is)?|you(?:'re|\s+are))\s+(?:still\s+|completely\s+|all\s+)?(?:wrong|incorrect|not\s+(?:right"
    r"|correct|what|true|working))"
    r"|wrong\b(?!\s+(?:answers?|guess(?:es)?)\s+(?:are|is|will))"
    r"|not\s+(?:what|that|like\s+that|this\s+one|the\s+one)\b"
    r"|(?:that|this|it)\s+(?:still\s+)?(?:doesn'?t|does\s+not|didn'?t|did\s+not|isn'?t|won'?t)\s+(?:work|help|fix|compile|run|pass)"
    r"|still\s+(?:not|broken|fail(?:s|ing)?|wrong|the\s+same|doesn'?t|does\s+not)\b"
    r"|you\s+(?:forgot|missed|broke|misunderstood|deleted|ignored|didn'?t|did\s+not|should(?:n'?t|\s+not)\s+have)\b"
    r"|i\s+(?:said|asked\s+(?:for|you)|told\s+you|meant|didn'?t\s+(?:ask|mean|want))\b"
    r"|(?:undo|revert)\s+(?:that|this|it|your|the\s+last)\b"
    r"|(?:try|do\s+it)\s+again\b"
    r")"
    r"|^\W*(?:你|您)?(?:又|还是|全|完全|都)?(?:错了|不对|不是这个|不是我要|搞错|弄错|改错|理解错|没改对|没修好|没解决|不行|没用|还是报错|还是失败|报错了还)"
    r"|^\W*(?:不对|不是|错)[，,。！!：:、\s]"
    r"|^\W*(?:我说的是|我要的是|我让你|我没让你|撤销|回滚|恢复原|重新来|重做)"
)


def correction(text: str) -> tuple[int, int] | None:
    """Where a message rejects what was done before it, as a span of the text; None where it does not."""
    found = _CORRECTION.match(text[:_LOOKED_AT])
    return found.span() if found else None
