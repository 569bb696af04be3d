"""Layers that add nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

import ir_exec
from ir_exec import build
from ir_exec.build import Value
from ir_exec.rewrite import simplified
from ir_exec.types import Array, Shape

ONNX = Path(__file__).parents[1] / "networks" / "onnx"

NETWORKS = sorted(path.stem for path in ONNX.glob("*.onnx"))


def outputs(model: ir_exec.Model, inputs: Sequence[Array]) -> list[Array]:
    return list(ir_exec.compile_model(model, optimize=False)(list(inputs)).to_tuple())


def same(results: Value | list[Value], *inputs: Array) -> tuple[ir_exec.Model, Counter[str]]:
    """The simplified network, which computes the same bits, and its types."""
    model = build.model(results)
    smaller = simplified(model)
    assert [str(port) for port in smaller.inputs] == [str(port) for port in model.inputs]
    assert [port.name for port in smaller.outputs] == [port.name for port in model.outputs]
    for before, after in zip(outputs(model, inputs), outputs(smaller, inputs), strict=True):
        assert before.dtype == after.dtype
        assert before.shape == after.shape
        assert before.tobytes() == after.tobytes()
    return smaller, Counter(node.type for node in smaller.graph.nodes)


def numbers(*shape: int) -> Array:
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32)


def ints(*values: int) -> Array:
    return np.array(values, np.int64)


@pytest.mark.parametrize("name", NETWORKS)
def test_networks_compute_the_same_with_fewer_layers(name: str) -> None:
    model = ir_exec.read_model(ONNX / f"{name}.onnx")
    smaller = simplified(model)
    with np.load(ONNX / f"{name}.inputs.npz") as stored:
        inputs = [stored[file] for file in stored.files]
    for before, after in zip(outputs(model, inputs), outputs(smaller, inputs), strict=True):
        assert before.dtype == after.dtype
        np.testing.assert_array_equal(after, before)
    assert len(smaller.graph.nodes) <= len(model.graph.nodes)
    assert [port.name for port in smaller.outputs] == [port.name for port in model.outputs]


def test_shapes_of_copied_dims_are_constant() -> None:
    """Transformers write `[N, T, heads, size]` by the dims of the input."""
    x = build.parameter([None, None, 8], name="x")
    sizes = build.shape_of(x)
    heads = build.concat([build.gather(sizes, ints(0), 0), build.gather(sizes, ints(1), 0), ints(2, 4)], 0)
    turned = build.transpose(build.reshape(x, heads, special_zero=False), ints(0, 2, 1, 3))
    back = build.transpose(turned, ints(0, 2, 1, 3))
    target_shape = build.concat([build.gather(build.shape_of(back), ints(0, 1), 0), ints(8)], 0)
    y = build.result(build.relu(build.reshape(build.abs(back), target_shape, special_zero=False)), name="y")
    for shape in ((2, 3, 8), (1, 1, 8), (0, 3, 8)):
        smaller, types = same(y, numbers(*shape))
        assert not {"ShapeOf", "Gather", "Concat"} & types.keys()
        assert str(smaller.outputs[0].shape) == "[?,?,8]"


def test_one_open_size_is_left_open() -> None:
    x = build.parameter([None, 24], name="x")
    sizes = build.concat([build.gather(build.shape_of(x), ints(0), 0), ints(2, 12)], 0)
    _, types = same(build.relu(build.reshape(build.unsqueeze(x, 0), sizes, special_zero=False)), numbers(3, 24))
    assert not {"ShapeOf", "Gather", "Concat"} & types.keys()


def test_two_open_sizes_are_gathered_from_one_shape() -> None:
    x = build.parameter([None, None, 8], name="x")
    parts = [build.unsqueeze(build.gather(build.shape_of(x), np.array(at), 0), 0) for at in (0, 1)]
    flat = build.reshape(build.abs(x), ints(-1, 8), special_zero=False)
    y = build.reshape(build.relu(flat), build.concat([*parts, ints(8)], 0), special_zero=False)
    _, types = same(y, numbers(2, 3, 8))
    assert (types["ShapeOf"], types["Gather"], types["Unsqueeze"]) == (1, 1, 0)


def test_a_flatten_copies_its_first_dim() -> None:
    x = build.parameter([None, 2, 3], name="x")
    first = build.reduce_prod(build.slice(build.shape_of(x), ints(0), ints(1), ints(1)), ints(0), keep_dims=True)
    y = build.reshape(build.abs(x), build.concat([first, ints(-1)], 0), special_zero=False)
    for rows in (4, 1):
        smaller, types = same(build.relu(y), numbers(rows, 2, 3))
        assert not {"ShapeOf", "Slice", "ReduceProd", "Concat"} & types.keys()
    # With a size of 0 that is no copy, -1 is 1.
    assert outputs(smaller, [numbers(0, 2, 3)])[0].shape == (0, 6)


def test_identities_go_and_their_names_stay() -> None:
    x = build.parameter([2, 3], name="x")
    value = build.abs(x)
    for identity in (
        lambda v: build.convert(v, "f32"),
        lambda v: build.reshape(v, ints(2, 3), special_zero=False),
        lambda v: build.transpose(v, ints(0, 1)),
        lambda v: build.broadcast(v, ints(2, 3)),
        lambda v: build.concat([v], 0),
        lambda v: build.multiply(v, np.float32(1)),
        lambda v: build.slice(v, ints(0), ints(2**31 - 1), ints(1), ints(0)),
        lambda v: build.tile(v, ints(1, 1)),
    ):
        value = identity(value)
        value.tensor_names = (f"t{value.layer.serial}",)
    names = value.tensor_names
    smaller, types = same(build.relu(value), numbers(2, 3))
    assert types == {"Parameter": 1, "Abs": 1, "ReLU": 1, "Result": 1}
    (output,) = [node.outputs[0] for node in smaller.graph.nodes if node.type == "Abs"]
    assert set(names) < set(output.names)
    assert len(output.names) == 8


def test_what_may_change_something_stays() -> None:
    x = build.parameter([None, 3], name="x")
    for value, type_name in (
        (build.add(x, np.float32(0)), "Add"),
        (build.broadcast(x, ints(2, 3)), "Broadcast"),
        (build.multiply(x, np.ones((2, 3), np.float32)), "Multiply"),
        (build.slice(x, ints(-1), ints(-(2**31)), ints(-1), ints(0)), "Slice"),
        (build.convert(x, "f16"), "Convert"),
    ):
        _, types = same(build.abs(value), np.array([[-0.0, 1, 2]], np.float32))
        assert types[type_name] == 1


def test_output_equal_to_input_keeps_its_layer() -> None:
    x = build.parameter([2], name="x")
    y = build.result(build.convert(x, "f32"), name="y")
    z = build.result(build.convert(x, "f32"), name="z")
    smaller, _ = same([y, z], numbers(2))
    assert [port.name for port in smaller.outputs] == ["y", "z"]


def test_equal_layers_are_merged_except_random() -> None:
    x = build.parameter([3], name="x")
    smaller, types = same(build.add(build.exp(x), build.exp(x)), numbers(3))
    assert types["Exp"] == 1
    draws = [build.random_uniform(ints(3), np.float32(0), np.float32(1), output_type="f32") for _ in range(2)]
    smaller = simplified(build.model(build.add(build.add(*draws), x)))
    assert Counter(node.type for node in smaller.graph.nodes)["RandomUniform"] == 2


def test_weights_of_equal_elements_keep_their_names() -> None:
    x = build.parameter([None, 4], name="x")
    scales = [build.constant(np.full(4, 2, np.float32), name=name) for name in ("first", "second")]
    for scale in scales:
        scale.tensor_names = (scale.layer.name,)
    smaller, _ = same(build.multiply(build.abs(build.multiply(x, scales[0])), scales[1]), numbers(2, 4))
    assert {"first", "second"} <= {node.name for node in smaller.graph.nodes}


def test_compressed_weights_stay_compressed(tmp_path: Path) -> None:
    for dtype in (np.float16, np.int8):
        x = build.parameter([None, 8], name="x")
        weight = build.constant(np.arange(64).reshape(8, 8).astype(dtype))
        model = build.model(build.matmul(x, build.multiply(build.convert(weight, "f32"), np.float32(0.5))))
        smaller = simplified(model)
        assert any(node.type == "Convert" for node in smaller.graph.nodes)
        smaller.save(tmp_path / "small.xml")
        assert (tmp_path / "small.bin").stat().st_size < 64 * np.dtype(dtype).itemsize + 64


def test_large_values_are_not_stored() -> None:
    x = build.parameter([1000, 100], name="x")
    wide = build.broadcast(np.float32(3), ints(1000, 100))
    _, types = same(build.add(build.abs(x), wide), numbers(1000, 100))
    assert types["Broadcast"] == 1


def test_a_chain_of_reshapes_is_one() -> None:
    x = build.parameter([None, 6], name="x")
    value = build.unsqueeze(build.reshape(build.abs(x), ints(-1, 2, 3), special_zero=False), 1)
    _, types = same(build.relu(value), numbers(4, 6))
    assert types["Reshape"] + types["Unsqueeze"] == 1


def test_ports_declare_inferred_types(tmp_path: Path) -> None:
    smaller = simplified(ir_exec.read_model(ONNX / "assigned.onnx"))
    smaller.save(tmp_path / "found.xml")
    report = ir_exec.check_model(tmp_path / "found.xml")
    assert not [diagnostic for diagnostic in report.diagnostics if diagnostic.severity != "info"]
    assert isinstance(smaller.outputs[0].shape, Shape)
