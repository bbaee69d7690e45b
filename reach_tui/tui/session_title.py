"""The line above a session's steps: what it is, and how many of its calls failed."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from reach_tui.model import Session
from reach_tui.tui.glyphs import Glyphs
from reach_tui.tui.lines import Line
from reach_tui.tui.rows import short_project, span_of, when
from reach_tui.workspace import JudgedStep


def facts_line(title: str, session: Session, store: str, now: datetime) -> Line:
    """Title, project, model, when and how long; the name of the store where there are several."""
    facts = [short_project(session.project), session.model or "", when(session.started_at, now)]
    if session.started_at is not None and session.ended_at is not None:
        facts.append(span_of(max(0, session.ended_at - session.started_at)))
    facts += [store, *session.notes]
    return [(f" {title}", "title"), (f" · {' · '.join(fact for fact in facts if fact)}", "dim")]


def failures_line(steps: Sequence[JudgedStep], glyphs: Glyphs, *, loaded: bool, live: bool) -> Line:
    """The calls that failed among those read so far; `live`: new steps are shown as they are written."""
    calls = [one.judged for one in steps if one.judged is not None]
    failed = [call for call in calls if call.verdict.failed]
    hidden = sum(call.hidden for call in failed)
    flagged = len(failed) - hidden
    return [
        (f"{glyphs.hidden} {hidden} hidden", "hidden" if hidden else "dim"),
        (f"  {glyphs.flagged} {flagged} flagged", "flagged" if flagged else "dim"),
        (f"  of {len(calls):,} calls{'' if loaded else ' …'} ", "dim"),
        *([(f"{glyphs.dot} live ", "good")] if live else []),
    ]
