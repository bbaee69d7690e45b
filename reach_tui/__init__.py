"""reach-tui: the debugger for agent sessions."""

__version__ = "0.1.0"
