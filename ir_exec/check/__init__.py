"""Checking: the rules, the passes that find what breaks them, and reports as data and as text."""

from ir_exec.check.check import check_model
from ir_exec.check.explain import explain, rules_page
from ir_exec.check.report import Demand, Diagnostic, Report, Reports, Requirement, Summary
from ir_exec.check.rules import GROUPS, RULES, Rule, find_rule
from ir_exec.check.text import LinesOf, Style, printable, render, render_diagnostic, summary_line

__all__ = [
    "GROUPS",
    "RULES",
    "Demand",
    "Diagnostic",
    "LinesOf",
    "Report",
    "Reports",
    "Requirement",
    "Rule",
    "Style",
    "Summary",
    "check_model",
    "explain",
    "find_rule",
    "printable",
    "render",
    "render_diagnostic",
    "rules_page",
    "summary_line",
]
