"""Generators of random numbers of 32 bits: Philox-4x32-10, and the Mersenne twister MT19937 with two ways to seed it.

Philox: J. Salmon and others, "Parallel random numbers: as easy as 1, 2, 3", 2011. A block of four numbers follows from
a key and a counter alone, so that blocks can be computed in any order.
Mersenne twister: M. Matsumoto and T. Nishimura, 1998; NumPy has it, and needs only its first 624 words.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ir_exec.types import Array

__all__ = ["mersenne_twister", "philox", "words_of_number", "words_of_sequence"]

_LOW = 2**32 - 1

_ROUNDS = 10

_WORDS = 624


def philox(key: int, counter: int, first: int, count: int) -> Array:
    """The blocks `first` to `first + count - 1`, shape [count, 4], u32.

    key, counter: 64 bits each. The counter's lower 64 bits, by which blocks are numbered, stand beside `counter`.
    """
    shift, low = np.uint64(32), np.uint64(_LOW)
    number = np.arange(count, dtype=np.uint64) + np.uint64(first % 2**64)
    # Two words of every block are multiplied in a round, and two are not.
    words = np.empty((4, count), np.uint64)
    one, other, kept, also_kept = words
    one[...], other[...] = number & low, counter & _LOW
    kept[...], also_kept[...] = number >> shift, counter >> 32
    left, right = key & _LOW, key >> 32
    product, other_product = np.empty((2, count), np.uint64)
    for _ in range(_ROUNDS):
        np.multiply(one, np.uint64(0xD2511F53), out=product)
        np.multiply(other, np.uint64(0xCD9E8D57), out=other_product)
        for crossed, word, unmultiplied, part in (
            (other_product, one, kept, left),
            (product, other, also_kept, right),
        ):
            np.right_shift(crossed, shift, out=word)
            word ^= unmultiplied
            word ^= np.uint64(part)
            np.bitwise_and(crossed, low, out=unmultiplied)
        left, right = (left + 0x9E3779B9) & _LOW, (right + 0xBB67AE85) & _LOW
    blocks = np.empty((count, 4), np.uint32)
    for position, word in enumerate((one, kept, other, also_kept)):
        # Word by word: all at once would be a loop over four numbers for every block.
        blocks[:, position] = word
    return blocks


def mersenne_twister(words: Sequence[int]) -> np.random.MT19937:
    """The generator that begins with these 624 words; its `random_raw` gives the numbers."""
    generator = np.random.MT19937()
    state: Any = {"key": np.array(words, np.uint32), "pos": _WORDS}
    generator.state = {"bit_generator": "MT19937", "state": state}
    return generator


def words_of_number(seed: int) -> list[int]:
    """The 624 words that follow from one number, of which the low 32 bits count: as PyTorch and C++ seed with it."""
    words = [seed & _LOW]
    for index in range(1, _WORDS):
        words.append((1812433253 * (words[-1] ^ words[-1] >> 30) + index) & _LOW)
    return words


def words_of_sequence(numbers: Sequence[int]) -> list[int]:
    """The 624 words that std::seed_seq of C++ makes of these numbers, of each of which the low 32 bits count."""
    # The distances for 624 words, as the C++ standard gives them in [rand.util.seedseq].
    near, far = 306, 317
    words = [0x8B8B8B8B] * _WORDS
    for step in range(_WORDS):
        mixed = words[step] ^ words[(step + near) % _WORDS] ^ words[step - 1]
        first = 1664525 * (mixed ^ mixed >> 27) & _LOW
        given = len(numbers) if step == 0 else step + (numbers[step - 1] if step <= len(numbers) else 0)
        second = first + given & _LOW
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
