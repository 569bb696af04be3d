"""Fourier transforms. Complex numbers are pairs along a last axis of size 2, as in IR."""

from __future__ import annotations

import numpy as np

from ir_exec import build
from ir_exec.build import Value
from ir_exec.codes import Code
from ir_exec.errors import ShapeError
from ir_exec.onnx.lowering.registry import onnx_op
from ir_exec.onnx.lowering.values import (
    as_i64,
    as_vector,
    cast,
    ints,
    known_rank,
    known_scalar,
    known_size,
    normal_axis,
    number,
    reshape,
    shape_of,
)
from ir_exec.onnx.reading.tensors import element_type_of
from ir_exec.types import ElementType

__all__: list[str] = []


def _is_real(signal: Value) -> bool:
    last = known_size(signal, -1, "the last dim of the signal")
    if last not in (1, 2):
        raise ShapeError("the last dim is", actual=last, expected="1 (real) or 2 (complex)", code=Code.dims_differ)
    return last == 1


def _complex(signal: Value) -> Value:
    """Real numbers with zeros as their imaginary parts."""
    if not _is_real(signal):
        return signal
    zeros = build.broadcast(number(0, signal), shape_of(signal))
    return build.concat([signal, zeros], -1)


def _dft(data: Value, length: Value | None, axis: int, inverse: bool, onesided: bool) -> Value:
    rank = known_rank(data, "the input")
    axis = normal_axis(axis, rank)
    sizes = None if length is None else reshape(as_i64(length), 1)
    if inverse and onesided:
        return build.unsqueeze(build.irdft(data, ints(axis), sizes), -1)
    transform = build.idft if inverse else build.dft
    spectrum = transform(_complex(data), ints(axis), sizes)
    if not onesided:
        return spectrum
    size = build.gather(shape_of(spectrum), ints(axis), 0)
    half = build.add(build.divide(size, ints(2)), ints(1))
    return build.slice(spectrum, ints(0), half, ints(1), ints(axis))


@onnx_op("DFT", since=17)
def dft_17(data: Value, length: Value | None, *, axis: int, inverse: bool, onesided: bool) -> Value:
    return _dft(data, length, axis, inverse, onesided)


@onnx_op("DFT", since=20)
def dft(data: Value, length: Value | None, axis: Value | None, *, inverse: bool, onesided: bool) -> Value:
    axis_index = -2 if axis is None else int(known_scalar(axis, "the axis"))
    return _dft(data, length, axis_index, inverse, onesided)


@onnx_op("STFT", since=17)
def stft(
    signal: Value, frame_step: Value, window: Value | None, frame_length: Value | None, *, onesided: bool
) -> Value:
    """Transforms of windowed frames of the signal. Exporters omit the last dim of real signals."""
    if known_rank(signal, "the signal") == 2:
        signal = build.unsqueeze(signal, -1)
    window = None if window is None else as_vector(window)
    if frame_length is not None:
        length = reshape(as_i64(frame_length), 1)
    elif window is not None:
        length = shape_of(window)
    else:
        raise ShapeError(
            "window and frame_length are missing", expected="one of them", code=Code.wrong_number_of_inputs
        )
    step = reshape(as_i64(frame_step), 1)
    size = build.gather(shape_of(signal), ints(1), 0)
    count = build.add(build.divide(build.subtract(size, length), step), ints(1))
    starts = build.multiply(build.range(0, build.squeeze(count, 0), 1, output_type="i64"), step)
    inside = build.range(0, build.squeeze(length, 0), 1, output_type="i64")
    frames = build.gather(signal, build.add(build.unsqueeze(starts, 1), inside), 1)
    if window is not None:
        frames = build.multiply(frames, build.unsqueeze(window, 1))
    return _dft(frames, None, 2, inverse=False, onesided=onesided and _is_real(signal))


@onnx_op("MelWeightMatrix", since=17)
def mel_weight_matrix(
    num_mel_bins: Value,
    dft_length: Value,
    sample_rate: Value,
    lower_edge_hertz: Value,
    upper_edge_hertz: Value,
    *,
    output_datatype: int,
) -> Value:
    """[dft_length // 2 + 1, num_mel_bins]: a triangle for each bin, rising from its left neighbor to 1 and falling."""
    wide = ElementType.f64

    def of(value: float) -> Value:
        return build.constant(np.float64(value))

    def mel(hertz: Value) -> Value:
        logarithm = build.log(build.add(of(1), build.divide(cast(_single(hertz), wide), of(700))))
        return build.multiply(of(2595 / np.log(10)), logarithm)

    bins, length = as_i64(_single(num_mel_bins)), as_i64(_single(dft_length))
    low, high = mel(lower_edge_hertz), mel(upper_edge_hertz)
    edges = cast(build.range(0, build.add(bins, 2), 1, output_type="i64"), wide)
    step = build.divide(build.subtract(high, low), cast(build.add(bins, 2), wide))
    mels = build.add(build.multiply(edges, step), low)
    hertz = build.multiply(of(700), build.subtract(build.exp(build.multiply(mels, of(np.log(10) / 2595))), of(1)))
    scaled = build.multiply(cast(build.add(length, 1), wide), hertz)
    places = build.floor(build.divide(scaled, cast(_single(sample_rate), wide)))
    left = build.slice(places, ints(0), ints(-2), ints(1))
    center = build.slice(places, ints(1), ints(-1), ints(1))
    right = build.slice(places, ints(2), ints(2**31 - 1), ints(1))
    rows = build.range(0, build.add(build.divide(length, 2), 1), 1, output_type="i64")
    row = build.unsqueeze(cast(rows, wide), 1)
    rise, fall = build.subtract(center, left), build.subtract(right, center)
    up = build.divide(build.subtract(row, left), build.maximum(rise, of(1)))
    down = build.divide(build.subtract(right, row), build.maximum(fall, of(1)))
    rising = build.logical_and(build.greater_equal(row, left), build.less(row, center))
    falling = build.logical_and(build.greater(row, center), build.less(row, right))
    weights = build.select(rising, up, build.select(falling, down, of(0)))
    return cast(build.select(build.equal(row, center), of(1), weights), element_type_of(output_datatype))


def _single(value: Value) -> Value:
    return value if value.rank == 0 else build.reshape(value, ints(), special_zero=False)
