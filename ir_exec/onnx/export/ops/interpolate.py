"""Lowerings of Interpolate."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ir_exec.kernels.resample import Filter, TapTable
from ir_exec.onnx.export.algebra import I64, Expr, concat, input_tensors
from ir_exec.onnx.export.registry import export
from ir_exec.ops.image.interpolate import Interpolate1, Interpolate4, Interpolate11, _normal_axes
from ir_exec.types import ElementType

if TYPE_CHECKING:
    from ir_exec.onnx.export.node import ExportNode

_RESIZED = {
    "nearest": "nearest",
    "linear": "linear",
    "linear_onnx": "linear",
    "cubic": "cubic",
}
_COORDINATES = {"half_pixel", "pytorch_half_pixel", "asymmetric", "align_corners"}


@export(Interpolate1)
def interpolate_1(node: ExportNode) -> str:
    """Resample the axes to sizes."""
    op, rank = node.op, node.known_rank(0)
    data, sizes = input_tensors(node)
    axes, pads = op._resized_axes(rank), op._pads(rank)
    if op.mode == "area":
        node.refuse("the specification does not define the mode area")
    padded = any(begin or end for begin, end in pads)
    return _resample_axes(node, data, axes, pads, sizes, None, op._filter(rank, padded))


@export(Interpolate4, Interpolate11)
def interpolate(node: ExportNode) -> str:
    """Resample the axes to sizes, or by scales."""
    op, rank = node.op, node.known_rank(0)
    values = input_tensors(node)
    is_new = isinstance(op, Interpolate11)
    position = 1 if is_new or op.shape_calculation_mode == "sizes" else 2
    last = 2 if is_new else 3
    axes: tuple[int, ...] = tuple(range(rank))
    if node.has(last):
        known_axes = node.known_ints(last)
        if known_axes is None:
            node.refuse("the axes are known only at run time")
        axes = _normal_axes(known_axes, rank)
    by_scales = op.shape_calculation_mode == "scales"
    target = values[position]
    sizes, scales = (None, target) if by_scales else (target, None)
    return _resample_axes(node, values[0], axes, op._pads(rank), sizes, scales, op._filter(op.mode))


def _resample_axes(
    node: ExportNode,
    data: Expr,
    axes: tuple[int, ...],
    pads: list[tuple[int, int]],
    sizes: Expr | None,
    scales: Expr | None,
    how: Filter,
) -> str:
    if any(begin or end for begin, end in pads):
        data = data.pad([begin for begin, _ in pads], [end for _, end in pads])
    dims, out_dims = node.types[0].shape.dims, node.out_types[0].shape.dims
    assert dims is not None
    before = [dims[axis].lo + sum(pads[axis]) if dims[axis].is_static else None for axis in axes]
    after = [out_dims[axis].lo if out_dims is not None and out_dims[axis].is_static else None for axis in axes]
    factors = None
    if scales is not None:
        known_scales = node.known(1 if isinstance(node.op, Interpolate11) else 2)
        factors = None if known_scales is None else known_scales.ravel()[: len(axes)].astype(np.float32).tolist()
    if None in before or None in after or (scales is not None and factors is None):
        return _open(node, data, axes, sizes, scales, factors, how)
    if factors is None:
        factors = [np.float32(new) / np.float32(max(old or 0, 1)) for old, new in zip(before, after, strict=True)]
    steps = [(a, o or 0, n or 0, np.float32(f)) for a, o, n, f in zip(axes, before, after, factors, strict=True)]
    return _static(node, data, [step for step in steps if step[1] != step[2]], how, any(f < 1 for f in factors))


def _static(
    node: ExportNode, data: Expr, steps: list[tuple[int, int, int, np.float32]], how: Filter, shrinks: bool
) -> str:
    """Resize if that is equivalent, else tables of indices and weights, axis by axis."""
    element_type = ElementType.of_dtype(data.dtype)
    out_dims = node.out_types[0].shape.dims
    if out_dims is not None and any(dim.is_static and dim.lo == 0 for dim in out_dims):
        return data.sheet.zeros(data.sheet.ints(*(dim.lo for dim in out_dims)), data.dtype).name
    if not steps:
        return data.call("Identity").name
    antialias = how.antialias and shrinks
    resized = _resize(node, data, steps, how) if not antialias else None
    if resized is not None:
        return resized
    if how.of_pillow:
        steps.reverse()
    else:
        steps.sort(key=lambda step: (step[2] / max(step[1], 1), -step[0]))
    result = data
    if how.mode != "nearest":
        result = data.to(_working(element_type, how))
    rank = node.known_rank(0)
    for axis, old, new, factor in steps:
        result = _resample_by_table(result, axis, rank, how.table(old, new, factor, antialias))
        if element_type.is_integer and how.of_pillow:
            result = _saturate((result.abs() + 0.5).floor() * result.call("Sign"), data.dtype).to(result.dtype)
    return _to_data_type(result, data.dtype).name


def _working(element_type: ElementType, how: Filter) -> Any:
    wide = element_type.bits >= 32 and element_type is not ElementType.f32
    return np.float64 if wide or (element_type.is_integer and how.of_pillow) else np.float32


def _saturate(values: Expr, dtype: Any) -> Expr:
    limits = np.iinfo(dtype)
    return values.clip(float(limits.min), float(limits.max))


def _to_data_type(values: Expr, dtype: Any) -> Expr:
    """Convert to the element type of the data; integers are rounded to the nearest and saturated."""
    if values.dtype == dtype or not ElementType.of_dtype(np.dtype(dtype)).is_integer:
        return values.to(dtype)
    return _saturate(values.rint(), dtype).to(dtype)


def _resample_by_table(data: Expr, axis: int, rank: int, table: TapTable) -> Expr:
    """An axis resampled by a table: gathered, or multiplied by the matrix of weights."""
    sheet = data.sheet
    if table.weights is None:
        return data.gather(sheet.constant(table.indices[:, 0].astype(np.int64)), axis)
    total = None
    for tap in range(table.indices.shape[1]):
        weights = sheet.constant(table.weights[:, tap].astype(data.dtype).reshape(-1, *[1] * (rank - axis - 1)))
        weighted = data.gather(sheet.constant(table.indices[:, tap].astype(np.int64)), axis) * weights
        total = weighted if total is None else total + weighted
    assert total is not None
    return total


def _resize(node: ExportNode, data: Expr, steps: list[tuple[int, int, int, np.float32]], how: Filter) -> str | None:
    """ONNX's Resize, in the forms that onnxruntime supports, if its scales equal those of the layer."""
    rank, axes = node.known_rank(0), {step[0] for step in steps}
    if any(np.float32(new) / np.float32(old) != factor for _, old, new, factor in steps):
        return None
    attributes = _attributes(how, rank, axes, {bool(factor < 1) for *_, factor in steps})
    if attributes is None or data.dtype != np.float32:
        return None
    dims = node.out_types[0].shape.dims
    assert dims is not None
    sizes = [data.dim(axis) if not dim.is_static else dim.lo for axis, dim in enumerate(dims)]
    return data.call("Resize", None, None, data.sheet.ints(*sizes), **attributes).name


def _attributes(how: Filter, rank: int, axes: set[int], shrinks: set[bool]) -> dict[str, Any] | None:
    """The attributes of an equivalent Resize; None if there is none."""
    if how.mode not in _RESIZED or how.coordinates not in _COORDINATES:
        return None
    if rank not in (4, 5) or not axes <= set(range(2, rank)) or (how.mode == "cubic" and rank != 4):
        return None
    attributes: dict[str, Any] = {"mode": _RESIZED[how.mode], "coordinate_transformation_mode": how.coordinates}
    if how.mode == "nearest":
        nearest = how.nearest
        if nearest == "simple":
            if len(shrinks) > 1:
                return None
            nearest = "ceil" if True in shrinks else "floor"
        attributes["nearest_mode"] = nearest
    if how.mode == "cubic":
        attributes["cubic_coeff_a"] = how.cube_coeff
    return attributes


def _open(
    node: ExportNode,
    data: Expr,
    axes: tuple[int, ...],
    sizes: Expr | None,
    scales: Expr | None,
    factors: list[Any] | None,
    how: Filter,
) -> str:
    """Resample axes of sizes known only at run time: by Resize to sizes, else by computed positions and weights."""
    rank, sheet = node.known_rank(0), data.sheet
    element_type = ElementType.of_dtype(data.dtype)
    if sizes is not None and element_type is ElementType.f32 and not how.antialias:
        attributes = _attributes(how, rank, {axis for axis in axes if axis > 1 or not _keeps(node, axis)}, set())
        if attributes is not None and how.nearest != "simple":
            target_sizes: list[Expr | int] = [data.dim(axis) for axis in range(rank)]
            for i, axis in enumerate(axes):
                target_sizes[axis] = sizes.slice(0, i, i + 1)
            return data.call("Resize", None, None, sheet.ints(*target_sizes), **attributes).name
    result = data if how.mode == "nearest" else data.to(_working(element_type, how))
    steps = []
    for i, axis in enumerate(axes):
        old = data.dim(axis)
        if sizes is not None:
            new = sizes.to(I64).slice(0, i, i + 1)
            factor = new.to(np.float32) / old.to(np.float32)
        else:
            assert scales is not None
            factor = scales.to(np.float32).slice(0, i, i + 1)
            grown = (old.to(np.float32) * (factor + np.float32(1e-6))).to(I64)
            new = factor.equals(1).where(old, grown)
        steps.append((axis, old, new, factor))
    if how.of_pillow:
        # Pillow resamples the last axis first, and rounds integers after each axis.
        for axis, old, new, _ in reversed(steps):
            after = _sum_weighted_taps(result, axis, rank, *_pillow_taps(old, new, cubic=how.mode == "bicubic_pillow"))
            if element_type.is_integer:
                after = _saturate((after.abs() + 0.5).floor() * after.call("Sign"), data.dtype).to(result.dtype)
            result = after
        return _to_data_type(result, data.dtype).name
    slopes = None
    if how.antialias and how.mode == "linear":
        factors_of_all = concat([factor for *_, factor in steps], 0)
        shrinks = factors_of_all.min([0]) < 1
        slopes = [shrinks.where(factor, 1) for *_, factor in steps]
    for i, (axis, old, new, factor) in enumerate(steps):
        if slopes is not None:
            source = _source(how, old, new, factor)
            result = _sum_weighted_taps(result, axis, rank, *_triangle_taps(source, old, slopes[i]))
        else:
            result = _open_axis(result, axis, rank, old, new, factor, how)
    return _to_data_type(result, data.dtype).name


def _keeps(node: ExportNode, axis: int) -> bool:
    before, after = node.types[0].shape.dims, node.out_types[0].shape.dims
    return before is not None and after is not None and before[axis] == after[axis]


def _sum_weighted_taps(data: Expr, axis: int, rank: int, taps: Expr, weights: Expr) -> Expr:
    """The sums of gathered taps [new, n] times their weights."""
    behind = [1] * (rank - axis - 1)
    read = data.gather(taps, axis) * weights.to(data.dtype).reshape(taps.shape(), *behind)
    return read.sum([axis + 1], keep=False)


def _triangle_taps(source: Expr, old: Expr, slope: Expr) -> tuple[Expr, Expr]:
    """Elements near positions and their weights, of a triangle that is wider for a smaller slope."""
    sheet = source.sheet
    radius = (2.0 / slope).ceil().at_most(float(2**31)).to(I64)
    radius = (slope >= 1).where(2, radius.at_most(old))
    middle = (source + source.call("Sign") * 0.5).trunc().unsqueeze(1)
    taps = middle + sheet.arange(radius + 1, -radius).to(np.float32).unsqueeze(0)
    weights = (1 - (source.unsqueeze(1) - taps).abs() * slope).at_least(0)
    last = (old - 1).to(np.float32)
    weights = ((taps >= 0) & (taps <= last)).where(weights, 0)
    return taps.at_least(0).at_most(last).to(I64), _shares(weights)


def _pillow_taps(old: Expr, new: Expr, *, cubic: bool) -> tuple[Expr, Expr]:
    """Elements near positions and their weights, computed in f64 as in Pillow."""
    sheet = old.sheet
    scale = old.to(np.float64) / new.to(np.float64)
    stretch = scale.at_least(1.0)
    support = stretch * (2.0 if cubic else 1.0)
    centers = (sheet.arange(new).to(np.float64) + 0.5) * scale
    begin = (centers - support + 0.5).trunc().at_least(0).to(I64).unsqueeze(1)
    end = (centers + support + 0.5).trunc().to(I64).at_most(old).unsqueeze(1)
    longest = (end - begin).pad([0, 0], [1, 0]).max([0, 1], keep=False).reshape(1)
    taps = begin + sheet.arange(longest).unsqueeze(0)
    distance = (taps.to(np.float64) - centers.unsqueeze(1) + 0.5).abs() / stretch
    if cubic:
        inner = (distance * 1.5 - 2.5) * distance * distance + 1
        outer = (((distance - 5) * distance + 8) * distance - 4) * -0.5
        weights = (distance < 1).where(inner, (distance < 2).where(outer, 0))
    else:
        weights = (1 - distance).at_least(0)
    weights = (taps < end).where(weights, 0)
    return taps.at_most(old - 1), _shares(weights)


def _shares(weights: Expr) -> Expr:
    """Weights normalized to a sum of 1 for each element; zeros if all are 0."""
    total = weights.sum([1])
    return weights / total.equals(0).where(1, total)


def _source(how: Filter, old: Expr, new: Expr, factor: Expr) -> Expr:
    """The coordinate on the input axis of each element of the output axis, in f32."""
    places = old.sheet.arange(new).to(np.float32)
    half = np.float32(0.5)
    if how.coordinates == "asymmetric":
        source = places / factor
    elif how.coordinates == "tf_half_pixel_for_nn":
        source = (places + half) / factor
    elif how.coordinates == "align_corners":
        source = places * (old - 1).to(np.float32) / (new - 1).at_least(1).to(np.float32)
    else:
        source = (places + half) / factor - half
        if how.coordinates == "pytorch_half_pixel":
            source = new.equals(1).where(0, source)
    return (factor.equals(1) | new.equals(old)).where(places, source)


def _open_axis(data: Expr, axis: int, rank: int, old: Expr, new: Expr, factor: Expr, how: Filter) -> Expr:
    """Resample one axis of a size known only at run time, by gathered taps."""
    source = _source(how, old, new, factor)
    last = old - 1
    behind = [1] * (rank - axis - 1)

    def read(index: Expr) -> Expr:
        return data.gather(index.to(I64).at_least(0).at_most(last), axis)

    if how.mode == "nearest":
        exact = source.to(np.float64)
        nearest: dict[str, Callable[[], Expr]] = {
            "round_prefer_floor": lambda: (exact - 0.5).ceil(),
            "round_prefer_ceil": lambda: (exact + 0.5).floor(),
            "floor": exact.floor,
            "ceil": exact.ceil,
            "simple": lambda: (factor < 1).where(exact.ceil(), exact.floor()),
        }
        return read(nearest[how.nearest]())
    low = source.floor()
    near = source - low
    far = 1 - near
    if how.mode == "cubic":
        a = np.float32(how.cube_coeff)
        weights = [
            near * far * far * a,
            (near * (a + 2) - (a + 3)) * near * near + 1,
            (far * (a + 2) - (a + 3)) * far * far + 1,
            near * near * far * a,
        ]
        taps = list(zip((low - 1, low, low + 1, low + 2), weights, strict=True))
    else:
        if how.mode == "linear_onnx":
            source = source.at_least(0).at_most(last.to(np.float32))
            low = source.floor()
            near = source - low
            far = 1 - near
        taps = []
        for index, weight in ((low, far), (low + 1, near)):
            inside = (index >= 0) & (index <= last.to(np.float32))
            taps.append((index, inside.where(weight, 0)))
        total = taps[0][1] + taps[1][1]
        total = total.equals(0).where(1, total)
        taps = [(index, weight / total) for index, weight in taps]
    result = None
    for index, weight in taps:
        term = read(index) * weight.to(data.dtype).reshape(-1, *behind)
        result = term if result is None else result + term
    assert result is not None
    return result
