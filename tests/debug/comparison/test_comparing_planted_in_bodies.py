"""One change inside of a body of the reference: `compare` names the layer that holds it, and where it is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random

import numpy as np
import pytest

from ir_exec import Model, build, read_model
from ir_exec.debug import compare, trace
from ir_exec.types import Array
from tests.conformance.networks import arrays
from tests.debug.comparison.planted import faults
from tests.helpers.network_text import NetworkText, Output, tied_input, tied_output

NETWORKS = Path(__file__).parents[2] / "networks"
SHAPE = (2, 4, 6)


def chain(net: NetworkText, value: Output, random: Random, count: int) -> Output:
    """Layers with attributes and constants, none of which changes the shape."""
    values = [value]
    for _ in range(count):
        operator_type = random.choice(
            ["Sigmoid", "Sin", "Add", "Multiply", "MatMul", "Clamp", "Softmax", "Roll", "Maximum"]
        )
        last = values[-1]
        if operator_type in ("Add", "Maximum"):
            output = net.op(operator_type, last, random.choice(values))
        elif operator_type == "Multiply":
            output = net.op(operator_type, last, floats(net, random, 6))
        elif operator_type == "MatMul":
            output = net.op(
                operator_type, last, floats(net, random, 6, 6), transpose_a=False, transpose_b=random.random() < 0.5
            )
        elif operator_type == "Clamp":
            output = net.op(operator_type, last, min=-0.4, max=0.7)
        elif operator_type == "Softmax":
            output = net.op(operator_type, last, axis=random.choice([0, 1, 2]))
        elif operator_type == "Roll":
            steps = (net.const(np.array([step], np.int64)) for step in (random.choice([1, 2]), 2))
            output = net.op(operator_type, last, *steps, opset=7)
        else:
            output = net.op(operator_type, last)
        values.append(output)
    return values[-1]


def floats(net: NetworkText, random: Random, *shape: int) -> Output:
    numbers = np.random.default_rng(random.randrange(2**31)).standard_normal(shape)
    return net.const(numbers.astype(np.float32))


def loop(net: NetworkText, value: Output, random: Random) -> Output:
    """Three iterations, each with the results of the previous one."""
    count, yes = net.const(np.array(3, np.int64)), net.const(np.array(True))
    body = NetworkText(net)
    inside = body.parameter("2,4,6")
    last = body.result(chain(body, inside, random, 12))
    goes_on = body.result(body.const(np.array(True)))
    ties = [tied_input(2, inside), tied_output(3, last), tied_output(-1, goes_on, purpose="execution_condition")]
    return net.loop(1, "Loop", [count, yes, value], body, ties, [(last, inside)])[0]


def iterator(net: NetworkText, value: Output, random: Random) -> Output:
    """Slices of the second axis, backwards, with a state that goes along; all states together."""
    body = NetworkText(net)
    part, state = body.parameter("2,1,6"), body.parameter("2,1,6")
    new = chain(body, body.op("Add", part, state), random, 12)
    last = body.result(new)
    sliced = {"axis": 1, "start": -1, "end": 0, "stride": -1, "part_size": 1}
    ties = [tied_input(0, part, **sliced), tied_input(1, state), tied_output(2, last, **sliced)]
    start = net.const(np.zeros((2, 1, 6), np.float32))
    return net.loop(1, "TensorIterator", [value, start], body, ties, [(last, state)])[0]


def branches(net: NetworkText, value: Output, random: Random) -> Output:
    return branch(net, value, random, lambda body, inside: chain(body, inside, random, 12))


def loop_in_branch(net: NetworkText, value: Output, random: Random) -> Output:
    return branch(net, value, random, lambda body, inside: chain(body, loop(body, inside, random), random, 3))


def branch(net: NetworkText, value: Output, random: Random, fill: Callable[[NetworkText, Output], Output]) -> Output:
    bodies, ties = [], []
    for _ in range(2):
        body = NetworkText(net)
        inside = body.parameter("2,4,6")
        last = body.result(fill(body, inside))
        bodies.append(body)
        ties.append([tied_input(1, inside), tied_output(2, last)])
    condition = net.const(np.array(random.random() < 0.5))
    return net.branch(1, [condition, value], bodies[0], ties[0], bodies[1], ties[1])[0]


def make_model(wrap: Callable[[NetworkText, Output, Random], Output], seed: int) -> tuple[bytes, bytes, list[Array]]:
    random, net = Random(seed), NetworkText()
    value = chain(net, net.parameter("2,4,6"), random, 3)
    value = chain(net, wrap(net, value, random), random, 3)
    net.result(value)
    file = net.file()
    inputs = np.random.default_rng(seed).standard_normal(SHAPE).astype(np.float32)
    return file.xml, file.weights, [inputs]


def list_named_faults(
    xml: bytes, weights: bytes, inputs: list[Array], count: int, seed: int
) -> list[tuple[str, bool, str]]:
    """For each of the planted faults its kind, whether it was named, and the path that was."""
    good = read_model(xml, weights=weights)
    results = []
    for fault in faults(xml, weights, inputs, count=count, seed=seed, bodies=True):
        report = compare(good, read_model(fault.xml, weights=fault.weights), inputs, threads=1)
        assert not report.equal, fault
        path = "" if report.first_fault is None else report.first_fault.path
        results.append((fault.kind, path in fault.paths, f"{path} for {sorted(fault.paths)}"))
    return results


@pytest.mark.broad
@pytest.mark.parametrize("make_body", [loop, iterator, branches, loop_in_branch])
def test_in_bodies_of_every_kind(make_body: Callable[[NetworkText, Output, Random], Output]) -> None:
    results = [
        result for seed in range(4) for result in list_named_faults(*make_model(make_body, seed), count=8, seed=seed)
    ]
    assert len(results) >= 30
    assert set(Counter(change_type for change_type, _, _ in results)) == {"attribute", "constant", "operator"}
    missed = [text for _, is_named, text in results if not is_named]
    assert not missed


@pytest.mark.broad(keep=1)
@pytest.mark.parametrize(("name", "count"), [("script_loop_seq", 25), ("script_if", 10)])
def test_in_bodies_of_real_networks(name: str, count: int) -> None:
    path = NETWORKS / f"{name}.xml"
    inputs = arrays(path, "inputs")
    assert inputs is not None
    results = list_named_faults(path.read_bytes(), path.with_suffix(".bin").read_bytes(), inputs, count, seed=3)
    assert len(results) == count
    missed = [text for _, is_named, text in results if not is_named]
    assert not missed


def branches_with(first: float, second: float) -> Model:
    """A branch for sums above zero, and another one with a body in it."""
    x = build.parameter([2], name="x")

    def inner() -> build.Value:
        def body(_: build.Value, carried: build.Value) -> tuple[None, list[build.Value], list[build.Value]]:
            return None, [build.multiply(carried, np.float32([second, 1]), name="scaled")], []

        return build.loop(2, None, body, carried=[x], name="inner")[0]

    is_positive = build.greater(build.reduce_sum(x, [0]), np.float32(0))
    chosen = build.if_(is_positive, lambda: build.add(x, np.float32([first, 1]), name="sum"), inner, name="if")
    return build.model([build.result(chosen, name="y")])


@pytest.mark.parametrize(("x", "first", "second"), [([1, 1], 3, 2), ([1, 1], 3, 2.5), ([-1, -1], 4, 2)])
def test_constants_of_bodies_that_do_not_run(x: list[float], first: float, second: float) -> None:
    report = compare(branches_with(3, 2), branches_with(first, second), [np.float32(x)])
    assert report.not_run > 0
    assert {output.status for output in report.output_results} == {"equal"}
    is_same = (first, second) == (3, 2)
    assert (report.verdict, report.decision is not None) == ("equal" if is_same else "different in a layer", True)
    numbers = [fault.own.worst for fault in report.faults if fault.own is not None]
    assert [fault.type for fault in report.faults] == ([] if is_same else ["Const"])
    assert all(fault.is_gross and fault.path.startswith("if/") for fault in report.faults)
    assert [layer.path for layer in report.layers if not layer.runs] == [fault.path for fault in report.faults]
    assert numbers == ([] if is_same else [(0,)])


@pytest.mark.parametrize("limit", [20.0, 25.0])
def test_fault_in_late_iteration_only(limit: float, tmp_path: Path) -> None:
    """Iterations that are the same are looked at as a whole: what is found is what a look at every layer finds."""

    def network(limit: float) -> Model:
        def body(_: build.Value, carried: build.Value) -> tuple[None, list[build.Value], list[build.Value]]:
            more = build.clamp(build.add(carried, np.float32([1, 0.5]), name="more"), 0.0, limit, name="limited")
            return None, [more], [build.tanh(more, name="seen")]

        last, seen = build.loop(30, None, body, carried=[build.parameter([2], name="x")], name="loop")
        return build.model([build.result(last, name="y"), build.result(seen, name="all")])

    model, other = network(20.0), network(limit)
    inputs = [np.float32([0, 0])]
    report = compare(model, other, inputs)
    values = trace(other, inputs, output=tmp_path / "dump")
    by_layer = compare(model, values, inputs)
    assert report.layers == by_layer.layers
    assert {layer.layer_name: layer.runs for layer in report.layers if layer.path.startswith("loop/")}["limited"] == 30
    assert report.equal is (limit == 20.0)
    if not report.equal:
        assert report.first_fault is not None
        faulty = next(layer for layer in report.layers if layer.layer_id == report.first_fault.layer_id)
        assert (report.first_fault.layer_name, faulty.iterations) == ("limited", (20,))
