"""The canonical trace model: session, step, tool call, result, route, candidate, slot, verdict, label."""

from reach_tui.model.call import Glance, Result, ToolCall
from reach_tui.model.label import Label
from reach_tui.model.route import Candidate, Route, Slot, Thresholds
from reach_tui.model.session import Counts, Session, Tokens
from reach_tui.model.step import Step, StepKind
from reach_tui.model.verdict import Evidence, Verdict, is_hidden, store_says

__all__ = [
    "Candidate",
    "Counts",
    "Evidence",
    "Glance",
    "Label",
    "Result",
    "Route",
    "Session",
    "Slot",
    "Step",
    "StepKind",
    "Thresholds",
    "Tokens",
    "ToolCall",
    "Verdict",
    "is_hidden",
    "store_says",
]
