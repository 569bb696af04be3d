"""The .bin: what is checked before a constant is read, and what reading costs."""

from __future__ import annotations

import gc
import os
import pickle
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import ir_exec
from ir_exec.errors import WeightsError
from ir_exec.ir import BitOrder, Weights, default_weights_path, encode, spare_bytes
from ir_exec.types import ElementType
from tests.helpers.facts import coded, naming
from tests.helpers.network_text import NetworkText

F32, U4, U8, STRING = ElementType.f32, ElementType.u4, ElementType.u8, ElementType.string
FLOATS = np.arange(6, dtype=np.float32)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Six f32 at offset 3, and three bytes in front."""
    path = tmp_path / "model.bin"
    path.write_bytes(b"\x1b\xd2\x71" + FLOATS.tobytes())
    return path


def reading_error(
    weights: Weights, element_type: ElementType, shape: tuple[int, ...], offset: int, size: int
) -> WeightsError:
    with pytest.raises(WeightsError) as caught:
        weights.read(element_type, shape, offset, size)
    with pytest.raises(WeightsError) as also_caught:
        weights.check(element_type, shape, offset, size)
    assert also_caught.value.code == caught.value.code
    return caught.value


@pytest.mark.parametrize("begin", [b'<?xml version="1.0"?>', b"\xef\xbb\xbf<?xml version='1.0'?>", b'<net name="x">'])
def test_xml_as_weights(tmp_path: Path, begin: bytes) -> None:
    (tmp_path / "net.xml").write_bytes(begin)
    for opened in (lambda: Weights.open(tmp_path / "net.xml"), lambda: Weights.of_bytes(begin)):
        with pytest.raises(WeightsError) as caught:
            opened()
        assert caught.value.code == "IR201"


def test_the_default_path() -> None:
    assert default_weights_path("a.b/model.v2.xml") == "a.b/model.v2.bin"
    assert default_weights_path(Path("model.xml")) == "model.bin"


def test_constants_from_a_file(path: Path) -> None:
    weights = Weights.open(path)
    assert (weights.size, weights.path) == (27, str(path))
    assert weights.read(F32, (2, 3), 3, 24).tolist() == [[0, 1, 2], [3, 4, 5]]
    assert weights.read(U8, (3,), 0, 3).tolist() == [0x1B, 0xD2, 0x71]
    assert weights.read(U4, (5,), 0, 3).astype(int).tolist() == [11, 1, 2, 13, 1]
    assert weights.read(F32, (), 7, 4).item() == 1


def test_constants_may_share_bytes(path: Path) -> None:
    weights = Weights.open(path)
    assert weights.read(F32, (3,), 3, 12).view(np.uint8).tolist() == weights.read(U8, (12,), 3, 12).tolist()


def test_constants_are_read_only(path: Path) -> None:
    weights = Weights.open(path)
    for array in (
        weights.read(F32, (6,), 3, 24),
        weights.read(U8, (3,), 0, 3),
        weights.read(U4, (6,), 0, 3),
        weights.read(F32, (0,), 0, 1),
        weights.read(F32, (), 3, 4),
    ):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0


def test_bytes_in_memory_are_not_copied() -> None:
    stored = bytearray(16)
    weights = Weights.of_bytes(stored)
    array = weights.read(F32, (4,), 0, 16)
    stored[:4] = np.float32(2).tobytes()
    assert array[0] == 2
    assert weights.path is None
    assert Weights.of_bytes(memoryview(b"")).size == 0


def test_old_files_have_another_order() -> None:
    weights = Weights.of_bytes(b"\x1b", order=BitOrder(high_nibble_first=True))
    assert weights.read(U4, (2,), 0, 1).astype(int).tolist() == [1, 11]


@pytest.mark.parametrize(("size", "offset"), [(0, 0), (1, 0), (1, 27), (0, 10**18)])
def test_empty_constants(path: Path, size: int, offset: int) -> None:
    assert Weights.open(path).read(F32, (2, 0), offset, size).shape == (2, 0)


def test_an_empty_file(tmp_path: Path) -> None:
    (tmp_path / "m.bin").write_bytes(b"")
    weights = Weights.open(tmp_path / "m.bin")
    assert weights.size == 0
    assert reading_error(weights, U8, (1,), 0, 1).code == "IR202"


@pytest.mark.parametrize(
    ("element_type", "shape", "size", "spare"),
    [(F32, (5,), 24, 4), (F32, (0,), 4, 4), (U4, (5,), 4, 1), (U4, (0,), 1, 0)],
)
def test_unneeded_bytes_are_not_read(
    path: Path, element_type: ElementType, shape: tuple[int, ...], size: int, spare: int
) -> None:
    weights = Weights.open(path)
    assert spare_bytes(element_type, shape, 3, size) == spare
    assert (
        weights.read(element_type, shape, 3, size).tolist()
        == weights.read(element_type, shape, 3, size - spare).tolist()
    )


@pytest.mark.parametrize(
    ("element_type", "shape", "offset", "size", "code"),
    [
        (F32, (6,), 4, 24, "IR202"),
        (F32, (1,), 27, 4, "IR202"),
        (F32, (1,), 2**63 - 1, 4, "IR202"),
        (F32, (10**15,), 0, 4 * 10**15, "IR202"),
        (STRING, (10**12,), 0, 2**60, "IR202"),
        (F32, (6,), 3, 20, "IR204"),
        (F32, (2**40, 2**40), 3, 24, "IR204"),
        (U4, (5,), 0, 2, "IR204"),
        (F32, (6,), 3, 28, "IR204"),
        (STRING, (5,), 0, 27, "IR204"),
        (F32, (6,), -1, 24, "IR205"),
        (F32, (6,), 3, -24, "IR205"),
        (F32, (6,), 2**63, 24, "IR205"),
        (F32, (-1,), 3, 24, "IR205"),
        (F32, (-2, -3), 3, 24, "IR205"),
    ],
)
def test_constants_that_do_not_fit(
    path: Path, element_type: ElementType, shape: tuple[int, ...], offset: int, size: int, code: str
) -> None:
    tracemalloc.start()
    try:
        assert reading_error(Weights.open(path), element_type, shape, offset, size).code == code
        assert tracemalloc.get_traced_memory()[1] < 2**20
    finally:
        tracemalloc.stop()


def test_checking_does_not_look_at_the_bytes() -> None:
    stored = encode(np.array(["a"], object))
    damaged = stored[:4] + b"\1" + stored[5:]
    weights = Weights.of_bytes(damaged)
    weights.check(STRING, (1,), 0, len(damaged))
    with pytest.raises(WeightsError) as caught:
        weights.read(STRING, (1,), 0, len(damaged))
    assert caught.value.code == "IR206"


def test_invalid_weights_file(tmp_path: Path) -> None:
    pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n"
    (tmp_path / "lfs.bin").write_bytes(pointer)
    (tmp_path / "folder.bin").mkdir()
    codes = {}
    for name in ("lfs.bin", "folder.bin", "missing.bin", "nul\0.bin"):
        with pytest.raises(WeightsError) as caught:
            Weights.open(tmp_path / name)
        assert caught.value.location.path == str(tmp_path / name)
        codes[name] = caught.value.code
    assert codes == {"lfs.bin": "IR203", "folder.bin": "IR201", "missing.bin": "IR201", "nul\0.bin": "IR201"}
    with pytest.raises(WeightsError, match=naming("LFS")) as caught:
        Weights.of_bytes(pointer)
    assert caught.value.hint is not None


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="the superuser may read everything")
def test_a_file_without_permission(path: Path) -> None:
    path.chmod(0)
    with pytest.raises(WeightsError, match="ermission"):
        Weights.open(path)


def test_a_large_file_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "large.bin"
    with open(path, "wb") as file:
        file.truncate(2**33)
        file.seek(2**32)
        file.write(FLOATS.tobytes())
    tracemalloc.start()
    try:
        weights = Weights.open(path)
        array = weights.read(F32, (2**30,), 0, 2**32)
        part = weights.read(F32, (6,), 2**32, 24)
        assert tracemalloc.get_traced_memory()[1] < 2**20
    finally:
        tracemalloc.stop()
    assert part.tolist() == FLOATS.tolist()
    assert array[-1] == 0


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="only Linux tells what lies in memory")
def test_copied_values_are_in_memory_once(tmp_path: Path) -> None:
    """A constant that is not aligned is copied; its pages of the file are let go."""
    count = 2**23
    path = tmp_path / "model.bin"
    values = np.arange(count, dtype=np.float32)
    path.write_bytes(b"\0" + values.tobytes())
    weights = Weights.open(path)
    before = _resident_bytes_of_files()
    actual = weights.read(F32, (count,), 1, 4 * count)
    assert _resident_bytes_of_files() - before < count
    np.testing.assert_array_equal(actual, values)
    np.testing.assert_array_equal(weights.read(F32, (count,), 1, 4 * count), values)


def _resident_bytes_of_files() -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("RssFile")) * 1024


def test_arrays_outlive_the_weights(path: Path) -> None:
    weights = Weights.open(path)
    array = weights.read(U8, (3,), 0, 3)
    weights.close()
    assert weights.size == 0
    with pytest.raises(WeightsError):
        weights.read(U8, (3,), 0, 3)
    weights.close()
    del weights
    gc.collect()
    path.unlink()
    assert array.tolist() == [0x1B, 0xD2, 0x71]


def test_no_file_stays_open(path: Path) -> None:
    folder = "/proc/self/fd"
    if not os.path.isdir(folder):
        pytest.skip("open files cannot be counted here")
    with path.open("ab") as file:
        file.truncate(2**21)
    weights = Weights.open(path)
    before = len(os.listdir(folder))
    weights.close()
    del weights
    gc.collect()
    assert len(os.listdir(folder)) == before - 1


def test_small_constant_is_decoded_once_and_released_on_close() -> None:
    weights = Weights.of_bytes(FLOATS.tobytes())
    array = weights.read(F32, (6,), 0, 24)
    assert weights.read(F32, (6,), 0, 24) is array
    assert weights.read(F32, (2, 3), 0, 24).shape == (2, 3)
    weights.close()
    with pytest.raises(WeightsError):
        weights.read(F32, (6,), 0, 24)


@pytest.fixture
def large(tmp_path: Path) -> Path:
    """2 MiB of ones, more than is read whole."""
    path = tmp_path / "large.bin"
    path.write_bytes(np.ones(2**19, np.float32).tobytes())
    return path


def rewrite(path: Path) -> None:
    stored = path.stat()
    with path.open("r+b") as file:
        file.write(b"\x01")
    # The clock of a file system may be too coarse for the moments of a test.
    os.utime(path, ns=(stored.st_atime_ns, stored.st_mtime_ns + 1))


def cut_short(path: Path) -> None:
    os.truncate(path, 100)


@pytest.mark.parametrize("change", [rewrite, cut_short])
def test_changed_mapped_file_is_noticed(large: Path, change: Callable[[Path], None]) -> None:
    weights = Weights.open(large)
    longer = weights.append(b"1234")
    weights.read(F32, (2**19,), 0, 2**21)
    change(large)
    for look in (
        weights.require_unchanged,
        longer.require_unchanged,
        lambda: weights.read(F32, (2**18,), 2**20, 2**20),
        lambda: weights.slice(2**20, 100),
        lambda: pickle.dumps(weights),
    ):
        with pytest.raises(WeightsError, check=coded("IR200")) as caught:
            look()
        assert caught.value.location.path == str(large)
    weights.close()
    weights.require_unchanged()


@pytest.mark.parametrize("change", [rewrite, cut_short])
def test_changes_of_small_file_do_not_matter(path: Path, change: Callable[[Path], None]) -> None:
    weights = Weights.open(path)
    change(path)
    os.truncate(path, 0)
    assert weights.read(F32, (6,), 3, 24).tolist() == FLOATS.tolist()


def test_a_mapped_file_may_be_replaced(large: Path) -> None:
    """A mapping of the old file stays valid; but not where it is truncated under another name."""
    weights = Weights.open(large)
    other = large.with_name("other.bin")
    large.rename(other)
    large.write_bytes(b"")
    assert weights.read(F32, (2**19,), 0, 2**21).sum() == 2**19
    cut_short(other)
    with pytest.raises(WeightsError):
        weights.require_unchanged()


def test_run_ignores_truncated_bytes(tmp_path: Path) -> None:
    """Before this was noticed, the operating system ended the process here."""
    text = NetworkText()
    text.result(text.op("Add", text.parameter("1"), text.const(np.ones(2**19, np.float32))))
    file = text.file()
    (tmp_path / "net.xml").write_bytes(file.xml)
    (tmp_path / "net.bin").write_bytes(file.weights)
    compiled = ir_exec.compile_model(tmp_path / "net.xml")
    assert compiled([np.ones(1, np.float32)])[0][-1] == 2
    cut_short(tmp_path / "net.bin")
    with pytest.raises(WeightsError, check=coded("IR200")):
        compiled([np.ones(1, np.float32)])
