"""The rules by code and name.

A harmless fault may be reported with a lower severity than its rule has, but never with a higher one.
"""

from __future__ import annotations

from ir_exec.check.catalogue import CATALOGUE
from ir_exec.check.rule import GROUPS, Rule
from ir_exec.codes import Code
from ir_exec.errors import Severity
from ir_exec.hints import closest_names, did_you_mean

__all__ = [
    "GROUPS",
    "RULES",
    "Rule",
    "find_rule",
    "lesser",
    "nearest_rule",
    "rule_of",
    "weight",
]

RULES: dict[str, Rule] = {rule.code: rule for rule in CATALOGUE}
"""Every rule by its code."""

_WEIGHTS: dict[Severity, int] = {"info": 0, "warning": 1, "error": 2}


def rule_of(code: str) -> Rule:
    """The rule with this code; IR000, a fault without a specific rule, for codes that are not in the catalogue."""
    return RULES.get(code, RULES[Code.unspecified])


def find_rule(text: str) -> Rule | None:
    """The rule with this code or name, in upper or lower case, with hyphens or underscores."""
    requested = text.strip().lower().replace("_", "-")
    return next((rule for rule in CATALOGUE if requested in (rule.code.lower(), rule.name)), None)


def nearest_rule(text: str) -> str:
    """Return `; did you mean declared-dims?` if the text is similar to the name of a rule, else an empty string."""
    hint = did_you_mean(closest_names(text.strip().replace("_", "-"), [rule.name for rule in CATALOGUE]))
    return f"; {hint}" if hint else ""


def lesser(a: Severity, b: Severity) -> Severity:
    """The lower of two severities."""
    return min(a, b, key=weight)


def weight(severity: Severity) -> int:
    """Return a number that increases with the severity, for sorting and comparison."""
    return _WEIGHTS[severity]
