"""`ir-exec explain`: what a finding means."""

from __future__ import annotations

import click

from ir_exec.check import RULES, explain, find_rule, nearest_rule, rules_page
from ir_exec.cli.completion import complete_rules
from ir_exec.cli.terminal import Unusable, echo, styled


@click.command("explain")
@click.argument("rules", nargs=-1, metavar="[RULE]...", shell_complete=complete_rules)
@click.option("--page", is_flag=True, hidden=True, help="Print docs/rules.md.")
def command(rules: tuple[str, ...], page: bool) -> None:
    """Explain findings by their codes or names, or list all rules.

    Exit code: 0 when they were explained, 2 for a rule that does not exist.
    """
    if page:
        click.echo(rules_page(), nl=False)
        return
    if not rules:
        for rule in RULES.values():
            echo(f"{styled(rule.severity, rule.code)}  {rule.severity:7}  {rule.name:26}  {rule.summary}")
        return
    for number, text in enumerate(rules):
        found = find_rule(text)
        if found is None:
            raise Unusable(f"there is no rule {text!r}{nearest_rule(text) or '; `ir-exec explain` lists all'}")
        head, _, rest = explain(found).partition("\n")
        echo(("\n" if number else "") + styled("message", head) + "\n" + rest)
