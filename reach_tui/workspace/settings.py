"""Settings: `config.toml` in the person's config folder, a project's `.reach-tui.toml` over it, environment on top."""

from __future__ import annotations

import os
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from reach_tui.base.errors import ConfigError
from reach_tui.base.paths import config_dir

if TYPE_CHECKING:
    from collections.abc import Mapping

PROJECT_FILE = ".reach-tui.toml"


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything a person can set. `keys` maps a command's id to its keys, comma-separated."""

    theme: str = "reach-dark"
    by: str = ""
    """Name written into labels; the login name if empty."""
    labels: Path | None = None
    """The label database, to share one in a project; `labels.db` in the data folder if None."""
    taxonomy: str = ""
    """Id or file of the codebook to label with; ours if empty."""
    keys: Mapping[str, str] = field(default_factory=dict)


def load_settings(start: Path | None = None) -> Settings:
    """The settings in force in a folder (default: the current one). Raises `ConfigError` naming file and key."""
    merged: dict[str, object] = {}
    folder = (start or Path.cwd()).absolute()
    project = next((base / PROJECT_FILE for base in (folder, *folder.parents) if (base / PROJECT_FILE).is_file()), None)
    for path in (config_dir() / "config.toml", project):
        if path is not None and path.is_file():
            merged |= _read(path)
    for name in ("theme", "by", "labels", "taxonomy"):
        if value := os.environ.get(f"REACH_TUI_{name.upper()}"):
            merged[name] = value
    labels = merged.get("labels")
    return Settings(
        theme=str(merged.get("theme", "reach-dark")),
        by=str(merged.get("by", "")) or _login(),
        labels=Path(str(labels)).expanduser() if labels else None,
        taxonomy=str(merged.get("taxonomy", "")),
        keys=merged.get("keys", {}),  # type: ignore[arg-type] # checked by _read
    )


def _read(path: Path) -> dict[str, object]:
    from pydantic import BaseModel, ConfigDict, ValidationError

    class Document(BaseModel):
        model_config = ConfigDict(extra="forbid")
        theme: str | None = None
        by: str | None = None
        labels: str | None = None
        taxonomy: str | None = None
        keys: dict[str, str] | None = None

    try:
        found = Document.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"cannot be read: {error}", path, "correct or remove the file") from None
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"])
        raise ConfigError(f"key {key}: {first['msg']}", path, "see docs/settings.md for the keys") from None
    values = {name: value for name, value in found.model_dump().items() if value is not None}
    if isinstance(labels := values.get("labels"), str):
        values["labels"] = str(path.parent / Path(labels).expanduser())
    if isinstance(taxonomy := values.get("taxonomy"), str):
        from reach_tui.workspace.codebooks import is_file

        values["taxonomy"] = str(path.parent / Path(taxonomy).expanduser()) if is_file(taxonomy) else taxonomy
    return values


def _login() -> str:
    import getpass

    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return "unknown"
