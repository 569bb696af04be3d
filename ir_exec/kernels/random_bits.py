"""Generators of 32-bit random numbers: Philox-4x32-10, and the Mersenne twister MT19937 with two ways to seed it.

Philox: J. Salmon and others, "Parallel random numbers: as easy as 1, 2, 3", 2011. A block of four numbers depends only
on a key and a counter, so blocks can be computed in any order.
Mersenne twister: M. Matsumoto and T. Nishimura, 1998; NumPy has it, and needs only its first 624 words.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from ir_exec.types import Array

__all__ = ["mersenne_twister", "philox", "words_of_number", "words_of_sequence"]

_LOW = 2**32 - 1

# Scalar arrays: with a NumPy scalar a short call takes 0.5 us instead of 0.3, with an array of one element 0.8.
_SHIFT, _LOW_BITS, _ONE_FACTOR, _OTHER_FACTOR = (
    np.array(number, np.uint64) for number in (32, _LOW, 0xD2511F53, 0xCD9E8D57)
)

_ROUNDS = 10

_KEY_STEPS = np.arange(_ROUNDS, dtype=np.uint64)[:, np.newaxis] * np.array([0x9E3779B9, 0xBB67AE85], np.uint64)
"""The sum added to both halves of the key before each round."""

_WORDS = 624


def philox(key: int, counter: int, first: int, count: int) -> Array:
    """The blocks `first` to `first + count - 1`, shape [count, 4], u32.

    Args:
        key: The key, 64 bits.
        counter: The upper 64 bits of the counter; its lower 64 bits are the number of the block.
    """
    number = np.arange(count, dtype=np.uint64)
    number += np.uint64(first % 2**64)
    # Two words of every block are multiplied in a round, and two are not.
    c0, c1, c2, c3, free = np.empty((5, count), np.uint64)
    np.bitwise_and(number, _LOW_BITS, out=c0)
    np.right_shift(number, _SHIFT, out=c1)
    c2[...], c3[...] = counter & _LOW, counter >> 32
    keys = (np.array([key & _LOW, key >> 32], np.uint64) + _KEY_STEPS) & _LOW_BITS
    for number_of_round in range(_ROUNDS):
        c0 *= _ONE_FACTOR
        c2 *= _OTHER_FACTOR
        _cross(c2, c1, keys[number_of_round, 0, ...], out=free)
        _cross(c0, c3, keys[number_of_round, 1, ...], out=c1)
        c0, c1, c2, c3, free = free, c2, c1, c0, c3
    pairs = np.empty((count, 2), np.uint64)
    for position, (first_word, second_word) in enumerate(((c0, c1), (c2, c3))):
        # Two 32-bit words at once: writes with a stride of four words take twice the time.
        low, high = (first_word, second_word) if sys.byteorder == "little" else (second_word, first_word)
        np.left_shift(high, _SHIFT, out=free)
        np.bitwise_or(low, free, out=pairs[:, position])
    return pairs.view(np.uint32)


def _cross(product: Array, word: Array, key: Array, *, out: Array) -> None:
    """out = upper half of product ^ word ^ key; the product keeps its lower half."""
    np.right_shift(product, _SHIFT, out=out)
    out ^= word
    out ^= key
    product &= _LOW_BITS


def mersenne_twister(words: Sequence[int]) -> np.random.MT19937:
    """The generator with this state of 624 words; its `random_raw` returns the numbers."""
    generator = np.random.MT19937()
    state: Any = {"key": np.array(words, np.uint32), "pos": _WORDS}
    generator.state = {"bit_generator": "MT19937", "state": state}
    return generator


def words_of_number(seed: int) -> list[int]:
    """The 624 words for a seed, of which the low 32 bits count, as in PyTorch and C++."""
    words = [seed & _LOW]
    for index in range(1, _WORDS):
        words.append((1812433253 * (words[-1] ^ words[-1] >> 30) + index) & _LOW)
    return words


def words_of_sequence(numbers: Sequence[int]) -> list[int]:
    """The 624 words of std::seed_seq in C++ for these numbers; the low 32 bits of each count."""
    # The distances for 624 words, as the C++ standard gives them in [rand.util.seedseq].
    near, far = 306, 317
    words = [0x8B8B8B8B] * _WORDS
    for step in range(_WORDS):
        mixed = words[step] ^ words[(step + near) % _WORDS] ^ words[step - 1]
        first = 1664525 * (mixed ^ mixed >> 27) & _LOW
        increment = len(numbers) if step == 0 else step + (numbers[step - 1] if step <= len(numbers) else 0)
        second = first + increment & _LOW
        words[(step + near) % _WORDS] = words[(step + near) % _WORDS] + first & _LOW
        words[(step + far) % _WORDS] = words[(step + far) % _WORDS] + second & _LOW
        words[step] = second
    for step in range(_WORDS):
        mixed = words[step] + words[(step + near) % _WORDS] + words[step - 1] & _LOW
        first = 1566083941 * (mixed ^ mixed >> 27) & _LOW
        second = first - step & _LOW
        words[(step + near) % _WORDS] ^= first
        words[(step + far) % _WORDS] ^= second
        words[step] = second
    return words
