"""Readers of other programs' trace stores, and how a file finds its reader."""
