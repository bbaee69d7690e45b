"""A label: a person's judgement of a call or session. Append-only; flag, verdict, label never overwrite each other."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Label:
    """One row of the label log, as in the contract. `category` None marks an undo of what came before."""

    store: str
    session_id: str
    call_key: str | None
    """None: the label is for the whole session."""
    content_hash: str | None
    """Hash of what was shown, so that a changed row is noticed."""
    category: str | None
    subcategory: str | None
    note: str
    by: str
    at: int
    """Milliseconds since 1970 UTC."""
    taxonomy: str
    taxonomy_version: int
    verdict: bool | None
    """What the detector had said: failed, fine or undecided."""
    rule: str | None
    tool_version: str
    id: int | None = None
    """Row number in the label log once it is durable."""
    uid: str | None = None
    """Unique over all label logs, so that export and import neither lose nor double; given by the store."""
    role: str = "annotator"
    """`annotator`, or `adjudicator` for one who settles a disagreement of others; their labels stay."""
    first_cause: bool = False
    """The person holds this call for the first cause of what went wrong in its session."""
    shown: str | None = None
    """How it was shown, as JSON: `blind`, `queue`, `position`, `spent_ms`; None outside a queue."""
