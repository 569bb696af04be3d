"""The options of commands that let another engine run a network."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, TypeVar

import click

from ir_exec.cli.terminal import Unusable

__all__ = ["engine_arguments", "engine_options", "option_value"]

Command = TypeVar("Command", bound=Callable[..., Any])


def engine_options(command: Command) -> Command:
    """--engine, --provider and --engine-option, whose argument `engine` are keywords of `compile_model`."""

    @click.option(
        "--engine", metavar="NAME", help="What runs the layers that it can, onnxruntime; others are interpreted."
    )
    @click.option(
        "--provider",
        "providers",
        multiple=True,
        metavar="NAME",
        help="For --engine: what it is to use, best first, as CUDAExecutionProvider or CUDA; repeatable.",
    )
    @click.option(
        "--engine-option", "options", multiple=True, metavar="NAME=VALUE", help="For --engine: a setting; repeatable."
    )
    @wraps(command)
    def with_engine(
        *args: Any, engine: str | None, providers: tuple[str, ...], options: tuple[str, ...], **kwargs: Any
    ) -> Any:
        return command(*args, engine=engine_arguments(engine, providers, options), **kwargs)

    return with_engine  # type: ignore[return-value]  # click takes the place of the annotations


def engine_arguments(engine: str | None, providers: Sequence[str], options: Sequence[str]) -> dict[str, Any]:
    """The keywords of `compile_model`, none without an engine."""
    if engine is None:
        if providers or options:
            raise Unusable("--provider and --engine-option go with --engine NAME")
        return {}
    found: dict[str, Any] = {"engine": engine}
    if providers:
        found["providers"] = list(providers)
    if options:
        pairs = [text.partition("=") for text in options]
        wrong = next((text for text, (_, sign, _) in zip(options, pairs, strict=True) if not sign), None)
        if wrong is not None:
            raise Unusable(f"--engine-option {wrong!r}: expected NAME=VALUE")
        found["options"] = {name: option_value(text) for name, _, text in pairs}
    return found


def option_value(text: str) -> bool | int | float | str:
    """What a text on the command line stands for: a number, true or false, or itself."""
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
