"""Lowerings of Fourier transforms."""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING

from ir_exec.onnx.export.algebra import I64, Expr, concat, convert_output, input_tensors, widen
from ir_exec.onnx.export.registry import export
from ir_exec.ops.signals import DFT, IDFT, IRDFT, ISTFT, RDFT, STFT

if TYPE_CHECKING:
    from ir_exec.onnx.export.node import ExportNode


def _transform(data: Expr, axis: int | Expr, rank: int, *, inverse: bool = False, onesided: bool = False) -> Expr:
    """ONNX's DFT along an axis of complex data of this rank, or of real data with a last axis of one element.

    A known axis is moved to axis 1, and a one-sided transform is half of the whole one: OpenVINO ignores the axis of
    version 20, and adds an axis to one-sided transforms.
    """
    if data.sheet.node.opset < 20 and isinstance(axis, Expr):
        data.sheet.node.refuse("the axis of DFT as an input requires opset 20 of ONNX")
    count = _size(data, axis)
    if data.sheet.node.opset < 20:
        result = data.call("DFT", axis=axis, inverse=int(inverse))
    elif isinstance(axis, Expr):
        result = data.call("DFT", None, axis.reshape(), inverse=int(inverse))
    else:
        order = list(range(rank))
        if rank > 2:
            order[1], order[axis] = axis, 1
        moved = data.unsqueeze(0) if rank == 2 else data.transpose(*order)
        moved = moved.call("DFT", None, data.sheet.constant(1, I64), inverse=int(inverse))
        result = moved.squeeze(0) if rank == 2 else moved.transpose(*order)
    if not onesided:
        return result
    ints = data.sheet.ints
    return result.call("Slice", ints(0), count // 2 + 1, ints(axis), ints(1))


def _size(data: Expr, axis: int | Expr) -> Expr:
    """The size of an axis, a vector of one element."""
    return data.shape().gather(axis, 0) if isinstance(axis, Expr) else data.dim(axis)


def _pad_axis(data: Expr, axis: int | Expr, before: Expr, behind: Expr) -> Expr:
    """The data with zeros at both ends of an axis, truncated for negative numbers."""
    sheet = data.sheet
    zero = sheet.constant(0, data.dtype)
    if sheet.node.opset < 18:
        # Pad has no axes before opset 18: it needs numbers for all of them.
        is_own = sheet.arange(data.shape().dim(0)).equals(sheet.ints(axis))
        pads = concat([is_own.where(before, 0), is_own.where(behind, 0)], 0)
        return data.call("Pad", pads, zero, mode="constant")
    return data.call("Pad", concat([before, behind], 0), zero, sheet.ints(axis), mode="constant")


def _fit_axis(data: Expr, axis: int | Expr, size: Expr | int) -> Expr:
    """The data with an axis truncated, or padded with zeros, to a size."""
    sheet = data.sheet
    return _pad_axis(data, axis, sheet.ints(0), sheet.ints(size) - _size(data, axis))


def _axes(node: ExportNode, rank: int) -> list[tuple[int | Expr, Expr | int | None]]:
    """The axes with the numbers of elements to transform, None for the whole axis."""
    known_axes, sizes = node.known_ints(1), node.known_ints(2) if node.has(2) else None
    axes: list[int | Expr]
    if known_axes is not None:
        axes = [axis % rank for axis in known_axes]
    else:
        dims = node.types[1].shape.dims
        if dims is None or not dims[0].is_static:
            node.refuse("the number of axes is known only at run time")
        every = input_tensors(node)[1].to(I64) % rank
        axes = [every.slice(0, position, position + 1) for position in range(dims[0].lo)]
    sized_axes: list[tuple[int | Expr, Expr | int | None]] = []
    for position, axis in enumerate(axes):
        size: Expr | int | None = None
        if sizes is not None:
            size = None if sizes[position] == -1 else sizes[position]
        elif node.has(2):
            size = input_tensors(node)[2].to(I64).slice(0, position, position + 1)
        sized_axes.append((axis, size))
    return sized_axes


def _resolve_size(size: Expr | int | None, axis_size: Expr) -> Expr | int | None:
    """A size, with -1 in a tensor replaced by the size of the whole axis."""
    return size.equals(-1).where(axis_size, size) if isinstance(size, Expr) else size


def _is_empty(node: ExportNode) -> bool:
    """Return True if the output is known to have no elements."""
    dims = node.out_types[0].shape.dims
    return dims is not None and any(dim.is_static and dim.lo == 0 for dim in dims)


def _nothing(node: ExportNode, data: Expr) -> str:
    dims = node.out_types[0].shape.dims or ()
    return data.sheet.zeros(data.sheet.ints(*(dim.lo for dim in dims)), data.dtype).name


_SLOW_FROM = 2**12
"""Elements of a transform with which the interpreter is faster: 20 to 600 times for 2**14 (AMD EPYC, 2026-11-28)."""


@export(DFT, IDFT, slow_from=_SLOW_FROM)
def dft(node: ExportNode) -> str:
    """DFT along each of the axes."""
    data = input_tensors(node)[0]
    if _is_empty(node):
        return _nothing(node, data)
    rank = node.known_rank(0)
    spectrum = widen(data)
    for axis, size in _axes(node, rank - 1):
        size = _resolve_size(size, _size(data, axis))
        if size is not None:
            spectrum = _fit_axis(spectrum, axis, size)
        spectrum = _transform(spectrum, axis, rank, inverse=isinstance(node.op, IDFT))
    return spectrum.to(data.dtype).name if spectrum.name != data.name else data.call("Identity").name


@export(RDFT, slow_from=_SLOW_FROM)
def rdft(node: ExportNode) -> str:
    """A one-sided DFT along the last of the axes, then DFT along the others."""
    data = input_tensors(node)[0]
    if _is_empty(node):
        return _nothing(node, data)
    rank = node.known_rank(0)
    spectrum = widen(data).unsqueeze(rank)
    *others, last = _axes(node, rank)
    for axis, size in (*others, last):
        size = _resolve_size(size, _size(data, axis))
        if size is not None:
            spectrum = _fit_axis(spectrum, axis, size)
    spectrum = _transform(spectrum, last[0], rank + 1, onesided=True)
    for axis, _ in others:
        spectrum = _transform(spectrum, axis, rank + 1)
    return spectrum.to(data.dtype).name


@export(IRDFT, slow_from=_SLOW_FROM)
def irdft(node: ExportNode) -> str:
    """An inverse DFT of the numbers and their conjugates."""
    data = input_tensors(node)[0]
    if _is_empty(node):
        return _nothing(node, data)
    rank = node.known_rank(0)
    spectrum = widen(data)
    *others, (last, signal) = _axes(node, rank - 1)
    for axis, size in others:
        size = _resolve_size(size, _size(data, axis))
        if size is not None:
            spectrum = _fit_axis(spectrum, axis, size)
        spectrum = _transform(spectrum, axis, rank, inverse=True)
    full_size = (_size(data, last) - 1) * 2
    signal = _resolve_size(signal, full_size)
    return _real_inverse(spectrum, last, full_size if signal is None else signal, rank).to(data.dtype).name


def _real_inverse(half: Expr, axis: int | Expr, size: Expr | int, rank: int) -> Expr:
    """The `size` real numbers with this one-sided transform; complex data of this rank."""
    sheet = half.sheet
    total = sheet.ints(size)
    half_size = total // 2 + 1
    half = _fit_axis(half, axis, half_size)
    # Element k of the second half is the conjugate of element size - k.
    mirrored = half.call("Slice", total - half_size, sheet.ints(0), sheet.ints(axis), sheet.ints(-1))
    conjugate = mirrored * sheet.constant([1, -1], half.dtype)
    none = sheet.ints(0)
    spectrum = _pad_axis(half, axis, none, total - half_size) + _pad_axis(conjugate, axis, half_size, none)
    return _transform(spectrum, axis, rank, inverse=True).slice(rank - 1, 0, 1).squeeze(rank - 1)


def _window(window: Expr, size: Expr) -> Expr:
    """The window in the middle of a frame of zeros."""
    missing = size - window.dim(0)
    before = missing // 2
    return widen(window).pad([before], [missing - before])


@export(STFT)
def stft(node: ExportNode) -> str:
    """One-sided DFT of gathered frames."""
    signal, window, frame_size, frame_step = input_tensors(node)
    rank, sheet = node.known_rank(0), signal.sheet
    size, step = sheet.ints(frame_size), sheet.ints(frame_step)
    count = (signal.dim(-1) - size) // step + 1
    places = sheet.arange(count).unsqueeze(1) * step + sheet.arange(size)
    frames = widen(signal).gather(places, rank - 1) * _window(window, size)
    spectrum = _transform(frames.unsqueeze(rank + 1), rank, rank + 2, onesided=True)
    if node.op.transpose_frames:
        spectrum = spectrum.transpose(*range(rank - 1), rank, rank - 1, rank + 1)
    return spectrum.to(signal.dtype).name


@export(ISTFT)
def istft(node: ExportNode) -> str:
    """Real inverse transforms of the frames, added where they overlap, divided by the sum of squares of the window."""
    data, window, frame_size, frame_step, *lengths = input_tensors(node)
    op, rank, sheet = node.op, node.known_rank(0), data.sheet
    size, step = sheet.ints(frame_size), sheet.ints(frame_step)
    count = data.dim(rank - 2)
    weights = _window(window, size)
    wide = widen(data).transpose(*range(rank - 3), rank - 2, rank - 3, rank - 1)
    frames = _real_inverse(wide, rank - 2, size, rank) * weights
    total = (count - 1).at_least(0) * step + size
    places = (sheet.arange(count).unsqueeze(1) * step + sheet.arange(size)).reshape(1, -1)

    def add_overlaps(rows: Expr) -> Expr:
        where = places.expand_to(rows.shape())
        zeros = sheet.zeros(sheet.ints(rows.dim(0), total), rows.dtype)
        return zeros.call("ScatterElements", where, rows, axis=1, reduction="add")

    signal = add_overlaps(frames.reshape(-1, count * size))
    squares = add_overlaps((weights * weights).unsqueeze(0).expand(count, size).reshape(1, -1))
    if op.normalized:
        known_size = node.known(2)
        signal = signal * (sqrt(int(known_size)) if known_size is not None else size.to(signal.dtype).sqrt())
    is_nothing = squares.equals(0)
    signal = is_nothing.where(0, signal / is_nothing.where(1, squares))
    margin = size // 2 if op.center else sheet.ints(0)
    length = sheet.ints(lengths[0]) if lengths else total - margin * 2
    samples = signal.slice(1, margin, margin + length)
    result = samples.pad([0, 0], [0, (length - samples.dim(1)).at_least(0)])
    if rank == 3:
        result = result.squeeze(0)
    return convert_output(result, data.dtype).name
