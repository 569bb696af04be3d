"""`ir-exec explain`: descriptions of findings."""

from __future__ import annotations

import click

from ir_exec.check import RULES, explain, find_rule, nearest_rule, rules_page, wrapped
from ir_exec.cli.options import complete_rules
from ir_exec.cli.terminal import Unusable, echo, styled, terminal_width


@click.command("explain")
@click.argument("rules", nargs=-1, metavar="[RULE]...", shell_complete=complete_rules)
@click.option("--page", is_flag=True, hidden=True, help="Print docs/rules.md.")
def command(rules: tuple[str, ...], page: bool) -> None:
    """Explain findings by code or name, or list all rules.

    Exit code: 0 on success, 2 for an unknown rule.
    """
    width = terminal_width()
    if page:
        click.echo(rules_page(), nl=False)
        return
    if not rules:
        for rule in RULES.values():
            head = f"{rule.severity:7}  {rule.name:26}"
            used = len(rule.code) + len(head) + 4
            lines = wrapped(rule.summary, width, used=used, indent=used if (width or 0) > 2 * used else 7)
            echo("\n".join([f"{styled(rule.severity, rule.code)}  {head}  {lines[0]}", *lines[1:]]))
        return
    for number, text in enumerate(rules):
        found = find_rule(text)
        if found is None:
            raise Unusable(f"there is no rule {text!r}{nearest_rule(text) or '; `ir-exec explain` lists all rules'}")
        head, _, rest = explain(found).partition("\n")
        lines = [line for text in rest.split("\n") for line in _fitting(text, width)]
        echo(("\n" if number else "") + styled("message", head) + "\n" + "\n".join(lines))


def _fitting(line: str, width: int | None) -> list[str]:
    """Wrap a line of prose to the terminal; indented lines (examples) are kept."""
    return [line] if line.startswith(" ") else wrapped(line, width, used=0, indent=0)
