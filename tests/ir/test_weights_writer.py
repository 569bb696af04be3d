"""Constants in a new .bin: equal bytes once, and as few of them read for this as possible."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ir_exec.ir import Weights, pairing, weights_writer
from ir_exec.ir.weights_writer import WeightsWriter

SIZE = 2**20
BLOCK = 2**12


@pytest.fixture
def hash_counts(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The numbers of bytes that are hashed to find equal constants."""
    counts: list[int] = []

    class Counting:
        @staticmethod
        def sha256(content: Any) -> Any:
            counts.append(len(content))
            return hashlib.sha256(content)

    monkeypatch.setattr(weights_writer, "hashlib", Counting)
    return counts


def write(constants: list[bytes], path: Path) -> list[int]:
    """Write constants from one file of weights, and return their offsets."""
    with path.open("w+b") as file, WeightsWriter(Weights.of_bytes(b"".join(constants)), file) as writer:
        starts = np.cumsum([0, *map(len, constants)]).tolist()
        offsets = [writer.add(start, len(constant)) for start, constant in zip(starts, constants, strict=False)]
        digest = writer.finish()
    written = path.read_bytes()
    for offset, constant in zip(offsets, constants, strict=True):
        assert written[offset : offset + len(constant)] == constant
    assert digest is not None
    assert digest.is_digest_of(len(written), lambda offset, size: written[offset : offset + size])
    return offsets


def random_bytes(seed: int, size: int = SIZE) -> bytes:
    return np.random.default_rng(seed).bytes(size)


def flip_bit(content: bytes, position: int) -> bytes:
    return content[:position] + bytes([content[position] ^ 1]) + content[position + 1 :]


def test_constants_of_different_sizes_are_not_hashed(tmp_path: Path, hash_counts: list[int]) -> None:
    constants = [random_bytes(0, SIZE + number) for number in range(5)]
    assert len(set(write(constants, tmp_path / "m.bin"))) == 5
    assert hash_counts == []


def test_constants_of_one_size_are_compared_by_sample(tmp_path: Path, hash_counts: list[int]) -> None:
    constants = [random_bytes(seed) for seed in range(5)]
    assert len(set(write(constants, tmp_path / "m.bin"))) == 5
    assert sum(hash_counts) == 5 * 3 * BLOCK


def test_equal_constants_share_bytes_without_hashing_them(tmp_path: Path, hash_counts: list[int]) -> None:
    first = random_bytes(0)
    offsets = write([first, random_bytes(1), first, first], tmp_path / "m.bin")
    assert offsets == [0, SIZE, 0, 0]
    assert (tmp_path / "m.bin").stat().st_size == 2 * SIZE
    assert sum(hash_counts) == 4 * 3 * BLOCK


@pytest.mark.parametrize("position", [BLOCK, SIZE // 3, SIZE - BLOCK - 1])
def test_difference_outside_sample(tmp_path: Path, hash_counts: list[int], position: int) -> None:
    first = random_bytes(0)
    second, third = flip_bit(first, position), flip_bit(first, position + 1 if position < SIZE // 2 else position - 1)
    offsets = write([first, second, third, second, first, third], tmp_path / "m.bin")
    assert offsets == [0, SIZE, 2 * SIZE, SIZE, 0, 2 * SIZE]
    # Each range is hashed at most once, and equal ranges to the first never.
    assert sum(count for count in hash_counts if count == SIZE) <= 5 * SIZE


@pytest.mark.parametrize("size", [3 * BLOCK + 1, 3 * BLOCK + 7])
def test_difference_in_last_bytes(tmp_path: Path, size: int) -> None:
    first = random_bytes(0, size)
    constants = [first, flip_bit(first, size - 1), flip_bit(first, BLOCK + 1), first]
    assert write(constants, tmp_path / "m.bin")[3] == 0
    assert len(set(write(constants, tmp_path / "m.bin"))) == 3


def test_work_is_linear_in_constants_with_equal_samples(tmp_path: Path, hash_counts: list[int]) -> None:
    first = random_bytes(0, 2**15)
    constants = [flip_bit(first, BLOCK + number) for number in range(100)]
    assert len(set(write(constants, tmp_path / "m.bin"))) == 100
    assert sum(hash_counts) == 100 * (2**15 + 3 * BLOCK)


def test_small_constants(tmp_path: Path) -> None:
    assert write([b"ab", b"cd", b"ab", b"abc", b"cd"], tmp_path / "m.bin") == [0, 2, 0, 4, 2]
    assert (tmp_path / "m.bin").read_bytes() == b"abcdabc"


@pytest.mark.parametrize("size", [1, pairing.CHUNK, pairing.CHUNK + 1, 3 * pairing.CHUNK])
def test_digest_of_chunks(tmp_path: Path, size: int) -> None:
    content = random_bytes(0, size)
    with (tmp_path / "m.bin").open("w+b") as file, WeightsWriter(Weights.of_bytes(content), file) as writer:
        writer.add(0, size)
        digest = writer.finish()
    chunks = [content[start : start + 2**22] for start in range(0, size, 2**22)]
    expected = hashlib.sha256(b"".join([hashlib.sha256(chunk).digest() for chunk in chunks])).hexdigest()
    assert digest is not None
    assert (digest.size, digest.chunks, digest.complete) == (size, expected, None)
    assert (tmp_path / "m.bin").read_bytes() == content


def test_file_without_constants_has_no_digest(tmp_path: Path) -> None:
    with (tmp_path / "m.bin").open("w+b") as file, WeightsWriter(None, file) as writer:
        assert writer.finish() is None


def test_constants_of_one_size_are_read_once(tmp_path: Path) -> None:
    """Reading may convert a constant, for example to f16."""
    offsets: list[int] = []
    stored = random_bytes(0, 5 * SIZE)

    class Source:
        def slice(self, offset: int, size: int) -> memoryview:
            offsets.append(offset)
            return memoryview(stored)[offset : offset + size]

    with (tmp_path / "m.bin").open("w+b") as file, WeightsWriter(Source(), file) as writer:
        for start in range(0, 5 * SIZE, SIZE):
            writer.add(start, SIZE)
    # The first one is read again when another one has its size.
    assert sorted(offsets) == [0, *range(0, 5 * SIZE, SIZE)]
