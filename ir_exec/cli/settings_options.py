"""Options that decide whether the settings of the folder are used: --no-config and --trust."""

from __future__ import annotations

from typing import Any

import click

__all__ = ["add_no_config", "ignores_settings", "trust_option", "trusts_settings"]

_NO_CONFIG = "ir_exec.no_config"
_TRUST = "ir_exec.trust"


def _remember(context: click.Context, parameter: click.Parameter, value: Any) -> None:
    context.meta[f"ir_exec.{parameter.name}"] = bool(value)


_no_config = click.Option(
    ["--no-config"],
    is_flag=True,
    expose_value=False,
    callback=_remember,
    help="Do not read the settings, ir-exec.toml and pyproject.toml.",
)

trust_option = click.option(
    "--trust",
    is_flag=True,
    expose_value=False,
    callback=_remember,
    help="In CI, import the extensions of the settings.",
)
"""The option --trust of commands that import extensions."""


def add_no_config(command: click.Command) -> None:
    """Add --no-config to a command that lacks it."""
    if _no_config not in command.params:
        command.params.append(_no_config)


def ignores_settings() -> bool:
    """Return True if the command line has --no-config."""
    return _has(_NO_CONFIG)


def trusts_settings() -> bool:
    """Return True if the command line has --trust."""
    return _has(_TRUST)


def _has(name: str) -> bool:
    context = click.get_current_context(silent=True)
    return context is not None and bool(context.meta.get(name))
