"""The options of commands that run a model with another engine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, TypeVar

import click

from ir_exec.cli.output.terminal import Unusable

__all__ = ["engine_arguments", "engine_options", "option_value"]

Command = TypeVar("Command", bound=Callable[..., Any])


def engine_options(command: Command) -> Command:
    """Add --engine, --provider and --engine-option; the argument `engine` contains the keywords of `compile_model`."""

    @click.option(
        "--engine",
        metavar="NAME",
        help="Engine for the layers that it supports: onnxruntime; auto: onnxruntime or the interpreter, by the times "
        "of the first calls.  [default: interpreter]",
    )
    @click.option(
        "--provider",
        "providers",
        multiple=True,
        metavar="NAME",
        help="With --engine: execution provider, preferred first: CUDAExecutionProvider or CUDA; repeatable.",
    )
    @click.option(
        "--engine-option",
        "options",
        multiple=True,
        metavar="NAME=VALUE",
        help="With --engine: option of the engine; repeatable.",
    )
    @wraps(command)
    def with_engine(
        *args: Any, engine: str | None, providers: tuple[str, ...], options: tuple[str, ...], **kwargs: Any
    ) -> Any:
        return command(*args, engine=engine_arguments(engine, providers, options), **kwargs)

    return with_engine  # type: ignore[return-value]  # its parameters are those of the options


def engine_arguments(engine: str | None, providers: Sequence[str], options: Sequence[str]) -> dict[str, Any]:
    """Return the keywords of `compile_model`; none without an engine."""
    if engine is None:
        if providers or options:
            raise Unusable("--provider and --engine-option require --engine NAME")
        return {}
    arguments: dict[str, Any] = {"engine": engine}
    if providers:
        arguments["providers"] = list(providers)
    if options:
        pairs = [text.partition("=") for text in options]
        wrong = next((text for text, (_, sign, _) in zip(options, pairs, strict=True) if not sign), None)
        if wrong is not None:
            raise Unusable(f"--engine-option is {wrong!r}, expected NAME=VALUE")
        arguments["options"] = {name: option_value(text) for name, _, text in pairs}
    return arguments


def option_value(text: str) -> bool | int | float | str:
    """Parse a number, true or false; return other texts unchanged."""
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    for number_type in (int, float):
        try:
            return number_type(text)
        except ValueError:
            continue
    return text
