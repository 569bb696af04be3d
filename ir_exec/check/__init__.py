"""Checking: the rules, the passes that find what breaks them, and reports as data and as text."""

from ir_exec.check.check import check_model
from ir_exec.check.report import Diagnostic, Report, Reports, Summary
from ir_exec.check.rules import GROUPS, RULES, Rule
from ir_exec.check.text import LinesOf, Style, printable, render, render_diagnostic, summary_line

__all__ = [
    "GROUPS",
    "RULES",
    "Diagnostic",
    "LinesOf",
    "Report",
    "Reports",
    "Rule",
    "Style",
    "Summary",
    "check_model",
    "printable",
    "render",
    "render_diagnostic",
    "summary_line",
]
