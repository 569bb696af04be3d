"""ONNX files wherever a model is taken, what becomes of damaged ones, and large tensors that stay in the file."""

from __future__ import annotations

import copy
import os
import pickle
import re
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import onnx
import openvino as ov
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, numpy_helper

import ir_exec
from ir_exec.codes import Code
from ir_exec.errors import GraphError, IRError, ParseError, ResourceError, UnsupportedError, WeightsError
from ir_exec.onnx.reading import files
from ir_exec.onnx.reading.files import read_proto, without_large_tensors
from tests.helpers.facts import mentions, naming
from tests.onnx.files import external, model, write_model

ADD = "g (float[2] x) => (float[2] y) { y = Add(x, w) }"


def with_weights(tensor: onnx.TensorProto) -> onnx.ModelProto:
    proto = model(ADD)
    proto.graph.initializer.append(tensor)
    return proto


def read_error(source: object, error: type[IRError], code: str) -> str:
    with pytest.raises(error) as caught:
        ir_exec.read_model(source)  # type: ignore[arg-type]
    assert caught.value.code == code
    return caught.value.message


def test_file_is_read_by_path_and_as_bytes(tmp_path: Path) -> None:
    proto = with_weights(numpy_helper.from_array(np.array([1, 2], np.float32), "w"))
    path = write_model(tmp_path, proto)
    for source in (path, str(path), proto.SerializeToString(), write_model(tmp_path, proto, "without-an-ending")):
        network = ir_exec.read_model(source)
        assert [str(port) for port in (*network.inputs, *network.outputs)] == ["x f32[2]", "y f32[2]"]
        result = ir_exec.compile_model(source)({"x": np.array([1, 1], np.float32)})
        assert result["y"].tolist() == [2, 3]


def test_nodes_and_tensors_keep_their_names() -> None:
    proto = model("g (float[2] x) => (float[2] y) { h = Relu(x) y = Neg(h) }")
    proto.graph.node[0].name = "first"
    network = ir_exec.read_model(proto.SerializeToString())
    assert {node.name for node in network.graph.nodes} >= {"first", "y"}
    assert network.graph.nodes[1].outputs[0].names == ("h",)


def test_inputs_and_outputs_keep_names_in_openvino(tmp_path: Path) -> None:
    """Outputs that are inputs, several outputs of one value, and an output that the graph names twice."""
    proto = model(
        """g (float[2] x, float[2] w) => (float[2] y, float[2] z, float[2] v, float[2] u, float[2] w) {
            y = Identity(x) z = Identity(x) v = Relu(x) u = Identity(v)
        }"""
    )
    proto.graph.output.append(proto.graph.output[0])
    network = ir_exec.read_model(proto.SerializeToString())
    network.save(tmp_path / "m.xml")
    compiled = ov.Core().compile_model(tmp_path / "m.xml", "CPU")
    assert [port.names for port in compiled.inputs] == [{"x"}, {"w"}]
    assert [port.names for port in compiled.outputs] == [{"y"}, {"z"}, {"v"}, {"u"}, {"w"}, {"y"}]
    x = np.array([-1, 2], np.float32)
    outputs = ir_exec.compile_model(network)({"x": x, "w": x + 1})
    for port in compiled.outputs:
        np.testing.assert_array_equal(compiled({"x": x, "w": x + 1})[port], outputs[port.any_name])


def test_external_data_is_read_from_the_folder(tmp_path: Path) -> None:
    np.array([9, 1, 2], np.float32).tofile(tmp_path / "w.bin")
    tensor = external(np.zeros(2, np.float32), "w", location="w.bin", offset="4", length="8")
    compiled = ir_exec.compile_model(write_model(tmp_path, with_weights(tensor)))
    assert compiled({"x": np.zeros(2, np.float32)})["y"].tolist() == [1, 2]


def test_a_small_file_takes_little_memory(tmp_path: Path) -> None:
    path = write_model(tmp_path, model("g (float[2] x) => (float[2] y) { y = Relu(x) }"))
    ir_exec.read_model(path)
    tracemalloc.start()
    try:
        ir_exec.read_model(path)
        assert tracemalloc.get_traced_memory()[1] < 2**20
    finally:
        tracemalloc.stop()


def test_large_external_data_is_mapped(tmp_path: Path) -> None:
    values = np.arange(2**16, dtype=np.float32)
    values.tofile(tmp_path / "w.bin")
    proto = model(f"g (float[{2**16}] x) => (float[{2**16}] y) {{ y = Add(x, w) }}")
    proto.graph.initializer.append(external(values, "w", location="w.bin"))
    compiled = ir_exec.compile_model(write_model(tmp_path, proto))
    np.testing.assert_array_equal(compiled({"x": np.zeros_like(values)})["y"], values)


@pytest.mark.parametrize(
    "location", ["../w.bin", "/etc/passwd", "../../../../../../etc/passwd", "", ".", "a/../../w.bin"]
)
def test_nothing_outside_the_folder_is_read(tmp_path: Path, location: str) -> None:
    (tmp_path / "inner" / "a").mkdir(parents=True)
    np.zeros(2, np.float32).tofile(tmp_path / "w.bin")
    tensor = external(np.zeros(2, np.float32), "w", location=location)
    path = write_model(tmp_path / "inner", with_weights(tensor))
    assert repr(location) in read_error(path, WeightsError, Code.weights_missing)


@pytest.mark.skipif(not hasattr(os, "symlink"), reason="no links here")
def test_link_out_of_folder_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    np.zeros(2, np.float32).tofile(tmp_path / "secret")
    (tmp_path / "inner" / "w.bin").symlink_to(tmp_path / "secret")
    tensor = external(np.zeros(2, np.float32), "w", location="w.bin")
    read_error(write_model(tmp_path / "inner", with_weights(tensor)), WeightsError, Code.weights_missing)


@pytest.mark.parametrize(
    ("entries", "code"),
    [
        ({"location": "missing.bin"}, Code.weights_missing),
        ({"location": "w.bin", "offset": "8"}, Code.weights_short),
        ({"location": "w.bin", "length": "4"}, Code.constant_size),
        ({"location": "w.bin", "offset": "-4"}, Code.constant_offset),
        ({"location": "w.bin", "offset": "9" * 30}, Code.constant_offset),
        ({"location": "folder"}, Code.weights_missing),
        ({"location": "w\0.bin"}, Code.weights_missing),
        ({"location": "w" * 5000}, Code.weights_missing),
    ],
)
def test_external_data_that_does_not_fit(tmp_path: Path, entries: dict[str, str], code: str) -> None:
    (tmp_path / "folder").mkdir()
    np.zeros(2, np.float32).tofile(tmp_path / "w.bin")
    tensor = external(np.zeros(2, np.float32), "w", **entries)
    read_error(write_model(tmp_path, with_weights(tensor)), WeightsError, code)


def test_a_model_of_bytes_has_no_folder() -> None:
    tensor = external(np.zeros(2, np.float32), "w", location="w.bin")
    read_error(with_weights(tensor).SerializeToString(), WeightsError, Code.weights_missing)


@pytest.mark.parametrize("dims", [[3], [2**40, 2**40], [10**15], [-1], [2, 2]])
def test_initializers_whose_size_and_dims_differ(dims: list[int]) -> None:
    tensor = numpy_helper.from_array(np.zeros(2, np.float32), "w")
    tensor.dims[:] = dims
    with pytest.raises(WeightsError):
        ir_exec.read_model(with_weights(tensor).SerializeToString())


def test_a_sparse_tensor_takes_no_memory_for_its_zeros() -> None:
    proto = model("g (float[2] x) => (float[2] y) { y = Add(x, w) }")
    sparse = proto.graph.sparse_initializer.add(dims=[10**12])
    sparse.values.CopyFrom(numpy_helper.from_array(np.ones(1, np.float32), "w"))
    sparse.indices.CopyFrom(numpy_helper.from_array(np.zeros(1, np.int64)))
    read_error(proto.SerializeToString(), ResourceError, Code.limit_exceeded)
    sparse.dims[:] = [2]
    compiled = ir_exec.compile_model(proto.SerializeToString())
    assert compiled({"x": np.zeros(2, np.float32)})["y"].tolist() == [1, 0]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", mentions()),
        (b"this is a text\nof two lines\n", mentions()),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", mentions("LFS")),
        (b"\x08\x07\x3a\xff\xff\x03", mentions()),
        (b"\x08\x07", mentions()),
    ],
)
def test_other_files_called_onnx(tmp_path: Path, content: bytes, said: mentions) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(content)
    assert read_error(path, ParseError, Code.not_ir) == said


def test_a_missing_file_and_a_folder(tmp_path: Path) -> None:
    read_error(tmp_path / "none.onnx", ParseError, Code.unreadable_path)
    (tmp_path / "folder.onnx").mkdir()
    read_error(tmp_path / "folder.onnx", ParseError, Code.unreadable_path)


def test_functions_that_call_themselves() -> None:
    proto = model(
        "g (float[2] x) => (float[2] y) { y = own.F(x) }",
        further='"own" : 1',
        functions='<domain: "own", opset_import: ["own" : 1]> F (a) => (b) { b = own.F(a) }',
    )
    assert read_error(proto.SerializeToString(), GraphError, Code.cycle) == mentions("F")


@pytest.mark.broad
def test_functions_that_call_functions_millions_of_times() -> None:
    functions = "".join(
        f"""<domain: "own", opset_import: ["" : 17, "own" : 1]> F{depth} (a) => (b) {{
            t = own.F{depth + 1}(a)
            b = own.F{depth + 1}(t)
        }}"""
        for depth in range(40)
    )
    functions += '<domain: "own", opset_import: ["" : 17, "own" : 1]> F40 (a) => (b) { b = Relu(a) }'
    proto = model("g (float[2] x) => (float[2] y) { y = own.F0(x) }", further='"own" : 1', functions=functions)
    read_error(proto.SerializeToString(), ResourceError, Code.limit_exceeded)


def test_a_function_of_the_file_is_expanded() -> None:
    proto = model(
        "g (float[2] x) => (float[2] y) { y = own.Scaled<factor = 3.0>(x) }",
        further='"own" : 1',
        functions="""<domain: "own", opset_import: ["" : 17]> Scaled <factor> (a) => (b) {
            c = Constant <value_float: float = @factor> ()
            b = Mul(a, c)
        }""",
    )
    compiled = ir_exec.compile_model(proto.SerializeToString())
    assert compiled({"x": np.array([1, 2], np.float32)})["y"].tolist() == [3, 6]


def test_unsupported_operators_are_named_with_counts() -> None:
    proto = model(
        """g (uint8[2] x) => (uint8[H,W,3] y, uint8[H,W,3] w, float[2] z) {
            y = ImageDecoder(x) w = ImageDecoder(x) n, m = own.Other(x) z = Neg(n)
        }""",
        opset=20,
        further='"own" : 1',
    )
    message = read_error(proto.SerializeToString(), UnsupportedError, Code.operator_not_implemented)
    first, second = message.split("; ")
    assert "ImageDecoder (2 nodes)" in first
    assert first == mentions("ai.onnx", 20)
    assert "own:Other (1 node)" in second
    assert second == mentions("own", 1)


def test_operators_with_one_reason_are_told_together() -> None:
    body = "g (float[2] x) => (float[2] z) { y = own.Foo(x) w = own.Bar(y) z = own.Foo(w) }"
    proto = model(body, further='"own" : 1')
    message = read_error(proto.SerializeToString(), UnsupportedError, Code.operator_not_implemented)
    assert "own:Bar (1 node), own:Foo (2 nodes)" in message
    assert message.count("version 1 ") == 1


def test_why_an_operator_cannot_be_said() -> None:
    proto = model("g (uint8[2] x) => (uint8[H,W,3] y) { y = ImageDecoder(x) }", opset=20)
    message = read_error(proto.SerializeToString(), UnsupportedError, Code.operator_not_implemented)
    assert "ImageDecoder (1 node)" in message
    assert message == mentions("ai.onnx", 20)


def test_operators_after_others_and_in_bodies_are_counted() -> None:
    proto = model(
        """g (float[2] x, bool c) => (float[2] y) {
            a = own.First(x)
            b = own.Second(a)
            d = own.Second(b)
            e = Gelu(d)
            f = own.F(e)
            y = If(c) <
                then_branch = then () => (float[2] t) { h = own.Third(f) t = own.Second(h) },
                else_branch = otherwise () => (float[2] o) { o = Relu(x) }
            >
        }""",
        opset=20,
        further='"own" : 1',
        functions="""<domain: "own", opset_import: ["" : 20, "own" : 1]> F (a) => (b) { b = Relu(a) }""",
    )
    message = read_error(proto.SerializeToString(), UnsupportedError, Code.operator_not_implemented)
    assert re.findall(r"[\w:]+ \(\d+ nodes?\)", message) == [
        "own:First (1 node)",
        "own:Second (3 nodes)",
        "own:Third (1 node)",
    ]


def test_missing_package_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    proto = model("g (float[2] x) => (float[2] y) { y = Neg(x) }").SerializeToString()
    monkeypatch.setitem(sys.modules, "onnx", None)
    monkeypatch.setattr("ir_exec.onnx.reading.files.find_spec", lambda name: None)
    with pytest.raises(UnsupportedError, match=naming("onnx")) as caught:
        ir_exec.read_model(proto)
    assert caught.value.hint == mentions(".[onnx]")
    (diagnostic,) = ir_exec.check_model(proto).diagnostics
    assert (diagnostic.code, diagnostic.severity) == ("IR001", "error"), "a check that read nothing has not passed"


NETWORK = model(
    """g (float[2,3] x) => (float[2,4] y, int64[2] z) <float[3,4] w = {1,2,3,4,5,6,7,8,9,10,11,12}> {
        h = MatMul(x, w) y = Softmax<axis = 1>(h) z = ArgMax<axis = 1, keepdims = 0>(y)
    }"""
).SerializeToString()


@given(st.integers(0, len(NETWORK)))
def test_truncated_files(length: int) -> None:
    report = ir_exec.check_model(NETWORK[:length])
    assert length == len(NETWORK) or not report.ok
    assert not [diagnostic for diagnostic in report.diagnostics if diagnostic.code == Code.internal_error]


@given(st.lists(st.tuples(st.integers(0, len(NETWORK) - 1), st.integers(0, 255)), min_size=1, max_size=4))
def test_files_with_other_bytes(changes: list[tuple[int, int]]) -> None:
    damaged = bytearray(NETWORK)
    for position, byte in changes:
        damaged[position] = byte
    report = ir_exec.check_model(bytes(damaged))
    assert not [diagnostic for diagnostic in report.diagnostics if diagnostic.code == Code.internal_error], bytes(
        damaged
    )


LARGE = np.random.default_rng(0).standard_normal((1200, 1000)).astype(np.float32)
SMALL = np.arange(1000, dtype=np.float32)


def network() -> onnx.ModelProto:
    proto = model("g (float[1,1200] x) => (float[1,1000] y) { h = MatMul(x, w) y = Add(h, b) }")
    proto.graph.initializer.append(numpy_helper.from_array(LARGE, "w"))
    proto.graph.initializer.append(numpy_helper.from_array(SMALL, "b"))
    return proto


def short_of(proto: onnx.ModelProto, name: str = "m.onnx") -> onnx.ModelProto | None:
    content = without_large_tensors(
        memoryview(proto.SerializeToString()), name, lambda data_type: data_type != TensorProto.INT2
    )
    return None if content is None else onnx.ModelProto.FromString(content)


def test_only_large_tensors_are_externalized() -> None:
    proto = network()
    short = short_of(proto)
    assert short is not None
    left, small = short.graph.initializer
    entries = {entry.key: entry.value for entry in left.external_data}
    start, size = int(entries["offset"]), int(entries["length"])
    assert proto.SerializeToString()[start : start + size] == LARGE.tobytes()
    assert entries["location"] == "m.onnx"
    assert small.raw_data == SMALL.tobytes()
    left.ClearField("external_data")
    left.ClearField("data_location")
    left.raw_data = LARGE.tobytes()
    assert short == proto


def test_other_storage_is_unchanged() -> None:
    proto = network()
    proto.graph.initializer[0].CopyFrom(onnx.helper.make_tensor("w", 1, LARGE.shape, LARGE.ravel().tolist()))
    assert short_of(proto) is None
    proto = network()
    proto.graph.initializer[0].data_type = TensorProto.INT2
    assert short_of(proto) is None


def test_the_network_computes_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_model(tmp_path, network())
    proto, folder = read_proto(path)
    assert folder == str(tmp_path)
    assert proto.graph.initializer[0].data_location == TensorProto.EXTERNAL
    x = np.ones((1, 1200), np.float32)
    result = ir_exec.compile_model(path)({"x": x})["y"]
    np.testing.assert_array_equal(result, ir_exec.compile_model(path.read_bytes())({"x": x})["y"])
    monkeypatch.chdir(tmp_path)
    np.testing.assert_array_equal(ir_exec.compile_model("model.onnx")({"x": x})["y"], result)
    ir_exec.read_model(path).save(tmp_path / "model.xml")
    assert (tmp_path / "model.bin").stat().st_size == LARGE.nbytes + SMALL.nbytes


@pytest.mark.skipif(os.name != "posix", reason="links as POSIX has them")
def test_a_link_to_a_file_of_another_name(tmp_path: Path) -> None:
    (tmp_path / "blobs").mkdir()
    (tmp_path / "shown").mkdir()
    write_model(tmp_path / "blobs", network(), "0123abcd")
    link = tmp_path / "shown" / "model.onnx"
    link.symlink_to("../blobs/0123abcd")
    assert ir_exec.compile_model(link)({"x": np.ones((1, 1200), np.float32)})["y"].shape == (1, 1000)


def test_data_not_fitting_dims_is_reported(tmp_path: Path) -> None:
    proto = network()
    proto.graph.initializer[0].dims[0] = 1201
    with pytest.raises(IRError) as caught:
        ir_exec.read_model(write_model(tmp_path, proto))
    assert "1201" in str(caught.value)


@pytest.mark.broad
@settings(deadline=None, max_examples=300)
@given(st.data())
def test_damaged_content_is_left_to_the_parser(data: st.DataObject) -> None:
    proto = network()
    proto.graph.initializer[0].CopyFrom(numpy_helper.from_array(LARGE[:4, :8], "w"))
    content = bytearray(proto.SerializeToString())
    cut = data.draw(st.integers(0, len(content)))
    content = content[:cut]
    for _ in range(data.draw(st.integers(0, 4))):
        if content:
            content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(files, "LEAST_LEFT_OUT", 16)
        shortened = without_large_tensors(memoryview(bytes(content)), "m.onnx", lambda data_type: True)
    assert shortened is None or len(shortened) < len(content) + 200


def test_converting_holds_no_copy_of_the_weights(tmp_path: Path) -> None:
    path = write_model(tmp_path, network())
    ir_exec.read_model(path).save(tmp_path / "first.xml")  # imports what it needs
    tracemalloc.start()
    try:
        ir_exec.read_model(path).save(tmp_path / "model.xml")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < LARGE.nbytes / 2


@pytest.mark.parametrize("shift", range(4))
@pytest.mark.parametrize("optimize", [False, True])
def test_external_data_is_aligned_for_products(tmp_path: Path, shift: int, *, optimize: bool) -> None:
    proto = network()
    proto.producer_name = "." * shift
    path = tmp_path / "m.onnx"
    path.write_bytes(proto.SerializeToString())
    data = np.random.default_rng(1).standard_normal((1, 1200), np.float32)
    compiled = ir_exec.compile_model(path, optimize=optimize)
    for _ in range(2):
        np.testing.assert_allclose(compiled([data])[0], data @ LARGE + SMALL, rtol=1e-4, atol=1e-3)
    constants = compiled.executor.compiler.constants
    assert constants is not None
    (weights,) = (array for array in constants.arrays if array is not None and array.shape == LARGE.shape)
    assert weights.flags.aligned
    np.testing.assert_array_equal(weights, LARGE)


def test_pages_of_the_file_may_be_let_go(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(network().SerializeToString())
    opened = ir_exec.read_model(path)
    (node,) = (node for node in opened.graph.nodes if node.type == "Const" and node.op.shape == LARGE.shape)
    assert opened.weights is not None
    array = node.op.evaluate(weights=opened.weights)
    assert opened.weights.maps(array)
    opened.weights.forget(array)
    np.testing.assert_array_equal(array, LARGE)
    assert not opened.weights.maps(array.copy())


@pytest.mark.parametrize("shift", range(4))
def test_kept_weights_stay_in_the_file(tmp_path: Path, shift: int) -> None:
    proto = network()
    proto.producer_name = "." * shift
    path = tmp_path / "m.onnx"
    path.write_bytes(proto.SerializeToString())
    opened = ir_exec.read_model(path)
    compiled = ir_exec.compile_model(opened, weight_mode="keep")
    data = np.random.default_rng(1).standard_normal((1, 1200), np.float32)
    np.testing.assert_allclose(compiled([data])[0], data @ LARGE + SMALL, rtol=1e-4, atol=1e-3)
    constants = compiled.executor.compiler.constants
    assert constants is not None
    (weights,) = (array for array in constants.arrays if array is not None and array.shape == LARGE.shape)
    assert opened.weights is not None
    assert opened.weights.maps(weights)


def test_a_model_records_its_file(tmp_path: Path) -> None:
    text = """<ir_version: 10, opset_import: ["": 21]>
    g (float[N] x, int64[1] k) => (float[M] y) { y = Reshape(x, k) }"""
    path = tmp_path / "net.onnx"
    onnx.save(onnx.parser.parse_model(text), path)
    network = ir_exec.read_model(path)
    inputs = {"x": np.ones(4, np.float32), "k": np.array([4])}
    copies = (copy.copy(network), pickle.loads(pickle.dumps(network)), network.specialize_for(inputs))
    assert {model.lowered_from for model in (network, *copies)} == {str(path)}
    assert ir_exec.read_model(path.read_bytes()).lowered_from is None
    network.save(tmp_path / "net.xml")
    assert ir_exec.read_model(tmp_path / "net.xml").lowered_from is None
