"""Layers whose types show themselves only in the run, where they are inferred from the arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ir_exec.errors import EvaluationError, raise_error
from ir_exec.graph import Node
from ir_exec.infer import infer_outputs
from ir_exec.kernels.limits import current_limits
from ir_exec.ops import Op
from ir_exec.runtime.memory import byte_size
from ir_exec.types import Array, Bounds, TensorType

__all__ = ["Checked"]

_REMEMBERED_BYTES = 2**8
"""Bytes of an input whose elements counted, up to which they are compared with those of the next run."""


class _Seen(NamedTuple):
    """Arrays that were found right.

    types: their dtypes and shapes. size: the bytes of the outputs. values: by position the elements that counted.
    kernel: what computes the outputs.
    """

    types: list[tuple[np.dtype[Any], tuple[int, ...]]]
    size: int
    kernel: Callable[..., Any]
    values: Sequence[tuple[int, bytes]] = ()

    def is_like(self, types: list[tuple[np.dtype[Any], tuple[int, ...]]], arrays: Sequence[Array]) -> bool:
        """Whether arrays of these types differ in nothing that counted."""
        return types == self.types and not any(arrays[place].tobytes() != value for place, value in self.values)


class Checked:
    """A kernel that infers the types of the outputs first, and raises what `infer` finds wrong with the arrays.

    It infers nothing when the arrays are as those before, and finds the kernel for their types when it sees such arrays
    for the second time. Several threads may call.

    kernel: for arrays of any types. better: whether `Op.kernel` may take its place.
    """

    def __init__(
        self, node: Node, op: Op, context: Mapping[str, Any], kernel: Callable[..., Any], *, better: bool
    ) -> None:
        self._node = node
        self._op = op
        self._context = context
        self._kernel = kernel
        self._better = better
        self._seen: _Seen | None = None

    def __call__(self, *arrays: Array) -> Any:
        types = [(array.dtype, array.shape) for array in arrays]
        seen = self._seen
        if seen is None or not seen.is_like(types, arrays):
            seen = self._inferred(types, arrays)
        elif self._better and seen.kernel is self._kernel and not seen.values:
            found = self._op.kernel(*[TensorType.of(array).without_values() for array in arrays])
            seen = self._seen = seen._replace(kernel=found)
        current_limits().require(seen.size)
        return seen.kernel(*arrays)

    def _inferred(self, types: list[tuple[np.dtype[Any], tuple[int, ...]]], arrays: Sequence[Array]) -> _Seen:
        read: set[int] = set()
        size = self._inferred_size([_watched(array, position, read) for position, array in enumerate(arrays)])
        seen = _Seen(types, size, self._kernel)
        if not self._op.infer_context and all(_is_comparable(arrays[position]) for position in read):
            self._seen = seen._replace(values=[(position, arrays[position].tobytes()) for position in read])
        return seen

    def _inferred_size(self, types: list[TensorType]) -> int:
        """The bytes of the outputs that are not views."""
        op, node = self._op, self._node
        outputs = infer_outputs(op, types, self._context, raise_error) or []
        if op.counts_outputs and len(outputs) != len(node.outputs):
            message = f"{op.counts_outputs} has {len(outputs)} elements, but the layer has {len(node.outputs)} outputs"
            raise EvaluationError(message, port=op.counts_outputs).located(node.location)
        if not all(type.shape.is_static for type in outputs):
            self._better = False
        sizes = [byte_size(type) for type in outputs]
        # What may be a view of an input, and is not larger than one, is counted when it is there.
        least = max(map(byte_size, types), default=0) if op.views else -1
        return sum([size for size in sizes if size > least])


def _is_comparable(array: Array) -> bool:
    return array.nbytes <= _REMEMBERED_BYTES and array.dtype.kind in "biuf"


def _watched(array: Array, position: int, read: set[int]) -> TensorType:
    """The type of an array, which notes in `read` that its elements were looked at."""

    def bounds() -> Bounds:
        read.add(position)
        return array, array

    known = TensorType.of(array)
    return TensorType(known.element_type, known.shape, bounds)
