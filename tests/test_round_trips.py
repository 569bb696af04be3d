"""Every network that is at hand, read, saved and read again: structure, types and results are the same, also after
it went through an editor that changed nothing, and OpenVINO infers and computes the same from both files."""

from __future__ import annotations

import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ir_exec
from ir_exec import build
from ir_exec.build import Editor
from ir_exec.ir import Edge
from tests.conformance.build import IRFile
from tests.conformance.networks import arrays, ir_file, networks
from tests.conformance.oracle import Oracle, Refused

NETWORKS = networks()

each_network = pytest.mark.parametrize("path", NETWORKS.values(), ids=str)


def structure(model: ir_exec.Model) -> object:
    """The content of a document but for lines, and for the places of constants, of which it has the bytes."""
    weights = model.weights
    assert weights is not None

    def plain(value: Any) -> Any:
        if isinstance(value, dict):
            fields = {key: plain(item) for key, item in value.items() if key not in ("line", "data_line", "path")}
            if {"offset", "size"} <= fields.keys():
                fields["offset"] = bytes(weights.slice(int(fields["offset"]), int(fields["size"])))
            return fields
        return [plain(item) for item in value] if isinstance(value, (list, tuple)) else value

    return plain({**model.document.model_dump(), "edges": sorted(map(ends, model.document.edges))})


def ends(edge: Edge) -> tuple[str, ...]:
    return edge.from_layer, edge.from_port, edge.to_layer, edge.to_port


def save_and_read(model: ir_exec.Model, folder: Path) -> ir_exec.Model:
    model.save(folder / "again.xml")
    return ir_exec.read_model(folder / "again.xml")


@pytest.mark.broad(keep=10)
@each_network
def test_structure_types_and_results(path: Path, tmp_path: Path) -> None:
    model = ir_exec.read_model(path)
    inputs = arrays(path, "inputs")
    assert inputs is not None
    expected = list(ir_exec.compile_model(model)(inputs).values())
    for written in (model, Editor(model).model()):
        again = save_and_read(written, tmp_path)
        assert structure(again) == structure(model)
        assert again.types == model.types
        assert (again.inputs, again.outputs) == (model.inputs, model.outputs)
        actual = list(ir_exec.compile_model(again)(inputs).values())
        assert all(np.array_equal(left, other) for left, other in zip(actual, expected, strict=True))


@pytest.mark.broad(keep=10)
@pytest.mark.conformance
@each_network
def test_openvino_reads_the_same(path: Path, oracle: Oracle, tmp_path: Path) -> None:
    save_and_read(Editor(ir_exec.read_model(path)).model(), tmp_path)
    again = ir_file(tmp_path / "again.xml")
    types, expected = oracle.types(again), oracle.types(ir_file(path))
    assert not isinstance(types, Refused), types.reason
    assert types == expected
    inputs = arrays(path, "inputs")
    assert inputs is not None
    actual, reference = (
        oracle.values(IRFile(file.xml, file.weights, tuple(inputs))) for file in (again, ir_file(path))
    )
    assert not isinstance(actual, Refused), actual.reason
    assert not isinstance(reference, Refused), reference.reason
    for ours, other in zip(actual, reference, strict=True):
        np.testing.assert_array_equal(ours, other)


@pytest.mark.broad(keep=10)
@pytest.mark.conformance
@each_network
def test_openvino_reads_reshaped_network(path: Path, oracle: Oracle, tmp_path: Path) -> None:
    """Saved with the static shapes of its sample inputs, it has the types that OpenVINO gives it when it reshapes."""
    model = ir_exec.read_model(path)
    inputs = arrays(path, "inputs")
    assert inputs is not None
    shapes = [array.shape for array in inputs]
    again = save_and_read(model.reshape(dict(enumerate(shapes))), tmp_path)
    assert [port.shape for port in again.inputs] == shapes
    assert again.types == model.types
    types = oracle.types(ir_file(tmp_path / "again.xml"))
    assert not isinstance(types, Refused), types.reason
    types_by_name = {node.name: node.outputs for node in types}
    # OpenVINO replaces some nodes when it reshapes, and gives others of the same name.
    expected = oracle.types(ir_file(path), shapes=shapes)
    assert not isinstance(expected, Refused), expected.reason
    same = [node for node in expected if node.name in types_by_name and types_by_name[node.name] == node.outputs]
    assert len(same) >= 0.8 * len(expected)


def test_equal_constants_are_written_once_without_copies(tmp_path: Path) -> None:
    large = np.arange(2**23, dtype=np.float32)
    x = build.parameter([1], name="x")
    y = build.add(build.add(x, build.constant(large)), build.constant(large.copy()))
    model = build.model(build.result(y, name="y"))
    tracemalloc.start()
    model.save(tmp_path / "large.xml")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < large.nbytes / 4
    assert (tmp_path / "large.bin").stat().st_size == large.nbytes
    again = ir_exec.read_model(tmp_path / "large.xml")
    actual = next(iter(ir_exec.compile_model(again)([np.zeros(1, np.float32)]).values()))
    assert np.array_equal(actual, 2 * large)
