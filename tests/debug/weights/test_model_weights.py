"""The constants of a model that may be weights, and the names that state their tensors."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from ir_exec import build, read_model
from ir_exec.debug import diff_weights
from ir_exec.debug.weights.model_weights import find_model_weights
from tests.debug.weights.networks import memory_checkpoint

RANDOM = np.random.default_rng(3)
QUERY, KEY = (RANDOM.standard_normal((32, 32)).astype(np.float32) for _ in range(2))


@pytest.mark.parametrize(("transposes", "is_transposed"), [(True, True), (False, False)])
def test_orientation_of_a_product(transposes: bool, is_transposed: bool) -> None:
    data = build.parameter([1, 32], name="data")
    model = build.model(build.matmul(data, build.constant(QUERY, name="w"), transpose_b=transposes, name="product"))
    assert model.weights is not None
    (weight,) = find_model_weights(model.graph, model.weights)
    assert [(reader.path, reader.is_transposed) for reader in weight.readers] == [("product", is_transposed)]


def test_integers_and_scalars_are_no_weights() -> None:
    data = build.parameter([1, 32], name="data")
    model = build.model(build.multiply(build.reshape(data, [4, 8], False), build.constant(np.float32(2))))
    assert model.weights is not None
    assert not find_model_weights(model.graph, model.weights)


@pytest.mark.parametrize("is_swapped", [False, True])
def test_modules_that_an_onnx_file_declares_state_the_tensors(is_swapped: bool) -> None:
    """torch.onnx names the weights of linear layers by numbers, and the modules in metadata."""
    nodes = [
        helper.make_node("MatMul", ["data", "val_1"], ["a"], name="node_linear"),
        helper.make_node("MatMul", ["a", "val_2"], ["b"], name="node_linear_1"),
    ]
    for node, module in zip(nodes, ("layers.0.q_proj", "layers.0.k_proj"), strict=True):
        entry = node.metadata_props.add()
        entry.key, entry.value = "pkg.torch.onnx.name_scopes", f"['', 'layers.0', '{module}', 'linear']"
    ports = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 32]) for name in ("data", "b")]
    arrays = (KEY, QUERY) if is_swapped else (QUERY, KEY)
    constants = [numpy_helper.from_array(array.T.copy(), f"val_{index + 1}") for index, array in enumerate(arrays)]
    graph = helper.make_graph(nodes, "linear", ports[:1], ports[1:], constants)
    content = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9).SerializeToString()
    onnx.checker.check_model(onnx.load_from_string(content))
    checkpoint = memory_checkpoint({"layers.0.q_proj.weight": QUERY, "layers.0.k_proj.weight": KEY})
    report = diff_weights(read_model(content), checkpoint)
    assert [fault.category for fault in report.faults] == ["swapped"] * is_swapped
