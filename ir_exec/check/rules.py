"""The rules by their codes.

A code never changes its meaning. Its first digit is the group. A fault may be reported with less than the severity of
its rule, where the place that found it knows that nothing breaks there, and never with more.
"""

from __future__ import annotations

from ir_exec.check.catalogue import CATALOGUE
from ir_exec.check.rule import GROUPS, Rule
from ir_exec.codes import Code
from ir_exec.errors import Severity

__all__ = ["GROUPS", "RULES", "Rule", "find_rule", "lesser", "rule_of"]

RULES: dict[str, Rule] = {rule.code: rule for rule in CATALOGUE}
"""Every rule by its code."""

_WEIGHT: dict[Severity, int] = {"info": 0, "warning": 1, "error": 2}


def rule_of(code: str) -> Rule:
    """The rule of a code; a code that is not in the catalogue is a fault without a rule of its own."""
    return RULES.get(code, RULES[Code.unspecified])


def find_rule(text: str) -> Rule | None:
    """The rule that someone means by its code or its name, however they write it."""
    wanted = text.strip().lower().replace("_", "-")
    return next((rule for rule in CATALOGUE if wanted in (rule.code.lower(), rule.name)), None)


def lesser(a: Severity, b: Severity) -> Severity:
    """The milder of two severities."""
    return min(a, b, key=_WEIGHT.__getitem__)
