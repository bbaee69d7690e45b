"""The commands by name. Nothing heavy is imported here: the screens start without the command-line library."""

from __future__ import annotations

DEFAULT = "open"
COMPLETE = "_REACH_TUI_COMPLETE"
COMMANDS = {
    DEFAULT: "reach_tui.cli.open:open_",
    "demo": "reach_tui.cli.open:demo",
    "stores": "reach_tui.cli.stores:stores",
    "sessions": "reach_tui.cli.sessions:sessions",
    "calls": "reach_tui.cli.calls:calls",
    "search": "reach_tui.cli.search:search",
    "report": "reach_tui.cli.report:report",
    "classify": "reach_tui.cli.classify:classify",
    "label": "reach_tui.cli.label:label",
    "labels": "reach_tui.cli.labels:labels",
    "rules": "reach_tui.cli.rules:rules",
    "registry": "reach_tui.cli.registry:registry",
    "metrics": "reach_tui.cli.metrics:metrics",
    "replay": "reach_tui.cli.replay:replay",
    "diagnose": "reach_tui.cli.diagnose:diagnose",
    "regress": "reach_tui.cli.regress:regress",
    "suggest": "reach_tui.cli.suggest:suggest",
    "sweep": "reach_tui.cli.sweep:sweep",
    "export": "reach_tui.cli.export:export",
    "import": "reach_tui.cli.import_:import_",
    "completion": "reach_tui.cli.completion:completion",
}
"""Command -> `module:attribute`, imported when it is called."""
