"""Operators of your own: what an author of one needs, in one place.

    from ir_exec.extension import FLOAT, Array, In, Op, TensorType, register_op

    @register_op("Scale", version="extension")
    class Scale(Op):
        inputs = (In("data", types=FLOAT),)

        factor: float = 1.0

        def infer(self, data: TensorType) -> TensorType:
            return data.without_values()

        def evaluate(self, data: Array) -> Array:
            return (data * self.factor).astype(data.dtype)

A layer `<layer type="Scale" version="extension"><data factor="2"/>...` then is checked and run like any other.
`Op` and the module `ir_exec.ops.base` say what a class declares; docs/extensions.md tells it at length.

Fields are the attributes of `<data>`: `int`, `float`, `bool`, `str` and Literals of texts, or the types of attributes
below. What `infer` finds wrong it raises as ShapeError or ElementTypeError, `evaluate` as EvaluationError. What begins
with `known`, `merge`, `normalize` and `require` are the parts of ir_exec's own shape rules.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import numpy as np

from ir_exec.codes import Code
from ir_exec.errors import ElementTypeError, EvaluationError, IRError, ShapeError
from ir_exec.ops.base import In, Op
from ir_exec.ops.base.attributes import (
    LOWER,
    Bool,
    ElementTypeName,
    Float,
    Floats,
    Int,
    Ints,
    Named,
    NonNegative,
    NonNegatives,
    Positive,
    Positives,
    ShapeText,
)
from ir_exec.ops.base.operator import check_contract
from ir_exec.ops.base.registry import register_extension, unregister_extension
from ir_exec.ops.base.shapes import (
    broadcast_shapes,
    known_axes,
    known_int,
    known_ints,
    known_shape,
    merge_dims,
    merge_shapes,
    normalize_axes,
    normalize_axis,
    require_one_element,
    require_rank,
)
from ir_exec.types import (
    ALL,
    BOOLEAN,
    FLOAT,
    INDEX,
    INTEGER,
    NUMERIC,
    SIGNED,
    STRING,
    Array,
    Dim,
    ElementType,
    Shape,
    TensorType,
    convert,
    element_types,
)

__all__ = [
    "ALL",
    "BOOLEAN",
    "FLOAT",
    "INDEX",
    "INTEGER",
    "LOWER",
    "NUMERIC",
    "SIGNED",
    "STRING",
    "Array",
    "Bool",
    "Dim",
    "ElementType",
    "ElementTypeError",
    "ElementTypeName",
    "EvaluationError",
    "Float",
    "Floats",
    "In",
    "Int",
    "Ints",
    "Named",
    "NonNegative",
    "NonNegatives",
    "Op",
    "Positive",
    "Positives",
    "Shape",
    "ShapeError",
    "ShapeText",
    "TensorType",
    "broadcast_shapes",
    "convert",
    "element_types",
    "known_axes",
    "known_int",
    "known_ints",
    "known_shape",
    "merge_dims",
    "merge_shapes",
    "normalize_axes",
    "normalize_axis",
    "register_op",
    "require_one_element",
    "require_rank",
    "unregister_op",
]

Class = TypeVar("Class", bound=type[Op])


def register_op(type_name: str, *, version: str) -> Callable[[Class], Class]:
    """Let a class stand for all layers of this `type` and `version`, as the file spells them; types ignore case.

    What the class gives is checked in every run: `infer` must return TensorTypes, and `evaluate` arrays that fit them.

    Raises TypeError for a class that is no Op, whose methods do not take its inputs, or of whose fields one has no type
    for an attribute; and for a type and version that OpenVINO has, or another class. Networks that were read before
    do not change.
    """

    def decorate(cls: Class) -> Class:
        if not (isinstance(cls, type) and issubclass(cls, Op)):
            raise TypeError(f"{cls!r} is no subclass of ir_exec.Op")
        for method in ("infer", "evaluate"):
            # A class that is registered twice, or inherits from one that is, has methods that are checked already.
            function = getattr(getattr(cls, method, None), "unchecked", getattr(cls, method, None))
            if not hasattr(function, "__code__"):
                raise TypeError(f"{cls.__name__} has no method {method}")
            setattr(cls, method, function)
        check_contract(cls, type_name)
        cls.infer = _checked_infer(cls.infer)
        cls.evaluate = _checked_evaluate(cls.evaluate)
        try:
            cls.fields()
        except NameError as error:
            raise TypeError(f"the annotations of {cls.__name__} cannot be read: {error}") from None
        register_extension(cls, type_name, version)
        return cls

    return decorate


def unregister_op(type_name: str, version: str) -> None:
    """Forget the class for this type and version, so that another can take its place; KeyError where there is none."""
    unregister_extension(type_name, version)


def _checked_infer(infer: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(infer)
    def checked(self: Op, *types: TensorType, **context: Any) -> Any:
        name = type(self).__name__
        hint = f"this is a fault of the class {name}, which is registered for {self.type_name}"
        try:
            result = infer(self, *types, **context)
        except IRError:
            raise
        except Exception as error:
            message = f"{name}.infer failed with {type(error).__name__}: {error}"
            raise IRError(message, code=Code.internal_error, hint=hint) from error
        for one in result if isinstance(result, tuple) else (result,):
            if not isinstance(one, TensorType):
                message = f"{name}.infer returned {type(one).__name__}, expected TensorType or a tuple of them"
                raise IRError(message, code=Code.internal_error, hint=hint)
        return result

    return _with_original(checked, infer)


def _checked_evaluate(evaluate: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(evaluate)
    def checked(self: Op, *arrays: Array, **context: Any) -> Any:
        result = evaluate(self, *arrays, **context)
        around = {name: value for name, value in context.items() if name in self.infer_context}
        types = self.infer(*[TensorType.of(array) for array in arrays], **around)
        if not isinstance(result, tuple):
            return _fitting(self, result, types[0] if isinstance(types, tuple) else types)
        kinds = types if isinstance(types, tuple) else (types,)
        if len(kinds) > len(result):
            raise EvaluationError(f"{type(self).__name__} gave {len(result)} outputs, and inferred {len(kinds)}")
        # The last type stands for all further outputs where an operator cannot tell their number.
        kinds += kinds[-1:] * (len(result) - len(kinds))
        return tuple([_fitting(self, output, kind) for output, kind in zip(result, kinds, strict=True)])

    return _with_original(checked, evaluate)


def _with_original(checked: Any, function: Callable[..., Any]) -> Callable[..., Any]:
    checked.unchecked = function
    result: Callable[..., Any] = checked
    return result


def _fitting(op: Op, output: Any, kind: TensorType) -> Array:
    """The output as an array; what comes behind it trusts that it is what `infer` says."""
    array = np.asarray(output)
    try:
        found = TensorType(ElementType.of(array), Shape(array.shape))
    except ValueError as error:
        raise EvaluationError(f"{type(op).__name__}.evaluate gave {type(output).__name__}: {error}") from None
    if kind.element_type not in (found.element_type, ElementType.dynamic) or kind.shape & found.shape is None:
        raise EvaluationError(f"{type(op).__name__}.evaluate gave {found}, its infer says {kind}")
    return array
