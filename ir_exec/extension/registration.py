"""Registration of custom classes for the layers of a type and version."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from types import new_class
from typing import Any, TypeVar

import numpy as np

from ir_exec.codes import Code
from ir_exec.errors import EvaluationError, IRError
from ir_exec.ops.base import Op
from ir_exec.ops.base.operator import check_contract
from ir_exec.ops.base.registry import register_extension, unregister_extension
from ir_exec.types import Array, ElementType, OpenShapeError, Shape, TensorType

__all__ = ["register_op", "unregister_op"]

Class = TypeVar("Class", bound=type[Op])


def register_op(type_name: str, *, version: str) -> Callable[[Class], Class]:
    """Use a class for all layers of a type and version.

    `version` has the spelling of the file; upper and lower case are equal in `type_name`.

    Returned values are checked in every run: `infer` must return TensorTypes, and `evaluate` arrays that fit them. The
    class itself is returned unchanged, and can be tested separately.

    Models that were read before do not change.

    Raises:
        TypeError: For a class that is not an Op, methods that do not accept its inputs, a field with a type that is
            invalid for attributes, and a type and version of OpenVINO or of another class.
    """

    def decorate(cls: Class) -> Class:
        if not (isinstance(cls, type) and issubclass(cls, Op)):
            raise TypeError(f"{cls!r} is not a subclass of ir_exec.Op")
        for method in ("infer", "evaluate"):
            if not hasattr(getattr(cls, method, None), "__code__"):
                raise TypeError(f"{cls.__name__} has no method {method}")
        register_extension(_checked_class(cls, type_name), type_name, version)
        return cls

    return decorate


def unregister_op(type_name: str, version: str) -> None:
    """Remove the class for `type_name` and version, to allow another one; KeyError if there is none."""
    unregister_extension(type_name, version)


def _checked_class(cls: type[Op], type_name: str) -> type[Op]:
    """Return a subclass that checks the results of the methods of `cls`; `cls` itself is unchanged."""
    names = {"__module__": cls.__module__, "__doc__": cls.__doc__}
    checked: type[Op] = new_class(cls.__name__, (cls,), exec_body=lambda namespace: namespace.update(names))
    # The contract applies to the methods of the author, so it is checked before they are wrapped.
    check_contract(checked, type_name)
    try:
        checked.fields()
    except NameError as error:
        raise TypeError(f"the annotations of {cls.__name__} cannot be read: {error}") from None
    _check_names(checked)
    checked.infer = _checked_infer(cls.infer)
    checked.evaluate = _checked_evaluate(cls.evaluate)
    return checked


def _check_names(cls: type[Op]) -> None:
    """Raise TypeError if facts name inputs or attributes that the class does not have."""
    inputs = {declared.name for declared in cls.inputs}
    facts = (cls.term_inputs, cls.subtracted_inputs, cls.moved_inputs, cls.arranging_inputs, cls.sized_by)
    # A property names inputs of one layer, according to its attributes.
    names = {name for fact in facts if not isinstance(fact, property) for name in fact} - inputs
    for declared in cls.inputs:
        if declared.domain is not None:
            names |= {*declared.domain.names()} - inputs - {field.name for field in cls.fields()}
    if names:
        raise TypeError(f"{cls.__name__} has no inputs or attributes {', '.join(sorted(names))}")


def _checked_infer(infer: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(infer)
    def call(self: Op, *types: TensorType, **context: Any) -> Any:
        name = type(self).__name__
        hint = f"correct the class {name}, which is registered for {self.type_name}"
        try:
            result = infer(self, *types, **context)
        except Exception as error:
            if isinstance(error, IRError) and not isinstance(error, OpenShapeError):
                raise
            message = f"{name}.infer failed with {type(error).__name__}: {error}"
            raise IRError(message, code=Code.internal_error, hint=hint) from error
        for output_type in result if isinstance(result, tuple) else (result,):
            if not isinstance(output_type, TensorType):
                raise IRError(
                    f"{name}.infer returned",
                    actual=type(output_type).__name__,
                    expected="a TensorType or a tuple of TensorTypes",
                    code=Code.internal_error,
                    hint=hint,
                )
        return result

    return call


def _checked_evaluate(evaluate: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(evaluate)
    def call(self: Op, *arrays: Array, **context: Any) -> Any:
        result = evaluate(self, *arrays, **context)
        inference_context = {name: value for name, value in context.items() if name in self.infer_context}
        types = self.infer(*[TensorType.of(array) for array in arrays], **inference_context)
        if not isinstance(result, tuple):
            return _fitting(self, result, types[0] if isinstance(types, tuple) else types)
        kinds = types if isinstance(types, tuple) else (types,)
        if len(kinds) > len(result):
            raise EvaluationError(
                f"{type(self).__name__} returned", actual=len(result), detail="outputs", expected=len(kinds)
            )
        # The last type applies to all further outputs of an operator with an unknown number of outputs.
        kinds += kinds[-1:] * (len(result) - len(kinds))
        return tuple([_fitting(self, output, expected) for output, expected in zip(result, kinds, strict=True)])

    return call


def _fitting(op: Op, output: Any, expected: TensorType) -> Array:
    """Return the output as an array of the type that `infer` returned, because later layers rely on it."""
    array = np.asarray(output)
    try:
        actual = TensorType(ElementType.of(array), Shape(array.shape))
    except ValueError as error:
        raise EvaluationError(f"{type(op).__name__}.evaluate returned {type(output).__name__}: {error}") from None
    if expected.element_type not in (actual.element_type, ElementType.dynamic) or expected.shape & actual.shape is None:
        raise EvaluationError(f"{type(op).__name__}.evaluate returned {actual}, but its infer returned {expected}")
    return array
