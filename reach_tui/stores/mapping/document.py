"""The keys of a mapping file, as pydantic checks them: unknown keys and wrong types are mistakes, with their place."""

from __future__ import annotations

from typing import Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

from reach_tui.model import StepKind

Text: TypeAlias = str | list[str]
Word: TypeAlias = bool | int | str
Words: TypeAlias = Word | list[Word]
Outcome: TypeAlias = Literal["failed", "succeeded"]


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", populate_by_name=True)


class RowsTable(Strict):
    table: str
    joins: list[str] = []
    where: dict[str, Words] = {}
    prefix: dict[str, str] = Field({}, max_length=1)


class FromTable(RowsTable):
    session: str | None = None
    order: list[str] = []
    time: Text = []


class NoteTable(Strict):
    value: Text
    is_: Words = Field(alias="is")
    text: str


class SessionTable(RowsTable):
    id: str
    grouped: bool = False
    title: Text = []
    project: Text = []
    parent: Text = []
    model: Text = []
    started: Text = []
    ended: Text = []
    tokens_input: Text = []
    tokens_output: Text = []
    outcome: Text = []
    not_own_work: dict[str, Words] = {}
    note: list[NoteTable] = []


class FlagTable(Strict):
    value: Text
    failed: list[Word] = []
    succeeded: list[Word] = []
    when_present: Outcome | None = None
    when_missing: Outcome | None = None


class MessageTable(Strict):
    from_: str = Field(alias="from")
    each: str | None = None
    text: Text
    role: Text = []
    kind: StepKind | None = None


class CallTable(Strict):
    from_: str = Field(alias="from")
    each: str | None = None
    id: Text = []
    key: Text = []
    tool: Text
    arguments: Text = []
    result: Text = []
    status: Text = []
    started: Text = []
    ended: Text = []
    duration_ms: Text = []
    flag: list[FlagTable] = []
    metadata: dict[str, Text] = {}


class ResultTable(Strict):
    from_: str = Field(alias="from")
    each: str | None = None
    call: Text
    text: Text
    status: Text = []
    ended: Text = []
    flag: list[FlagTable] = []
    metadata: dict[str, Text] = {}


class Document(Strict):
    kind: str = Field(pattern=r"^[a-z][a-z0-9_]*$")
    title: str
    flag_meaning: str = "What the mapping file says."
    not_recorded: str = ""
    source: str = ""
    verified: bool = False
    basis: Literal["read", "told"] = "read"
    version: str = "mapped"
    without: list[str] = []
    recognise: dict[str, list[str]] = Field(min_length=1)
    session: SessionTable
    from_: dict[str, FromTable] = Field({}, alias="from")
    message: list[MessageTable] = []
    call: list[CallTable] = []
    result: list[ResultTable] = []
    roles: dict[str, StepKind] = {}
