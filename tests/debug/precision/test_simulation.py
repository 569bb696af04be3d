"""Losses of a network in fewer bits."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import numpy as np
import pytest

from ir_exec import Model, read_model
from ir_exec.debug.precision.simulation import PrecisionReport, RoundedLayer, lower_precision
from ir_exec.types import Array
from tests.conformance.networks import arrays
from tests.helpers.network_text import NetworkText

NETWORKS = Path(__file__).parents[2] / "networks"
SCHEMA = Path(__file__).parents[3] / "schemas" / "precision.schema.json"


def network() -> Model:
    """sqrt(x² · 1e6) / 1000: in f16 the product overflows, and everything else is harmless."""
    net = NetworkText()
    x = net.parameter("4")
    squares = net.op("Multiply", x, x)
    large = net.op("Multiply", squares, net.const(np.array([1e3], np.float32)))
    larger = net.op("Multiply", large, net.const(np.array([1e3], np.float32)))
    root = net.op("Sqrt", larger)
    net.result(net.op("Multiply", root, net.const(np.array([1e-3], np.float32))))
    file = net.file()
    return read_model(file.xml, weights=file.weights)


def layers(report: PrecisionReport) -> dict[str, RoundedLayer]:
    return {layer.layer_name: layer for layer in report.layers}


X = np.array([0.5, 1, 2, 3], np.float32)


def test_overflow_and_the_layers_to_keep() -> None:
    report = lower_precision(network(), "f16", [X])
    assert not report.equal
    assert report.keep == ("multiply5",)
    assert report.proven
    assert all(error.is_within for error in report.kept_outputs.values())
    by_name = layers(report)
    assert by_name["multiply5"].overflows == 4
    assert by_name["multiply5"].kept
    assert not by_name["sqrt6"].overflows
    assert "multiply5 (Multiply): 4 of 4 overflow" in str(report)


def test_bf16_has_the_range() -> None:
    report = lower_precision(network(), "bf16", [X])
    assert report.equal
    assert report.keep == ()
    assert layers(report)["multiply5"].overflows == 0


def test_small_numbers_and_weights() -> None:
    net = NetworkText()
    x = net.parameter("2")
    tiny = net.op("Multiply", x, net.const(np.array([1e-9, 1e-5], np.float32)))
    net.result(net.op("Add", tiny, net.const(np.array([1e6, 1], np.float32))))
    file = net.file()
    report = lower_precision(read_model(file.xml, weights=file.weights), "f16", [np.ones(2, np.float32)])
    by_name = layers(report)
    assert (by_name["multiply2"].flushed, by_name["multiply2"].subnormal) == (1, 1)
    assert (by_name["const3"].saturated, by_name["const3"].overflows) == (1, 0)
    assert report.keep == ("add4",)


def test_none_of_the_layers_to_keep_can_be_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of what is kept, each single one is needed: without it an output leaves the tolerance."""
    from ir_exec.debug.precision import simulation

    path = NETWORKS / "gnn_gcn_gat.xml"
    asked: list[tuple[int, bool]] = []
    holds = simulation.RoundedRuns.holds

    def record_holds(self: simulation.RoundedRuns, keep: list[simulation.Place]) -> bool:
        is_within = holds(self, keep)
        asked.append((len(keep), is_within))
        return is_within

    monkeypatch.setattr(simulation.RoundedRuns, "holds", record_holds)
    report = lower_precision(path, "bf16", arrays(path, "inputs"), rtol=1e-4, atol=1e-4)
    assert not report.equal
    assert report.proven
    assert 0 < len(report.keep) < len(report.layers)
    # The last pass has left out each of them alone, in vain.
    single = [is_within for count, is_within in asked[-len(report.keep) :] if count == len(report.keep) - 1]
    assert len(single) == len(report.keep)
    assert not any(single)


def test_whole_numbers_are_left_alone() -> None:
    net = NetworkText()
    x = net.parameter("2", "i64")
    net.result(net.op("Add", x, net.const(np.array([2**40, 1], np.int64))))
    file = net.file()
    inputs: list[Array] = [np.array([1, 2], np.int64)]
    report = lower_precision(read_model(file.xml, weights=file.weights), "f16", inputs)
    assert report.equal
    assert report.layers == ()


def test_json_fits_the_schema() -> None:
    report = lower_precision(network(), "f16", [X])
    parsed = json.loads(report.model_dump_json())
    jsonschema.validate(parsed, json.loads(SCHEMA.read_text()))
    assert parsed["keep"] == ["multiply5"]
