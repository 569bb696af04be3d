"""`ir-exec explain`: descriptions of findings."""

from __future__ import annotations

from collections.abc import Iterable

import click

from ir_exec.check import RULES, Rule, code_prefix, explain, find_rule, nearest_rule, rules_page
from ir_exec.cli.options import complete_rules
from ir_exec.cli.output.terminal import Unusable, echo, style_text, terminal_width, write
from ir_exec.report.text import wrap_words


@click.command("explain")
@click.argument("rules", nargs=-1, metavar="[RULE]...", shell_complete=complete_rules)
@click.option("--page", is_flag=True, hidden=True, help="Print docs/rules.md.")
def command(rules: tuple[str, ...], page: bool) -> None:
    """Explain findings by code or name, or list all rules.

    A group of rules, such as IR6 or shapes, is listed.

    Exit code: 0 on success, 2 for an unknown rule.
    """
    width = terminal_width()
    if page:
        write(rules_page(), nl=False)
        return
    if not rules:
        _show_list(RULES.values(), width)
        return
    for number, text in enumerate(rules):
        if number:
            echo("")
        rule = find_rule(text)
        if rule is None:
            _show_list(_rules_of_group(text), width)
        else:
            _show_rule(rule, width)


def _rules_of_group(text: str) -> list[Rule]:
    """Return the rules of a group, by its name or by the start of their codes.

    Raises:
        Unusable: If there are none.
    """
    try:
        prefix = code_prefix(text)
    except ValueError:
        prefix = ""
    rules = [rule for rule in RULES.values() if prefix and rule.code.startswith(prefix)]
    if not rules:
        raise Unusable(f"there is no rule {text!r}{nearest_rule(text) or '; `ir-exec explain` lists all rules'}")
    return rules


def _show_list(rules: Iterable[Rule], width: int | None) -> None:
    """Print a line for each rule."""
    for rule in rules:
        head = f"{rule.severity:7}  {rule.name:26}"
        used = len(rule.code) + len(head) + 4
        lines = wrap_words(rule.summary, width, used=used, indent=used if (width or 0) > 2 * used else 7)
        echo("\n".join([f"{style_text(rule.severity, rule.code)}  {head}  {lines[0]}", *lines[1:]]))


def _show_rule(rule: Rule, width: int | None) -> None:
    head, _, remainder = explain(rule).partition("\n")
    lines = [line for text in remainder.split("\n") for line in _fitting(text, width)]
    echo(style_text("message", head) + "\n" + "\n".join(lines))


def _fitting(line: str, width: int | None) -> list[str]:
    """Wrap a line of prose to the terminal; indented lines (examples) are kept."""
    return [line] if line.startswith(" ") else wrap_words(line, width, used=0, indent=0)
