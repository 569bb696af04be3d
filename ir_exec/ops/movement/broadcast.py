"""Repeated elements: a number of times (Tile), or to fill a shape (Broadcast)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import pairwise
from typing import Annotated, Any, Literal, TypeVar

import numpy as np

from ir_exec.codes import Code
from ir_exec.errors import EvaluationError, GraphError, ShapeError
from ir_exec.ops.base import In, Op, op
from ir_exec.ops.base.attributes import LOWER, Int, Named
from ir_exec.ops.base.inputs import TargetShape, ValueRange
from ir_exec.ops.base.shapes import (
    broadcast_shapes,
    ints,
    known_bounds,
    known_ints,
    known_shape,
    require_rank,
    require_representable,
    shape_of_length,
)
from ir_exec.types import INTEGER, Array, Dim, Shape, TensorType

__all__ = ["Broadcast", "Broadcast1", "Tile"]

Size = TypeVar("Size", int, Dim)


@op("Tile", since=1)
class Tile(Op):
    """data repeated along each axis `repeats` times.

    The shorter of repeats and the shape of data gets ones in front.

    Specification: movement/tile-1.

    Inputs:
        data: Any shape, any type.
        repeats: A vector of integers; as in OpenVINO, negative ones count as 0.

    Outputs:
        output: The type of data.

    Raises:
        IRError: IR501 for repeats that are not a vector.
    """

    inputs = (In("data"), In("repeats", types=INTEGER, domain=ValueRange(1, 2, "repeats")))
    increasing_in = ("data",)
    is_data_movement = True
    sized_by = ("repeats",)

    def infer(self, data: TensorType, repeats: TensorType) -> TensorType:
        require_rank(repeats, 1, "repeats")
        if data.shape.dims is None:
            return data.with_shape(Shape.unknown())
        bounds = known_bounds(repeats)
        if bounds is None:
            length = shape_of_length(repeats).rank
            return data.with_shape(Shape.unknown() if length is None else Shape.of_rank(max(len(data.shape), length)))
        rank = max(len(data.shape), len(bounds))
        require_representable(rank)
        times = [Dim(max(least, 0), max(most, 0)) for least, most in bounds]
        pairs = zip(_filled_up(list(data.shape), rank), _filled_up(times, rank), strict=True)
        return data.with_shape(Shape([dim * repeated for dim, repeated in pairs]))

    def evaluate(self, data: Array, repeats: Array) -> Array:
        return np.tile(data, [max(repeated, 0) for repeated in ints(repeats)])


def _filled_up(dims: list[Dim], rank: int) -> list[Dim]:
    return [Dim.of(1)] * (rank - len(dims)) + dims


class _Broadcast(Op):
    """The base of both versions of Broadcast.

    Inputs:
        data: Any shape, any type.
        target_shape: A vector of integers.
        axes_mapping: Optional, a vector of integers.

    Outputs:
        output: The type of data.

    Raises:
        IRError: IR501 for a target_shape or axes_mapping that is not a vector, IR503 for axes that are out of range or
            do not rise, IR504 for data that does not broadcast, IR505 for a negative size; IR704 for faults found only
            in the run.
    """

    inputs = (
        In("data"),
        In("target_shape", types=INTEGER, domain=TargetShape(leading=2)),
        In("axes_mapping", types=INTEGER, optional=True),
    )
    arranging_inputs = ("axes_mapping",)
    increasing_in = ("data",)
    is_data_movement = True
    sized_by = ("target_shape",)

    axis: Int = 0

    def infer(self, data: TensorType, target_shape: TensorType, axes_mapping: TensorType | None = None) -> TensorType:
        mode = self._mode(axes_mapping is not None)
        require_rank(target_shape, 1, "target_shape")
        target = known_shape(target_shape, "target_shape")
        if mode == "explicit" and axes_mapping is not None:
            return data.with_shape(_explicit(data.shape, target, axes_mapping))
        if mode == "bidirectional":
            return data.with_shape(broadcast_shapes(data.shape, target))
        if mode == "pdpd":
            return data.with_shape(self._pdpd(data.shape, target))
        return data.with_shape(_numpy(data.shape, target))

    def evaluate(self, data: Array, target_shape: Array, axes_mapping: Array | None = None) -> Array:
        mode, target = self._mode(axes_mapping is not None), ints(target_shape)
        try:
            if mode == "explicit" and axes_mapping is not None:
                mapping = ints(axes_mapping)
                _require_mapping(mapping, data.ndim, len(target))
                data = data.reshape(_spread(data.shape, mapping, len(target)))
            if mode == "pdpd":
                start = self._first_axis(data.ndim, len(target))
                data = data.reshape(_spread(data.shape, range(start, start + data.ndim), len(target)))
            if mode in ("bidirectional", "pdpd"):
                target = np.broadcast_shapes(data.shape, target)
            return np.broadcast_to(data, target).copy()
        except (ValueError, ShapeError):
            # All of NumPy's messages mean that these two shapes do not broadcast.
            raise EvaluationError(
                f"data of shape {list(data.shape)} cannot be broadcast to {list(target)} ({mode})", port="target_shape"
            ) from None

    def kernel(self, *types: TensorType, unread: frozenset[str] = frozenset()) -> Callable[..., Any]:
        """The function for aligned last axes, without the checks of `evaluate`."""
        if self._mode(len(types) > 2) in ("explicit", "pdpd"):
            return self.evaluate
        target = self.infer(*types).shape
        return partial(_fill, target.static) if target.is_static else self.evaluate

    def _mode(self, mapped: bool) -> str:
        """The mode of matching shapes.

        Args:
            mapped: The layer has axes_mapping.
        """
        raise NotImplementedError

    def _first_axis(self, rank: int, target_rank: int) -> int:
        """The axis of target_shape that pdpd aligns with the first axis of data."""
        return target_rank - rank if self.axis == -1 else self.axis

    def _pdpd(self, shape: Shape, target: Shape) -> Shape:
        if target.dims is None or shape.dims is None:
            # Where the target has 1, the output may have a dim of data.
            return Shape([Dim.any() if 1 in dim else dim for dim in target]) if target.dims is not None else target
        start = self._first_axis(len(shape), len(target))
        if start < 0 or start + len(shape) > len(target):
            raise ShapeError(
                f"data of shape {shape} at axis {start} does not fit into {target}", code=Code.no_broadcast
            )
        return broadcast_shapes(Shape(_spread(shape[:], range(start, start + len(shape)), len(target))), target)


@op("Broadcast", since=1)
class Broadcast1(_Broadcast):
    """data repeated to fill `target_shape`.

    OpenVINO writes explicit as `none`, and treats explicit without axes_mapping as numpy.

    Specification: movement/broadcast-1.

    Attributes:
        mode: With `numpy`, the default, the last dims are aligned; a dim of data is 1 or equal to the dim of the
            target. With `explicit`, axes_mapping names the axis of the target for each axis of data, in ascending
            order. With `pdpd`, an extension of OpenVINO, the first axis of data is aligned with `axis` of the target (0
            by default), and the output has the dims of data where the target has 1.
    """

    mode: Annotated[Literal["numpy", "explicit", "none", "pdpd"], LOWER] = "numpy"
    axis: Annotated[Int, Named("mode.auto_broadcast_axis")] = 0

    def _mode(self, mapped: bool) -> str:
        if self.mode in ("explicit", "none"):
            return "explicit" if mapped else "numpy"
        return self.mode


@op("Broadcast", since=3)
class Broadcast(_Broadcast):
    """data repeated to fill `target_shape`.

    The axis of pdpd, again an extension of OpenVINO, has another name in the file. Only explicit has axes_mapping, and
    requires it.

    Specification: movement/broadcast-3.

    Attributes:
        mode: As in Broadcast-1, and `bidirectional`: data and the target are broadcast together as in NumPy.

    Raises:
        IRError: Also IR106 for a missing axes_mapping, or one that the mode does not allow.
    """

    mode: Annotated[Literal["numpy", "explicit", "none", "bidirectional", "pdpd"], LOWER] = "numpy"
    axis: Annotated[Int, Named("mode.mode.axis")] = 0

    def infer(self, data: TensorType, target_shape: TensorType, axes_mapping: TensorType | None = None) -> TensorType:
        explicit = self._mode(True) == "explicit"
        if explicit is not (axes_mapping is not None):
            need = "needs" if explicit else "does not take"
            raise GraphError(f"mode {self.mode} {need} the input axes_mapping", code=Code.wrong_number_of_inputs)
        return super().infer(data, target_shape, axes_mapping)

    def _mode(self, mapped: bool) -> str:
        return "explicit" if self.mode == "none" else self.mode


def _fill(shape: tuple[int, ...], data: Array, *_: Array) -> Array:
    output = np.empty(shape, data.dtype)
    output[...] = data
    return output


def _numpy(shape: Shape, target: Shape) -> Shape:
    """The target, if the dims of data broadcast to its last dims; else raises ShapeError IR504."""
    if shape.dims is None or target.dims is None:
        return target
    front = len(target) - len(shape)
    if front < 0:
        raise ShapeError(
            f"data of shape {shape} has more dims than target_shape {target}", code=Code.no_broadcast, port="data"
        )
    met = [_one_way(dim, size, shape, target) for dim, size in zip(shape, target[front:], strict=True)]
    return Shape([*target[:front], *met])


def _explicit(shape: Shape, target: Shape, axes_mapping: TensorType) -> Shape:
    """The target, if each dim of data broadcasts to the dim in axes_mapping; else raises ShapeError IR504."""
    require_rank(axes_mapping, 1, "axes_mapping")
    mapping = known_ints(axes_mapping)
    if mapping is None or shape.dims is None or target.dims is None:
        return target
    _require_mapping(mapping, len(shape), len(target))
    dims = list(target)
    for dim, axis in zip(shape, mapping, strict=False):
        dims[axis] = _one_way(dim, target[axis], shape, target)
    return Shape(dims)


def _one_way(dim: Dim, size: Dim, shape: Shape, target: Shape) -> Dim:
    if 1 in dim:
        return size
    met = dim & size
    if met is None:
        raise ShapeError(
            f"data of shape {shape} cannot be broadcast to {target}: {dim} is neither 1 nor {size}",
            code=Code.no_broadcast,
        )
    return met


def _require_mapping(mapping: Sequence[int], rank: int, target_rank: int) -> None:
    # As in OpenVINO, a scalar may have an axis here.
    if len(mapping) != rank and not (rank == 0 and len(mapping) == 1):
        raise ShapeError(
            "axes_mapping has",
            actual=len(mapping),
            detail="elements",
            expected=f"one for each of the {rank} dims of data",
            code=Code.no_broadcast,
            port="axes_mapping",
        )
    if any(not 0 <= axis < target_rank for axis in mapping) or any(
        current >= following for current, following in pairwise(mapping)
    ):
        raise ShapeError(
            "axes_mapping is",
            actual=list(mapping),
            expected=f"ascending axes of a target of rank {target_rank}",
            code=Code.axis_out_of_range,
            port="axes_mapping",
        )


def _spread(shape: Sequence[Size], axes: Iterable[int], rank: int) -> list[Size | int]:
    """A shape of ones of this rank with the dims of `shape` at these axes."""
    sizes: list[Size | int] = [1] * rank
    for axis, size in zip(axes, shape, strict=False):
        if not 0 <= axis < rank:
            raise ShapeError(
                "axis is",
                actual=axis,
                expected=f"0 to {rank - 1}",
                reason=f" for rank {rank}",
                code=Code.axis_out_of_range,
            )
        sizes[axis] = size
    return sizes
