"""The failure taxonomy as data: nine classes of failure and one for what only looks like one."""

from reach_tui.taxonomy.loader import Category, Subcategory, Taxonomy, default, load

__all__ = ["Category", "Subcategory", "Taxonomy", "default", "load"]
