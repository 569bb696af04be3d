"""Compressed weights against plain ones, as NNCF writes them in its modes, and with faults planted in them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from ir_exec import build, read_model
from ir_exec.build.compress import Compression, compress_weights
from ir_exec.debug import compare, diff
from ir_exec.debug.precision.weights import QuantizedWeight
from ir_exec.model import Model
from ir_exec.view import view

FILES = Path(__file__).parents[2] / "quantization" / "nncf"
MODES = sorted(path.stem for path in FILES.glob("*.xml") if path.stem != "plain")


@pytest.mark.parametrize("mode", MODES)
def test_a_mode_of_nncf_against_the_plain_weight(mode: str) -> None:
    found = diff(FILES / f"{mode}.xml", FILES / "plain.xml")
    assert not found.equal
    assert not (*found.added, *found.removed, *found.changed, *found.consequences)
    (one,) = found.quantized
    assert (one.side, one.partner, one.partner_format, one.elements) == ("a", "proj/weight", "f32", 512)
    assert (one.unexplained, one.is_fault, one.partner_bytes) == (0, False, 2048)
    assert one.error.sqnr_db is not None
    assert one.error.sqnr_db > 5
    again = diff(FILES / "plain.xml", FILES / f"{mode}.xml").quantized[0]
    assert (again.side, again.format, again.error) == ("b", one.format, one.error)


def test_two_formats() -> None:
    (one,) = diff(FILES / "int8_sym.xml", FILES / "int4_asym.xml").quantized
    assert (one.side, one.format, one.partner_format) == ("b", "int4_asym", "int8_sym")


def test_the_same_format_is_compared_layer_by_layer() -> None:
    path = FILES / "int4_asym.xml"
    assert diff(path, path).equal
    editor = build.Editor(read_model(path))
    scale = read_model(path).constants["proj/weight/scale"].copy()
    scale[0, 0, 0] *= 2
    found = diff(path, editor.set_constant("proj/weight/scale", scale).model())
    assert not found.quantized
    assert {layer.path for layer in found.changed} == {"proj/weight/scale", "proj"}


def faulty(mode: str, what: str) -> QuantizedWeight:
    """The weight of a mode in which a constant has another first element."""
    model = read_model(FILES / f"{mode}.xml")
    name = {"code": "proj/weight", "scale": "proj/weight/scale", "zero": "proj/weight/zero_point"}[what]
    array = np.array(model.constants[name])
    flat = array.reshape(-1)
    if what == "scale":
        flat[0] = flat[0] * 2
    else:
        wide = flat.astype(np.int16)
        wide[0] = wide[0] + 3 if wide[0] < 4 else wide[0] - 3
        flat[:] = wide.astype(flat.dtype)
    changed = build.Editor(model).set_constant(name, array).model()
    return diff(changed, FILES / "plain.xml").quantized[0]


@pytest.mark.parametrize("what", ["code", "scale", "zero"])
@pytest.mark.parametrize("mode", ["int8_asym", "int4_asym"])
def test_a_fault_in_a_constant(mode: str, what: str) -> None:
    one = faulty(mode, what)
    assert one.is_fault
    assert one.unexplained > 0


def test_a_fake_quantize_of_a_weight() -> None:
    weight = np.linspace(-1, 1, 64, dtype=np.float32).reshape(8, 8)

    def made(quantized: bool, end: float = 0.5) -> Model:
        x = build.parameter([2, 8], "f32", name="x")
        w = build.constant(weight, name="w")
        ends = [np.float32(one) for one in (-end, end, -end, end)]
        read = build.fake_quantize(w, *ends, levels=9) if quantized else w
        return build.model(build.result(build.matmul(x, read, name="product"), name="y"))

    (one,) = diff(made(quantized=True), made(quantized=False)).quantized
    assert (one.format, one.levels, one.dead_levels, one.unexplained) == ("fake_quantize9", 9, 0, 0)
    assert one.outside == pytest.approx(np.mean(np.abs(weight) > 0.5 + 0.0625))
    (wide,) = diff(made(quantized=True, end=4.0), made(quantized=False)).quantized
    assert (wide.dead_levels, wide.outside) == (6, 0)


def test_the_page_marks_the_layers_of_a_compressed_weight() -> None:
    page = view(FILES / "plain.xml", diff=FILES / "int4_asym.xml")
    kinds = {layer.name: layer.change.kind for layer in page.networks[0].graph.layers if layer.change is not None}
    assert kinds["proj/weight"] == "changed"
    assert kinds["proj/weight/scale"] == "added"
    assert sorted(kinds.values()) == ["added"] * 9 + ["changed"]
    back = view(FILES / "int4_asym.xml", diff=FILES / "plain.xml")
    kinds = {layer.name: layer.change.kind for layer in back.networks[0].graph.layers if layer.change is not None}
    assert sorted(kinds.values()) == ["changed"] + ["removed"] * 9


@pytest.mark.parametrize("mode", MODES)
def test_compare_takes_a_compressed_weight_as_one_constant(mode: str) -> None:
    x = np.random.default_rng(0).standard_normal((3, 64)).astype(np.float32)
    found = compare(FILES / f"{mode}.xml", FILES / "plain.xml", {"x": x})
    assert not found.faults
    assert not found.unmatched
    (one,) = found.quantized
    assert (one.side, one.is_fault, one.unexplained) == ("model", False, 0)
    by_status = {layer.path: layer.status for layer in found.layers if layer.status != "skipped"}
    assert by_status["proj"] == "carried"
    assert sorted(by_status.values()) == ["carried", "close", "equal"]
    back = compare(FILES / "plain.xml", FILES / f"{mode}.xml", {"x": x})
    assert not (*back.faults, *back.unmatched)
    assert back.quantized[0].side == "reference"
    assert compare(FILES / f"{mode}.xml", FILES / f"{mode}.xml", {"x": x}).equal


def test_compare_names_a_faulty_weight() -> None:
    model = read_model(FILES / "int4_asym.xml")
    scale = np.array(model.constants["proj/weight/scale"])
    scale[3, 1, 0] *= 2
    changed = build.Editor(model).set_constant("proj/weight/scale", scale).model()
    found = compare(changed, FILES / "plain.xml", {"x": np.ones((1, 64), np.float32)})
    (fault,) = found.faults
    assert fault.taken_by == () or fault.path.startswith("proj/weight")
    assert found.quantized[0].is_fault
    assert next(layer.status for layer in found.layers if layer.path == "proj") == "carried"


def ranged(levels: int | None, end: float = 1.0) -> Model:
    x = build.parameter([4, 8], "f32", name="x")
    ends = [np.float32(one) for one in (-end, end, -end, end)]
    read = x if levels is None else build.fake_quantize(x, *ends, levels=levels)
    weight = np.linspace(-1, 1, 64, dtype=np.float32).reshape(8, 8)
    return build.model(build.result(build.matmul(read, weight, name="product"), name="y"))


def test_compare_tells_the_ranges_of_fake_quantize() -> None:
    x = np.linspace(-2, 2, 32, dtype=np.float32).reshape(4, 8)
    found = compare(ranged(5), ranged(None), {"x": x})
    assert not found.faults
    (one,) = found.ranges
    assert (one.levels, one.low, one.high, one.dead_levels, one.unexplained) == (5, -1, 1, 0, 0)
    assert one.outside == pytest.approx(np.mean(np.abs(x) > 1.25))
    (wide,) = compare(ranged(9, end=8.0), ranged(None), {"x": x}).ranges
    assert (wide.dead_levels, wide.outside) == (6, 0)
    assert next(layer.status for layer in found.layers if layer.path == "product") == "carried"
    assert not compare(ranged(5), ranged(5), {"x": x}).ranges


def test_diff_passes_through_fake_quantize() -> None:
    found = diff(ranged(5), ranged(None))
    assert not found.equal
    assert not (*found.added, *found.removed, *found.changed)
    (one,) = found.ranges
    assert (one.levels, one.low, one.high) == (5, -1, 1)
    assert diff(ranged(5), ranged(5)).equal


def products(change: Callable[[str, np.ndarray], np.ndarray] | None = None) -> Model:
    """Six products in a row. change: makes of the name and the array of a weight what is compressed in its place."""
    random = np.random.default_rng(2)
    value = build.parameter([3, 32], "f32", name="x")
    for number in range(6):
        name = f"w{number}"
        weight = random.standard_normal((32, 32)).astype(np.float32)
        weight = weight if change is None else change(name, weight)
        value = build.matmul(value, build.constant(weight, name=name), transpose_b=True)
    return build.model(build.result(value, name="y"))


def faults_of(change: Callable[[str, np.ndarray], np.ndarray]) -> dict[str, QuantizedWeight]:
    """The weights that `diff` marks after weights were changed, and compressed."""
    quantized, _ = compress_weights(products(change), Compression("int4_sym", 16, all_layers=True))
    found = diff(quantized, products()).quantized
    assert len(found) == 6
    return {one.path: one for one in found if one.is_fault or one.scaled_axis is not None}


def test_scaled_channels_are_no_fault() -> None:
    factors = np.random.default_rng(3).uniform(0.5, 2, 32).astype(np.float32)
    found = faults_of(lambda name, weight: weight * factors if name == "w1" else weight)
    assert (found["w1"].scaled_axis, found["w1"].is_fault, len(found)) == (1, False, 1)
    found = faults_of(lambda name, weight: weight * factors[:, None] if name == "w4" else weight)
    assert (found["w4"].scaled_axis, found["w4"].is_fault) == (0, False)


def test_one_factor_for_all_channels_is_a_fault() -> None:
    found = faults_of(lambda name, weight: weight * np.float32(1.4) if name == "w1" else weight)
    assert [(name, one.is_fault, one.scaled_axis) for name, one in found.items()] == [("w1", True, None)]


def test_a_method_that_moves_elements_is_no_fault_but_more_than_it_does_is() -> None:
    random = np.random.default_rng(4)

    def moved(name: str, weight: np.ndarray) -> np.ndarray:
        weight = weight + random.uniform(-0.4, 0.4, weight.shape).astype(np.float32)
        if name == "w3":
            weight[5] = -weight[5]
        return weight

    assert list(faults_of(moved)) == ["w3"]
