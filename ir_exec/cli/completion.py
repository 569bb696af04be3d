"""What shells complete: rules, operators and releases; paths are completed by the type of their parameter."""

from __future__ import annotations

import click
from click.shell_completion import CompletionItem

__all__ = ["complete_operators", "complete_releases", "complete_rules"]


def complete_rules(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Codes, names and groups; a list goes on behind its last comma."""
    from ir_exec.check import GROUPS, RULES

    before, comma, last = incomplete.rpartition(",")
    wanted = last.lower()
    summaries = {
        **{rule.name: rule.summary for rule in RULES.values()},
        **{str(rule.code): rule.summary for rule in RULES.values()},
        **{group.replace(" ", "-"): f"the rules IR{number}.." for number, group in GROUPS.items()},
    }
    return [
        CompletionItem(f"{before}{comma}{name}", help=summary)
        for name, summary in summaries.items()
        if name.lower().startswith(wanted)
    ]


def complete_operators(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Types, and behind a hyphen their versions: `Gather`, `Gather-8`."""
    from ir_exec.cli.listing import name_of
    from ir_exec.ops import registered

    classes = registered()
    names = dict.fromkeys(name_of(cls) if "-" in incomplete else cls.type_name for cls in classes)
    return [CompletionItem(name) for name in names if name.lower().startswith(incomplete.lower())]


def complete_releases(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The releases of OpenVINO at which something became readable."""
    from ir_exec.check.releases import known_releases

    return [CompletionItem(str(one)) for one in known_releases() if str(one).startswith(incomplete)]
