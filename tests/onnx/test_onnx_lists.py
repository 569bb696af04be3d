"""Lists that grow in loops of which the number of iterations is not known: onnxruntime and OpenVINO give the same."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnxruntime
import openvino as ov
import pytest

import ir_exec
from ir_exec.errors import NotKnownError
from ir_exec.types import Array
from tests.onnx.files import model

START = """
zero = Constant<value_int = 0>()
true = Constant<value = bool {1}>()
size = Shape(x)
count = Gather(size, zero)
empty = SequenceEmpty()
"""


VECTORS = START.replace("value_int = 0", "value_ints = [0]").replace("bool {1}", "bool[1] {1}")
"""The number of iterations and the condition of shape [1]."""


def make_loop(body: str, end: str, outputs: str, *, start: str = "empty", first: str = START, axes: str = "") -> bytes:
    """A loop over the rows of x that carries a list; `end` takes it, named `list`."""
    ports = f"int64{axes} i, bool{axes} c, seq(float[D]) before"
    inner = f"b ({ports}) => (bool{axes} again, seq(float[D]) after) {{ {body} }}"
    text = f"g (float[N,D] x) => ({outputs}) {{ {first} list = Loop(count, true, {start}) <body = {inner}> {end} }}"
    return model(text).SerializeToString()


APPEND = "again = Identity(c) row = Gather(x, i) after = SequenceInsert(before, row)"
TWICE = f"{APPEND.replace('after', 'more')} twice = Add(row, row) after = SequenceInsert(more, twice)"
BRANCH = """
again = Identity(c) row = Gather(x, i) sum = ReduceSum<keepdims = 0>(row) nothing = Sub(sum, sum)
is_more = Greater(sum, nothing)
after = If(is_more) <
    then_branch = t () => (seq(float[D]) one) { one = SequenceInsert(before, row) },
    else_branch = e () => (seq(float[D]) two) { minus = Neg(row) two = SequenceInsert(before, minus) }
>
"""

JOIN = "y = ConcatFromSequence<axis = 0>(list)"
BY_VECTOR = APPEND.replace("Gather", "GatherND")
ONCE = VECTORS.replace("Gather(size, zero)", "Constant<value_ints = [1]>()")

NETWORKS = {
    "stacked": make_loop(APPEND, "y = ConcatFromSequence<axis = 0, new_axis = 1>(list)", "float[N,D] y"),
    "stacked at the end": make_loop(APPEND, "y = ConcatFromSequence<axis = -1, new_axis = 1>(list)", "float[D,N] y"),
    "joined": make_loop(APPEND, JOIN, "float[M] y"),
    "two in each iteration": make_loop(TWICE, "y = ConcatFromSequence<axis = 0, new_axis = 1>(list)", "float[M,D] y"),
    "in both branches": make_loop(BRANCH, "y = ConcatFromSequence<axis = 0, new_axis = 1>(list)", "float[N,D] y"),
    "iterations of shape [1]": make_loop(BY_VECTOR, JOIN, "float[M] y", first=VECTORS, axes="[1]"),
    "iterations of shape [1], one after the other": make_loop(BY_VECTOR, JOIN, "float[M] y", first=ONCE, axes="[1]"),
    "last element and length": make_loop(
        APPEND,
        "last = Constant<value_int = -1>() y = SequenceAt(list, last) n = SequenceLength(list)",
        "float[D] y, int64 n",
    ),
    "grown afterwards": make_loop(
        APPEND,
        "first = Gather(x, zero) longer = SequenceInsert(list, first) y = ConcatFromSequence<axis = 0>(longer)",
        "float[M] y",
    ),
}

SPLIT = model(
    """g (float[N,3] x) => (float[M,3] y, float[M] z, int64 n) {
        rows = SplitToSequence<axis = 0>(x)
        flat = SplitToSequence<axis = 0, keepdims = 0>(x)
        y = ConcatFromSequence<axis = 0>(rows)
        z = ConcatFromSequence<axis = 0>(flat)
        n = SequenceLength(rows)
    }"""
).SerializeToString()

SCANNED = model(
    f"""g (float[N,D] x) => (float[N,1,D] y, bool[N,1] going) {{
        {VECTORS}
        y, going = Loop(count, true) <body = b (int64[1] i, bool[1] c) => (bool[1] again, float[1,D] row, bool[1] now)
            {{ again = Identity(c) now = Identity(c) row = Gather(x, i) }}>
    }}"""
).SerializeToString()

X = np.random.default_rng(0).normal(size=(4, 3)).astype(np.float32)


@pytest.mark.parametrize("rows", [4, 1])
@pytest.mark.parametrize("network", [*NETWORKS.values(), SPLIT, SCANNED], ids=[*NETWORKS, "split", "scanned"])
def test_values_match_onnxruntime_and_openvino(network: bytes, rows: int, tmp_path: Path) -> None:
    x = X[:rows]
    expected: list[Array] = onnxruntime.InferenceSession(network).run(None, {"x": x})
    read = ir_exec.read_model(network)
    outputs = list(ir_exec.compile_model(read)({"x": x}).values())
    read.save(tmp_path / "m.xml")
    compiled = ov.Core().compile_model(tmp_path / "m.xml", "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    theirs = compiled({"x": x})
    for at, output in enumerate(expected):
        assert outputs[at].shape == output.shape
        np.testing.assert_allclose(outputs[at], output, rtol=1e-6)
        np.testing.assert_allclose(theirs[at], output, rtol=1e-6)


def test_no_iteration_gives_an_empty_list() -> None:
    assert ir_exec.compile_model(NETWORKS["stacked"])({"x": X[:0]})["y"].shape == (0, 3)


@pytest.mark.parametrize(
    ("body", "end"),
    [
        (f"{APPEND} n = SequenceLength(before)", JOIN),
        (f"other = SequenceEmpty() {APPEND.replace('before', 'other')}", JOIN),
        (APPEND, "y = Identity(list)"),
        (APPEND, f"shorter = SequenceErase(list) {JOIN.replace('list', 'shorter')}"),
    ],
)
def test_iteration_dependent_values_are_known_for_call_inputs(body: str, end: str, tmp_path: Path) -> None:
    network = make_loop(body, end, "seq(float[D]) y" if end == "y = Identity(list)" else "float[M] y")
    read = ir_exec.read_model(network)
    with pytest.raises(NotKnownError) as caught:
        read.save(tmp_path / "m.xml")
    assert "ir-exec run" in (caught.value.hint or "")
    compiled = ir_exec.compile_model(read)
    for rows in (4, 2):
        (expected,) = onnxruntime.InferenceSession(network).run(None, {"x": X[:rows]})
        outputs = list(compiled({"x": X[:rows]}).values())
        for actual, wanted_output in zip(outputs, expected if isinstance(expected, list) else [expected], strict=True):
            np.testing.assert_allclose(actual, wanted_output, rtol=1e-6)
    assert compiled.specializations == [{"x": "shape [4,3]"}, {"x": "shape [2,3]"}]


def test_a_body_of_sequence_map_may_declare_no_types() -> None:
    """The form of `torch.hstack` by PyTorch's exporter; onnxruntime requires it of files as small as this one."""
    text = """
        g (float[3] x, float[2] z) => (float[M] y) {
            list = SequenceConstruct(x, z)
            mapped = SequenceMap(list) <body = b (one) => (minus) { minus = Neg(one) }>
            y = ConcatFromSequence<axis = 0>(mapped)
        }
    """
    x, z = np.arange(3, dtype=np.float32), np.ones(2, np.float32)
    compiled = ir_exec.compile_model(model(text).SerializeToString())
    assert compiled([x, z])[0].tolist() == [*-x, *-z]


EMPTY = {
    "no input": "g () => (seq(float[D]) y) { y = SequenceEmpty() }",
    "erased": "g (float[2] x) => (seq(float[2]) y) { list = SequenceConstruct(x) y = SequenceErase(list) }",
    "with a tensor": "g (float[2] x) => (seq(float[2]) y, float[2] z) { y = SequenceEmpty() z = Neg(x) }",
}


@pytest.mark.parametrize("name", EMPTY)
def test_an_empty_list_as_an_output(name: str, tmp_path: Path) -> None:
    content = model(EMPTY[name]).SerializeToString()
    arrays = {"x": np.ones(2, np.float32)} if "x)" in EMPTY[name] else {}
    expected = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"]).run(None, arrays)
    assert expected[0] == []
    assert not [diagnostic for diagnostic in ir_exec.check_model(content).diagnostics if diagnostic.severity == "error"]
    outputs = ir_exec.compile_model(content)(arrays)
    assert len(list(outputs.values())) == len(expected) - 1
    if name == "with a tensor":
        np.testing.assert_array_equal(outputs["z"], expected[1])


@pytest.mark.parametrize("name", ["no input", "erased"])
def test_model_without_tensor_outputs_is_not_written(name: str, tmp_path: Path) -> None:
    network = ir_exec.read_model(model(EMPTY[name]).SerializeToString())
    with pytest.raises(ir_exec.IRError):
        network.save(tmp_path / "model.xml")
