"""Registration of custom functions for operators of ONNX files, and for writing operators as ONNX."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from ir_exec.build import Value
from ir_exec.codes import Code
from ir_exec.errors import IRError
from ir_exec.onnx.export import registry as lowerings
from ir_exec.onnx.lowering.registry import register, unregister
from ir_exec.ops import Op

__all__ = ["onnx_lowering", "onnx_op", "unregister_onnx_lowering", "unregister_onnx_op"]

Function = TypeVar("Function", bound=Callable[..., Any])


def onnx_op(name: str, *, domain: str, since: int = 1) -> Callable[[Function], Function]:
    """Use a function for the operator `name` of a domain, in version `since` of the domain and later.

    The function builds the operator from layers of IR: it takes a `Value` for each input, and returns one, or a tuple
    of values, made by the functions of `ir_exec.build`. Parameters with a default are optional inputs of a node,
    `*inputs` is any number of inputs; keyword-only parameters are attributes, annotated with `int`, `float`, `bool`,
    `str`, `Ints`, `Floats` or `Strings` (or `tuple[int, ...]` and so on), and a default makes one optional. The
    function itself is returned unchanged.

    Models that were read before do not change.

    Raises:
        TypeError: For an operator that ir_exec supports, or that has a function for this version, and for a parameter
            with an annotation that is invalid for inputs and attributes.
    """

    def decorate(function: Function) -> Function:
        register(domain, name, since, _check_results(function, name))
        return function

    return decorate


def unregister_onnx_op(name: str, domain: str) -> None:
    """Remove the functions for the operator `name` of a `domain`, to allow others; KeyError if there is none."""
    unregister(domain, name)


def onnx_lowering(*classes: type[Op], opset: int = lowerings.OLDEST_OPSET) -> Callable[[Function], Function]:
    """Use a function to write custom operators as ONNX.

    The function takes an `ir_exec.onnx.export.node.ExportNode`, emits nodes, and returns the name of the output or a
    tuple of names: `return node.emit("Mul", node.inputs[0], node.constant(np.float32(node.op.factor)))`.

    Args:
        *classes: The classes of the operators that it writes.
        opset: The oldest opset of ONNX that it can write.

    Raises:
        TypeError: For an operator that has a lowering.
    """
    return lowerings.export(*classes, opset=opset)


def unregister_onnx_lowering(cls: type[Op]) -> None:
    """Remove the function that writes an operator as ONNX; KeyError if there is none."""
    lowerings.unregister(cls)


def _check_results(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    """Return a function that calls `function` and attributes its faults to it."""

    @wraps(function)
    def call(*inputs: Any, **attributes: Any) -> Any:
        hint = f"correct {function.__module__}.{function.__qualname__}, which is registered for {name}"
        try:
            result = function(*inputs, **attributes)
        except IRError:
            raise
        except Exception as error:
            message = f"{function.__name__} failed with {type(error).__name__}: {error}"
            raise IRError(message, code=Code.internal_error, hint=hint) from error
        for value in result if isinstance(result, (tuple, list)) else (result,):
            if not isinstance(value, Value):
                raise IRError(
                    f"{function.__name__} returned",
                    actual=type(value).__name__,
                    expected="a Value or a tuple of Values",
                    code=Code.internal_error,
                    hint=hint,
                )
        return result

    return call
