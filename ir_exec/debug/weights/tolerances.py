"""The errors that the formats of a weight and of a tensor allow."""

from __future__ import annotations

import numpy as np

from ir_exec.debug.weights.model_weights import ModelWeight
from ir_exec.types import Array

__all__ = ["find_differences"]

_ROUNDING: dict[str, tuple[float, float]] = {
    "f64": (2.0**-21, 1e-30),
    "f32": (2.0**-21, 1e-30),
    "f16": (2.0**-11 * 1.01, 2.0**-25 * 1.01),
    # Some converters truncate to bf16.
    "bf16": (2.0**-8 * 1.01, 1e-37),
    "f8e4m3": (2.0**-4 * 1.01, 2.0**-10 * 1.01),
    "f8e5m2": (2.0**-3 * 1.01, 2.0**-17 * 1.01),
}
"""The relative error that rounding to a type causes, and the absolute one of its least numbers."""

_COMPUTED = (2.0**-16, 1e-6)
"""The relative error of a value that an exporter computed in f32, and the one relative to the size of the weight."""

_BLOCK = 32
"""Elements of a quantized tensor of a checkpoint with one scale."""

_BLOCK_STEPS = 1.1
"""The error of an element of such a block, in steps, with the rounding of its scale."""

_F16_MAX = 65504.0
_LEAST_F16 = 2.0**-24
_HALF_STEP = 0.5
_STEP = 1.0
_SCALE_ERROR = 2.0**-9
"""The relative error of a quantized value whose scale is rounded to f16, or which was a 16-bit float before."""


def find_differences(
    weight: ModelWeight,
    tensor_format: str,
    numbers: tuple[Array, Array, Array],
    rows: tuple[int, int],
    *,
    is_computed: bool = False,
) -> tuple[Array | None, Array | None, int]:
    """Find the elements that differ by more than the format of the weight explains, and by more than both formats do.

    Quantized weights are within half a step, and within a step if scales were chosen after rounding. Elements beyond
    the last level of a quantized weight do not differ.

    Args:
        numbers: The weight, the expected numbers, and the absolute difference, as [rows, columns].
        rows: The rows of the first axis.
        is_computed: True if the expected numbers are computed from others, which is never exact.

    Returns:
        A mask of the former elements and of the latter, None for none, and the number of clipped elements.
    """
    x, y, error = numbers
    if weight.rows is None:
        tight = _tolerate_plain(weight.format, y, is_computed=is_computed)
        far = ~(error <= tight)
    else:
        steps, shape = weight.rows.read_level_steps(*rows)
        far = ~(error.reshape(shape) <= _HALF_STEP * steps).reshape(error.shape)
    positions = np.flatnonzero(far)
    if not len(positions):
        return None, None, 0
    x, error = x.reshape(-1)[positions], error.reshape(-1)[positions]
    of_tensor = _tolerate_tensor(tensor_format, y, positions)
    y = y.reshape(-1)[positions]
    # NaN and infinities that both have are no differences.
    is_far = ~((x == y) | (np.isnan(x) & np.isnan(y)))
    count_clipped = 0
    if weight.rows is None:
        tight = np.broadcast_to(tight, far.shape).reshape(-1)[positions]
        is_beyond = is_far & ~(error <= tight + of_tensor)
    else:
        steps = np.broadcast_to(steps, shape).reshape(-1)[positions]
        of_scale = _tolerate_scale(np.abs(y), steps)
        is_far &= ~(error <= _HALF_STEP * steps + of_scale)
        is_beyond = is_far & ~(error <= _STEP * 1.001 * steps + 2 * of_scale + of_tensor)
        if is_beyond.any():
            ends = weight.rows.mask_ends(*rows).reshape(-1)[positions]
            # Zeros in place of numbers of both signs are not clipped ones.
            is_clipped = ends & (np.abs(y) > np.abs(x)) & (x * y > 0)
            count_clipped = int(np.count_nonzero(is_clipped & is_beyond))
            is_beyond &= ~is_clipped
            is_far &= ~is_clipped
    return _mask(far.shape, positions[is_far]), _mask(far.shape, positions[is_beyond]), count_clipped


def _mask(shape: tuple[int, ...], positions: Array) -> Array | None:
    if not len(positions):
        return None
    mask = np.zeros(shape, np.bool_)
    mask.reshape(-1)[positions] = True
    return mask


def _tolerate_plain(weight_format: str, y: Array, *, is_computed: bool) -> Array:
    """The error of elements that are rounded to a type."""
    size = np.abs(y)
    relative, absolute = _ROUNDING.get(weight_format, _ROUNDING["f32"])
    tight = size * np.float32(relative) + np.float32(absolute)
    if is_computed:
        computed, of_size = _COMPUTED
        # A number that is computed in another way may be rounded to the next one.
        tight = 2 * tight + size * np.float32(computed) + np.float32(of_size) * np.float32(np.sqrt(np.square(y).mean()))
    if weight_format == "f16":
        tight = np.where(size > _F16_MAX, np.float32(np.inf), tight)
    return np.asarray(tight)


def _tolerate_scale(size: Array, steps: Array) -> Array:
    """The error of elements whose scales are rounded to f16, the least of them more coarsely, or to 0."""
    least = np.float32(_LEAST_F16)
    return np.asarray(
        size * (np.float32(_SCALE_ERROR) + np.where(steps > least, least / np.maximum(steps, least), 0))
        + np.where(steps > least, 0, 16 * least)
    )


def _tolerate_tensor(tensor_format: str, y: Array, positions: Array) -> Array | float:
    """The error of elements of the checkpoint, which may be less precise than the model."""
    if tensor_format in _ROUNDING:
        relative, absolute = _ROUNDING[tensor_format]
        return np.asarray(np.abs(y.reshape(-1)[positions]) * np.float32(relative) + np.float32(absolute))
    bits = next((int(letter) for letter in tensor_format if letter.isdigit()), 0)
    if not bits or y.shape[-1] % _BLOCK:
        return 0.0
    # A step of a block of a quantized tensor.
    largest = np.abs(y).reshape(-1, _BLOCK).max(axis=-1)
    return np.asarray(_BLOCK_STEPS * largest[positions // _BLOCK] / (2 ** (bits - 1)))
