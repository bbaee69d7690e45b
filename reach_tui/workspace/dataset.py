"""A labelled dataset as a folder: README, schema, codebook, and splits that keep what was held back held back.

A session is in one split, never in two: calls of one session resemble each other. Which one follows from its id and
the seed alone, so that the same session is always in the same split, whatever else is added. A folder remembers its
seed and share; with others nothing is written, since a case that moves from test to dev is no test any more.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from reach_tui.base.errors import UsageError
from reach_tui.base.jsonio import BadJson, as_object, dumps, loads
from reach_tui.taxonomy import Taxonomy
from reach_tui.workspace.codebooks import codebook_record
from reach_tui.workspace.label_figures import Target, class_of, opinions
from reach_tui.workspace.labelling import labels_in
from reach_tui.workspace.records import Record
from reach_tui.workspace.sources import Source
from reach_tui.workspace.workspace import Workspace

MANIFEST = "dataset.json"
SPLITS = ("dev", "test")
_SCHEMA = Path(__file__).resolve().parents[1] / "labels" / "row.schema.json"


def split_of(store: str, session_id: str, test_share: float, seed: int) -> str:
    """The split of a session, from its id and the seed alone."""
    digest = hashlib.sha256(f"{seed}\x00{store}\x00{session_id}".encode("utf-8", "replace")).digest()
    return "test" if int.from_bytes(digest[:8], "big") < test_share * 2**64 else "dev"


def targets(workspace: Workspace, sources: Iterable[Source], test_share: float, seed: int) -> Iterator[str]:
    """CSV lines of id, target and split, one a call on which people agree or that somebody settled (as Scout reads).

    Splits are those of the dataset. Raises `LabelError`, `StoreError`.
    """
    import csv
    import io

    seen: set[Target] = set()
    yield "id,target,split\n"
    for source in sources:
        found = opinions(labels_in(workspace, source), workspace.folding)
        for target in sorted(found):
            label = found[target].truth()
            if label is None or target in seen:
                continue
            seen.add(target)
            buffer = io.StringIO(newline="")
            row = (target[2], class_of(label, 2), split_of(target[0], target[1], test_share, seed))
            csv.writer(buffer, lineterminator="\n").writerow(row)
            yield buffer.getvalue()


def write_dataset(folder: Path, rows: Iterable[Record], taxonomy: Taxonomy, test_share: float, seed: int) -> str:
    """Write the dataset, replacing an earlier version of the same; what was written, in words. Raises `UsageError`."""
    settings: Record = {"seed": seed, "test_share": test_share}
    _check(folder, settings)
    counts: Counter[str] = Counter()
    classes: Counter[tuple[str, str]] = Counter()
    redacted: Counter[str] = Counter()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        files = {name: (folder / f".{name}.jsonl.part").open("w", encoding="utf-8", newline="\n") for name in SPLITS}
        try:
            for row in rows:
                label = as_object(row["label"])
                name = split_of(str(label["store"]), str(label["session_id"]), test_share, seed)
                files[name].write(dumps(row) + "\n")
                counts[name] += 1
                classes[str(label["category"]), name] += 1
                omissions = row["omissions"]
                for one in map(as_object, omissions if isinstance(omissions, list) else []):
                    count = one["count"]
                    redacted[str(one["kind"])] += count if isinstance(count, int) else 0
        finally:
            for file in files.values():
                file.close()
        for name in SPLITS:
            (folder / f".{name}.jsonl.part").replace(folder / f"{name}.jsonl")
        manifest: Record = {**settings, "rows": dict(counts), "redacted": dict(redacted)}
        _put(folder / MANIFEST, dumps(manifest, indent=2) + "\n")
        _put(folder / "schema.json", _SCHEMA.read_text(encoding="utf-8"))
        _put(folder / "codebook.json", dumps(codebook_record(taxonomy), indent=2) + "\n")
        _put(folder / "README.md", _readme(settings, counts, classes, redacted, taxonomy))
    except OSError as error:
        raise UsageError(f"cannot be written: {error.strerror or error}", folder, "name another folder") from None
    return f"{counts['dev']} rows to develop with, {counts['test']} held back"


def _check(folder: Path, settings: Record) -> None:
    manifest = folder / MANIFEST
    if not manifest.exists():
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise UsageError("there is something else already", folder, "name a new folder")
        return
    try:
        known = as_object(loads(manifest.read_bytes()))
    except (BadJson, OSError) as error:
        raise UsageError(f"its {MANIFEST} cannot be read: {error}", folder, "name a new folder") from None
    if {name: known.get(name) for name in settings} != settings:
        was = f"--seed {known.get('seed')} --test-share {known.get('test_share')}"
        what = "with another seed or share rows would move from test to dev"
        raise UsageError(what, folder, f"use {was}, or name a new folder")


def _put(path: Path, text: str) -> None:
    partial = path.with_name(f".{path.name}.part")
    partial.write_text(text, encoding="utf-8", newline="\n")
    partial.replace(path)


def _readme(
    settings: Record,
    counts: Counter[str],
    classes: Counter[tuple[str, str]],
    redacted: Counter[str],
    taxonomy: Taxonomy,
) -> str:
    names = [one.id for one in taxonomy.categories if any(classes[one.id, split] for split in SPLITS)]
    others = sorted({name for name, _ in classes} - {one.id for one in taxonomy.categories})
    table = [f"| `{name}` | {classes[name, 'dev']} | {classes[name, 'test']} |" for name in (*names, *others)]
    left_out = (
        ", ".join(f"{count} {kind}" for kind, count in sorted(redacted.items())) or "nothing was found to replace"
    )
    return "\n".join(
        [
            "# Labelled tool calls",
            "",
            f"{counts['dev']} rows in `dev.jsonl` to write rules with, {counts['test']} in `test.jsonl` for the number"
            " you report.",
            "A row is one label of one person: `label`, `call` (the call's record), `context` (the steps around it),",
            "`omissions` (what was replaced in it). `schema.json` is its JSON Schema, `codebook.json` the categories.",
            "",
            f"Splits go by session, from its id and the seed ({settings['seed']}) alone; the share held back is",
            f"{settings['test_share']}. A session never changes its split. Unlabelled calls are not in here: they",
            "are no negatives.",
            "",
            f"Left out: {left_out}.",
            "",
            f"| class ({taxonomy.id} {taxonomy.version}) | dev | test |",
            "|---|---:|---:|",
            *table,
            "",
        ]
    )
