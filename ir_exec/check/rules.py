"""The rules by code and name, and as text: one rule for the command line, all rules as a page of the documentation.

A harmless fault may be reported with a lower severity than its rule has, but never with a higher one.
"""

from __future__ import annotations

from collections.abc import Iterator

from ir_exec.check.catalogue import CATALOGUE
from ir_exec.check.rule import GROUPS, Rule
from ir_exec.codes import Code
from ir_exec.errors import Severity
from ir_exec.hints import closest_names, did_you_mean

__all__ = [
    "GROUPS",
    "RULES",
    "Rule",
    "explain",
    "find_rule",
    "lesser",
    "nearest_rule",
    "rule_of",
    "rules_page",
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


_OF_CALLS = "Calls and runs raise this code; `check` does not report it for files."

_HEAD = """\
# Rules of `ir-exec check`

Each finding has a code and a name, which never change their meaning; the first digit of the code is the group.
`ir-exec explain IR601` prints the section of a rule. `ir-exec explain --page` writes this page.
"""


def explain(rule: Rule) -> str:
    """Return the meaning of a rule, the consequences of a fault, and an example."""
    parts = [f"{rule.code} {rule.name} ({rule.severity})", rule.summary, rule.why]
    parts += [f"Wrong:\n{_indent(rule.bad)}", f"Right:\n{_indent(rule.good)}"]
    parts += [] if rule.in_files else [_OF_CALLS]
    parts += [f"Since ir_exec {rule.code.since}."]
    return "\n\n".join(parts)


def rules_page() -> str:
    """Return all rules as Markdown."""
    return "\n".join([_HEAD, *_index(), *_sections()])


def _index() -> Iterator[str]:
    yield "| code | name | severity | since | meaning |"
    yield "|---|---|---|---|---|"
    for rule in RULES.values():
        link = f"[{rule.code}](#{rule.code.lower()})"
        yield f"| {link} | {rule.name} | {rule.severity} | {rule.code.since} | {rule.summary} |"
    yield ""


def _sections() -> Iterator[str]:
    group = ""
    for rule in RULES.values():
        if rule.group != group:
            group = rule.group
            yield f"## {rule.code[2]} {group}\n"
        yield f'<a id="{rule.code.lower()}"></a>\n\n### {rule.code} {rule.name} ({rule.severity})\n'
        yield f"{rule.summary} {rule.why}\n"
        if not rule.in_files:
            yield f"{_OF_CALLS}\n"
        yield f"Wrong:\n\n```text\n{rule.bad}\n```\n"
        yield f"Right:\n\n```text\n{rule.good}\n```\n"


def _indent(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.split("\n"))
