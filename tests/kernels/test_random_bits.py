"""The generators against their authors' numbers."""

from __future__ import annotations

import numpy as np
import pytest

from ir_exec.kernels.random_bits import mersenne_twister, philox, words_of_number, words_of_sequence


@pytest.mark.parametrize(
    ("counter", "key", "wanted"),
    [
        ([0, 0, 0, 0], [0, 0], "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
        ([2**32 - 1] * 4, [2**32 - 1] * 2, "408f276d 41c83b0e a20bc7c6 6d5451fd"),
        (
            [0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344],
            [0xA4093822, 0x299F31D0],
            "d16cfe09 94fdcceb 5001e420 24126ea1",
        ),
    ],
)
def test_philox_of_its_authors(counter: list[int], key: list[int], expected: str) -> None:
    """The known answers that come with the Random123 library."""
    low, high = counter[0] | counter[1] << 32, counter[2] | counter[3] << 32
    actual = philox(key[0] | key[1] << 32, high, low, 1)
    assert " ".join(f"{number:08x}" for number in actual[0]) == expected


def test_blocks_of_philox_do_not_depend_on_the_first() -> None:
    assert np.array_equal(philox(7, 9, 100, 50)[30:], philox(7, 9, 130, 20))


def test_the_twister_of_the_cpp_standard() -> None:
    """[rand.predef] of the C++ standard: the 10000th number of a generator seeded with 5489."""
    assert mersenne_twister(words_of_number(5489)).random_raw(10000)[-1] == 4123659995


def test_a_seed_sequence_counts_the_low_32_bits() -> None:
    assert words_of_sequence((2**40 + 3, 5)) == words_of_sequence((3, 5))
    assert words_of_sequence((3, 5)) != words_of_sequence((5, 3))
