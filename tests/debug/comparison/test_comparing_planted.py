"""One change in the reference: `compare` names the layer that holds it."""

from __future__ import annotations

from pathlib import Path
from random import Random

import numpy as np
import pytest

from ir_exec import Model, compile_model, read_model
from ir_exec.debug import compare
from ir_exec.types import Array
from tests.conformance.networks import arrays
from tests.debug.comparison.planted import faults
from tests.helpers.network_text import NetworkText, tied_input, tied_output

NETWORKS = Path(__file__).parents[2] / "networks"

PLANTED = {
    "beam_search_gathertree": 20,
    "conv_zoo": 20,
    "dynamic_output_ops": 25,
    "embedding_bag_dlrm": 25,
    "gnn_gcn_gat": 25,
    "index_ops": 15,
    "lstm": 20,
    "matrix_ops": 15,
    "nms9": 20,
    "prep_nv12_single": 20,
    "script_if": 15,
    "script_loop_seq": 10,
}
"""The number of planted faults by network."""


def outputs_differ(good: Model, bad: Model, inputs: list[Array]) -> bool:
    """Return True if an output is further from the other than 0.1 % of its greatest element, or of itself."""
    for ours, theirs in zip(
        *(compile_model(model, threads=1)(inputs).to_tuple() for model in (good, bad)), strict=True
    ):
        if ours.shape != theirs.shape:
            return True
        a, b = ours.astype(np.float64), theirs.astype(np.float64)
        limit = 1e-3 * (np.abs(b[np.isfinite(b)]).max(initial=0) + np.abs(b)) if ours.dtype.kind == "f" else 0.0
        with np.errstate(invalid="ignore"):
            if not ((np.abs(a - b) <= limit) | (a == b) | (np.isnan(a) & np.isnan(b))).all():
                return True
    return False


def test_enough_are_planted() -> None:
    assert sum(PLANTED.values()) >= 200


@pytest.mark.broad(keep=4)
@pytest.mark.parametrize("name", PLANTED)
def test_faulty_layer_is_named(name: str) -> None:
    path = NETWORKS / f"{name}.xml"
    xml, weights = path.read_bytes(), path.with_suffix(".bin").read_bytes()
    inputs = arrays(path, "inputs")
    assert inputs is not None
    good = read_model(path)
    planted = 0
    for fault in faults(xml, weights, inputs, count=PLANTED[name], seed=len(name)):
        bad = read_model(fault.xml, weights=fault.weights)
        report = compare(good, bad, inputs, threads=1)
        assert report.verdict in ("different", "different in a layer"), fault
        assert report.verdict == "different" or not outputs_differ(good, bad, inputs)
        assert report.first_fault is not None, fault
        assert report.first_fault.path in fault.paths, (fault.kind, fault.paths, report.first_fault)
        planted += 1
    assert planted == PLANTED[name]


def looping(type: str) -> Model:
    """Five iterations of multiply(inner(x + 0.5)), where `inner` is of the given type."""
    net = NetworkText()
    x = net.parameter("4")
    count, yes = net.const(np.array(5, np.int64)), net.const(np.array(True))
    body = NetworkText(net)
    inside = body.parameter("4")
    inner = body.op(type, body.op("Add", inside, body.const(np.full(4, 0.5, np.float32))))
    last = body.result(body.op("Multiply", inner, body.const(np.full(4, 1.5, np.float32))))
    goes_on = body.result(body.const(np.array(True)))
    ties = [tied_input(2, inside), tied_output(3, last), tied_output(-1, goes_on, purpose="execution_condition")]
    (output,) = net.loop(1, "Loop", [count, yes, x], body, ties, [(last, inside)])
    net.result(output)
    file = net.file()
    return read_model(file.xml.replace(f'name="{type.lower()}'.encode(), b'name="inner'), weights=file.weights)


def test_wrong_body_is_named_instead_of_loop() -> None:
    """All iterations start from what the reference had, so only the layer that was changed is wrong by itself."""
    report = compare(looping("Sin"), looping("Tanh"))
    assert [(fault.path, fault.type) for fault in report.faults] == [("loop3/body/inner3", "Sin")]
    (inner,) = (layer for layer in report.layers if layer.layer_name == "inner3")
    assert inner.runs == 5


def thousand(random: Random) -> tuple[bytes, bytes]:
    """A chain of a thousand layers in which branches come together."""
    net = NetworkText()
    values = [net.parameter("8,16")]
    for number in range(1000):
        operator_type = random.choice(["Tanh", "Sigmoid", "Add", "Maximum", "Sin", "MatMul"])
        if operator_type in ("Add", "Maximum"):
            values.append(net.op(operator_type, values[-1], random.choice(values[-6:])))
        elif operator_type == "MatMul":
            weights = np.random.default_rng(number).standard_normal((16, 16)).astype(np.float32) / 4
            values.append(net.op("MatMul", values[-1], net.const(weights), transpose_a=False, transpose_b=False))
        else:
            values.append(net.op(operator_type, values[-1]))
    net.result(values[-1])
    file = net.file()
    return file.xml, file.weights


@pytest.mark.broad(keep=1)
@pytest.mark.parametrize("number", [13, 500, 987])
def test_in_a_network_of_a_thousand_layers(number: int) -> None:
    xml, weights = thousand(Random(5))
    good = read_model(xml, weights=weights)
    layer = [node for node in good.graph.nodes if node.type in ("Add", "Maximum", "Tanh", "Sin", "Sigmoid")][
        number // 2
    ]
    other = {"Add": "Subtract", "Maximum": "Minimum"}.get(layer.type, "Cos")
    mark = f'name="{layer.name}" type="{layer.type}"'.encode()
    assert xml.count(mark) == 1
    changed = xml.replace(mark, f'name="{layer.name}" type="{other}"'.encode())
    report = compare(good, read_model(changed, weights=weights), threads=1)
    assert report.first_fault is not None
    assert (report.first_fault.layer_id, report.first_fault.layer_name) == (layer.id, layer.name)
    assert len(report.layers) > 1000
