"""The rules as text: one rule for the command line, all rules as a page of the documentation."""

from __future__ import annotations

from collections.abc import Iterator

from ir_exec.check.rule import Rule
from ir_exec.check.rules import RULES

__all__ = ["explain", "rules_page"]

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
