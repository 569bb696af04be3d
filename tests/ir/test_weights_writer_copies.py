"""Saved models whose constants keep their offsets: the .bin is copied as a whole, with the digest that it has."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ir_exec import Model, build, read_model
from ir_exec.ir.pairing import DigestBuilder, WeightsDigest
from ir_exec.ir.weights import Weights
from ir_exec.ir.weights_writer import are_in_order

SIZE = 1024
RANDOM = np.random.default_rng(0)


def save_products(path: Path) -> Model:
    """Save a model with constants of more than a megabyte, of a few bytes, and one that two layers share."""
    y = build.parameter([None, SIZE], name="x")
    shared = RANDOM.normal(size=(SIZE, SIZE)).astype(np.float32)
    for number, weights in enumerate((shared, RANDOM.normal(size=(SIZE, SIZE)).astype(np.float32), shared)):
        y = build.matmul(y, build.constant(weights), name=f"product{number}")
        y = build.reshape(y, [-1, SIZE], special_zero=False, name=f"reshape{number}")
    build.model(build.result(y, name="y")).save(path)
    return read_model(path)


def digest_of(path: Path) -> WeightsDigest:
    weights = read_model(path).weights
    assert weights is not None
    assert weights.written is not None
    return weights.written


@pytest.fixture
def hashed_sizes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The sizes of the files whose digest is computed."""
    sizes: list[int] = []
    original = DigestBuilder.finish

    def record(self: DigestBuilder, size: int) -> WeightsDigest:
        sizes.append(size)
        return original(self, size)

    monkeypatch.setattr(DigestBuilder, "finish", record)
    return sizes


def test_a_renamed_output(tmp_path: Path, hashed_sizes: list[int]) -> None:
    model = save_products(tmp_path / "old.xml")
    hashed_sizes.clear()
    build.Editor(model).rename("y", "z").model().save(tmp_path / "new.xml")
    assert hashed_sizes == []
    old, new = (tmp_path / f"{name}.bin" for name in ("old", "new"))
    assert new.read_bytes() == old.read_bytes()
    digest = digest_of(tmp_path / "new.xml")
    assert digest == digest_of(tmp_path / "old.xml")
    weights = Weights.open(new)
    assert digest.is_digest_of(weights.size, weights.slice)
    assert read_model(tmp_path / "new.xml").outputs[0].name == "z"


def test_other_constants_are_hashed(tmp_path: Path, hashed_sizes: list[int]) -> None:
    model = save_products(tmp_path / "old.xml")
    hashed_sizes.clear()
    editor = build.Editor(model)
    editor.insert("product0", lambda y: build.multiply(y, build.constant(np.full((1, SIZE), 2, np.float32))))
    editor.model().save(tmp_path / "new.xml")
    assert hashed_sizes != []
    digest, weights = digest_of(tmp_path / "new.xml"), Weights.open(tmp_path / "new.bin")
    assert digest.is_digest_of(weights.size, weights.slice)
    assert digest.size == digest_of(tmp_path / "old.xml").size + 4 * SIZE


def test_a_removed_constant(tmp_path: Path) -> None:
    model = save_products(tmp_path / "old.xml")
    editor = build.Editor(model)
    editor.replace("product1", lambda y, *_: build.relu(y))
    editor.model().save(tmp_path / "new.xml")
    weights = Weights.open(tmp_path / "new.bin")
    assert weights.size < digest_of(tmp_path / "old.xml").size
    assert digest_of(tmp_path / "new.xml").is_digest_of(weights.size, weights.slice)


def test_files_of_other_tools_have_no_digest(tmp_path: Path) -> None:
    save_products(tmp_path / "old.xml")
    text = (tmp_path / "old.xml").read_text()
    (tmp_path / "old.xml").write_text(text.replace('name="x"', 'name="input"'))
    weights = read_model(tmp_path / "old.xml").weights
    assert weights is not None
    assert weights.written is None


@pytest.mark.parametrize(
    ("ranges", "size", "is_copy"),
    [
        ([(0, 100), (100, 20)], 120, True),
        ([(0, 100), (100, 20), (0, 100)], 120, True),
        ([(0, 100), (128, 4096)], 4224, True),
        ([(0, 100), (100, 4096)], 4196, False),
        ([(100, 20), (0, 100)], 120, False),
        ([(0, 100)], 120, False),
        ([(20, 100)], 120, False),
        ([(0, 100), (50, 70)], 120, False),
    ],
)
def test_the_offsets_of_a_copy(ranges: list[tuple[int, int]], size: int, is_copy: bool) -> None:
    assert are_in_order(ranges, size) == is_copy
