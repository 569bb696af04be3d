"""Conversions between element types.

Integers wrap. Floats are truncated to integers of 32 bits (64 bits for u32, i64 and u64), which then wrap as well;
floats out of that range, and NaN, become its lowest integer: this is undefined in C++, and what OpenVINO's code does on
x86. Every value except 0 is true. Floats round to the nearest value, ties to even; f64 and integers become smaller
floats via f32, and f32 becomes f8e4m3 or f8e5m2 via f16.

Values that are too large become an infinity, NaN in f8e4m3, and the largest value in nf4, f4e2m1 and f8e8m0, which have
no infinity. NaN becomes -1 in nf4, and 6 or -6 in f4e2m1. f8e8m0 has only powers of two, at least 2**-127; zero and
negative values become the least of them.

OpenVINO's reference kernels round to bf16 differently and clip i32 to the largest f16; its CPU plugin follows the rules
above, but truncates f64, nf4 and integers to bf16.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from ir_exec.types.element_type import INTEGER, Array, ElementType, element_types

__all__ = ["convert", "saturate"]

_NUMPY = element_types("f16 f32 f64 i8 i16 i32 i64 u8 u16 u32 u64")
_F8 = element_types("f8e4m3 f8e5m2")
_BYTES = element_types("boolean u1 u2 u3 u4 u6")

_NF4 = np.array(
    [
        -1.0,
        -0.6961928009986877,
        -0.5250730514526367,
        -0.39491748809814453,
        -0.28444138169288635,
        -0.18477343022823334,
        -0.09105003625154495,
        0.0,
        0.07958029955625534,
        0.16093020141124725,
        0.24611230194568634,
        0.33791524171829224,
        0.44070982933044434,
        0.5626170039176941,
        0.7229568362236023,
        1.0,
    ],
    np.float32,
)
_NF4_BOUNDARIES = (_NF4[1:].astype(np.float64) + _NF4[:-1]) / 2

_E8M0_NAN = 255
_E8M0_LARGEST = 254
_F32_FRACTION = np.uint32(23)
_F32_SIGN = np.uint32(1 << 31)
_F32_LEAST_NORMAL = np.uint32(1 << 23)


def convert(array: Array, target: ElementType) -> Array:
    """Convert the elements to type `target`; an array of this type is returned itself.

    Raises:
        ValueError: For strings and for an unknown target.
    """
    source = ElementType.of(array)
    if source is target:
        return array
    if ElementType.string in (source, target) or not target.is_known:
        raise ValueError(f"{source} cannot be converted to {target}")
    if array.ndim == 0:
        # Most operations below convert arrays without axes to scalars.
        return convert(array.reshape(1), target).reshape(())
    if array.size > 256 and source.bits <= 8 and (source.is_float or target is ElementType.f16):
        # A look-up is faster than arithmetic without processor support.
        looked_up: Array = _of_every_code(source, target)[array.view(np.uint8)]
        return looked_up
    if array.size > 2**15 and source is ElementType.f16 and target is ElementType.f32:
        # A look-up is also faster than NumPy, which converts f16 bit by bit.
        return _of_every_code(source, target).take(array.view(np.uint16), mode="clip")
    return _convert_elements(array, source, target)


def saturate(array: Array, target: ElementType) -> Array:
    """Convert like `convert`, but saturate integers instead of wrapping: for bounds of values."""
    if target in INTEGER and target.bits >= 8:
        limits = np.iinfo(target.dtype)
        numbers = _numbers(np.atleast_1d(array), ElementType.of(array))
        inside = convert(numbers, target)
        result = np.where(numbers >= limits.max, limits.max, np.where(numbers <= limits.min, limits.min, inside))
        return result.astype(target.dtype).reshape(array.shape)
    return convert(array, target)


@cache
def _of_every_code(source: ElementType, target: ElementType) -> Array:
    codes = np.arange(2 ** (8 * source.dtype.itemsize)).astype(f"u{source.dtype.itemsize}")
    return _convert_elements(codes.view(source.dtype), source, target)


def _convert_elements(array: Array, source: ElementType, target: ElementType) -> Array:
    numbers = _numbers(array, source)
    if target is ElementType.boolean:
        truth: Array = numbers != 0
        return truth
    return _to_integer(numbers, target) if target in INTEGER else _to_float(numbers, target)


def _numbers(array: Array, source: ElementType) -> Array:
    """Convert the values to a type with NumPy arithmetic."""
    if source in _NUMPY:
        return array
    if source in _BYTES:
        return array.view(np.uint8)
    if source is ElementType.i4:
        # The high half of the byte is not defined.
        signed: Array = (array.view(np.int8) << 4) >> 4
        return signed
    if source is ElementType.nf4:
        decoded: Array = _NF4[array.view(np.uint8) & 15]
        return decoded
    return array.astype(np.float32)


def _to_integer(numbers: Array, target: ElementType) -> Array:
    if numbers.dtype.kind == "f":
        numbers = _truncate(numbers, target)
    if target.bits >= 8:
        return numbers.astype(target.dtype)
    codes: Array = (numbers & (2**target.bits - 1)).astype(np.uint8)
    if target is ElementType.i4:
        # ml_dtypes keeps an int4 as a sign-extended byte.
        codes = (codes ^ np.uint8(8)) - np.uint8(8)
    return codes.view(target.dtype)


def _truncate(numbers: Array, target: ElementType) -> Array:
    """Truncate floats to integers of 32 or 64 bits, with the target's value in their low bits."""
    numbers = numbers.astype(np.float32) if numbers.dtype == np.float16 else numbers
    if target is ElementType.u64:
        # The upper half of u64 is out of range of i64: it is shifted down, and its high bit set afterwards.
        high = numbers >= 2.0**63
        low_bits = _within(np.where(high, numbers - 2.0**63, numbers), 2.0**63).astype(np.int64).view(np.uint64)
        result: Array = low_bits ^ (high.astype(np.uint64) << np.uint64(63))
        return result
    if target in (ElementType.i64, ElementType.u32):
        return _within(numbers, 2.0**63).astype(np.int64)
    return _within(numbers, 2.0**31).astype(np.int32)


def _within(numbers: Array, end: float) -> Array:
    """The numbers, with -end for numbers that are not in -end <= number < end."""
    if numbers.size == 0 or (numbers.min() >= -end and numbers.max() < end):
        return numbers
    return np.where((numbers >= -end) & (numbers < end), numbers, numbers.dtype.type(-end))


def _to_float(numbers: Array, target: ElementType) -> Array:
    if target is ElementType.f64 or target is ElementType.f32:
        return numbers.astype(target.dtype)
    if numbers.dtype.itemsize == 1 and target is ElementType.f16:
        return numbers.astype(target.dtype)
    single = numbers.astype(np.float32, copy=False)
    if target in _F8:
        return single.astype(np.float16).astype(target.dtype)
    if target is ElementType.nf4:
        codes = np.searchsorted(_NF4_BOUNDARIES, single).astype(np.uint8)
        return np.where(np.isnan(single), np.uint8(0), codes).view(target.dtype)
    if target is ElementType.f8e8m0:
        return _nearest_exponent(single).view(target.dtype)
    if target is ElementType.f4e2m1:
        single = np.where(np.isnan(single), np.copysign(np.float32(np.inf), single), single)
    return single.astype(target.dtype)


def _nearest_exponent(single: Array) -> Array:
    """The codes of f8e8m0: the exponent alone, rounded by the fraction."""
    bits = single.view(np.uint32)
    half = (_F32_LEAST_NORMAL >> np.uint32(1)) - np.uint32(1) + (bits >> _F32_FRACTION & np.uint32(1))
    codes = (bits + half) >> _F32_FRACTION
    # Below the least normal f32 the fraction is the whole value: 1.5 * 2**-127 is between the codes 0 and 1.
    codes = np.where(bits < _F32_LEAST_NORMAL, bits > np.float32(1.5 * 2.0**-127).view(np.uint32), codes)
    codes = np.where(np.isnan(single), _E8M0_NAN, np.minimum(codes, _E8M0_LARGEST))
    return np.where(bits >= _F32_SIGN, 0, codes).astype(np.uint8)
