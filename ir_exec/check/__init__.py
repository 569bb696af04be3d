"""Checking: the rules, the passes that find violations, and reports as data and as text."""

import warnings
from importlib import import_module

from ir_exec.check.check import check_model
from ir_exec.check.findings import Diagnostic
from ir_exec.check.fix import Fix, fix
from ir_exec.check.formats import FORMATS, Places
from ir_exec.check.report import Demand, Report, Reports, Requirement, Summary, summary_line
from ir_exec.check.rules import GROUPS, RULES, Rule, explain, find_rule, nearest_rule, rule_of, rules_page, weight
from ir_exec.check.selection import Baseline, Selection, code_prefix
from ir_exec.check.text import (
    LinesOf,
    Style,
    render,
    render_diagnostic,
)
from ir_exec.lazy import make_callable

__all__ = [
    "FORMATS",
    "GROUPS",
    "RULES",
    "Baseline",
    "Demand",
    "Diagnostic",
    "Fix",
    "LinesOf",
    "Places",
    "Report",
    "Reports",
    "Requirement",
    "Rule",
    "Selection",
    "Style",
    "Summary",
    "check_model",
    "code_prefix",
    "explain",
    "find_rule",
    "fix",
    "nearest_rule",
    "render",
    "render_diagnostic",
    "rule_of",
    "rules_page",
    "summary_line",
    "weight",
]

make_callable(__name__, "check_model")

_FORMER_NAMES = {
    "counted": ("ir_exec.report.numbers", "format_count"),
    "inert": ("ir_exec.printable", "inert"),
    "plain": ("ir_exec.check.text", "plain"),
    "printable": ("ir_exec.printable", "printable"),
    "wrapped": ("ir_exec.report.text", "wrap_words"),
}
"""The module and the name of each function that this package exported before."""


def __getattr__(name: str) -> object:
    if name not in _FORMER_NAMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, function = _FORMER_NAMES[name]
    warnings.warn(f"ir_exec.check.{name} is no longer public", DeprecationWarning, stacklevel=2)
    return getattr(import_module(module), function)
