"""Element-wise operators: their base classes, and the functions that declare most of them in one line each.

    Sqrt = unary("Sqrt", np.sqrt, "output = √data; NaN for negative data.", page="arithmetic/sqrt-1")

`kernels/elementwise.py` defines the types they are computed in.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from math import prod
from typing import Annotated, Any, ClassVar

import numpy as np

from ir_exec.kernels.elementwise import (
    Function,
    apply_elementwise,
    apply_real,
    clip_elements,
    of_copy,
    sigmoid,
    sigmoid_of,
    working_dtype,
)
from ir_exec.kernels.precision import CALCULABLE
from ir_exec.ops.base.attributes import LOWER, Int, Named
from ir_exec.ops.base.dims import element_type_of
from ir_exec.ops.base.facts import ROUNDED, Accuracy, Steps
from ir_exec.ops.base.inputs import Domain, In
from ir_exec.ops.base.operator import Op
from ir_exec.ops.base.registry import op
from ir_exec.ops.base.shapes import Broadcasting, align_pdpd, broadcast_shapes
from ir_exec.ops.base.variants import Kernel, KernelRequest, variant
from ir_exec.tuning import thresholds
from ir_exec.types import BOOLEAN, FLOAT, Array, ElementType, Shape, TensorType

__all__ = [
    "AutoBroadcast",
    "Binary",
    "Unary",
    "binary",
    "clip_kernel",
    "is_own_type",
    "is_small",
    "real_kernel",
    "unary",
]

_UNARY_DOCSTRING = """{doc}

Specification: {page}.

Inputs:
    data: Any shape, any {kind} type.

Outputs:
    output: Like data.
"""

_BINARY_DOCSTRING = """{doc}

Specification: {page}.

Inputs:
    a: Any shape, any {kind} type.
    b: The element type of a, a shape that broadcasts with the shape of a.

Outputs:
    output: {output}, the shape that a and b broadcast to.
"""


class Unary(Op):
    """The base of operators of one input, whose output has its shape and element type."""

    inputs = (In("data", types=CALCULABLE),)
    is_elementwise = True

    def infer(self, data: TensorType) -> TensorType:
        return data.without_values()


def unary(
    type_name: str,
    function: Function,
    doc: str,
    *,
    page: str,
    since: int = 1,
    types: frozenset[ElementType] = CALCULABLE,
    of_integers: Function | None = None,
    is_increasing: bool = False,
    is_monotone: bool = False,
    is_discontinuous: bool = False,
    accuracy: Accuracy = ROUNDED,
    limits: tuple[float, ...] = (),
    steps: Steps | None = None,
    domain: Domain | None = None,
) -> type[Op]:
    """Register an operator that applies `function` to every element of its input, and return its class.

    Args:
        function: Takes real numbers; integers are converted to f64 for it.
        doc: The formula.
        page: The page of the specification.
        types: The element types of the input.
        of_integers: Applied to integers instead, in their own type.
        is_increasing: `increasing_in` or `monotone` of Op names the input.
        is_monotone: `increasing_in` or `monotone` of Op names the input.
        is_discontinuous: As in Op.
        accuracy: As in Op.
        limits: As in Op.
        steps: As in Op.
        domain: The elements for which the function is defined; None for all.
    """
    has_steps = is_discontinuous
    declared_accuracy, declared_limits, declared_steps = accuracy, limits, steps

    class UnaryOperator(Unary):
        __doc__ = _UNARY_DOCSTRING.format(doc=doc, page=page, kind=_kind_of(types))

        inputs = (In("data", types=types, domain=domain),)
        increasing_in = ("data",) if is_increasing else ()
        monotone = ("data",) if is_monotone else ()
        saturates = is_monotone
        inplace_inputs = ("data",)
        is_discontinuous = has_steps
        accuracy = declared_accuracy
        limits = declared_limits
        steps = declared_steps

        def evaluate(self, data: Array, *, out: Array | None = None) -> Array:
            if of_integers is not None and ElementType.of(data).is_integer:
                return apply_elementwise(of_integers, data, out=out)
            return apply_real(function, data, out)

        def kernel(self, *types: TensorType, unread: frozenset[str] = frozenset()) -> Callable[..., Any]:
            return real_kernel(function, types[0], self.evaluate)

    return _register(UnaryOperator, type_name, since)


def _one_word_for_none(text: str) -> str:
    return "none" if text == "explicit" else text


AutoBroadcast = Annotated[Broadcasting, LOWER, _one_word_for_none]
"""The mode of broadcasting; "explicit", OpenVINO's synonym for "none", is converted to it."""


class Binary(Op):
    """The base of operators of two inputs of one element type that are broadcast together; the output has that type.

    Source: the page broadcast-rules.

    Attributes:
        auto_broadcast: `numpy`, `none` (the shapes are equal; `explicit` is a synonym), or `pdpd`: the first dim of b
            is aligned with dim `axis` of a.
        axis: For `pdpd`; -1 aligns the last dim of b with the last of a. The default is 0, as in OpenVINO; the
            specification declares -1.

    Raises:
        IRError: IR501 and IR502 for shapes that differ with `none`, IR504 for shapes that do not broadcast, IR503 for
            an axis that a does not have.
    """

    inputs = (In("a", types=CALCULABLE), In("b", types=CALCULABLE, like="a"))
    is_elementwise = True
    inplace_inputs: ClassVar[tuple[str, ...]] = ("a", "b")
    function: ClassVar[Function]

    auto_broadcast: AutoBroadcast = "numpy"
    axis: Annotated[Int, Named("auto_broadcast.auto_broadcast_axis")] = 0

    def infer(self, a: TensorType, b: TensorType) -> TensorType:
        shape = broadcast_shapes(a.shape, b.shape, self.auto_broadcast, self.axis)
        return TensorType(element_type_of((a, b)), shape)

    def evaluate(self, a: Array, b: Array, *, out: Array | None = None) -> Array:
        return apply_elementwise(type(self).function, a, self.align(a, b), out=out)

    def plain_function(self, a: TensorType, b: TensorType) -> Function | None:
        """The function that is all of `evaluate` for aligned inputs of these types; None if there is more to do."""
        return type(self).function if type(self).evaluate is Binary.evaluate else None

    def align(self, a: Array, b: Array) -> Array:
        """b reshaped for NumPy's broadcasting with a according to `auto_broadcast`."""
        return align_pdpd(b, a.ndim, self.axis) if self.auto_broadcast == "pdpd" else b


def _is_plain(op: Binary, request: KernelRequest) -> bool:
    types = request.types
    is_ufunc = isinstance(op.plain_function(*types), np.ufunc) and is_own_type(types[0])
    return is_ufunc and op.auto_broadcast != "pdpd"


def _are_scalars(op: Binary, request: KernelRequest) -> bool:
    return all(type.rank == 0 for type in request.types) and _is_plain(op, request)


def _are_small(op: Binary, request: KernelRequest) -> bool:
    return not _are_scalars(op, request) and _is_plain(op, request) and is_small(*request.types)


@variant(Binary, name="scalars", applies=_are_scalars, cost=0.5, why="Two scalars: NumPy's function makes an array.")
def _scalars(op: Binary, request: KernelRequest) -> Kernel:
    function = op.plain_function(*request.types)
    assert isinstance(function, np.ufunc), "the variant requires a ufunc"
    return _of_scalars(function, op.infer(*request.types).element_type.dtype)


@variant(Binary, name="ufunc", applies=_are_small, cost=0.26, why="A single NumPy call suffices for few elements.")
def _ufunc(op: Binary, request: KernelRequest) -> Kernel:
    function = op.plain_function(*request.types)
    assert isinstance(function, np.ufunc), "the variant requires a ufunc"
    return _order_result(function, request.types[0].shape, request.types[1].shape)


def binary(
    type_name: str,
    of_elements: Function,
    doc: str,
    *,
    page: str,
    since: int = 1,
    base: type[Binary] = Binary,
    types: frozenset[ElementType] = CALCULABLE,
    is_increasing: bool = False,
    is_monotone: bool = False,
    is_arithmetic: bool = False,
    neutral: float | None = None,
    absorbing: float | None = None,
    is_idempotent: bool = False,
    term_inputs: tuple[str, ...] = (),
    subtracted_inputs: tuple[str, ...] = (),
) -> type[Op]:
    """Register an operator that applies `of_elements` to every pair of elements, and return its class.

    Args:
        doc: The formula.
        page: The page of the specification.
        base: The class with its methods.
        types: The element types of both inputs.
        is_increasing: `increasing_in` of Op names both inputs.
        is_monotone: `monotone` of Op names both inputs.
        is_arithmetic: `saturates` of Op.
        neutral: As in Op.
        absorbing: As in Op.
        is_idempotent: As in Op.
        term_inputs: As in Op.
        subtracted_inputs: As in Op.
    """
    declared_neutral, declared_absorbing, selects_equal = neutral, absorbing, is_idempotent
    terms, subtracted = term_inputs, subtracted_inputs

    class BinaryOperator(base):  # type: ignore[valid-type, misc]  # mypy takes no variable for a base class
        __doc__ = _BINARY_DOCSTRING.format(
            doc=doc, page=page, kind=_kind_of(types), output="The type of a" if base is Binary else "Boolean"
        )

        inputs = (In("a", types=types), In("b", types=types, like="a"))
        increasing_in = ("a", "b") if is_increasing else ()
        monotone = ("a", "b") if is_monotone else ()
        saturates = is_arithmetic
        neutral = declared_neutral
        absorbing = declared_absorbing
        is_idempotent = selects_equal
        term_inputs = terms
        subtracted_inputs = subtracted
        function = of_elements

    return _register(BinaryOperator, type_name, since)


def _order_result(function: np.ufunc, a: Shape, b: Shape) -> Callable[..., Any]:
    """The function for these shapes, with a memory order for the result where NumPy's default is slow."""
    if not (a.is_static and b.is_static and a.rank and b.rank) or a == b:
        return function
    shape = *outer, size = np.broadcast_shapes(a.static, b.static)
    is_short = 1 < size <= thresholds.SHORT_ROW and a[-1] == b[-1]
    if is_short and prod(outer) >= 4 * thresholds.MANY_ROWS:
        # NumPy would iterate along the last axis, since only one input has the others.
        return partial(_by_columns, function)
    # If neither input has all elements, the result need not have the memory order of the first.
    return function if shape in (a.static, b.static) else partial(function, order="C")


def _of_scalars(function: Function, dtype: np.dtype[Any]) -> Callable[..., Any]:
    """The function of one or two scalars with an array as result, in whose place NumPy returns a number."""

    def of_two(a: Array, b: Array, *, out: Array | None = None) -> Any:
        return function(a, b, out=... if out is None else out)

    def of_scalars(*scalars: Array, out: Array | None = None) -> Any:
        return function(*scalars, out=np.empty((), dtype) if out is None else out)

    return of_two if GIVES_ARRAYS and isinstance(function, np.ufunc) and function.nin == 2 else of_scalars


def _gives_arrays() -> bool:
    """Return True if functions of this version of NumPy give arrays for scalars if `out` is an ellipsis."""
    try:
        return isinstance(np.add(1, 1, out=...), np.ndarray)
    except TypeError:
        return False


GIVES_ARRAYS = _gives_arrays()


def _by_columns(function: np.ufunc, a: Array, b: Array, *, out: Array | None = None) -> Array:
    if not (a.flags.c_contiguous and b.flags.c_contiguous):
        return np.asarray(function(a, b, out=out))
    sizes = np.broadcast_shapes(a.shape, b.shape)
    if out is None:
        out = np.empty(sizes, function.resolve_dtypes((a.dtype, b.dtype, None))[-1])
    for column in range(sizes[-1]):
        function(a[..., column], b[..., column], out=out[..., column])
    return out


def _kind_of(types: frozenset[ElementType]) -> str:
    if types <= BOOLEAN:
        return "boolean"
    if types & BOOLEAN:
        return "integer or boolean"
    return "float" if types <= FLOAT else "numeric"


def _register(cls: type[Op], type_name: str, since: int) -> type[Op]:
    cls.__name__ = cls.__qualname__ = type_name
    # Like a named tuple of `collections`, the class belongs to the module that declares it.
    cls.__module__ = sys._getframe(2).f_globals["__name__"]
    return op(type_name, since=since)(cls)


def real_kernel(function: Function, data: TensorType, otherwise: Callable[..., Any]) -> Callable[..., Any]:
    """`apply_real` for data of this static type with its look-ups done once, or `otherwise` if it does more."""
    if not (data.element_type.is_float and is_own_type(data) and (data.rank == 0 or is_small(data))):
        return otherwise
    if isinstance(function, np.ufunc):
        return _of_scalars(function, data.element_type.dtype) if data.rank == 0 else function
    if data.rank == 0:
        return otherwise
    if function is sigmoid:
        return sigmoid_of
    return partial(of_copy, function) if data.shape.size.lo <= thresholds.CHUNK_ELEMENTS else otherwise


def clip_kernel(data: TensorType, lowest: float, highest: float, otherwise: Callable[..., Any]) -> Callable[..., Any]:
    """`clip` for data of this static type, with its look-ups done once; else `otherwise`."""
    if not (is_own_type(data) and (data.rank == 0 or is_small(data))):
        return otherwise
    dtype = data.element_type.dtype
    # NumPy accepts arrays as operands faster than numbers.
    clipped = partial(clip_elements, lowest=np.array(lowest, dtype), highest=np.array(highest, dtype))
    return _of_scalars(clipped, dtype) if data.rank == 0 else clipped


def is_own_type(data: TensorType) -> bool:
    """Return True if the operators compute in this element type itself."""
    element_type = data.element_type
    return (
        element_type.is_known
        and element_type in CALCULABLE | BOOLEAN
        and working_dtype(element_type.dtype) is element_type.dtype
    )


def is_small(*types: TensorType) -> bool:
    """Return True if NumPy's functions may be called directly.

    There are too few elements for several threads, and the result is an array: NumPy returns scalars only for scalars.
    """
    return (
        max(type.shape.size.lo for type in types) < thresholds.SPLIT_ELEMENTS
        and max(type.rank or 0 for type in types) > 0
    )
