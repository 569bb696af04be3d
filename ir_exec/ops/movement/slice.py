"""Slices of a tensor along several axes at once, read or overwritten.

A slice of an axis goes from `start` to before `stop` in steps of `step`. `ops/base/dims.py` contains the rules for
negative indices.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Annotated, Any, NamedTuple

import numpy as np

from ir_exec.codes import Code
from ir_exec.errors import EvaluationError, IRError, ShapeError
from ir_exec.kernels.indices import as_integers
from ir_exec.ops.base import In, Op, op
from ir_exec.ops.base.attributes import Ints
from ir_exec.ops.base.dims import (
    ANYWHERE,
    BEYOND,
    Interval,
    clamp_bounds,
    given_axes,
    index_bounds,
    index_values,
    slice_length,
    sliced_dim,
)
from ir_exec.ops.base.elementwise import is_own_type
from ir_exec.ops.base.inputs import Usual
from ir_exec.ops.base.shapes import (
    known_axes,
    known_ints,
    merge_dims,
    require_convertible,
    require_least_rank,
    require_rank,
    require_same_values,
)
from ir_exec.types import INTEGER, Array, Dim, ElementType, Shape, TensorType, convert

__all__ = ["Slice", "SliceScatter", "StridedSlice"]


@op("Slice", since=8)
class Slice(Op):
    """output = data[start:stop:step] along the axes that `axes` names, by default the first ones.

    The specification refers to Python's slices. As in OpenVINO, there is one deviation, which affects the shape of the
    output: a backward slice that starts before the axis starts at its first element.

    Specification: movement/slice-8.

    Inputs:
        data: Rank 1 or more, any type.
        start: A vector of integers.
        stop: A vector of integers of the length of `start`.
        step: A vector of integers of the length of `start`.
        axes: Optional, a vector of distinct integers of that length.

    Outputs:
        output: The type and the rank of data; it may alias data.

    Raises:
        IRError: IR501 and IR502 for other shapes, IR503 for axes out of range or duplicates, IR505 for a step of 0;
            IR704 for faults found only in the run.
    """

    inputs = (
        In("data"),
        In("start", types=INTEGER, domain=Usual(0, "the start of a slice")),
        In("stop", types=INTEGER, domain=Usual(2**30, "the end of a slice")),
        In("step", types=INTEGER, domain=Usual(1, "the step of a slice")),
        In("axes", types=INTEGER, optional=True),
    )
    arranging_inputs = ("start", "stop", "step", "axes")
    increasing_in = ("data",)
    may_alias = True
    is_data_movement = True

    def infer(
        self, data: TensorType, start: TensorType, stop: TensorType, step: TensorType, axes: TensorType | None = None
    ) -> TensorType:
        _require_axis(data, "data")
        return data.with_shape(_sliced_shape(data.shape, start, stop, step, axes))

    def evaluate(self, data: Array, start: Array, stop: Array, step: Array, axes: Array | None = None) -> Array:
        return data[_slices(data.shape, start, stop, step, axes)]

    def kernel(self, *types: TensorType, unread: frozenset[str] = frozenset()) -> Callable[..., Any]:
        return _make_reader(types, _slices, self.evaluate)

    def view_kernel(self, *types: TensorType) -> Callable[..., Any] | None:
        data, start, stop, step = types[:4]
        steps = known_ints(step)
        sliced = known_axes(types[4], len(data.shape)) if len(types) == 5 else tuple(range(len(steps or ())))
        if not (steps and sliced and set(steps) == {1} and is_own_type(start) and is_own_type(stop)):
            return None
        sizes = [data.shape.static[axis] for axis in sliced]
        everything = [slice(None)] * (max(sliced) + 1)

        def view(data: Array, start: Array, stop: Array, *_: Array) -> Array | None:
            index = everything.copy()
            for axis, size, first, end in zip(sliced, sizes, start.tolist(), stop.tolist(), strict=True):
                if not (0 <= first < size and first < end):
                    return None
                index[axis] = slice(first, end)
            return data[tuple(index)]

        return view


@op("SliceScatter", since=15)
class SliceScatter(Op):
    """output = data, with output[start:stop:step] = updates; the slice is defined as in `Slice`.

    Specification: movement/slice-scatter-15.

    Inputs:
        data: Rank 1 or more, any type.
        updates: The shape of the slice; as in OpenVINO, other types are converted to the type of data.
        start: As in Slice.
        stop: As in Slice.
        step: As in Slice.
        axes: As in Slice.

    Outputs:
        output: Like data.

    Raises:
        IRError: As Slice; IR402 for a mix of numbers and strings, IR501, IR502 and IR704 for updates of another shape.
    """

    inputs = (
        In("data"),
        In("updates"),
        In("start", types=INTEGER, domain=Usual(0, "the start of a slice")),
        In("stop", types=INTEGER, domain=Usual(2**30, "the end of a slice")),
        In("step", types=INTEGER, domain=Usual(1, "the step of a slice")),
        In("axes", types=INTEGER, optional=True),
    )
    arranging_inputs = ("start", "stop", "step", "axes")
    moved_inputs = ("data", "updates")
    increasing_in = ("data", "updates")

    def infer(
        self,
        data: TensorType,
        updates: TensorType,
        start: TensorType,
        stop: TensorType,
        step: TensorType,
        axes: TensorType | None = None,
    ) -> TensorType:
        _require_axis(data, "data")
        _require_axis(updates, "updates")
        require_convertible(updates, data, "updates", "data")
        shape = data.shape
        if shape.dims is None and updates.rank is not None:
            shape = Shape.of_rank(updates.rank)
        expected = _sliced_shape(shape, start, stop, step, axes)
        if expected & updates.shape is None:
            code = Code.wrong_rank if expected.rank != updates.rank else Code.dims_differ
            raise ShapeError(
                "updates has shape",
                actual=updates.shape,
                expected=expected,
                reason=_OF_SLICE,
                code=code,
                port="updates",
            )
        return data.with_shape(shape)

    def evaluate(
        self, data: Array, updates: Array, start: Array, stop: Array, step: Array, axes: Array | None = None
    ) -> Array:
        output = data.copy()
        region = output[_slices(data.shape, start, stop, step, axes)]
        if region.shape != updates.shape:
            raise EvaluationError(
                "updates has shape",
                actual=list(updates.shape),
                expected=list(region.shape),
                reason=_OF_SLICE,
                port="updates",
            )
        region[...] = convert(updates, ElementType.of(data))
        return output

    def evaluate_known(self, *arrays: Array) -> Array:
        data, updates = arrays[:2]
        require_same_values(updates, ElementType.of(data))
        return self.evaluate(*arrays)


_OF_SLICE = "the shape of the slice of data"


def _require_axis(tensor: TensorType, name: str) -> None:
    require_least_rank(tensor, 1, name)


def _sliced_shape(
    shape: Shape, start: TensorType, stop: TensorType, step: TensorType, axes: TensorType | None
) -> Shape:
    """The shape of the slice for known or unknown bounds."""
    vectors = {"start": start, "stop": stop, "step": step}
    count = _require_vectors(**vectors, **({} if axes is None else {"axes": axes}))
    steps = known_ints(step)
    _refuse_zero(steps or (), "step")
    if shape.dims is None:
        return Shape.unknown()
    rank = len(shape)
    if count.lo > rank:
        raise ShapeError(
            f"start has {count} elements, but data has only {rank} axes", code=Code.dims_differ, port="start"
        )
    if axes is not None:
        sliced = known_axes(axes, rank)
    elif count.is_static:
        sliced = tuple(range(count.size))
    else:
        sliced = None
    if sliced is None:
        return Shape([Dim(0, dim.hi) for dim in shape])
    dims = list(shape)
    starts, stops = index_bounds(start), index_bounds(stop)
    for position, axis in enumerate(sliced):
        if steps is None:
            dims[axis] = Dim(0, dims[axis].hi)
            continue
        first = ANYWHERE if starts is None else starts[position]
        end = ANYWHERE if stops is None else stops[position]
        dims[axis] = sliced_dim(dims[axis], first, end, steps[position])
    return Shape(dims)


def _require_vectors(**vectors: TensorType) -> Dim:
    """The length of the vectors.

    Raises:
        ShapeError: IR501 or IR502 for other ranks or unequal lengths.
    """
    count = Dim.any()
    for name, vector in vectors.items():
        require_rank(vector, 1, name)
        if vector.shape.dims is not None:
            others = [other for other in vectors if other != name]
            count = merge_dims(count, vector.shape[0], f"the lengths of {', '.join(others)} and {name}", port=name)
    return count


def _refuse_zero(steps: Iterable[int], name: str) -> None:
    if 0 in steps:
        raise ShapeError(
            f"{name} is", actual=0, expected="a positive or a negative number", code=Code.impossible_shape, port=name
        )


def _make_reader(
    types: Sequence[TensorType], index_of: Callable[..., Any], otherwise: Callable[..., Any]
) -> Callable[..., Any]:
    """The function that reads the slice of data of these types if its bounds are known; else `otherwise`."""
    constants = [value for type in types[1:] if (value := type.value) is not None]
    if len(constants) < len(types) - 1:
        return otherwise
    index = index_of(types[0].shape.static, *constants)
    return lambda data, *_: data[index]


def _slices(
    shape: tuple[int, ...], start: Array, stop: Array, step: Array, axes: Array | None = None
) -> tuple[slice, ...]:
    """NumPy's index for the slice.

    Raises:
        EvaluationError: IR704 for a step of 0 and for axes out of range.
    """
    steps: list[int] = as_integers(step).ravel().tolist()
    if 0 in steps:
        raise EvaluationError("step is", actual=0, expected="a positive or a negative number", port="step")
    sliced = list(range(len(steps))) if axes is None else given_axes(axes, len(shape))
    if len(set(sliced)) != len(sliced):
        raise EvaluationError("axes are", actual=sliced, expected="distinct axes", port="axes")
    index = [slice(None)] * len(shape)
    for axis, first, end, stride in zip(sliced, index_values(start), index_values(stop), steps, strict=True):
        index[axis] = _python_slice(shape[axis], first, end, stride)
    return tuple(index)


def _python_slice(size: int, start: int, stop: int, step: int) -> slice:
    if not slice_length(size, start, stop, step):
        return slice(0, 0)
    first, end = clamp_bounds(size, start, stop, step)
    return slice(first, None if end < 0 else end, step)


def _bits(mask: tuple[int, ...]) -> tuple[int, ...]:
    if not {0, 1}.issuperset(mask):
        raise ValueError("expected a list of 0 and 1")
    return mask


def _one_bit(mask: tuple[int, ...]) -> tuple[int, ...]:
    if sum(mask) > 1:
        raise ValueError("only one bit may be set")
    return mask


Bits = Annotated[Ints, _bits]


@op("StridedSlice", since=1)
class StridedSlice(Op):
    """output = data[begin:end:stride], position by position as in an index of NumPy.

    A position whose bit is set in `ellipsis_mask` is `...`, in `new_axis_mask` `np.newaxis`, in `shrink_axis_mask` the
    single index `begin`, which must be within the axis; if several are set, the first of these applies. A bit in
    `begin_mask` or `end_mask` means that the slice begins or ends with the axis. Missing bits are 0.

    As in OpenVINO, and unlike the specification, a backward slice with its bit in end_mask includes the first element,
    as `data[::-1]` does. As specified, and unlike OpenVINO, masks may have any length, and a bit in begin_mask makes a
    shrunken axis select its first element.

    Specification: movement/strided-slice-1.

    Inputs:
        data: Any shape, any type.
        begin: A vector of integers.
        end: A vector of the length of begin.
        stride: Optional, a vector of the length of begin, 1 by default.

    Outputs:
        output: The type of data; it may alias data.

    Raises:
        IRError: IR501 and IR502 for other shapes and for more positions than data has axes, IR505 and IR704 for a
            stride of 0, IR701 for a single index that is out of range.
    """

    inputs = (
        In("data"),
        In("begin", types=INTEGER, domain=Usual(0, "the start of a slice")),
        In("end", types=INTEGER, domain=Usual(2**30, "the end of a slice")),
        In("stride", types=INTEGER, optional=True, domain=Usual(1, "the step of a slice")),
    )
    arranging_inputs = ("begin", "end", "stride")
    increasing_in = ("data",)
    may_alias = True
    is_data_movement = True

    begin_mask: Bits = ()
    end_mask: Bits = ()
    new_axis_mask: Bits = ()
    shrink_axis_mask: Bits = ()
    ellipsis_mask: Annotated[Bits, _one_bit] = ()

    def infer(
        self, data: TensorType, begin: TensorType, end: TensorType, stride: TensorType | None = None
    ) -> TensorType:
        count = _require_vectors(begin=begin, end=end, **({} if stride is None else {"stride": stride}))
        strides: tuple[int, ...] | None = None
        if stride is not None:
            strides = known_ints(stride)
        elif count.is_static:
            strides = (1,) * count.size
        if data.shape.dims is None or not count.is_static:
            return data.with_shape(Shape.unknown())
        begins = index_bounds(begin) or [ANYWHERE] * count.size
        ends = index_bounds(end) or [ANYWHERE] * count.size
        dims = []
        for part_kind, position, axis in self._parts(count.size, len(data.shape)):
            if part_kind == "whole":
                dims.append(data.shape[axis])
            elif part_kind == "new":
                dims.append(Dim.of(1))
            elif part_kind == "slice" and strides is None:
                dims.append(Dim(0, data.shape[axis].hi))
            elif part_kind == "slice" and strides is not None:
                step = strides[position]
                _refuse_zero((step,), "stride")
                first, last = self._whole_axis(step)
                start = (first, first) if _bit(self.begin_mask, position) else begins[position]
                stop = (last, last) if _bit(self.end_mask, position) else ends[position]
                dims.append(sliced_dim(data.shape[axis], start, stop, step))
        return data.with_shape(Shape(dims))

    def evaluate(self, data: Array, begin: Array, end: Array, stride: Array | None = None) -> Array:
        result: Array = data[self._index(data.shape, begin, end, stride)]
        return result

    def kernel(self, *types: TensorType, unread: frozenset[str] = frozenset()) -> Callable[..., Any]:
        return _make_reader(types, self._index, self.evaluate)

    def _index(self, shape: tuple[int, ...], begin: Array, end: Array, stride: Array | None = None) -> tuple[Any, ...]:
        """NumPy's index for data of this shape."""
        begins, ends = index_values(begin), index_values(end)
        strides: list[int] = [1] * len(begins) if stride is None else as_integers(stride).tolist()
        index: list[Any] = []
        for part_kind, position, axis in self._parts(len(begins), len(shape)):
            if part_kind == "whole":
                index.append(slice(None))
            elif part_kind == "new":
                index.append(np.newaxis)
            elif part_kind == "shrink":
                index.append(self._single_index(shape[axis], begins[position], position, axis))
            else:
                step = strides[position]
                if step == 0:
                    raise EvaluationError(
                        "stride is", actual=0, expected="a positive or a negative number", port="stride"
                    )
                first, last = self._whole_axis(step)
                start = first if _bit(self.begin_mask, position) else begins[position]
                stop = last if _bit(self.end_mask, position) else ends[position]
                index.append(_python_slice(shape[axis], start, stop, step))
        # With the ellipsis, one element of a vector is an array of rank 0, not a NumPy scalar.
        return (*index, ...)

    def check_values(self, *types: TensorType) -> list[IRError]:
        data, begin = types[:2]
        begins = known_ints(begin)
        if begins is None or data.shape.dims is None:
            return []
        faults: list[IRError] = []
        for part_kind, position, axis in self._parts(len(begins), len(data.shape)):
            if part_kind == "shrink" and data.shape[axis].is_bounded:
                try:
                    self._single_index(data.shape[axis].hi, begins[position], position, axis)
                except EvaluationError as error:
                    faults.append(error)
        return faults

    def _parts(self, count: int, rank: int) -> list[_Part]:
        """The part of each axis of data and each new axis.

        Raises:
            ShapeError: IR501 for more positions than axes.
        """
        ellipses = [position for position in range(count) if _bit(self.ellipsis_mask, position)]
        new = [position for position in range(count) if _bit(self.new_axis_mask, position) and position not in ellipses]
        named = count - len(ellipses) - len(new)
        if named > rank:
            raise ShapeError(
                "begin names",
                actual=named,
                detail="axes",
                expected=f"at most {rank}",
                reason="the rank of data",
                code=Code.wrong_rank,
                port="begin",
            )
        parts: list[_Part] = []
        axis = 0
        for position in range(count):
            if position in ellipses:
                parts += [_Part("whole", axis=axis + hidden) for hidden in range(rank - named)]
                axis += rank - named
            elif position in new:
                parts.append(_Part("new", position))
            else:
                parts.append(_Part("shrink" if _bit(self.shrink_axis_mask, position) else "slice", position, axis))
                axis += 1
        return parts + [_Part("whole", axis=remaining) for remaining in range(axis, rank)]

    def _whole_axis(self, step: int) -> Interval:
        return (0, BEYOND) if step > 0 else (BEYOND, -BEYOND)

    def _single_index(self, size: int, begin: int, position: int, axis: int) -> int:
        if _bit(self.begin_mask, position):
            begin = 0
        if not -size <= begin < size:
            raise EvaluationError(
                f"begin[{position}] is",
                actual=begin,
                expected=f"{-size} to {size - 1}" if size else "no index",
                reason=f": axis {axis} of data has size {size}",
                code=Code.index_out_of_range,
                port="begin",
            )
        return begin


class _Part(NamedTuple):
    """One position of a StridedSlice, or an axis that no position names.

    Attributes:
        kind: `whole` (all of the axis), `slice`, `shrink` (one element, the axis is removed), `new` (an axis of size
            1).
    """

    kind: str
    position: int = -1
    axis: int = -1


def _bit(mask: Ints, position: int) -> bool:
    return position < len(mask) and mask[position] == 1
