"""Themes: one TOML file each in themes/ (shipped) and in the `themes` folder of the person's config folder."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

from rich.errors import StyleSyntaxError
from rich.style import Style
from textual.color import Color, ColorParseError
from textual.theme import Theme

from reach_tui.base.errors import ConfigError
from reach_tui.base.paths import bundled, config_dir

DEFAULT = "reach-dark"
BASE = ("background", "surface", "panel", "foreground", "primary", "secondary", "accent", "warning", "error", "success")
ROLES = (
    "text", "dim", "rule", "title", "hidden", "flagged", "soft", "open", "ok", "label", "user", "assistant",
    "evidence", "evidence-back", "cursor-back", "bar", "bar-empty", "threshold", "good", "fair", "bad",
    "added", "removed", "key",
)  # fmt: skip
"""Every role a theme must name; `text` styles of lines are these names."""
_BOLD = {"title", "hidden", "flagged", "evidence"}


@dataclass(frozen=True, slots=True)
class Palette:
    """Rich styles by role, ready for strips."""

    styles: dict[str, Style]

    def __getitem__(self, name: str) -> Style:
        return self.styles.get(name) or self.styles["text"]


def theme_files() -> dict[str, Path]:
    """Every theme by name: the shipped ones, then the person's own (which win)."""
    found: dict[str, Path] = {}
    for folder in (bundled("themes"), config_dir() / "themes"):
        if folder.is_dir():
            found |= {path.stem: path for path in sorted(folder.glob("*.toml"))}
    return found


def load_theme(path: Path) -> Theme:
    """The theme in a file. Raises `ConfigError` naming the file and the key: missing, unknown, or not a colour."""
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"theme cannot be read: {error}", path, "correct or remove the file") from None
    base, roles = data.get("base", {}), data.get("roles", {})
    for section, values, names in (("base", base, BASE), ("roles", roles, ROLES)):
        if not isinstance(values, dict):
            raise ConfigError(f"[{section}] is not a table", path, "see docs/themes.md")
        for name in names:
            if name not in values:
                raise ConfigError(f"{section}.{name} is missing", path, "see docs/themes.md")
        for name, value in values.items():
            if name not in names:
                raise ConfigError(f"{section}.{name} is not a known role", path, "see docs/themes.md")
            _check_colour(path, f"{section}.{name}", value)
    return Theme(
        name=path.stem,
        dark=bool(data.get("dark", True)),
        variables={f"reach-{name}": roles[name] for name in ROLES},
        **{name: base[name] for name in BASE},
    )


def _check_colour(path: Path, key: str, value: object) -> None:
    try:
        Color.parse(str(value))
        Style(color=str(value))
    except (ValueError, ColorParseError, StyleSyntaxError):
        raise ConfigError(f"{key} = {value!r} is no colour", path, "write it as #rrggbb") from None


def palette_of(theme: Theme) -> Palette:
    """The line styles of a theme made by `load_theme`."""
    role = {name: theme.variables[f"reach-{name}"] for name in ROLES}
    styles = {name: Style(color=role[name], bold=name in _BOLD or None) for name in ROLES if not name.endswith("-back")}
    styles["evidence"] = Style(color=role["evidence"], bgcolor=role["evidence-back"], bold=True)
    styles["cursor"] = Style(bgcolor=role["cursor-back"])
    styles["bold"] = Style(color=role["text"], bold=True)
    styles["invisible"] = Style(color=role["dim"], italic=True)
    return Palette(styles)
