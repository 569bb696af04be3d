"""Real networks: the type of every node is OpenVINO's, and the outputs are those that OpenVINO computed."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest

import ir_exec
from ir_exec.graph import Node
from ir_exec.types import Array, ElementType, Shape, TensorType
from tests.conformance.build import IRFile
from tests.conformance.compare import type_faults
from tests.conformance.networks import COLLECTION, RUNNABLE, arrays, ir_file, missing_operators, networks
from tests.conformance.oracle import NodeTypes, Oracle, Refused
from tests.helpers.facts import mentions
from tests.helpers.short_floats import in_short_floats

NETWORKS = networks()

TOLERANCE = 1e-3
"""Of the largest absolute output."""

each_network = pytest.mark.parametrize("name", NETWORKS)


@pytest.fixture
def path(name: str) -> Path:
    return NETWORKS[name]


def read(path: Path) -> ir_exec.Model:
    """The network; skips the test where operators are missing that need not be there."""
    model = ir_exec.read_model(path)
    missing = missing_operators(model.graph)
    if missing and path.stem not in RUNNABLE:
        pytest.skip(f"{path.stem} has operators that ir_exec does not have: {', '.join(sorted(missing))}")
    assert not missing
    return model


def test_the_whole_collection_is_at_hand() -> None:
    if not COLLECTION.is_dir():
        pytest.skip(f"{COLLECTION} is not there: only the networks in tests/networks are tested")
    assert set(NETWORKS) >= RUNNABLE


@each_network
def test_types_of_every_node(path: Path, oracle: Oracle) -> None:
    model = read(path)
    answer = oracle.types(ir_file(path))
    assert not isinstance(answer, Refused), answer.reason
    faults = []
    for node, theirs in match_nodes(model.graph.nodes, answer):
        inferred = [model.types[value.number] for value in node.outputs]
        if node.type != "Result":
            faults += [
                f"{node.id} {node.name} ({node.type}): {fault}" for fault in type_faults(inferred, theirs.outputs, None)
            ]
    assert not faults, f"{len(faults)} faults\n" + "\n".join(faults[:20])


@each_network
def test_outputs(path: Path) -> None:
    compiled = ir_exec.compile_model(read(path))
    for call in ("", "2"):
        inputs, expected = arrays(path, f"inputs{call}"), arrays(path, f"outputs{call}")
        if inputs is not None and expected is not None:
            result = compiled(inputs)
            faults = [output_fault(result[i], array) for i, array in enumerate(expected)]
            assert len(result) == len(expected)
            assert not any(faults), f"call {call or '1'}: {faults}"


@pytest.mark.parametrize("name", sorted(set(NETWORKS) - {"bert_tiny_fp16"}))  # it has f16 and f32 already
def test_outputs_of_a_network_in_f16_are_openvinos(path: Path, oracle: Oracle) -> None:
    """Both compute in f32, so that outputs differ by their last place; computed in f16 they differ by 1e-3 and more."""
    file, _ = in_short_floats(path, "f16")
    model = ir_exec.read_model(file.xml, weights=file.weights)
    inputs = arrays(path, "inputs")
    assert inputs is not None
    halves = [array.astype(port.element_type.dtype) for array, port in zip(inputs, model.inputs, strict=True)]
    answer = oracle.values(IRFile(file.xml, file.weights, tuple(halves)))
    assert not isinstance(answer, Refused), answer.reason
    actual = ir_exec.compile_model(model)(halves)
    assert [actual[index].shape for index in range(len(actual))] == [array.shape for array in answer]
    for index, expected in enumerate(answer):
        if expected.dtype.kind != "f":
            np.testing.assert_array_equal(actual[index], expected)
            continue
        exact = expected.astype(np.float64)
        largest = np.abs(exact[np.isfinite(exact)]).max(initial=0)
        last_place = 2.0**-10 if expected.dtype == np.float16 else 0
        np.testing.assert_allclose(actual[index].astype(np.float64), exact, rtol=last_place, atol=4e-5 * largest)


@each_network
def test_every_value_is_of_its_inferred_type(path: Path) -> None:
    model = read(path)
    faults: list[str] = []

    def observe(node: Node, _: list[Array], outputs: list[Array]) -> None:
        for value, array in zip(node.outputs, outputs, strict=False):
            inferred = model.types[value.number]
            if inferred.element_type is not ElementType.of(array) or not inferred.shape & Shape(array.shape):
                faults.append(f"{node.id} {node.name} ({node.type}): {inferred} leaves out {TensorType.of(array)}")

    inputs = arrays(path, "inputs")
    assert inputs is not None
    ir_exec.compile_model(model)(inputs, observe=observe)
    assert not faults, f"{len(faults)} faults\n" + "\n".join(faults[:20])


@each_network
def test_static_inputs_give_openvinos_static_types(path: Path, oracle: Oracle) -> None:
    """The comparison with every input shape fixed to that of the sample inputs."""
    model = read(path)
    inputs = arrays(path, "inputs")
    assert inputs is not None
    answer = oracle.types(ir_file(path), shapes=[array.shape for array in inputs])
    assert not isinstance(answer, Refused), answer.reason
    model.reshape({position: array.shape for position, array in enumerate(inputs)})
    faults = []
    # When it reshapes, OpenVINO replaces some nodes that have become constant.
    for node, theirs in match_nodes(model.graph.nodes, answer, at_least=0.8):
        inferred = [model.types[value.number] for value in node.outputs]
        if node.type != "Result":
            faults += [
                f"{node.id} {node.name} ({node.type}): {fault}" for fault in type_faults(inferred, theirs.outputs, None)
            ]
    assert not faults, f"{len(faults)} faults\n" + "\n".join(faults[:20])


def match_nodes(ours: list[Node], theirs: list[NodeTypes], at_least: float = 1.0) -> list[tuple[Node, NodeTypes]]:
    """Each of our nodes with OpenVINO's, by name and type; nodes of one name in their order.

    Of our nodes, `at_least` this part must have a counterpart.
    """
    by_name: dict[tuple[str, str], list[NodeTypes]] = defaultdict(list)
    for their in theirs:
        by_name[their.name, their.type.lower()].append(their)
    pairs = [(node, by_name[node.name, key_of(node)].pop(0)) for node in ours if by_name[node.name, key_of(node)]]
    assert len(pairs) >= at_least * len(ours), f"{len(ours) - len(pairs)} of {len(ours)} nodes have no counterpart"
    return pairs


def key_of(node: Node) -> str:
    return "constant" if node.type.lower() == "const" else node.type.lower()


def output_fault(actual: Array, expected: Array) -> str | None:
    if actual.shape != expected.shape or actual.dtype != expected.dtype:
        return f"{actual.dtype}{list(actual.shape)}, expected {expected.dtype}{list(expected.shape)}"
    if expected.dtype.kind != "f":
        return None if np.array_equal(actual, expected) else f"{int((actual != expected).sum())} elements differ"
    equal = (actual == expected) | (np.isnan(actual) & np.isnan(expected))
    with np.errstate(invalid="ignore"):  # infinities of one sign, which are equal
        difference = np.where(equal, 0, np.abs(actual - expected))
    largest = np.abs(expected[np.isfinite(expected)]).max(initial=0.0)
    sound = bool((difference <= TOLERANCE * largest).all())
    return None if sound else f"max difference {np.nanmax(difference):.3g}, largest output {largest:.3g}"


def test_wrong_outputs_are_seen() -> None:
    expected = np.array([1.0, -1000.0, np.nan, np.inf], np.float32)
    assert output_fault(expected, expected) is None
    assert output_fault(expected + np.float32(0.9), expected) is None
    assert output_fault(expected + np.float32(1.1), expected) is not None
    assert output_fault(np.nan_to_num(expected), expected) is not None
    assert output_fault(expected[:2], expected) is not None
    assert output_fault(expected.astype(np.float64), expected) is not None
    assert output_fault(np.array([1, 2]), np.array([1, 3])) == mentions(1)


@each_network
def test_sample_arrays_fit_the_network(path: Path) -> None:
    model = ir_exec.read_model(path)
    inputs, outputs = arrays(path, "inputs"), arrays(path, "outputs")
    assert inputs is not None
    assert outputs is not None
    assert len(inputs) == len(model.inputs)
    assert len(outputs) == len(model.outputs)
    assert all(port.shape & Shape(array.shape) for port, array in zip(model.inputs, inputs, strict=True))
