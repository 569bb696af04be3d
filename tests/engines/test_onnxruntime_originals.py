"""Nodes of ONNX files on onnxruntime: values, guards, edited and reshaped models, constants, bodies and errors."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

from ir_exec import IRError, Model, compile_model, read_model
from ir_exec.engines import onnxruntime as module
from ir_exec.engines.compiled import EngineModel
from ir_exec.engines.report import PartReport
from ir_exec.types import Array
from tests.onnx.files import external, model, write_model

NETWORKS = sorted((Path(__file__).parents[1] / "networks" / "onnx").glob("*.onnx"))
X = np.linspace(-2, 2, 12, dtype=np.float32).reshape(3, 4)


def compile_for_engine(source: Any, **options: Any) -> EngineModel:
    if isinstance(source, onnx.ModelProto):
        source = source.SerializeToString()
    compiled = compile_model(source, engine="onnxruntime", **options)
    assert isinstance(compiled, EngineModel)
    return compiled


def engine_parts(compiled: EngineModel) -> list[PartReport]:
    return [part for part in compiled.partition.parts if part.engine]


def assert_original(compiled: EngineModel, nodes: int | None = None) -> None:
    """The engine runs the whole model, and only nodes of the file."""
    (part,) = compiled.partition.parts
    assert (part.engine, part.lowered, part.reason) == (True, (), "")
    assert part.original_nodes
    if nodes is not None:
        assert part.original_nodes == nodes


def assert_as_interpreter(source: Any, *inputs: Array, **options: Any) -> EngineModel:
    """The engine returns the interpreter's values, in two calls, and no run fails on it."""
    if isinstance(source, onnx.ModelProto):
        source = source.SerializeToString()
    compiled, expected = compile_for_engine(source, **options), compile_model(source)(list(inputs)).to_tuple()
    for _ in range(2):
        for actual, array in zip(compiled(list(inputs)).to_tuple(), expected, strict=True):
            assert (actual.dtype, actual.shape) == (array.dtype, array.shape)
            np.testing.assert_allclose(actual, array, rtol=1e-5, atol=1e-5)
    assert compiled.partition.failures == ()
    return compiled


@pytest.mark.parametrize("path", NETWORKS, ids=lambda path: path.stem)
def test_networks_run_as_nodes_of_the_file(path: Path) -> None:
    with np.load(path.with_suffix(".inputs.npz")) as stored:
        inputs = [stored[f"input{i}"] for i in range(len(stored.files))]
    compiled = assert_as_interpreter(path, *inputs)
    if path.stem not in ("lists", "loops"):
        assert_original(compiled)


GELU = 'g (float[3,4] x) => (float[3,4] y) { h = Gelu<approximate = "tanh">(x) y = Relu(h) }'


def test_session_gets_the_operators_of_the_file(tmp_path: Path) -> None:
    optimized = tmp_path / "optimized.onnx"
    options = {"optimized_model_filepath": str(optimized), "graph_optimization_level": "disable"}
    compiled = assert_as_interpreter(model(GELU, opset=20), X, options=options)
    assert_original(compiled, 2)
    loaded = onnx.load(optimized)
    assert [node.op_type for node in loaded.graph.node] == ["Gelu", "Relu"]
    assert {entry.version for entry in loaded.opset_import if not entry.domain} == {20}


def test_two_nodes_that_were_lowered_together() -> None:
    """The integers between both nodes are no value of the lowered model."""
    body = """g (float[3,4] x) => (float[3,4] y) {
        s = Constant<value_float = 0.25>() z = Constant<value = uint8 {7}>()
        q = QuantizeLinear(x, s, z) d = DequantizeLinear(q, s, z) y = Neg(d) }"""
    assert_original(assert_as_interpreter(model(body), X))


def test_integer_division_by_possible_zero_is_interpreted() -> None:
    body = """g (float[3,4] x, int64[3,4] a, int64[3,4] b) => (float[3,4] y) {
        q = Div(a, b) f = Cast<to = 1>(q) h = Add(x, f) k = Exp(h) l = Neg(k) y = Tanh(l) }"""
    a, b = np.arange(12).reshape(3, 4), np.full((3, 4), 2)
    compiled = assert_as_interpreter(model(body), X, a, b)
    assert [layer.type for layer in compiled.partition.interpreted] == ["Divide"]
    assert all(part.lowered == () for part in engine_parts(compiled))
    b[1, 1] = 0
    with pytest.raises(IRError):
        compiled([X, a, b])


@pytest.mark.parametrize(
    ("body", "opset", "type"),
    [
        (
            """g (float[1,2,4,4] x, float[2,2,1,1] w) => (float[a,b,c,d] y) { e = Exp(x) n = Neg(e) t = Tanh(n)
            y = ConvTranspose<auto_pad = "SAME_UPPER", strides = [3, 3]>(t, w) }""",
            17,
            "ConvTranspose",
        ),
        (
            """g (float[1,1,4] x) => (float[a,b,c] y) { e = Exp(x) n = Neg(e) t = Tanh(n)
            s = Constant<value = float[3] {1.0, 1.0, 1.5}>()
            y = Resize<mode = "nearest", nearest_mode = "floor">(t, , s) }""",
            17,
            "Resize",
        ),
    ],
    ids=["ConvTranspose", "Resize"],
)
def test_only_the_node_that_differs_is_lowered(body: str, opset: int, type: str) -> None:
    proto = model(body, opset=opset)
    shapes = [[dim.dim_value for dim in port.type.tensor_type.shape.dim] for port in proto.graph.input]
    inputs = [np.linspace(-1, 1, int(np.prod(shape)), dtype=np.float32).reshape(shape) for shape in shapes]
    compiled = assert_as_interpreter(proto, *inputs)
    (part,) = engine_parts(compiled)
    assert part.original_nodes == 3
    assert [type in layer.reason for layer in part.lowered] == [True]


def test_older_releases_get_lowered_layers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "OLDEST_COMPARED", (99, 0))
    (part,) = engine_parts(assert_as_interpreter(model(GELU, opset=20), X))
    assert part.original_nodes == 0
    assert part.reason


@pytest.mark.parametrize("opset", [7, 11, 13])
def test_old_opsets(opset: int) -> None:
    body = """g (float[3,4] x) => (float[2,6] y) { s = Constant<value = int64[2] {2, 6}>() r = Relu(x)
        n = Softmax<axis = 0>(r) y = Reshape(n, s) }"""
    assert_original(assert_as_interpreter(model(body, opset=opset), X))


def test_opset_that_onnxruntime_rejects() -> None:
    """The opset is newer than those of the installed release, if ir_exec reads any such opset."""
    for opset in range(23, 29):
        assert_as_interpreter(model(GELU.replace('Gelu<approximate = "tanh">', "Exp"), opset=opset), X)


def test_reshaped_model() -> None:
    proto = model("g (float[N,4] x) => (float[N,4] y) { e = Exp(x) n = Neg(e) y = Tanh(n) }")
    network = read_model(proto.SerializeToString()).reshape([2, 4])
    compiled = compile_for_engine(network)
    assert_original(compiled, 3)
    np.testing.assert_allclose(compiled([X[:2]])["y"], np.tanh(-np.exp(X[:2])), rtol=1e-5)


def test_shape_outside_of_the_declared_one_is_lowered() -> None:
    proto = model("g (float[3,4] x) => (float[3,4] y) { e = Exp(x) n = Neg(e) y = Tanh(n) }")
    network = read_model(proto.SerializeToString()).reshape([2, 4])
    compiled = compile_for_engine(network)
    assert [part.original_nodes for part in engine_parts(compiled)] == [None]
    np.testing.assert_allclose(compiled([X[:2]])["y"], np.tanh(-np.exp(X[:2])), rtol=1e-5)


def test_chosen_outputs() -> None:
    proto = model("g (float[3,4] x) => (float[3,4] y) { e = Exp(x) n = Neg(e) y = Tanh(n) }")
    compiled = compile_for_engine(proto, outputs=["n", "e"])
    assert_original(compiled, 2)
    outputs = compiled([X])
    np.testing.assert_allclose(outputs["n"], -np.exp(X), rtol=1e-5)
    np.testing.assert_allclose(outputs["e"], np.exp(X), rtol=1e-5)


def test_copies_and_pickles() -> None:
    proto = model(GELU, opset=20)
    network = read_model(proto.SerializeToString())
    assert_original(compile_for_engine(copy.copy(network)))
    unpickled = pickle.loads(pickle.dumps(compile_for_engine(network)))
    np.testing.assert_allclose(unpickled([X])["y"], compile_model(network)([X])["y"], rtol=1e-5)


def test_weights_set_in_a_lowered_model() -> None:
    """A model with other constants is another model, and has no nodes of the file."""
    proto = model("g (float[3,4] x) => (float[3,4] y) { w = Constant<value_float = 2.0>() m = Mul(x, w) y = Exp(m) }")
    network = read_model(proto.SerializeToString())
    again: Model = read_model(network.to_onnx().SerializeToString())
    assert again.original is not network.original
    assert_original(compile_for_engine(again))


def test_initializers_of_inputs_and_bodies() -> None:
    """Initializers that are declared as inputs, and those that only a body reads."""
    body = """g (float[3,4] x, bool c, float[4] unused) => (float[3,4] y)
        <float[4] w = {1, 2, 3, 4}, float[1] v = {5}> {
        h = Mul(x, w)
        y = If (c) <then_branch = then () => (float[3,4] t) { t = Add(h, v) },
                    else_branch = other () => (float[3,4] e) { e = Sub(h, v) }> }"""
    proto = model(body)
    proto.graph.input.append(helper.make_tensor_value_info("w", TensorProto.FLOAT, [4]))
    unused = np.zeros(4, np.float32)
    for condition in (True, False):
        compiled = assert_as_interpreter(proto, X, np.array(condition), unused)
        assert_original(compiled, 2)
        w = np.arange(1, 5, dtype=np.float32)
        expected = X * w + (5 if condition else -5)
        np.testing.assert_allclose(compiled([X, np.array(condition), unused])["y"], expected, rtol=1e-5)


def test_functions_of_the_file() -> None:
    functions = """<domain: "own", opset_import: ["" : 17]> twice (a) => (b) {
        two = Constant<value_float = 2.0>() b = Mul(a, two) }"""
    proto = model(
        "g (float[3,4] x) => (float[3,4] y) { h = own.twice(x) k = Exp(h) y = own.twice(k) }",
        further='"own" : 1',
        functions=functions,
    )
    assert_original(assert_as_interpreter(proto, X), 3)


def test_external_data_stays_in_its_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The session reads the mapped file."""
    weights = np.random.default_rng(0).normal(size=(4, 2**18)).astype(np.float32)
    weights.tofile(tmp_path / "weights.bin")
    proto = model("g (float[3,4] x) => (float[3,n] y) { h = Exp(x) m = MatMul(h, w) y = Neg(m) }")
    proto.graph.initializer.append(external(weights, "w", location="weights.bin", offset="0"))
    network = read_model(write_model(tmp_path, proto))
    arrays: list[Array] = []
    make_value = onnxruntime.OrtValue.ortvalue_from_numpy

    def record(array: Array, *further: Any) -> Any:
        arrays.append(array)
        return make_value(array, *further)

    monkeypatch.setattr(onnxruntime.OrtValue, "ortvalue_from_numpy", record)
    compiled = compile_for_engine(network)
    assert_original(compiled, 3)
    np.testing.assert_allclose(compiled([X])["y"], -(np.exp(X) @ weights), rtol=1e-4, atol=1e-4)
    assert network.weights is not None
    assert [array.shape for array in arrays if network.weights.maps(array)] == [weights.shape]


def test_lists_between_nodes() -> None:
    body = """g (float[3,4] x) => (float[4] y) {
        s = SplitToSequence<axis = 0, keepdims = 0>(x) i = Constant<value_int = 1>()
        t = SequenceAt(s, i) n = Neg(t) e = Exp(n) y = Tanh(e) }"""
    assert_as_interpreter(model(body), X)


@pytest.mark.parametrize("precision", ["f32", "file"])
def test_short_floats(precision: Any) -> None:
    """Computed in f32 unless the precision is that of the file."""
    weights = numpy_helper.from_array(np.full((4, 4), 300, np.float16), "w")
    proto = model("g (float16[3,4] x) => (float16[3,4] y) { h = MatMul(x, w) k = Mul(h, h) y = Div(k, k) }", opset=20)
    proto.graph.initializer.append(weights)
    compiled = compile_for_engine(proto, precision=precision)
    assert_original(compiled, 3)
    x = np.full((3, 4), 3, np.float16)
    output = compiled([x])["y"]
    assert output.dtype == np.float16
    if precision == "f32":
        # The square exceeds the range of f16.
        assert (output == 1).all()


def test_errors_name_the_layer() -> None:
    body = """g (float[5] x, int64[n] i) => (float[n] y) {
        e = Exp(x) y = Gather(e, i) }"""
    proto = model(body)
    proto.graph.node[1].name = "pick"
    compiled = compile_for_engine(proto)
    assert_original(compiled, 2)
    assert compiled([X.ravel()[:5], np.array([0, -1])])["y"].shape == (2,)
    with pytest.raises(IRError) as caught:
        compiled([X.ravel()[:5], np.array([9])])
    assert caught.value.location.layer_name == "pick"


def test_times_belong_to_layers() -> None:
    proto = model("g (float[3,4] x) => (float[3,4] y) { e = Exp(x) n = Neg(e) y = Tanh(n) }")
    for node in proto.graph.node:
        node.name = f"the {node.op_type}"
    compiled = compile_for_engine(proto, options={"profile": True, "graph_optimization_level": "disable"})
    compiled([X])
    assert {time.layer for time in compiled.engine_times()} == {"the Exp", "the Neg", "the Tanh"}


def test_observers_see_lowered_layers() -> None:
    seen: list[str] = []
    compile_for_engine(model(GELU, opset=20))([X], observe=lambda node, *_: seen.append(node.type))
    assert "Gelu" in seen


def test_nodes_in_wrong_order_and_unread_nodes() -> None:
    proto = model("g (float[3,4] x) => (float[3,4] y) { e = Exp(x) d = Sin(e) n = Neg(e) y = Tanh(n) }")
    first = proto.graph.node.pop(0)
    proto.graph.node.append(first)
    assert_original(assert_as_interpreter(proto, X), 3)


def test_names_of_lowered_tensors_avoid_those_of_the_file() -> None:
    """The file uses the names that lowering would give."""
    body = """g (float[1,2,4,4] x, float[2,2,1,1] w) => (float[a,b,c,d] y) {
        e = Exp(x) h = ConvTranspose<auto_pad = "SAME_UPPER", strides = [3, 3]>(e, w)
        k = Tanh(h) l = Neg(k) y = Exp(l) }"""
    proto = model(body)
    for node in proto.graph.node:
        for ports in (node.input, node.output):
            for position, name in enumerate(ports):
                ports[position] = {"k": "h/Slice", "l": "h_1", "e": "h/ConvTranspose"}.get(name, name)
    x = np.linspace(-1, 1, 32, dtype=np.float32).reshape(1, 2, 4, 4)
    assert_as_interpreter(proto, x, np.ones((2, 2, 1, 1), np.float32))


def test_same_tensor_for_several_outputs() -> None:
    body = """g (float[3,4] x) => (float[3,4] y, float[3,4] z, float[3,4] x2) {
        y = Exp(x) z = Identity(y) x2 = Identity(x) }"""
    compiled = assert_as_interpreter(model(body), X)
    outputs = compiled([X]).to_tuple()
    for position, array in enumerate(outputs):
        before = X.copy()
        array[...] = position
        assert np.array_equal(X, before)
    assert [array.flat[0] for array in outputs] == [0, 1, 2]
