"""`reach-tui rules`: the rules in force, checking one's own, and trying them on one's own history."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from reach_tui.base.text import one_line, shown_name
from reach_tui.cli.output import Column, Record, emit, encode, record_options
from reach_tui.cli.sources import TracePath, Traces, labels_option, path_argument
from reach_tui.cli.streams import BAD_INPUT, say

if TYPE_CHECKING:
    from reach_tui.base.jsonio import JsonValue
    from reach_tui.workspace.rule_trial import Trial
    from reach_tui.workspace.rules import Detectors

_EXAMPLES = 3  # changed calls shown for each tool
_WORDS = {True: "failed", False: "ok", None: "undecided"}

LIST_COLUMNS = (
    Column("rule", lambda record: str(record["id"]), weight=3),
    Column("family", lambda record: str(record["family"]), width=14),
    Column("verdict", lambda record: str(record["verdict"]), width=14),
    Column("class", lambda record: str(record["category"] or "from the message"), weight=3),
    Column("file", lambda record: str(record["source"]), weight=2),
)


@click.group(no_args_is_help=False, short_help="List, check and try detector rules, your own among them.")
def rules() -> None:
    """List, check and try detector rules. Your own stand in rules/*.toml of your settings folder, a project's in
    .reach-tui/rules/*.toml of its folder.

    \b
    Examples:
      reach-tui rules check
      reach-tui rules test .reach-tui/rules/parcels.toml opencode.db
    """


@rules.command("list")
@record_options
def list_(form: str | None) -> int:
    """List the rules in force: id, family or pack, verdict, class and file; your own first.

    \b
    Example:
      reach-tui rules list --jsonl
    """
    from reach_tui.workspace.rules import detectors, rules_in_force

    found = detectors()
    _say_mistakes(found)
    emit(
        (
            {
                "id": rule.id,
                "family": rule.family,
                "verdict": rule.verdict,
                "category": "/".join(filter(None, (rule.category, rule.subcategory))) or None,
                "confidence": rule.confidence,
                "explain": rule.explain,
                "source": rule.source,
                "own": Path(rule.source).is_absolute(),
            }
            for rule in rules_in_force(found.engine)
        ),
        form,
        LIST_COLUMNS,
    )
    return 0


@rules.command("check")
@click.argument("files", nargs=-1, type=TracePath(), metavar="[FILE]...")
@record_options
def check(files: tuple[Path, ...], form: str | None) -> int:
    """Check rule FILEs (all of your own, if none is named): a line for each mistake, exit code 2 if there is one.

    \b
    Example:
      reach-tui rules check .reach-tui/rules/parcels.toml
    """
    from reach_tui.workspace.rules import check_files, own_rule_files

    chosen = [path.absolute() for path in files] or own_rule_files()
    if not chosen:
        say("no rules of your own here — docs/rules.md says where they stand")
    checked = list(check_files(chosen))
    for one in checked:
        for mistake in one.mistakes:
            say(mistake.line())
    columns = (
        Column("file", lambda record: str(record["file"]), weight=3),
        Column("family", lambda record: str(record["family"] or "-"), width=16),
        Column("rules", lambda record: str(record["rules"]), width=6, right=True),
        Column("mistakes", lambda record: str(len(record["mistakes"])), width=9, right=True),  # type: ignore[arg-type]
    )
    emit(
        (
            {
                "file": str(one.path),
                "family": one.family,
                "rules": one.rules,
                "mistakes": [mistake.line() for mistake in one.mistakes],
            }
            for one in checked
        ),
        form,
        columns,
    )
    return BAD_INPUT if any(one.mistakes for one in checked) else 0


@rules.command("test")
@click.argument("rule_file", type=TracePath())
@path_argument
@record_options
@labels_option
def test(rule_file: Path, path: Path, form: str | None, labels_file: Path | None) -> int:
    """Show what the rules in RULE_FILE would change in the calls in PATH: verdicts that flip, by tool, with examples.

    Where calls are labelled, it says how often the rules agree with the labels. Nothing is written. --jsonl gives a
    line for each changed call, --json the sums with a few examples a tool.

    \b
    Example:
      reach-tui rules test .reach-tui/rules/parcels.toml opencode.db
    """
    from reach_tui.workspace.rule_trial import Trial, change_record, changes
    from reach_tui.workspace.rules import engine_with, own_rule_files

    chosen = rule_file.absolute()
    others = [other for other in own_rule_files() if other.resolve() != chosen.resolve()]
    before, after = engine_with(others), engine_with([*others, chosen])
    _say_mistakes(after)
    if chosen not in after.own:
        return BAD_INPUT
    traces = Traces([path], labels_file, aloud=False)
    for problem in traces.workspace.found.problems:
        say(problem.line())
    trial = Trial(frozenset(after.ids_of(chosen)))
    records = (
        change_record(source, change)
        for source, change in traces.each(
            lambda source: changes(trial, traces.workspace, source, before.engine, after.engine)
        )
    )
    if form == "jsonl":
        emit(records, form)
    else:
        _sums(rule_file, trial, records, form)
    return traces.exit_code()


def _say_mistakes(found: Detectors) -> None:
    for mistake in found.mistakes:
        say(mistake.line())


def _sums(rule_file: Path, trial: Trial, records: Iterator[Record], form: str | None) -> None:
    examples: dict[str, list[JsonValue]] = {}
    reclassified: list[JsonValue] = []
    for record in records:
        shown = examples.setdefault(str(record["tool"]), []) if record["flips"] else reclassified
        if len(shown) < _EXAMPLES:
            shown.append(record)
    sums: Record = {
        "rule_file": str(rule_file),
        "calls": trial.calls,
        "rules": [{"rule": rule, "decided": trial.decided[rule]} for rule in sorted(trial.ids)],
        "flips": trial.flips.total(),
        "tools": [
            {"tool": tool, "flips": count, "examples": examples[tool]}
            for tool, count in sorted(trial.flips.items(), key=lambda pair: (-pair[1], pair[0]))
        ],
        "reclassified": {"count": trial.reclassified, "examples": reclassified},
        "labels": {"labelled": trial.labelled, "right": trial.right, "precision": trial.precision},
    }
    if form == "json":
        click.echo(encode(sums))
        return
    for line in _lines(trial, examples, reclassified):
        click.echo(line)


def _lines(trial: Trial, examples: dict[str, list[JsonValue]], reclassified: list[JsonValue]) -> Iterator[str]:
    yield f"{trial.calls} calls read; {trial.flips.total()} verdicts flip, {trial.reclassified} more change their class"
    for rule in sorted(trial.ids):
        yield f"  {rule}: decides {trial.decided[rule]} calls"
    for tool, count in trial.flips.most_common():
        yield one_line(f"{shown_name(tool)}: {count} flipped")
        yield from (_example(record) for record in examples[tool])
    if reclassified:
        yield f"another class: {trial.reclassified}"
        yield from (_example(record) for record in reclassified)
    if trial.labelled:
        yield f"labels: the rules agree with {trial.right} of {trial.labelled} labelled calls they decide"
    else:
        yield "labels: none of the calls these rules decide is labelled"


def _example(record: JsonValue) -> str:
    assert isinstance(record, dict)
    before, after, label = record["before"], record["after"], record["label"]
    assert isinstance(before, dict)
    assert isinstance(after, dict)
    evidence = after["evidence"] or before["evidence"]
    text = str(evidence["text"]) if isinstance(evidence, dict) else ""
    said = f" [labelled {label['category']}]" if isinstance(label, dict) else ""
    return "  " + one_line(f"{record['call_key']}  {_state(before)} -> {_state(after)}{said}  {text}")[:200]


def _state(verdict: dict[str, JsonValue]) -> str:
    word = "soft" if verdict["soft"] else _WORDS[verdict["failed"]]  # type: ignore[index]
    named = "/".join(str(verdict[key]) for key in ("category", "subcategory") if verdict[key])
    return f"{word} ({', '.join(str(part) for part in (verdict['rule'], named) if part)})" if verdict["rule"] else word
