"""Copies of mapped files: by the system where it can, and equal bytes everywhere."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from ir_exec.ir import Weights
from ir_exec.ir.mapped_file import write_bytes

SIZE = 9 * 2**20 + 5


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "m.bin"
    path.write_bytes(np.random.default_rng(0).bytes(SIZE + 10))
    return path


def write(content: memoryview, path: Path) -> bytes:
    with path.open("w+b") as file:
        file.write(b"before")
        counts = list(write_bytes(content, file))
        assert counts == sorted(set(counts))
        assert counts[-1] == len(content)
        file.write(b"after")
    written = path.read_bytes()
    assert (written[:6], written[-5:]) == (b"before", b"after")
    return written[6:-5]


def replace_copying(monkeypatch: pytest.MonkeyPatch, copy: Callable[..., int]) -> list[int]:
    """Replace the copying of the system, and return the numbers of bytes that it copied."""
    counts: list[int] = []

    def call(*arguments: int) -> int:
        counts.append(copy(*arguments))
        return counts[-1]

    monkeypatch.setattr(os, "copy_file_range", call, raising=False)
    return counts


@pytest.mark.skipif(not hasattr(os, "copy_file_range"), reason="the system copies no ranges of files")
def test_large_range_is_copied_by_system(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counts = replace_copying(monkeypatch, os.copy_file_range)
    content = Weights.open(source).slice(7, SIZE)
    assert write(content, source.with_name("copy.bin")) == source.read_bytes()[7 : 7 + SIZE]
    assert sum(counts) == SIZE


@pytest.mark.parametrize("number", [errno.EXDEV, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL])
@pytest.mark.parametrize("successes", [0, 1])
def test_bytes_not_copied_by_system_are_written(
    source: Path, monkeypatch: pytest.MonkeyPatch, number: int, successes: int
) -> None:
    def copy(origin: int, target: int, count: int, start: int, end: int) -> int:
        if len(counts) == successes:
            raise OSError(number, "")
        with open(origin, "rb", closefd=False) as file:
            file.seek(start)
            content = file.read(count // 2)
        with open(target, "r+b", closefd=False) as file:
            file.seek(end)
            return file.write(content)

    counts = replace_copying(monkeypatch, copy)
    content = Weights.open(source).slice(7, SIZE)
    assert write(content, source.with_name("copy.bin")) == source.read_bytes()[7 : 7 + SIZE]
    assert len(counts) == successes


def test_replaced_source_is_written_from_its_mapping(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counts = replace_copying(monkeypatch, lambda *arguments: 0)
    content, expected = Weights.open(source).slice(0, SIZE), source.read_bytes()[:SIZE]
    other = source.with_name("other.bin")
    other.write_bytes(bytes(SIZE + 10))
    os.replace(other, source)
    assert write(content, source.with_name("copy.bin")) == expected
    assert counts == []


def test_bytes_in_memory_and_small_ranges_are_written(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counts = replace_copying(monkeypatch, lambda *arguments: 0)
    stored = source.read_bytes()
    assert write(Weights.of_bytes(stored).slice(0, SIZE), source.with_name("copy.bin")) == stored[:SIZE]
    assert write(Weights.open(source).slice(3, 1000), source.with_name("copy.bin")) == stored[3:1003]
    assert counts == []
