"""Detectors: did a call do what it was asked? Pure functions over the canonical model; no store, no database."""

from reach_tui.detect.engine import Engine, default_engine
from reach_tui.detect.rule_files import load
from reach_tui.detect.rules import Rule, RuleSet

__all__ = ["Engine", "Rule", "RuleSet", "default_engine", "load"]
