"""Known elements of the outputs of a node, computed from known elements of its inputs.

The only mechanism is the operator's own `evaluate`. From known inputs it computes the value; from bounds it computes
bounds, if the operator is declared `increasing_in` or `monotone`. Everything is computed on demand of a rule.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from itertools import product
from math import prod

import numpy as np

from ir_exec.kernels.precision import type_limits
from ir_exec.ops import Op
from ir_exec.ops.base.dims import HUGE
from ir_exec.types import Array, Bounds, ElementType, Shape, TensorType

__all__ = ["LARGEST", "with_known_values"]

LARGEST = 1024
"""Maximum elements of a tensor whose values are computed: larger ones do not describe shapes."""

DEEPEST = 32
"""Maximum length of a chain of values that are not computed yet, which bounds the recursion."""


class _Unasked:
    """The bounds of all outputs of a node, computed on first use."""

    __slots__ = ("bounds", "compute", "depth")

    def __init__(self, compute: Callable[[], list[Bounds] | None], depth: int) -> None:
        self.compute: Callable[[], list[Bounds] | None] | None = compute
        self.depth = depth
        self.bounds: list[Bounds] | None = None

    def get(self) -> list[Bounds] | None:
        if self.compute is not None:
            self.bounds = self.compute()
            self.compute = None
            self.depth = 0
        return self.bounds


class _Output:
    """The bounds of one output, as the `source` of its type."""

    __slots__ = ("node", "position")

    def __init__(self, node: _Unasked, position: int) -> None:
        self.node = node
        self.position = position

    def __call__(self) -> Bounds | None:
        bounds = self.node.get()
        return None if bounds is None else bounds[self.position]


def with_known_values(op: Op, inputs: list[TensorType], outputs: list[TensorType]) -> list[TensorType]:
    """The outputs with known elements, as far as `evaluate` can compute them."""
    if not op.deterministic or op.evaluate_context or not _may_be_known(op, inputs, outputs):
        return outputs
    depth = 1 + max((type.source.node.depth for type in inputs if isinstance(type.source, _Output)), default=0)
    node = _Unasked(lambda: _evaluate_bounds(op, inputs, outputs), depth)
    if depth > DEEPEST:
        node.get()
    return [
        type if type.source is not None else TensorType(type.element_type, type.shape, _Output(node, position))
        for position, type in enumerate(outputs)
    ]


def _may_be_known(op: Op, inputs: list[TensorType], outputs: list[TensorType]) -> bool:
    """Return True if every tensor is small and every input has known elements; computes none of them."""
    if not inputs:
        return False
    for type in inputs:
        if type.source is None or not _is_small(type.shape):
            return False
    return all(_is_small(type.shape) and type.element_type.is_known for type in outputs)


def _is_small(shape: Shape) -> bool:
    return shape.is_static and prod(shape.static) <= LARGEST


def _evaluate_bounds(op: Op, inputs: list[TensorType], outputs: list[TensorType]) -> list[Bounds] | None:
    try:
        bounds = [type.bounds for type in inputs]
        if any(bound is None for bound in bounds):
            return None
        all_bounds = [bound for bound in bounds if bound is not None]
        with np.errstate(all="ignore"):
            output_bounds = _bounds(op, all_bounds)
    except Exception:
        # A value that cannot be computed is unknown; only the run shows if that is a fault.
        return None
    if output_bounds is None or any(
        lower.shape != type.shape.static or ElementType.of(lower) is not type.element_type
        for (lower, _), type in zip(output_bounds, outputs, strict=False)
    ):
        return None
    return output_bounds


def _bounds(op: Op, inputs: list[Bounds]) -> list[Bounds] | None:
    open_inputs = [
        position
        for position, (lower, upper) in enumerate(inputs)
        if lower is not upper and not np.array_equal(lower, upper)
    ]
    lowest = [lower for lower, _ in inputs]
    if not open_inputs:
        return [(value, value) for value in _outputs(op, lowest)]
    if op.nonnegative and any((lowest[position] < 0).any() for position in open_inputs):
        return None
    names = {_parameter(op, position) for position in open_inputs}
    if names <= set(op.increasing_in):
        corners = [lowest, [upper for _, upper in inputs]]
    elif names <= set(op.increasing_in) | set(op.monotone) and len(open_inputs) <= 2:
        choices = [pair if position in open_inputs else pair[:1] for position, pair in enumerate(inputs)]
        corners = [list(corner) for corner in product(*choices)]
    else:
        bounds = op.evaluate_bounds(*inputs)
        return None if bounds is None else [bounds]
    compute = _saturated_outputs if op.saturates else _outputs
    results = [compute(op, corner) for corner in corners]
    return [(reduce(np.minimum, values), reduce(np.maximum, values)) for values in zip(*results, strict=True)]


def _outputs(op: Op, arrays: list[Array]) -> list[Array]:
    result = op.evaluate_known(*arrays)
    return list(result) if isinstance(result, tuple) else [result]


def _saturated_outputs(op: Op, arrays: list[Array]) -> list[Array]:
    """The outputs, with integers beyond HUGE, which would have wrapped, set to the end of the range of their type."""
    sizes = _outputs(op, [_as_sizes(array) for array in arrays])
    outputs = []
    for output, size in zip(_outputs(op, arrays), sizes, strict=True):
        if np.issubdtype(output.dtype, np.integer) and not (np.abs(size) < HUGE).all():
            least, most = type_limits(output.dtype)
            output = np.where(size >= HUGE, most, np.where(size <= -HUGE, least, output)).astype(output.dtype)
        outputs.append(output)
    return outputs


def _as_sizes(array: Array) -> Array:
    """Convert to f64, with the ends of an integer type's range replaced by those of i64, far beyond HUGE."""
    if not np.issubdtype(array.dtype, np.integer):
        return array.astype(np.float64)
    least, most = type_limits(array.dtype)
    # The bounds of one element may be NumPy scalars, which are immutable.
    sizes = np.array(array, np.float64)
    sizes[array == most] = 2.0**63
    if least < 0:
        sizes[array == least] = -(2.0**63)
    return sizes


def _parameter(op: Op, position: int) -> str:
    return op.inputs[min(position, len(op.inputs) - 1)].name
