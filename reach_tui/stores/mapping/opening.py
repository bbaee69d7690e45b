"""Which mapping reads a database: the one beside it, the person's own, those that ship with the package."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from reach_tui.base.errors import ConfigError, SchemaUnknown
from reach_tui.base.sqlite import Schema
from reach_tui.stores.mapping.loader import BUNDLED, check, load, own_folder, recognised
from reach_tui.stores.mapping.model import StoreMapping
from reach_tui.stores.mapping.reader import MappedReader


def by_mapping_file(path: Path, schema: Schema, file: Path) -> MappedReader:
    """The reader by one named mapping. Raises `ConfigError` where the mapping is wrong, or not for this database."""
    mapping = load(file)
    if not mapping.recognises(schema):
        wanted = "; ".join(f"{table} ({', '.join(columns)})" for table, columns in mapping.recognise.items())
        what = f"key recognise: {path.name} is not such a store; it would have {wanted}"
        raise ConfigError(what, file, "`reach-tui stores --explain FILE` shows what it has")
    check(mapping, schema)
    return MappedReader(path, mapping)


def by_mapping(path: Path, schema: Schema, without: Collection[str] = ()) -> MappedReader | None:
    """The reader by the first mapping that knows the schema, the person's own before the bundled ones.

    Raises `ConfigError` for an own mapping that is wrong, `SchemaUnknown` for a layout that a bundled one cannot read.
    """
    for mapping in recognised(own_folder(), schema):
        check(mapping, schema)
        return MappedReader(path, mapping)
    for mapping in recognised(BUNDLED, schema):
        if mapping.kind not in without:
            _fits(mapping, schema, path)
            return MappedReader(path, mapping)
    return None


def _fits(mapping: StoreMapping, schema: Schema, path: Path) -> None:
    for _, what, _ in mapping.missing(schema):
        text = f"a store of {mapping.title} in a layout this version cannot read: {what}"
        raise SchemaUnknown(text, path, f"put a corrected copy of {mapping.path.name} into {own_folder()}")
