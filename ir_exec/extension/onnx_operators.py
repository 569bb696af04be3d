"""Registering a function of a user for an operator of ONNX files."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from ir_exec.build import Value
from ir_exec.codes import Code
from ir_exec.errors import IRError
from ir_exec.onnx.registry import register, unregister

__all__ = ["onnx_op", "unregister_onnx_op"]

Function = TypeVar("Function", bound=Callable[..., Any])


def onnx_op(name: str, *, domain: str, since: int = 1) -> Callable[[Function], Function]:
    """Use a function for the operator `name` of a domain, from version `since` of the domain on.

    The function says the operator in layers of IR: it takes a `Value` for each input, and returns one, or a tuple of
    them, made by the functions of `ir_exec.build`. Parameters with a default are inputs that a node may leave out,
    `*inputs` is any number of them; keyword-only parameters are attributes, annotated with `int`, `float`, `bool`,
    `str`, `Ints`, `Floats` or `Strings` (or `tuple[int, ...]` and so on), and a default makes one optional.
    The function itself stays as it was written.

    Raises TypeError for an operator that ir_exec has, or has a function from this version on; and for a parameter
    whose annotation no input or attribute has. Models that were read before do not change.
    """

    def decorate(function: Function) -> Function:
        register(domain, name, since, _checked(function, name))
        return function

    return decorate


def unregister_onnx_op(name: str, domain: str) -> None:
    """Forget the functions for the operator `name` of a `domain`, so that others can take their place; KeyError if
    there is none."""
    unregister(domain, name)


def _checked(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    """The function, whose faults are told as its own."""

    @wraps(function)
    def checked(*inputs: Any, **attributes: Any) -> Any:
        hint = f"this is a fault of {function.__module__}.{function.__qualname__}, which is registered for {name}"
        try:
            result = function(*inputs, **attributes)
        except IRError:
            raise
        except Exception as error:
            message = f"{function.__name__} failed with {type(error).__name__}: {error}"
            raise IRError(message, code=Code.internal_error, hint=hint) from error
        for one in result if isinstance(result, (tuple, list)) else (result,):
            if not isinstance(one, Value):
                message = f"{function.__name__} returned {type(one).__name__}, expected a Value or a tuple of them"
                raise IRError(message, code=Code.internal_error, hint=hint)
        return result

    return checked
