"""Prints docs/symptoms.md."""

from reach_tui.analyze.symptoms import page

print(page(), end="")
