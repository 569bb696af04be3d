"""Weights of another network are recognized by what they hold, and weights with other faults are not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ir_exec import EvaluationError, IRError, Model, WeightsError, build, check_model, compile_model, read_model
from ir_exec.check.check import run_check
from ir_exec.codes import Code
from ir_exec.infer import foreign_weights
from ir_exec.model import load
from ir_exec.types import Array, ElementType

NETWORKS = Path(__file__).parents[1] / "networks"
NAMES = ("bert_tiny_fp16", "conv_zoo", "keras", "llama_int4_asym", "lstm", "same_padding")


def codes(path: Path, weights: bytes) -> list[str]:
    return [diagnostic.code for diagnostic in check_model(path, weights=weights).diagnostics]


def read_weights(name: str) -> bytes:
    return (NETWORKS / f"{name}.bin").read_bytes()


@pytest.mark.parametrize("other", NAMES)
@pytest.mark.parametrize("name", NAMES)
def test_weights_of_another_network(name: str, other: str) -> None:
    if name == other:
        return
    report = check_model(NETWORKS / f"{name}.xml", weights=read_weights(other))
    assert report.errors[0].code in (Code.foreign_weights, Code.weights_short)
    assert report.errors[0].hint is not None
    if report.errors[0].code == Code.foreign_weights:
        assert report.diagnostics[0] == report.errors[0]
        assert not {"IR202", "IR207", "IR503", "IR505", "IR601"} & {
            diagnostic.code for diagnostic in report.diagnostics
        }
    with pytest.raises(IRError) as caught:
        read_model(NETWORKS / f"{name}.xml", weights=read_weights(other))
    assert caught.value.code in (Code.foreign_weights, Code.weights_short)
    assert caught.value.hint is not None


@pytest.mark.parametrize("name", [path.stem for path in sorted(NETWORKS.glob("*.xml"))])
def test_right_weights_with_appended_or_missing_bytes(name: str) -> None:
    path = NETWORKS / f"{name}.xml"
    right = path.with_suffix(".bin").read_bytes()
    model = read_model(path)
    assert model.weights is not None
    assert foreign_weights(model.graph, model.weights) is None
    for tail in (b"\xff" * 1000, right):
        assert Code.foreign_weights not in codes(path, right + tail)
    for share in (0.9, 0.1):
        assert Code.foreign_weights not in codes(path, right[: int(share * len(right))])


class Saved:
    """A network, and its weights as they may be replaced."""

    def __init__(self, model: Model, folder: Path) -> None:
        model.save(folder / "net.xml")
        self.path = folder / "net.xml"
        self.right = (folder / "net.bin").read_bytes()

    def is_foreign(self, weights: bytes) -> bool:
        model = load(self.path, weights, report=lambda fault: None)
        assert model is not None
        assert model.weights is not None
        return foreign_weights(model.graph, model.weights) is not None


@pytest.fixture
def gathers(tmp_path: Path) -> Saved:
    """Indices, an axis, and a matrix of floats."""
    x = build.parameter([None, 4], "f32", name="x")
    rows = build.gather_nd(x, np.array([[1], [0], [1]]))
    product = build.matmul(rows, np.linspace(-1, 1, 32, dtype=np.float32).reshape(4, 8))
    return Saved(build.model(build.result(product, name="y")), tmp_path)


def test_impossible_index_read_at_run_time(gathers: Saved) -> None:
    assert np.frombuffer(gathers.right[:24], np.int64).tolist() == [1, 0, 1]
    wrong = np.linspace(3, 4, 6, dtype=np.float32).tobytes() + gathers.right[24:] + bytes(4)
    with pytest.raises(WeightsError) as caught:
        compile_model(read_model(gathers.path, weights=wrong))([np.ones((2, 4), np.float32)])
    assert caught.value.code == Code.foreign_weights
    assert [location.layer_type for location in caught.value.related] == ["GatherND"]


def test_index_of_caller_is_no_fault_of_weights(gathers: Saved) -> None:
    with pytest.raises(EvaluationError) as caught:
        compile_model(read_model(gathers.path, weights=gathers.right + bytes(40)))([np.ones((1, 4), np.float32)])
    assert caught.value.code == Code.index_out_of_range
    assert caught.value.hint is None


def test_impossible_number_in_weights_is_damage(tmp_path: Path) -> None:
    x = build.parameter([4, 4], "f32", name="x")
    for axis in range(4):
        x = build.gather(x, np.array([1, 2, 3, axis]), np.array(axis % 2))
    saved = Saved(build.model(build.result(x, name="y")), tmp_path)
    damaged = np.array(2**60 + 1).tobytes() + saved.right[8:]
    assert not saved.is_foreign(damaged)
    assert saved.is_foreign(damaged + bytes(1))


def test_the_layer_of_an_odd_constant_asks(tmp_path: Path) -> None:
    """The evidence is thin: a step of 0, and unused bytes."""
    x = build.parameter([8], "f32", name="x")
    y = build.slice(x, np.array([0]), np.array([4]), np.array([2]))
    saved = Saved(build.model(build.result(y, name="y")), tmp_path)
    wrong = saved.right.replace(np.array([2]).tobytes(), bytes(8))
    for tail, asks in ((bytes(4), True), (b"", False)):
        with pytest.raises(IRError) as caught:
            read_model(saved.path, weights=wrong + tail)
        assert caught.value.code != Code.foreign_weights
        assert (caught.value.hint is not None) == asks


def of_floats(array: Array, folder: Path) -> Saved:
    x = build.parameter([32], str(ElementType.of(array)), name="x")
    parts = [build.multiply(x, build.constant(part)) for part in array.reshape(-1, 32)]
    large = build.multiply(build.parameter([len(array)], str(ElementType.of(array)), name="z"), build.constant(array))
    results = [build.result(part, name=f"y{i}") for i, part in enumerate([*parts, large])]
    return Saved(build.model(results), folder)


NOISE = np.random.default_rng(0)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_floats_of_other_bytes(tmp_path: Path, dtype: type[np.floating]) -> None:
    saved = of_floats(NOISE.normal(0, 0.05, 256).astype(dtype), tmp_path)
    assert not saved.is_foreign(saved.right)
    assert saved.is_foreign(NOISE.integers(0, 256, len(saved.right), np.uint8).tobytes())
    assert saved.is_foreign(NOISE.integers(-100, 100, len(saved.right) // 4, np.int32).tobytes())


@pytest.mark.parametrize("tail", [0, 100])
@pytest.mark.parametrize(
    "array",
    [
        np.where(np.tri(16, dtype=bool), np.float32(0), -np.inf).astype(np.float32).ravel(),
        np.where(np.tri(16, dtype=bool), np.float32(0), np.finfo(np.float32).min).ravel(),
        np.full(256, np.nan, np.float32),
        np.arange(256, dtype=np.float16),
        np.logspace(-12, 6, 256, dtype=np.float32),
        np.zeros(256, np.float32),
        NOISE.integers(-128, 128, 256, np.int8),
    ],
    ids=["mask of infinities", "mask of the least", "NaN", "positions", "scales", "zeros", "quantized"],
)
def test_plausible_floats(tmp_path: Path, array: Array, tail: int) -> None:
    saved = of_floats(array, tmp_path)
    assert not saved.is_foreign(saved.right + bytes(tail))


def test_foreign_weights_repair_no_declarations(gathers: Saved) -> None:
    weights = np.linspace(3, 4, len(gathers.right) // 4 + 1, dtype=np.float32).tobytes()
    checked = run_check(gathers.path, weights)
    assert [error.code for error in checked.report.errors] == [Code.foreign_weights]
    assert checked.repairs == []
