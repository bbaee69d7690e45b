"""Codebooks as data: ours (nine classes of failure, and one for what only looks like one), presets, anybody's own."""

from reach_tui.taxonomy.codebook import (
    FAILURE,
    NOT_A_FAILURE,
    UNCODED,
    Category,
    Folded,
    Retired,
    Subcategory,
    Taxonomy,
)
from reach_tui.taxonomy.loader import Checked, Place, check, default, load, preset, preset_ids

__all__ = [
    "FAILURE",
    "NOT_A_FAILURE",
    "UNCODED",
    "Category",
    "Checked",
    "Folded",
    "Place",
    "Retired",
    "Subcategory",
    "Taxonomy",
    "check",
    "default",
    "load",
    "preset",
    "preset_ids",
]
