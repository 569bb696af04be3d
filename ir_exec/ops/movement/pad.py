"""Pad: elements added at the ends of axes, or removed by negative pads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np

from ir_exec.codes import Code
from ir_exec.errors import ElementTypeError, EvaluationError, IRError, ShapeError
from ir_exec.kernels.indices import as_integers
from ir_exec.kernels.limits import require_temporary
from ir_exec.ops.base import In, Op, op
from ir_exec.ops.base.attributes import LOWER
from ir_exec.ops.base.dims import BEYOND, Interval, index_bounds
from ir_exec.ops.base.graph_facts import OlderVersion
from ir_exec.ops.base.inputs import ValueRange
from ir_exec.ops.base.shapes import known_ints, merge_dims, require_rank
from ir_exec.types import INTEGER, UNBOUNDED, Array, Dim, ElementType, Shape, TensorType

__all__ = ["Pad", "Pad1", "pad_array"]


class _Pad(Op):
    """The base of both versions of Pad.

    Elements removed at the other end are copied too.

    Inputs:
        data: Any shape, any type.
        pads_begin: A vector of integers, one for each axis of data; a negative one removes elements.
        pads_end: Like `pads_begin`.
        pad_value: A scalar of the type of data, only for the mode `constant`; by default 0, or "".

    Attributes:
        pad_mode: The added elements. `constant`: pad_value. `edge`: copies of the element at this end, which must
            exist. `reflect`: the elements in reverse order without the one at this end, at most `dim - 1`. `symmetric`:
            the elements in reverse order including it, at most `dim`.

    Outputs:
        output: Dims `max(pads_begin + dim + pads_end, 0)`, the type of data; it may alias data.

    Raises:
        IRError: IR501 and IR502 for inputs of other shapes, IR402 for a pad_value of another type, IR505 and IR704 for
            more pads than the mode can add.
    """

    inputs = (
        In("data"),
        In("pads_begin", types=INTEGER, domain=ValueRange(0, 1, "pads")),
        In("pads_end", types=INTEGER, domain=ValueRange(0, 1, "pads")),
        In("pad_value", optional=True),
    )
    increasing_in = ("data",)
    may_alias = True
    is_data_movement = True
    sized_by = ("pads_begin", "pads_end")

    pad_mode: Annotated[Literal["constant", "edge", "reflect", "symmetric"], LOWER]

    def infer(
        self, data: TensorType, pads_begin: TensorType, pads_end: TensorType, pad_value: TensorType | None = None
    ) -> TensorType:
        if pad_value is not None and self.pad_mode == "constant":
            _check_pad_value(data, pad_value)
        for name, pads in (("pads_begin", pads_begin), ("pads_end", pads_end)):
            require_rank(pads, 1, name)
            if data.shape.dims is not None and pads.shape.dims is not None:
                merge_dims(
                    Dim.of(len(data.shape)), pads.shape[0], f"the rank of data and the length of {name}", port=name
                )
        if data.shape.dims is None:
            return data.with_shape(Shape.unknown())
        begins, ends = index_bounds(pads_begin), index_bounds(pads_end)
        if begins is None or ends is None:
            return data.with_shape(Shape.of_rank(len(data.shape)))
        dims = []
        for axis, (dim, begin, end) in enumerate(zip(data.shape, begins, ends, strict=True)):
            for name, pad in (("pads_begin", begin), ("pads_end", end)):
                fault = self._fault(ShapeError, dim.hi, pad[0], axis, name)
                if fault is not None:
                    raise fault
            dims.append(_padded_dim(dim, begin, end))
        return data.with_shape(Shape(dims))

    def evaluate(self, data: Array, pads_begin: Array, pads_end: Array, pad_value: Array | None = None) -> Array:
        begins: list[int] = as_integers(pads_begin).tolist()
        ends: list[int] = as_integers(pads_end).tolist()
        for axis, size in enumerate(data.shape):
            for name, pads in (("pads_begin", begins), ("pads_end", ends)):
                fault = self._fault(EvaluationError, size, pads[axis], axis, name)
                if fault is not None:
                    raise fault
        if self.pad_mode == "constant":
            return pad_array(data, begins, ends, pad_value)
        return self._pad_with_copies(data, begins, ends)

    def kernel(self, *types: TensorType, unread: frozenset[str] = frozenset()) -> Callable[..., Any]:
        begins, ends = map(known_ints, types[1:3])
        if begins is None or ends is None or self.pad_mode != "constant" or not any(begins + ends):
            return self.evaluate
        places = _places(types[0].shape.static, begins, ends)
        return lambda data, begins, ends, fill=None: _pad_with_value(places, data, fill)

    def _fault(self, error: type[IRError], size: int, pads: int, axis: int, name: str) -> IRError | None:
        """The fault of adding `pads` elements to an axis of at most this size; None if there is none."""
        limits = {"constant": pads, "edge": pads if size else 0, "reflect": max(size - 1, 0), "symmetric": size}
        most = limits[self.pad_mode]
        if pads <= max(most, 0):
            return None
        reason = f"for {self.pad_mode} and an axis of size {size}"
        return error(f"{name}[{axis}] is", actual=pads, expected=f"at most {most}", reason=" " + reason, port=name)

    def _pad_with_copies(self, data: Array, begins: list[int], ends: list[int]) -> Array:
        """Data padded with copies of its elements, axis by axis."""
        growth = {axis: begins[axis] + ends[axis] for axis in range(data.ndim) if begins[axis] or ends[axis]}
        # Axes that shrink come first: no intermediate result is then larger than both data and the output.
        for axis in sorted(growth, key=growth.__getitem__):
            size = data.shape[axis]
            # The indices, and copies of them while they are computed.
            require_temporary(4 * np.dtype(np.intp).itemsize * (size + max(growth[axis], 0)), data.nbytes)
            places = np.arange(-begins[axis], max(size + ends[axis], -begins[axis]))
            data = np.take(data, self._map_places(places, size), axis)
        return data

    def _map_places(self, places: Array, size: int) -> Array:
        if self.pad_mode == "edge":
            return np.clip(places, 0, size - 1)
        mirror = 0 if self.pad_mode == "reflect" else 1
        places = np.where(places < 0, -places - mirror, places)
        return np.where(places < size, places, 2 * (size - 1) - places + mirror)


@op("Pad", since=1)
class Pad1(_Pad):
    """Elements added at the ends of axes.

    Negative pads, as in Pad-12, are an extension of OpenVINO to this version.

    Specification: movement/pad-1.
    """


@op("Pad", since=12)
class Pad(_Pad):
    """Elements added at the ends of axes, or removed there.

    Specification: movement/pad-12.
    """

    older = OlderVersion(1, nonnegative=("pads_begin", "pads_end"))


def _check_pad_value(data: TensorType, pad_value: TensorType) -> None:
    require_rank(pad_value, 0, "pad_value")
    both_known = data.element_type.is_known and pad_value.element_type.is_known
    if both_known and pad_value.element_type is not data.element_type:
        raise ElementTypeError(
            "pad_value is",
            actual=pad_value.element_type,
            expected=data.element_type,
            reason=" as data is",
            code=Code.element_types_differ,
            port="pad_value",
        )


def _padded_dim(dim: Dim, begin: Interval, end: Interval) -> Dim:
    low = max(dim.lo + _least_pads(begin) + _least_pads(end), 0)
    if not dim.is_bounded or BEYOND in (begin[1], end[1]):
        return Dim(low, UNBOUNDED)
    return Dim(low, max(dim.hi + begin[1] + end[1], 0))


def _least_pads(pads: Interval) -> int:
    """The least number of pads; 0 if it has no bound and elements may be added, as in OpenVINO.

    Such numbers result from `size - dim`, which models use to pad, not to crop.
    """
    low, high = pads
    return 0 if low == -BEYOND and high > 0 else low


def pad_array(data: Array, begins: list[int], ends: list[int], fill: Array | None = None) -> Array:
    """Data with elements added before and after it on each axis; negative numbers remove elements.

    Args:
        fill: The new elements, of the type of data; by default 0, or "".

    Returns:
        The result is data itself if nothing changes.
    """
    return _pad_with_value(_places(data.shape, begins, ends), data, fill) if any(begins) or any(ends) else data


class _Places(NamedTuple):
    """The sizes of an output, and the place of the copied elements in it and in the data."""

    sizes: list[int]
    target: tuple[slice, ...]
    source: tuple[slice, ...]


def _places(shape: tuple[int, ...], begins: Sequence[int], ends: Sequence[int]) -> _Places:
    sizes = [max(begin + size + end, 0) for size, begin, end in zip(shape, begins, ends, strict=True)]
    source, target = [], []
    for size, total, begin in zip(shape, sizes, begins, strict=True):
        first = max(begin, 0)
        count = max(min(total, begin + size) - first, 0)
        target.append(slice(first, first + count))
        source.append(slice(first - begin, first - begin + count))
    return _Places(sizes, tuple(target), tuple(source))


def _pad_with_value(places: _Places, data: Array, fill: Array | None) -> Array:
    if fill is None:
        fill = np.array("", object) if ElementType.of(data) is ElementType.string else np.zeros((), data.dtype)
    output = np.empty(places.sizes, data.dtype)
    output.fill(fill[()])
    output[places.target] = data[places.source]
    return output
