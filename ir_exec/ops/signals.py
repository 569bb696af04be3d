"""Discrete Fourier transforms: of whole axes (DFT, IDFT, RDFT, IRDFT) and of short frames (STFT, ISTFT).

A complex number is two elements of the last axis: real part and imaginary part.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod, sqrt
from typing import ClassVar

import numpy as np

from ir_exec.codes import Code
from ir_exec.errors import EvaluationError, IRError, Location, ShapeError
from ir_exec.kernels.indices import as_integers
from ir_exec.kernels.limits import require_temporary
from ir_exec.kernels.precision import CALCULABLE_FLOAT, round_to, widen
from ir_exec.ops.base import In, Op, op
from ir_exec.ops.base.attributes import Bool
from ir_exec.ops.base.facts import Accuracy
from ir_exec.ops.base.shapes import (
    known_axes,
    known_bounds,
    known_int,
    merge_dims,
    normalize_axes,
    require_least_rank,
    require_one_element,
    require_rank,
)
from ir_exec.ops.base.windowed import count_overlaps
from ir_exec.types import INDEX, Array, Dim, Shape, TensorType

__all__ = ["DFT", "IDFT", "IRDFT", "ISTFT", "RDFT", "STFT"]


class _Fourier(Op):
    """The base of the transforms along given axes.

    Inputs:
        axes: A vector of different axes; negative ones count from the end, the last axis of complex data is not
            counted.
        signal_size: A vector with the number of values to transform along each axis, -1 for the axis size. A longer
            axis is truncated, a shorter one padded with zeros.
    """

    inputs = (
        In("data", types=CALCULABLE_FLOAT),
        In("axes", types=INDEX),
        In("signal_size", types=INDEX, optional=True),
    )
    arranging_inputs = ("axes",)
    sized_by = ("signal_size",)

    complex_input: ClassVar[bool] = True
    complex_output: ClassVar[bool] = True

    def infer(self, data: TensorType, axes: TensorType, signal_size: TensorType | None = None) -> TensorType:
        require_rank(axes, 1, "axes")
        if signal_size is not None:
            require_rank(signal_size, 1, "signal_size")
            if axes.shape.dims is not None and signal_size.shape.dims is not None:
                lengths = (axes.shape[0], signal_size.shape[0])
                merge_dims(*lengths, "the lengths of axes and signal_size", port="signal_size")
        numbers = self._numbers(data)
        if numbers is None:
            return data.with_shape(Shape.unknown())
        if axes.shape.dims is not None and axes.shape[0].lo > len(numbers):
            raise ShapeError(
                "axes has",
                actual=axes.shape[0].lo,
                detail="elements",
                expected=f"at most {len(numbers)}",
                reason="the number of axes to transform",
                port="axes",
            )
        sizes = self._output_sizes(numbers, known_axes(axes, len(numbers)), signal_size)
        return data.with_shape(Shape([*sizes, 2] if self.complex_output else sizes))

    def _numbers(self, data: TensorType) -> tuple[Dim, ...] | None:
        """The dims of data, without the last axis if it holds real and imaginary parts."""
        if data.shape.dims is None:
            return None
        least = 2 if self.complex_input else 1
        require_least_rank(data, least, "data")
        if not self.complex_input:
            return data.shape[:]
        merge_dims(data.shape[-1], Dim.of(2), "the last axis of data and the parts of a complex number", port="data")
        return data.shape[:-1]

    def _output_sizes(
        self, numbers: tuple[Dim, ...], axes: tuple[int, ...] | None, signal_size: TensorType | None
    ) -> list[Dim]:
        if axes is None:
            keeps = self.complex_input and self.complex_output and signal_size is None
            return list(numbers) if keeps else [Dim.any()] * len(numbers)
        self._require_last(axes, ShapeError)
        bounds = None if signal_size is None else known_bounds(signal_size)
        sizes = list(numbers)
        for position, axis in enumerate(axes):
            is_last = position == len(axes) - 1
            full = self._whole_signal(numbers[axis], is_last)
            signal = full if signal_size is None else Dim.any()
            if bounds is not None:
                least, most = _check_bounds(bounds[position], position, ShapeError)
                signal = full if most == -1 else Dim(least, most) if least >= 0 else Dim(0, max(most, full.hi))
            sizes[axis] = self._output_size(signal, is_last)
        return sizes

    def _require_last(self, axes: tuple[int, ...], error: type[IRError]) -> None:
        if not axes and not (self.complex_input and self.complex_output):
            raise error("axes is", actual="empty", expected="one axis or more")

    def _whole_signal(self, size: Dim, is_last: bool) -> Dim:
        """The number of values to transform along an axis of this size without signal_size."""
        return size

    def _output_size(self, signal: Dim, is_last: bool) -> Dim:
        """The size of the output along an axis with `signal` transformed values."""
        return signal

    def count_terms(self, inputs: Sequence[Array]) -> int:
        # Both parts of a complex number.
        return prod(self._count_read(inputs)) * (2 if self.complex_input else 1)

    def count_positions(self, inputs: Sequence[Array]) -> int:
        return sum(self._count_read(inputs))

    def _count_read(self, inputs: Sequence[Array]) -> list[int]:
        """The number of elements of data that are transformed along each of the axes."""
        data, axes, *signal_size = inputs
        shape = data.shape[:-1] if self.complex_input else data.shape
        sizes = [int(shape[axis]) for axis in normalize_axes(as_integers(axes).tolist(), len(shape))]
        lengths = as_integers(signal_size[0]).tolist() if signal_size else [-1] * len(sizes)
        return [size if length < 0 else min(size, length) for size, length in zip(sizes, lengths, strict=True)]

    def evaluate(self, data: Array, axes: Array, signal_size: Array | None = None) -> Array:
        shape = data.shape[:-1] if self.complex_input else data.shape
        try:
            along = normalize_axes(as_integers(axes).tolist(), len(shape))
        except ShapeError as error:
            raise EvaluationError.of(error.fault).changed(code=Code.bad_value, location=Location(port="axes")) from None
        self._require_last(along, EvaluationError)
        requested = [-1] * len(along) if signal_size is None else as_integers(signal_size).tolist()
        output, signal = list(shape), []
        for position, (axis, size) in enumerate(zip(along, requested, strict=True)):
            is_last = position == len(along) - 1
            _check_bounds((size, size), position, EvaluationError)
            full = self._whole_signal(Dim.of(shape[axis]), is_last) if size == -1 else Dim.of(size)
            signal.append(full.size)
            output[axis] = self._output_size(full, is_last).size
        if 0 in output:
            return np.zeros((*output, 2) if self.complex_output else output, data.dtype)
        numbers = _as_complex(widen(data)) if self.complex_input else widen(data)
        transformed = self._transform(numbers, signal, along) if along else numbers.copy()
        return round_to(_as_parts(transformed) if self.complex_output else transformed, data.dtype)

    def _transform(self, numbers: Array, signal: list[int], axes: tuple[int, ...]) -> Array:
        raise NotImplementedError


def _check_bounds(bounds: tuple[int, int], position: int, error: type[IRError]) -> tuple[int, int]:
    if bounds[1] < -1:
        raise error(
            f"signal_size[{position}] is",
            actual=bounds[1],
            expected="0 or more, or -1 for the size of the axis",
            port="signal_size",
        )
    return bounds


def _as_complex(parts: Array) -> Array:
    complex_dtype = np.complex128 if parts.dtype == np.float64 else np.complex64
    return np.ascontiguousarray(parts).view(complex_dtype)[..., 0]


def _as_parts(numbers: Array) -> Array:
    return np.ascontiguousarray(numbers)[..., None].view(numbers.real.dtype)


_ROTATED = Accuracy(
    positions=3, reason="for sizes that are no power of 2, angles are rounded relative to the size of each axis"
)


@op("DFT", since=7)
class DFT(_Fourier):
    """output[m] = sum over j of data[j] * exp(-2 pi i m j / S), along every one of `axes` with its S numbers.

    Specification: signals/dft-7.

    Inputs:
        data: A float type, shape [..., 2].

    Outputs:
        output: Like data, with the sizes of signal_size. f16 and bf16 are computed in f32. Without axes the output is
            data.
    """

    accuracy = _ROTATED

    def _transform(self, numbers: Array, signal: list[int], axes: tuple[int, ...]) -> Array:
        return np.fft.fftn(numbers, signal, axes)


@op("IDFT", since=7)
class IDFT(_Fourier):
    """output[m] = 1 / S * sum over j of data[j] * exp(2 pi i m j / S): the inverse of DFT, with its inputs.

    Specification: signals/idft-7.

    Inputs:
        data: A float type, shape [..., 2].

    Outputs:
        output: Like data, with the sizes of signal_size. f16 and bf16 are computed in f32. Without axes the output is
            data.
    """

    accuracy = _ROTATED

    def _transform(self, numbers: Array, signal: list[int], axes: tuple[int, ...]) -> Array:
        return np.fft.ifftn(numbers, signal, axes)


@op("RDFT", since=9)
class RDFT(_Fourier):
    """The DFT of real numbers. Along the last of `axes` the output has S // 2 + 1 numbers: the others are conjugates.

    Specification: signals/rdft-9. If signal_size is not known, OpenVINO's shape inference keeps the sizes of all axes
    except the last; here they are dynamic.

    Inputs:
        data: A float type, rank 1 or more.

    Outputs:
        output: The element type of data, shape [..., 2]. f16 and bf16 are computed in f32. At least one axis is
            required.
    """

    complex_input: ClassVar[bool] = False

    def _output_size(self, signal: Dim, is_last: bool) -> Dim:
        # As in OpenVINO, the transform of no values is empty.
        return signal if not is_last or signal == 0 else Dim(signal.lo and signal.lo // 2 + 1, (signal // 2 + 1).hi)

    def _transform(self, numbers: Array, signal: list[int], axes: tuple[int, ...]) -> Array:
        return np.fft.rfftn(numbers, signal, axes)


@op("IRDFT", since=9)
class IRDFT(_Fourier):
    """The inverse of RDFT: real numbers from the first half of their transform along the last of `axes`.

    Along the last of `axes` the size M of data means 2 * (M - 1) values unless signal_size is given. At least one axis
    is required.

    OpenVINO's CPU plugin rejects -1 for that axis; the specification and this class do not.
    Specification: signals/irdft-9. If signal_size is not known, OpenVINO's shape inference keeps the sizes of all axes
    except the last; here they are dynamic.

    Inputs:
        data: A float type, shape [..., 2].

    Outputs:
        output: The element type of data, without the last axis of data. f16 and bf16 are computed in f32.
    """

    complex_output: ClassVar[bool] = False

    def _whole_signal(self, size: Dim, is_last: bool) -> Dim:
        return (size - 1) * 2 if is_last else size

    def _transform(self, numbers: Array, signal: list[int], axes: tuple[int, ...]) -> Array:
        return np.fft.irfftn(numbers, signal, axes)


def _require_frames(
    window: TensorType, frame_size: TensorType, frame_step: TensorType
) -> tuple[int | None, int | None]:
    """frame_size and frame_step, if known."""
    require_rank(window, 1, "window")
    for name, scalar in (("frame_size", frame_size), ("frame_step", frame_step)):
        require_rank(scalar, 0, name)
    size, step = known_int(frame_size), known_int(frame_step)
    length = None if window.shape.dims is None else window.shape[0]
    _check_frames(size, step, length, ShapeError)
    return size, step


def _check_frames(size: int | None, step: int | None, window: Dim | None, error: type[IRError]) -> None:
    for name, number in (("frame_size", size), ("frame_step", step)):
        if number is not None and number < 1:
            raise error(f"{name} is", actual=number, expected="1 or more", port=name)
    if window is not None and (window == 0 or (size is not None and window.lo > size)):
        most = "frame_size" if size is None else f"frame_size, which is {size}"
        raise error("window has", actual=window, detail="elements", expected=f"1 to {most}", port="window")


def _pad_window(window: Array, frame_size: int) -> Array:
    """The window in the middle of a frame of zeros; an odd zero follows it."""
    before = (frame_size - len(window)) // 2
    return np.pad(window, (before, frame_size - len(window) - before))


@op("STFT", since=15)
class STFT(Op):
    """The transforms of the frames of a signal: output[t] = RDFT of `signal[t * frame_step :][: frame_size]` * window.

    Specification: signals/stft-15.

    Inputs:
        signal: A float type, shape [length] or [batch, length].
        window: The type of signal, at most frame_size long, padded with zeros on both sides if it is shorter.
        frame_size: A scalar, i32 or i64.
        frame_step: Like `frame_size`.

    Outputs:
        output: The type of signal, shape [frames, frame_size // 2 + 1, 2] after the batch, with the first two axes
            exchanged by `transpose_frames`; frames = (length - frame_size) // frame_step + 1. f16 and bf16 are computed
            in f32.

    Raises:
        IRError: IR505 or IR704 for a frame that is longer than the signal or shorter than the window.
    """

    inputs = (
        In("signal", types=CALCULABLE_FLOAT),
        In("window", types=CALCULABLE_FLOAT, like="signal"),
        In("frame_size", types=INDEX),
        In("frame_step", types=INDEX),
    )
    sized_by = ("frame_size", "frame_step")

    transpose_frames: Bool = False

    def infer(
        self, signal: TensorType, window: TensorType, frame_size: TensorType, frame_step: TensorType
    ) -> TensorType:
        require_rank(signal, (1, 2), "signal")
        size, step = _require_frames(window, frame_size, frame_step)
        if signal.shape.dims is None:
            return signal.with_shape(Shape.unknown())
        *batch, length = signal.shape
        if size is not None and size > length.hi:
            raise ShapeError(
                "frame_size is", actual=size, expected=f"at most the length of the signal, {length}", port="frame_size"
            )
        frames = Dim.any() if size is None or step is None else (length - size) // step + 1
        results = Dim.any() if size is None else Dim.of(size // 2 + 1)
        middle = [results, frames] if self.transpose_frames else [frames, results]
        return signal.with_shape(Shape([*batch, *middle, 2]))

    def count_terms(self, inputs: Sequence[Array]) -> int:
        return len(inputs[1])

    def evaluate(self, signal: Array, window: Array, frame_size: Array, frame_step: Array) -> Array:
        size, step = int(frame_size), int(frame_step)
        _check_frames(size, step, Dim.of(len(window)), EvaluationError)
        if size > signal.shape[-1]:
            raise EvaluationError(
                "frame_size is",
                actual=size,
                expected=f"at most the length of the signal, {signal.shape[-1]}",
                port="frame_size",
            )
        every = np.lib.stride_tricks.sliding_window_view(widen(signal), size, axis=-1)
        frames = every[..., ::step, :] * _pad_window(widen(window), size)
        parts = _as_parts(np.fft.rfft(frames))
        return round_to(np.ascontiguousarray(parts.swapaxes(-2, -3)) if self.transpose_frames else parts, signal.dtype)


@op("ISTFT", since=16)
class ISTFT(Op):
    """The inverse of STFT with transpose_frames: the signal with these transforms of its frames.

    Every frame is the IRDFT of data[..., t, :] times window. Overlapping frames are summed and divided by the sum of
    the squares of window there; the quotient is 0 if that sum is 0.

    OpenVINO crashes for a negative signal_length, and ignores 0; here a negative one is an error, and 0 gives an empty
    signal, as in OpenVINO's shape inference.

    Specification: signals/istft-16.

    Inputs:
        data: A float type, shape [frame_size // 2 + 1, frames, 2] or [batch, frame_size // 2 + 1, frames, 2].
        window: The type of data, at most frame_size long, padded with zeros on both sides if it is shorter.
        frame_size: A scalar.
        frame_step: Like `frame_size`.
        signal_length: A scalar or a vector of one element, the length of the output, which is truncated or padded with
            zeros; by default (frames - 1) * frame_step + frame_size, for `center` less by frame_size, rounded down to
            an even number.

    Attributes:
        center: The signal was padded with frame_size // 2 elements on both sides, which are removed.
        normalized: data was divided by sqrt(frame_size).

    Outputs:
        output: The type of data, shape [length] or [batch, length]. f16 and bf16 are computed in f32.

    Raises:
        IRError: IR502 or IR505, IR704 at run time.
    """

    inputs = (
        In("data", types=CALCULABLE_FLOAT),
        In("window", types=CALCULABLE_FLOAT, like="data"),
        In("frame_size", types=INDEX),
        In("frame_step", types=INDEX),
        In("signal_length", types=INDEX, optional=True),
    )
    sized_by = ("frame_size", "frame_step", "signal_length")

    center: Bool = False
    normalized: Bool = False

    def infer(
        self,
        data: TensorType,
        window: TensorType,
        frame_size: TensorType,
        frame_step: TensorType,
        signal_length: TensorType | None = None,
    ) -> TensorType:
        require_rank(data, (3, 4), "data")
        size, step = _require_frames(window, frame_size, frame_step)
        if signal_length is not None:
            require_one_element(signal_length, "signal_length")
        if data.shape.dims is None:
            return data.with_shape(Shape.unknown())
        *batch, results, frames, parts = data.shape
        merge_dims(parts, Dim.of(2), "the last axis of data and the parts of a complex number", port="data")
        if size is not None:
            merge_dims(results, Dim.of(size // 2 + 1), "axis -3 of data and frame_size // 2 + 1", port="data")
        length = Dim.any()
        if signal_length is not None:
            bounds = known_bounds(signal_length)
            length = Dim.any() if bounds is None else _length_between(*bounds[0])
        elif size is not None and step is not None:
            length = (frames - 1) * step + size - (size & ~1 if self.center else 0)
        return data.with_shape(Shape([*batch, length]))

    def count_terms(self, inputs: Sequence[Array]) -> int:
        data, _, frame_size, frame_step = inputs[:4]
        results, frames = data.shape[-3:-1]
        overlaps = min(count_overlaps(int(frame_size), int(frame_step), 1), frames)
        return int(2 * results * overlaps)

    def evaluate(
        self,
        data: Array,
        window: Array,
        frame_size: Array,
        frame_step: Array,
        signal_length: Array | None = None,
    ) -> Array:
        size, step = int(frame_size), int(frame_step)
        _check_frames(size, step, Dim.of(len(window)), EvaluationError)
        if data.shape[-3] != size // 2 + 1:
            raise EvaluationError(
                "axis -3 of data has size",
                actual=data.shape[-3],
                expected=f"frame_size // 2 + 1 = {size // 2 + 1}",
                port="data",
            )
        weights = _pad_window(widen(window), size)
        frames = np.fft.irfft(_as_complex(widen(data)).swapaxes(-1, -2), size) * weights
        signal = _overlap_add(frames, step)
        squares = _overlap_add(np.broadcast_to(weights * weights, (data.shape[-2], size)), step)
        if self.normalized:
            signal *= signal.dtype.type(sqrt(size))
        signal = np.divide(signal, squares, out=np.zeros_like(signal), where=squares != 0)
        margin = size // 2 if self.center else 0
        length = signal.shape[-1] - 2 * margin
        if signal_length is not None:
            length = int(signal_length.reshape(-1)[0])
            if length < 0:
                raise EvaluationError("signal_length is", actual=length, expected="0 or more", port="signal_length")
        output = np.zeros((*signal.shape[:-1], length), signal.dtype)
        trimmed = signal[..., margin : margin + length]
        output[..., : trimmed.shape[-1]] = trimmed
        return round_to(output, data.dtype)


def _length_between(least: int, most: int) -> Dim:
    if most < 0:
        raise ShapeError("signal_length is", actual=most, expected="0 or more", port="signal_length")
    return Dim(max(least, 0), most)


def _overlap_add(frames: Array, step: int) -> Array:
    """The sum of frames [..., frames, size], each of which begins `step` elements after its predecessor."""
    *batch, count, size = frames.shape
    total = max(count - 1, 0) * step + size
    # Frames are split into blocks of `step` elements: blocks of the same number do not overlap, and are added at once.
    chunks = -(-size // step)
    # Both the frames and their sum consist of blocks; a step far larger than a frame makes them almost empty.
    require_temporary(2 * prod(batch) * (count + chunks) * chunks * step * frames.itemsize, 2 * frames.nbytes)
    padded = np.zeros((*batch, count, chunks * step), frames.dtype)
    padded[..., :size] = frames
    split = padded.reshape(*batch, count, chunks, step)
    signal = np.zeros((*batch, max(count - 1, 0) + chunks, step), frames.dtype)
    for chunk in reversed(range(chunks)):
        signal[..., chunk : chunk + count, :] += split[..., chunk, :]
    return signal.reshape(*batch, signal.shape[-2] * step)[..., :total]
