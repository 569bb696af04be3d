"""The rules by their codes, and in words: one for the command line, all of them as a page of documentation.

A fault may be reported with a lower severity than its rule has, where the code that found it knows that nothing breaks,
but never with a higher one.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator

from ir_exec.check.catalogue import CATALOGUE
from ir_exec.check.rule import GROUPS, Rule
from ir_exec.codes import Code
from ir_exec.errors import Severity

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
    """The rule with this code; IR000, a fault without a rule of its own, for codes that are not in the catalogue."""
    return RULES.get(code, RULES[Code.unspecified])


def find_rule(text: str) -> Rule | None:
    """The rule with this code or name, in upper or lower case, with hyphens or underscores."""
    wanted = text.strip().lower().replace("_", "-")
    return next((rule for rule in CATALOGUE if wanted in (rule.code.lower(), rule.name)), None)


def nearest_rule(text: str) -> str:
    """`; did you mean declared-dims?`, where the text is like the name of a rule; else empty."""
    near = difflib.get_close_matches(text.strip().lower().replace("_", "-"), [rule.name for rule in CATALOGUE], n=1)
    return f"; did you mean {near[0]}?" if near else ""


def lesser(a: Severity, b: Severity) -> Severity:
    """The milder of two severities."""
    return min(a, b, key=weight)


def weight(severity: Severity) -> int:
    """A number that grows with the severity, to sort and compare by."""
    return _WEIGHTS[severity]


_OF_CALLS = "Errors of calls and runs have this code; `check` does not find it in files."

_HEAD = """\
# Rules of `ir-exec check`

Each finding has a code and a name, which never change their meaning; the first digit of the code is the group.
`ir-exec explain IR601` prints what stands here. This page is made by `ir-exec explain --page`.
"""


def explain(rule: Rule) -> str:
    """What the rule means, why it matters, and an example."""
    parts = [f"{rule.code} {rule.name} ({rule.severity})", rule.summary, rule.why]
    parts += [f"Wrong:\n{_indented(rule.bad)}", f"Right:\n{_indented(rule.good)}"]
    parts += [] if rule.in_files else [_OF_CALLS]
    parts += [f"Since ir_exec {rule.code.since}."]
    return "\n\n".join(parts)


def rules_page() -> str:
    """Every rule, as Markdown."""
    return "\n".join([_HEAD, *_index(), *_sections()])


def _index() -> Iterator[str]:
    yield "| code | name | severity | since | what it means |"
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


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.split("\n"))
