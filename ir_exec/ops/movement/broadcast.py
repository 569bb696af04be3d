"""Elements repeated until a shape is filled."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Annotated, Literal, TypeVar

import numpy as np

from ir_exec.errors import EvaluationError, GraphError, ShapeError
from ir_exec.ops.base import In, Op, op
from ir_exec.ops.base.attributes import LOWER, Int, Named
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
    """data repeated along each axis as often as `repeats` says.

    The shorter of data's shape and repeats is filled up with ones at its front. Less than no repeats are none, as in
    OpenVINO.

    Errors: IR501 where repeats are no vector.
    Specification: movement/tile-1.
    """

    inputs = (In("data"), In("repeats", types=INTEGER))
    rising = ("data",)

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
    """What both versions of Broadcast share; `axis` has another name in the files of each."""

    inputs = (In("data"), In("target_shape", types=INTEGER), In("axes_mapping", types=INTEGER, optional=True))
    rising = ("data",)

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
            # Whatever NumPy has to say, it is that these two shapes do not go together.
            raise EvaluationError(
                f"data of shape {list(data.shape)} cannot be broadcast to {list(target)} ({mode})", port="target_shape"
            ) from None

    def _mode(self, mapped: bool) -> str:
        """How shapes are matched, for a layer with axes_mapping or without."""
        raise NotImplementedError

    def _first_axis(self, rank: int, target_rank: int) -> int:
        """The axis of target_shape on which pdpd lays the first axis of data."""
        return target_rank - rank if self.axis == -1 else self.axis

    def _pdpd(self, shape: Shape, target: Shape) -> Shape:
        if target.dims is None or shape.dims is None:
            # Dims of data may stand where the target has 1.
            return Shape([Dim.any() if 1 in dim else dim for dim in target]) if target.dims is not None else target
        start = self._first_axis(len(shape), len(target))
        if start < 0 or start + len(shape) > len(target):
            raise ShapeError(f"data of shape {shape} laid on axis {start} does not fit into {target}", code="IR504")
        return broadcast_shapes(Shape(_spread(shape[:], range(start, start + len(shape)), len(target))), target)


@op("Broadcast", since=1)
class Broadcast1(_Broadcast):
    """data repeated so that it fills `target_shape`.

    numpy: the last dims meet; a dim of data is 1 or that of the target. explicit: axes_mapping says which axis of the
    target each axis of data is; it rises. pdpd, which OpenVINO has beyond the specification: data is laid on axis
    `axis` of the target, and dims of data stand where the target has 1. OpenVINO writes explicit as `none`, and takes
    explicit without axes_mapping for numpy.

    Errors: IR501 where target_shape or axes_mapping are no vectors, IR503 for axes out of range or not rising, IR504
    where data does not fit, IR505 for a negative size.
    Specification: movement/broadcast-1.
    """

    mode: Annotated[Literal["numpy", "explicit", "none", "pdpd"], LOWER] = "numpy"
    axis: Annotated[Int, Named("mode.auto_broadcast_axis")] = 0

    def _mode(self, mapped: bool) -> str:
        if self.mode in ("explicit", "none"):
            return "explicit" if mapped else "numpy"
        return self.mode


@op("Broadcast", since=3)
class Broadcast(_Broadcast):
    """data repeated so that it fills `target_shape`.

    As Broadcast-1, and bidirectional: the output has the shape of both, broadcast together as NumPy does. The axis of
    pdpd, again beyond the specification, has another name. axes_mapping goes with explicit and with nothing else.

    Errors: as Broadcast-1, and IR106 for axes_mapping too few or too many.
    Specification: movement/broadcast-3.
    """

    mode: Annotated[Literal["numpy", "explicit", "none", "bidirectional", "pdpd"], LOWER] = "numpy"
    axis: Annotated[Int, Named("mode.mode.axis")] = 0

    def infer(self, data: TensorType, target_shape: TensorType, axes_mapping: TensorType | None = None) -> TensorType:
        explicit = self._mode(True) == "explicit"
        if explicit is not (axes_mapping is not None):
            need = "needs" if explicit else "does not take"
            raise GraphError(f"mode {self.mode} {need} the input axes_mapping", code="IR106")
        return super().infer(data, target_shape, axes_mapping)

    def _mode(self, mapped: bool) -> str:
        return "explicit" if self.mode == "none" else self.mode


def _numpy(shape: Shape, target: Shape) -> Shape:
    """The target, where data has no dims that do not fit into it; its last dim meets the last of data."""
    if shape.dims is None or target.dims is None:
        return target
    front = len(target) - len(shape)
    if front < 0:
        raise ShapeError(f"data of shape {shape} has more dims than target_shape {target}", code="IR504", port="data")
    met = [_one_way(dim, size, shape, target) for dim, size in zip(shape, target[front:], strict=True)]
    return Shape([*target[:front], *met])


def _explicit(shape: Shape, target: Shape, axes_mapping: TensorType) -> Shape:
    """The target, where each dim of data fits into the one that axes_mapping says."""
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
            f"data of shape {shape} cannot be broadcast to {target}: {dim} is neither 1 nor {size}", code="IR504"
        )
    return met


def _require_mapping(mapping: Sequence[int], rank: int, target_rank: int) -> None:
    # OpenVINO gives a scalar an axis here, too.
    if len(mapping) != rank and not (rank == 0 and len(mapping) == 1):
        raise ShapeError(
            f"axes_mapping has {len(mapping)} elements, expected one for each of the {rank} dims of data",
            code="IR504",
            port="axes_mapping",
        )
    if any(not 0 <= axis < target_rank for axis in mapping) or any(one >= other for one, other in pairwise(mapping)):
        raise ShapeError(
            f"axes_mapping {list(mapping)} are no rising axes of a target of rank {target_rank}",
            code="IR503",
            port="axes_mapping",
        )


def _spread(shape: Sequence[Size], axes: Iterable[int], rank: int) -> list[Size | int]:
    """The dims of a shape at these axes of a shape of ones."""
    sizes: list[Size | int] = [1] * rank
    for axis, size in zip(axes, shape, strict=False):
        if not 0 <= axis < rank:
            raise ShapeError(f"axis {axis} is out of range for rank {rank}", code="IR503")
        sizes[axis] = size
    return sizes
