"""Themes: every one is whole, legible and loads; a person's own is picked up, a broken one is told and passed over."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.color import Color

from reach_tui.base.errors import ConfigError
from reach_tui.base.paths import config_dir
from reach_tui.tui.themes import DEFAULT, ROLES, load_theme, palette_of, theme_files
from reach_tui.workspace import Settings
from tests.tui.kit import ROOT, SAMPLES, running, shows

BUNDLED = tuple(sorted(path.stem for path in (ROOT / "themes").glob("*.toml")))
BACKS = {"evidence-back", "cursor-back", "bar-empty", "rule"}


def contrast(one: str, other: str) -> float:
    """The contrast ratio of two colours (WCAG 2.1)."""

    def luminance(colour: str) -> float:
        parts = [
            part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
            for part in Color.parse(colour).normalized
        ]
        return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]

    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_the_shipped_themes_are_there_and_told() -> None:
    assert tuple(sorted(theme_files())) == BUNDLED
    assert DEFAULT in BUNDLED
    told = (ROOT / "docs" / "themes.md").read_text(encoding="utf-8")
    assert [name for name in BUNDLED if f"`{name}`" not in told] == []


@pytest.mark.parametrize("name", BUNDLED)
def test_every_text_role_has_contrast(name: str) -> None:
    theme = load_theme(theme_files()[name])
    palette_of(theme)
    assert theme.background is not None
    assert theme.panel is not None
    wanted = 7.0 if name == "reach-contrast" else 4.5
    backs = {"list": theme.background, "window": theme.panel, "cursor": theme.variables["reach-cursor-back"]}
    for role in set(ROLES) - BACKS:
        pairs = {"evidence": theme.variables["reach-evidence-back"]} if role == "evidence" else backs
        for where, back in pairs.items():
            ratio = contrast(theme.variables[f"reach-{role}"], back)
            assert ratio >= (wanted if where != "cursor" else 4.5), f"{role} on {where}: {ratio:.1f}"


@pytest.mark.parametrize("name", BUNDLED)
async def test_theme_draws(name: str) -> None:
    async with running([SAMPLES / "reach"], settings=Settings(by="dev", theme=name)) as (app, pilot):
        assert app.theme == name
        await pilot.press("T")
        assert app.theme == BUNDLED[(BUNDLED.index(name) + 1) % len(BUNDLED)]
        await shows(app, "hide errors")


def own_theme(text: str, name: str = "mine") -> Path:
    """A theme file in this person's folder."""
    folder = config_dir() / "themes"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.toml"
    path.write_text(text, encoding="utf-8")
    return path


async def test_own_theme_is_picked_up() -> None:
    own_theme(theme_files()["reach-dark"].read_text(encoding="utf-8").replace("#f0a94b", "#ff00ff"))
    async with running([SAMPLES / "reach"], settings=Settings(by="dev", theme="mine")) as (app, _):
        assert app.theme == "mine"
        colour = app.palette["hidden"].color
        assert colour is not None
        assert colour.triplet is not None
        assert colour.triplet.hex == "#ff00ff"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (('hidden = "#f0a94b"', 'hidden = "mauve-ish"'), "roles.hidden"),
        (('hidden = "#f0a94b"', ""), "roles.hidden is missing"),
        (('hidden = "#f0a94b"', 'hidden = "#f0a94b"\nhiden = "#000000"'), "roles.hiden is not a known role"),
        (("[roles]", "[roles"), "cannot be read"),
    ],
)
async def test_broken_theme_is_told_and_the_default_used(change: tuple[str, str], said: str) -> None:
    path = own_theme(theme_files()["reach-dark"].read_text(encoding="utf-8").replace(*change))
    with pytest.raises(ConfigError) as caught:
        load_theme(path)
    assert said in caught.value.line()
    assert "mine.toml" in caught.value.line()
    async with running([SAMPLES / "reach"], settings=Settings(by="dev", theme="mine")) as (app, _):
        assert app.theme == "reach-dark"
        assert any(said in note.message for note in app._notifications)


async def test_unknown_theme_names_those_there_are() -> None:
    async with running([SAMPLES / "reach"], settings=Settings(by="dev", theme="nope")) as (app, _):
        assert app.theme == "reach-dark"
        assert any("reach-light" in note.message for note in app._notifications)


async def test_no_color_leaves_glyphs_words_and_a_cursor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    async with running([SAMPLES / "reach"]) as (app, pilot):
        assert app.no_color
        await shows(app, "▌ ◆")
        await pilot.press("enter", "h")
        await shows(app, "HIDDEN", "▌")


async def test_ascii_glyphs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REACH_TUI_ASCII", "1")
    async with running([SAMPLES / "reach"]) as (app, pilot):
        await shows(app, "> H")
        await pilot.press("enter", "h")
        await shows(app, "H HIDDEN", "[")
