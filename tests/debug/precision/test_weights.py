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
    differences = diff(FILES / f"{mode}.xml", FILES / "plain.xml")
    assert not differences.equal
    assert not (*differences.added, *differences.removed, *differences.changed, *differences.consequences)
    (weight,) = differences.quantized
    assert (weight.side, weight.partner, weight.partner_format, weight.elements) == ("a", "proj/weight", "f32", 512)
    assert (weight.unexplained, weight.is_fault, weight.partner_bytes) == (0, False, 2048)
    assert weight.error.sqnr_db is not None
    assert weight.error.sqnr_db > 5
    again = diff(FILES / "plain.xml", FILES / f"{mode}.xml").quantized[0]
    assert (again.side, again.format, again.error) == ("b", weight.format, weight.error)


def test_two_formats() -> None:
    (weight,) = diff(FILES / "int8_sym.xml", FILES / "int4_asym.xml").quantized
    assert (weight.side, weight.format, weight.partner_format) == ("b", "int4_asym", "int8_sym")


def test_equal_formats_are_compared_layer_by_layer() -> None:
    path = FILES / "int4_asym.xml"
    assert diff(path, path).equal
    editor = build.Editor(read_model(path))
    scale = read_model(path).constants["proj/weight/scale"].copy()
    scale[0, 0, 0] *= 2
    differences = diff(path, editor.set_constant("proj/weight/scale", scale).model())
    assert not differences.quantized
    assert {layer.path for layer in differences.changed} == {"proj/weight/scale", "proj"}


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
    weight = faulty(mode, what)
    assert weight.is_fault
    assert weight.unexplained > 0


def test_a_fake_quantize_of_a_weight() -> None:
    weight = np.linspace(-1, 1, 64, dtype=np.float32).reshape(8, 8)

    def product_of_weight(quantized: bool, end: float = 0.5) -> Model:
        x = build.parameter([2, 8], "f32", name="x")
        w = build.constant(weight, name="w")
        ends = [np.float32(limit) for limit in (-end, end, -end, end)]
        read = build.fake_quantize(w, *ends, levels=9) if quantized else w
        return build.model(build.result(build.matmul(x, read, name="product"), name="y"))

    (compared,) = diff(product_of_weight(quantized=True), product_of_weight(quantized=False)).quantized
    assert (compared.format, compared.levels, compared.dead_levels, compared.unexplained) == ("fake_quantize9", 9, 0, 0)
    assert compared.outside == pytest.approx(np.mean(np.abs(weight) > 0.5 + 0.0625))
    (wide,) = diff(product_of_weight(quantized=True, end=4.0), product_of_weight(quantized=False)).quantized
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
    report = compare(FILES / f"{mode}.xml", FILES / "plain.xml", {"x": x})
    assert not report.faults
    assert not report.unmatched
    (weight,) = report.quantized
    assert (weight.side, weight.is_fault, weight.unexplained) == ("model", False, 0)
    by_status = {layer.path: layer.status for layer in report.layers if layer.status != "skipped"}
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
    report = compare(changed, FILES / "plain.xml", {"x": np.ones((1, 64), np.float32)})
    (fault,) = report.faults
    assert fault.taken_by == () or fault.path.startswith("proj/weight")
    assert report.quantized[0].is_fault
    assert next(layer.status for layer in report.layers if layer.path == "proj") == "carried"


def make_ranged_model(levels: int | None, end: float = 1.0) -> Model:
    x = build.parameter([4, 8], "f32", name="x")
    ends = [np.float32(limit) for limit in (-end, end, -end, end)]
    read = x if levels is None else build.fake_quantize(x, *ends, levels=levels)
    weight = np.linspace(-1, 1, 64, dtype=np.float32).reshape(8, 8)
    return build.model(build.result(build.matmul(read, weight, name="product"), name="y"))


def test_compare_tells_the_ranges_of_fake_quantize() -> None:
    x = np.linspace(-2, 2, 32, dtype=np.float32).reshape(4, 8)
    report = compare(make_ranged_model(5), make_ranged_model(None), {"x": x})
    assert not report.faults
    (counts,) = report.ranges
    assert (counts.levels, counts.low, counts.high, counts.dead_levels, counts.unexplained) == (5, -1, 1, 0, 0)
    assert counts.outside == pytest.approx(np.mean(np.abs(x) > 1.25))
    (wide,) = compare(make_ranged_model(9, end=8.0), make_ranged_model(None), {"x": x}).ranges
    assert (wide.dead_levels, wide.outside) == (6, 0)
    assert next(layer.status for layer in report.layers if layer.path == "product") == "carried"
    assert not compare(make_ranged_model(5), make_ranged_model(5), {"x": x}).ranges


def test_diff_passes_through_fake_quantize() -> None:
    differences = diff(make_ranged_model(5), make_ranged_model(None))
    assert not differences.equal
    assert not (*differences.added, *differences.removed, *differences.changed)
    (counts,) = differences.ranges
    assert (counts.levels, counts.low, counts.high) == (5, -1, 1)
    assert diff(make_ranged_model(5), make_ranged_model(5)).equal


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
    weights = diff(quantized, products()).quantized
    assert len(weights) == 6
    return {weight.path: weight for weight in weights if weight.is_fault or weight.scaled_axis is not None}


def test_scaled_channels_are_no_fault() -> None:
    factors = np.random.default_rng(3).uniform(0.5, 2, 32).astype(np.float32)
    faults = faults_of(lambda name, weight: weight * factors if name == "w1" else weight)
    assert (faults["w1"].scaled_axis, faults["w1"].is_fault, len(faults)) == (1, False, 1)
    faults = faults_of(lambda name, weight: weight * factors[:, None] if name == "w4" else weight)
    assert (faults["w4"].scaled_axis, faults["w4"].is_fault) == (0, False)


def test_one_factor_for_all_channels_is_a_fault() -> None:
    faults = faults_of(lambda name, weight: weight * np.float32(1.4) if name == "w1" else weight)
    assert [(name, fault.is_fault, fault.scaled_axis) for name, fault in faults.items()] == [("w1", True, None)]


def test_deviation_beyond_element_moves_is_a_fault() -> None:
    random = np.random.default_rng(4)

    def move_elements(name: str, weight: np.ndarray) -> np.ndarray:
        weight = weight + random.uniform(-0.4, 0.4, weight.shape).astype(np.float32)
        if name == "w3":
            weight[5] = -weight[5]
        return weight

    assert list(faults_of(move_elements)) == ["w3"]
