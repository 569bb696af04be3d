"""Checking: the rules, the passes that find violations, and reports as data and as text."""

from ir_exec.check.check import check_model
from ir_exec.check.findings import Diagnostic
from ir_exec.check.fix import Fix, fix
from ir_exec.check.formats import FORMATS, Places
from ir_exec.check.report import Demand, Report, Reports, Requirement, Summary, summary_line
from ir_exec.check.rules import GROUPS, RULES, Rule, find_rule, nearest_rule, rule_of, weight
from ir_exec.check.rules_in_words import explain, rules_page
from ir_exec.check.selection import Baseline, Selection, code_prefix
from ir_exec.check.text import (
    LinesOf,
    Style,
    inert,
    plain,
    printable,
    render,
    render_diagnostic,
)
from ir_exec.lazy import make_callable
from ir_exec.report.numbers import format_count as counted
from ir_exec.report.text import wrap_words as wrapped

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
    "counted",
    "explain",
    "find_rule",
    "fix",
    "inert",
    "nearest_rule",
    "plain",
    "printable",
    "render",
    "render_diagnostic",
    "rule_of",
    "rules_page",
    "summary_line",
    "weight",
    "wrapped",
]

make_callable(__name__, "check_model")
