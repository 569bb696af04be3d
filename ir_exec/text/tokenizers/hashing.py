"""FarmHash's Fingerprint64, a published hash of bytes whose definition never changes.

Source: google/farmhash, farmhashna::Hash64.
"""

from __future__ import annotations

__all__ = ["fingerprint"]

_MASK = 2**64 - 1
_K0, _K1, _K2 = 0xC3A5C85C97CB3127, 0xB492B66FBE98F273, 0x9AE16A3B2F90404F


def _rotate(value: int, shift: int) -> int:
    value &= _MASK
    return (value >> shift | value << (64 - shift)) & _MASK


def _mix(value: int) -> int:
    value &= _MASK
    return value ^ value >> 47


def _word(text: bytes, at: int, size: int = 8) -> int:
    return int.from_bytes(text[at : at + size], "little")


def _of_two(u: int, v: int, factor: int) -> int:
    a = _mix(((u ^ v) & _MASK) * factor)
    b = _mix(((v ^ a) & _MASK) * factor)
    return b * factor & _MASK


def fingerprint(text: bytes) -> int:
    """Return the fingerprint, 0 to 2^64 - 1."""
    length = len(text)
    if length <= 16:
        return _of_short(text)
    factor = _K2 + length * 2
    if length <= 32:
        a, b = _word(text, 0) * _K1, _word(text, 8)
        c, d = _word(text, length - 8) * factor, _word(text, length - 16) * _K2
        return _of_two(_rotate(a + b, 43) + _rotate(c, 30) + d, a + _rotate(b + _K2, 18) + c, factor)
    if length <= 64:
        a, b = _word(text, 0) * _K2, _word(text, 8)
        c, d = _word(text, length - 8) * factor, _word(text, length - 16) * _K2
        y = _rotate(a + b, 43) + _rotate(c, 30) + d
        z = _of_two(y, a + _rotate(b + _K2, 18) + c, factor)
        e, f = _word(text, 16) * factor, _word(text, 24)
        g, h = (y + _word(text, length - 32)) * factor, (z + _word(text, length - 24)) * factor
        return _of_two(_rotate(e + f, 43) + _rotate(g, 30) + h, e + _rotate(f + a, 18) + g, factor)
    return _of_long(text)


def _of_short(text: bytes) -> int:
    length = len(text)
    if length >= 8:
        factor = _K2 + length * 2
        a, b = _word(text, 0) + _K2, _word(text, length - 8)
        return _of_two(_rotate(b, 37) * factor + a, (_rotate(a, 25) + b) * factor, factor)
    if length >= 4:
        factor = _K2 + length * 2
        return _of_two(length + (_word(text, 0, 4) << 3), _word(text, length - 4, 4), factor)
    if length:
        y = text[0] + (text[length >> 1] << 8)
        z = length + (text[-1] << 2)
        return _mix(y * _K2 & _MASK ^ z * _K0 & _MASK) * _K2 & _MASK
    return _K2


def _weak(text: bytes, at: int, a: int, b: int) -> tuple[int, int]:
    """The two halves of the state after 32 bytes."""
    w, x, y, z = (_word(text, at + 8 * index) for index in range(4))
    a += w
    b = _rotate(b + a + z, 21)
    c = a
    a += x + y
    b += _rotate(a, 44)
    return (a + z) & _MASK, (b + c) & _MASK


def _of_long(text: bytes) -> int:
    """Hash blocks of 64 bytes; the last block overlaps the one before."""
    length, seed = len(text), 81
    x, y = seed, (seed * _K1 + 113) & _MASK
    z = _mix(y * _K2 + 113) * _K2 & _MASK
    v, w = (0, 0), (0, 0)
    x = x * _K2 + _word(text, 0)
    end = (length - 1) // 64 * 64
    at, factor = 0, _K1
    while at <= end:
        is_last = at == end
        if is_last:
            factor = _K1 + ((z & 0xFF) << 1)
            at = length - 64
            w = (w[0] + ((length - 1) & 63), w[1])
            v = (v[0] + w[0], v[1])
            w = (w[0] + v[0], w[1])
        x = _rotate(x + y + v[0] + _word(text, at + 8), 37) * factor & _MASK
        y = _rotate(y + v[1] + _word(text, at + 48), 42) * factor & _MASK
        x ^= w[1] * (9 if is_last else 1) & _MASK
        y += v[0] * (9 if is_last else 1) + _word(text, at + 40)
        z = _rotate(z + w[0], 33) * factor & _MASK
        v = _weak(text, at, v[1] * factor, x + w[0])
        w = _weak(text, at + 32, z + w[1], y + _word(text, at + 16))
        z, x = x, z
        if is_last:
            break
        at += 64
    first = _of_two(v[0], w[0], factor) + _mix(y) * _K0 + z
    return _of_two(first & _MASK, (_of_two(v[1], w[1], factor) + x) & _MASK, factor)
