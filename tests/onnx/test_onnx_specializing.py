"""ONNX models of which operators need shapes or values of the inputs: they become networks for the inputs of calls."""

from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor
from copy import copy, deepcopy
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import onnxruntime
import pytest

import ir_exec
from ir_exec.batch import run
from ir_exec.build import Editor
from ir_exec.codes import Code
from ir_exec.debug import bundle, compare, extract, profile, reduce, shapes, trace
from ir_exec.errors import EvaluationError, NotKnownError, ResourceError, ShapeError
from ir_exec.rewrite import simplified
from ir_exec.testing import assert_same
from tests.onnx.files import external, model, write_model

RANKS = model("g (float[] q, float[] k) => (float[] y) { p = MatMul(q, k) y = Softmax<axis = 1>(p) }", opset=11)
"""Softmax-11 needs the rank of its input."""

PRODUCTS = model("g (float[N,3] x, int64 axis) => (float[N,3] y) { y = CumProd(x, axis) }", opset=26)
"""CumProd needs the value of its axis."""

PARTS = model(
    """g (float[N,D] x, int64[P] sizes) => (float[M] y, int64 n) {
        parts = SplitToSequence<axis = 0>(x, sizes)
        n = SequenceLength(parts)
        zero = Constant<value_int = 0>()
        first = SequenceAt(parts, zero)
        flat = Constant<value_ints = [-1]>()
        y = Reshape(first, flat)
    }"""
)
"""The number of parts is that of the sizes, and ragged."""

KEPT = model(
    """g (float[2] a, float[2] b, int64 n) => (float[M] y) {
        one = Constant<value_float = 1.0>()
        true = Constant<value = bool {1}>()
        start = SequenceConstruct(a, b)
        end = Loop(n, true, start) <body = l (int64 i, bool c, seq(float[2]) s) => (bool again, seq(float[2]) after) {
            again = Identity(c)
            e = SequenceAt(s, i)
            more = Add(e, one)
            without = SequenceErase(s, i)
            after = SequenceInsert(without, more, i)
        }>
        y = ConcatFromSequence<axis = 0>(end)
    }"""
)
"""A list that a loop changes at the place of its iteration, as caches of decoders are."""

TAKEN = model(
    """g (float[N] x, bool wanted) => (float[M] y) {
        list = If(wanted) <
            then_branch = t () => (seq(float[N]) one) { one = SequenceConstruct(x, x) },
            else_branch = e () => (seq(float[N]) two) { two = SequenceConstruct(x) }
        >
        y = ConcatFromSequence<axis = 0>(list)
    }"""
)
"""The branches give lists of different lengths."""

UNTIL = model(
    """g (float[2] x, float limit) => (float[M] y) {
        true = Constant<value = bool {1}>()
        none = SequenceEmpty()
        empty = SequenceInsert(none, x)
        most = Constant<value_int = 50>()
        last, list = Loop(most, true, x, empty) <
            body = l (int64 i, bool c, float[2] v, seq(float[2]) s) => (bool again, float[2] w, seq(float[2]) after) {
                w = Add(v, v)
                sum = ReduceSum<keepdims = 0>(w)
                again = Less(sum, limit)
                some = SequenceErase(s)
                both = SequenceInsert(some, w)
                after = SequenceInsert(both, w)
            }
        >
        y = ConcatFromSequence<axis = 0>(list)
    }"""
)
"""A loop whose end depends on what it computes."""

RAGGED = model(
    """g (float[N] x, int64[K] counts) => (float[M] y) {
        size = Size(counts)
        true = Constant<value = bool {1}>()
        none = SequenceEmpty()
        zero = Constant<value_ints = [0]>()
        list = Loop(size, true, none) <body = l (int64 i, bool c, seq(float[D]) s) => (bool on, seq(float[D]) after) {
            on = Identity(c)
            count = Gather(counts, i)
            end = Unsqueeze(count, zero)
            part = Slice(x, zero, end)
            after = SequenceInsert(s, part)
        }>
        y = ConcatFromSequence<axis = 0>(list)
    }"""
)
"""A list that grows in a loop, of parts that may have one length, or different ones."""

COLLECTED = model(
    """g (float[2] a, int64 n) => (float[I,2] y, float[M] z) {
        true = Constant<value = bool {1}>()
        start = SequenceConstruct(a)
        end, y = Loop(n, true, start) <
            body = l (int64 i, bool c, seq(float[2]) s) => (bool on, seq(float[2]) after, float[2] last) {
                on = Identity(c)
                e = SequenceAt(s, i)
                last = Add(e, e)
                after = SequenceInsert(s, last)
            }
        >
        z = ConcatFromSequence<axis = 0>(end)
    }"""
)
"""A loop that is written out, and collects values too."""

ROWS = np.arange(15, dtype=np.float32).reshape(5, 3)
X2 = np.array([1, 2], np.float32)


def compile_proto(proto: Any, **options: Any) -> ir_exec.CompiledModel:
    return ir_exec.compile_model(proto.SerializeToString(), **options)


def by_onnxruntime(proto: Any, inputs: dict[str, Any]) -> list[Any]:
    return list(onnxruntime.InferenceSession(proto.SerializeToString()).run(None, inputs))


CALLS: dict[str, tuple[Any, list[dict[str, Any]]]] = {
    "ranks": (
        RANKS,
        [
            {"q": np.ones((2, 3), np.float32), "k": ROWS.T[:, :4]},
            {"q": np.ones((2, 2, 3), np.float32), "k": np.ones((2, 3, 1), np.float32)},
        ],
    ),
    "parts": (PARTS, [{"x": ROWS, "sizes": np.array([2, 3])}, {"x": ROWS[:4], "sizes": np.array([1, 1, 2])}]),
    "kept": (KEPT, [{"a": X2, "b": X2 * 3, "n": np.array(count)} for count in (2, 0, 1)]),
    "collected": (COLLECTED, [{"a": X2, "n": np.array(count)} for count in (3, 0)]),
    "taken": (TAKEN, [{"x": X2, "wanted": np.array(is_first)} for is_first in (True, False)]),
    "until": (UNTIL, [{"x": X2, "limit": np.array(limit, np.float32)} for limit in (5, 100)]),
}


@pytest.mark.parametrize("name", CALLS)
def test_values_are_those_of_onnxruntime(name: str) -> None:
    proto, calls = CALLS[name]
    network = compile_proto(proto)
    for inputs in [*calls, *calls]:
        for actual, reference in zip(network(inputs).values(), by_onnxruntime(proto, inputs), strict=True):
            np.testing.assert_allclose(actual, reference, rtol=1e-6)
    assert len(network.specializations) == len(calls)


class TestOpenSizes:
    """Results of an operator for an input with an unknown number of elements."""

    @pytest.mark.parametrize("axes", [[], [0], [0, 1]])
    def test_axes_of_unknown_number_may_be_all(self, axes: list[int]) -> None:
        text = "g (float[N,3] x, int64[A] axes) => (float[I,J] y) { y = ReduceSum<keepdims = 1>(x, axes) }"
        inputs = {"x": ROWS, "axes": np.array(axes, np.int64)}
        (expected,) = by_onnxruntime(model(text), inputs)
        np.testing.assert_array_equal(compile_proto(model(text))(inputs)[0], expected)

    @pytest.mark.parametrize("count", [1, 2])
    def test_scale_has_one_element_or_one_per_row(self, count: int) -> None:
        text = """g (uint8[M,K] a, float[S] s, uint8[S] z, uint8[K,N] b, float t, uint8 u) => (uint8[M,N] y) {
            y = QLinearMatMul(a, s, z, b, t, u, t, u) }"""
        inputs = {
            "a": np.arange(6, dtype=np.uint8).reshape(2, 3),
            "s": np.array([0.5, 0.25][:count], np.float32),
            "z": np.zeros(count, np.uint8),
            "b": np.arange(6, dtype=np.uint8).reshape(3, 2),
            "t": np.float32(0.5),
            "u": np.uint8(0),
        }
        scales = inputs["s"].reshape(-1, 1)
        expected = np.rint((inputs["a"] @ inputs["b"].astype(np.int64)) * scales)
        np.testing.assert_array_equal(compile_proto(model(text))(inputs)[0], expected)

    @pytest.mark.parametrize(
        ("text", "inputs"),
        [
            (
                "g (float[] x, int64[] at) => (float[] y) { y = GatherElements<axis = 1>(x, at) }",
                {"x": ROWS, "at": np.array([[0, 2, 1, 0]])},
            ),
            (
                "g (float[B,C] x, int64[D,E,1] at) => (float[D,E] y) { y = GatherND<batch_dims = 1>(x, at) }",
                {"x": ROWS[:1], "at": np.array([[[0], [1]], [[2], [2]]])},
            ),
            (
                "g (float[N,3] x, int64[A] axes) => (float[] y) { y = Unsqueeze(x, axes) }",
                {"x": ROWS, "axes": np.zeros(0, np.int64)},
            ),
        ],
        ids=["indices of fewer rows", "a batch of one", "no axes"],
    )
    def test_sizes_refused_by_the_general_network(self, text: str, inputs: dict[str, Any]) -> None:
        network = compile_proto(model(text))
        (expected,) = by_onnxruntime(model(text), inputs)
        np.testing.assert_array_equal(network(inputs)[0], expected)
        assert network.specializations

    def test_a_body_that_depends_on_shapes(self) -> None:
        text = "g (float[] x, float[] c, float[] s) => (float[] y) { y = RotaryEmbedding(x, c, s) }"
        x = np.random.default_rng(0).normal(size=(1, 2, 3, 4)).astype(np.float32)
        angles = np.zeros((1, 3, 2), np.float32)
        output = compile_proto(model(text, opset=23))([x, angles + 1, angles])[0]
        np.testing.assert_allclose(output, x, rtol=1e-6)


class TestWhatIsKept:
    def test_a_value_makes_a_network_for_all_shapes(self) -> None:
        network = compile_proto(PRODUCTS)
        for rows in (5, 3):
            for axis in (0, 1):
                np.testing.assert_array_equal(network([ROWS[:rows], axis])[0], np.cumprod(ROWS[:rows], axis))
        assert network.specializations == [{"axis": "value 0"}, {"axis": "value 1"}]

    def test_a_rank_makes_a_network_for_all_sizes(self) -> None:
        network = compile_proto(RANKS)
        for columns in (3, 4):
            network([np.ones((2, 3), np.float32), np.ones((3, columns), np.float32)])
        assert network.specializations == [{"q": "rank 2", "k": "rank 2"}]

    def test_specialization_for_other_values_is_not_taken(self) -> None:
        network = compile_proto(PARTS)
        assert [network([ROWS, sizes])["n"].item() for sizes in ([5], [1, 4], [5], [1, 1, 3])] == [1, 2, 1, 3]

    def test_specializations_are_bounded_and_latest_kept(self) -> None:
        network = compile_proto(PARTS)
        for first in range(40):
            network([np.zeros((40, 1), np.float32), [first, 40 - first]])
        assert len(network.specializations) <= 16
        assert network.specializations[-1]["sizes"] == "value [39,1]"

    def test_network_fitting_all_inputs_has_no_specialization(self) -> None:
        network = compile_proto(model("g (float[N] x) => (float[N] y) { y = Relu(x) }"))
        network([X2])
        assert network.specializations == []

    def test_threads_share_them(self) -> None:
        network = compile_proto(PRODUCTS, threads=1)
        with ThreadPoolExecutor(4) as pool:
            results = list(pool.map(lambda at: (at, network([ROWS, at % 2])[0]), range(16)))
        for at, value in results:
            np.testing.assert_array_equal(value, np.cumprod(ROWS, at % 2))
        assert len(network.specializations) == 2

    def test_max_memory_holds_for_specializations(self) -> None:
        large = np.ones((1000, 3), np.float32)
        with pytest.raises(ResourceError):
            compile_proto(PRODUCTS, max_memory=10_000)([large, 0])
        assert compile_proto(PRODUCTS, max_memory=2_000_000)([large, 0])[0].shape == (1000, 3)


class TestRaggedLists:
    """The network for all inputs collects parts of one shape; for other inputs the loop is written out."""

    @pytest.mark.parametrize("counts", [[2, 2], [1, 3, 2], []])
    def test_values_are_those_of_plain_slices(self, counts: list[int]) -> None:
        x = np.arange(5, dtype=np.float32)
        output = compile_proto(RAGGED)([x, np.array(counts, np.int64)])[0]
        np.testing.assert_array_equal(output, np.concatenate([x[:count] for count in counts] or [x[:0]]))

    def test_only_refused_inputs_are_specialized(self) -> None:
        network = compile_proto(RAGGED)
        x = np.arange(5, dtype=np.float32)
        counts_of_networks = []
        for counts in ([2, 2], [3, 3, 3], [1, 2], [1, 2], [4, 4]):
            network([x, counts])
            counts_of_networks.append(len(network.specializations))
        assert counts_of_networks == [0, 0, 1, 1, 1]

    def test_values_are_traced(self) -> None:
        inputs = {"x": np.arange(5, dtype=np.float32), "counts": np.array([1, 2])}
        assert trace(ir_exec.read_model(RAGGED.SerializeToString()), inputs)["y"].tolist() == [0, 0, 1]

    def test_specialization_for_equal_lengths_is_saved(self, tmp_path: Path) -> None:
        ir_exec.read_model(RAGGED.SerializeToString()).save(tmp_path / "m.xml")
        output = ir_exec.compile_model(tmp_path / "m.xml")([np.arange(5, dtype=np.float32), [2, 2]])[0]
        assert output.tolist() == [0, 1, 0, 1]


class TestTheModel:
    def test_partial_model_has_inputs_and_outputs_of_file(self) -> None:
        read = ir_exec.read_model(PARTS.SerializeToString())
        assert read.is_partial
        assert [port.name for port in read.inputs] == ["x", "sizes"]
        assert [port.name for port in read.outputs] == ["y", "n"]

    def test_partial_model_refuses_saving_with_hint(self, tmp_path: Path) -> None:
        with pytest.raises(NotKnownError) as caught:
            ir_exec.read_model(RANKS.SerializeToString()).save(tmp_path / "m.xml")
        assert caught.value.code == Code.operator_not_implemented
        assert "--shape 'q[...]'" in (caught.value.hint or "")

    def test_partial_model_is_not_edited_or_simplified(self) -> None:
        read = ir_exec.read_model(PRODUCTS.SerializeToString())
        for change in (Editor, simplified):
            with pytest.raises(NotKnownError):
                change(read)

    def test_determining_shapes_complete_the_model(self, tmp_path: Path) -> None:
        read = ir_exec.read_model(RANKS.SerializeToString()).reshape({"q": [2, 3], "k": [3, 4]})
        assert not read.is_partial
        read.save(tmp_path / "m.xml")
        assert str(ir_exec.read_model(tmp_path / "m.xml").output().shape) == "[2,4]"

    def test_other_shapes_follow_from_the_file(self) -> None:
        read = ir_exec.read_model(RANKS.SerializeToString())
        read.reshape({"q": [2, 3], "k": [3, 4]}).reshape({"q": [5, 2, 3], "k": [5, 3, 4]})
        assert str(read.output().shape) == "[5,2,4]"

    def test_unfitting_shapes_keep_the_model(self) -> None:
        read = ir_exec.read_model(RANKS.SerializeToString())
        with pytest.raises(ShapeError):
            read.reshape({"q": [2, 3], "k": [2, 4]})
        assert read.is_partial
        assert str(read.inputs[0].shape) == "[...]"

    def test_it_becomes_a_network_for_inputs(self, tmp_path: Path) -> None:
        network = ir_exec.read_model(PRODUCTS.SerializeToString()).specialize_for({"x": ROWS, "axis": 1})
        network.save(tmp_path / "m.xml")
        output = ir_exec.compile_model(tmp_path / "m.xml")([ROWS, 1])[0]
        np.testing.assert_array_equal(output, np.cumprod(ROWS, 1))

    def test_copies_and_pickles_are_its_equals(self) -> None:
        read = ir_exec.read_model(PRODUCTS.SerializeToString())
        for other in (copy(read), deepcopy(read), pickle.loads(pickle.dumps(read))):
            assert other.is_partial
            np.testing.assert_array_equal(ir_exec.compile_model(other)([ROWS, 0])[0], np.cumprod(ROWS, 0))

    def test_check_counts_unchecked_layers(self) -> None:
        content = PARTS.SerializeToString()
        for report in (ir_exec.check_model(content), ir_exec.check_model(ir_exec.read_model(content))):
            assert report.ok
            assert report.layers_not_checked
            assert Code.operator_not_implemented in {diagnostic.code for diagnostic in report.diagnostics}

    def test_check_with_shapes_leaves_nothing_out(self) -> None:
        report = ir_exec.check_model(RANKS.SerializeToString(), shapes="q[2,3],k[3,4]")
        assert (report.layers_not_checked, report.outputs) == (0, {"y": "f32[2,4]"})
        assert Code.operator_not_implemented not in {diagnostic.code for diagnostic in report.diagnostics}

    def test_unresolvable_operator_is_a_reading_error(self) -> None:
        text = "g (float[N,3] x, int64 axis) => (float[N,3] y) { y = CumProd(x, axis) z = BitCast<to = 6>(x) }"
        with pytest.raises(ir_exec.UnsupportedError) as caught:
            ir_exec.read_model(model(text, opset=26).SerializeToString())
        assert not isinstance(caught.value, NotKnownError)

    def test_random_value_is_no_input_value(self) -> None:
        text = """g (float[N,3] x) => (float[N,3] y) {
            drawn = RandomUniform<shape = [1], low = 0.0, high = 2.0>() axis = Cast<to = 7>(drawn)
            one = Squeeze(axis) y = CumProd(x, one) }"""
        network = compile_proto(model(text, opset=26))
        with pytest.raises(NotKnownError) as caught:
            network([ROWS])
        assert "ir-exec inspect" in (caught.value.hint or "")


class TestCompiled:
    def test_unfitting_inputs_are_refused(self) -> None:
        network = compile_proto(PRODUCTS)
        with pytest.raises(EvaluationError):
            network([ROWS])
        with pytest.raises(ShapeError):
            network([ROWS[:, :2], 0])

    def test_outputs_may_be_chosen(self) -> None:
        network = compile_proto(PARTS, outputs=["n", "first"])
        outputs = network([ROWS, [2, 3]])
        assert list(outputs) == ["n", "first"]
        np.testing.assert_array_equal(outputs["first"], ROWS[:2])

    def test_session_and_pickle_run_the_model(self) -> None:
        network = compile_proto(PRODUCTS)
        for other in (network.session(), pickle.loads(pickle.dumps(network))):
            np.testing.assert_array_equal(other([ROWS, 1])[0], np.cumprod(ROWS, 1))

    def test_an_observer_sees_its_layers(self) -> None:
        seen: list[str] = []
        compile_proto(KEPT)([X2, X2, 1], observe=lambda node, *_: seen.append(node.type))
        assert seen.count("Add") == 1

    def test_memory_is_planned_for_shapes_alone(self) -> None:
        assert compile_proto(RANKS).memory_plan({"q": [2, 3], "k": [3, 4]}).peak > 0
        with pytest.raises(NotKnownError):
            compile_proto(PRODUCTS).memory_plan({"x": [5, 3]})

    def test_random_numbers_go_on_and_are_restored(self) -> None:
        text = """g (float[N,3] x, int64 axis) => (float[N,3] y) {
            noise = RandomUniformLike<seed = 1.0>(x) sum = Add(x, noise) y = CumProd(sum, axis) }"""
        network = compile_proto(model(text, opset=26))
        session = network.session()
        first = session([ROWS, 0])[0]
        saved = pickle.loads(pickle.dumps(session.snapshot()))
        second = session([ROWS, 0])[0]
        assert (first != second).any()
        other = pickle.loads(pickle.dumps(network)).session()
        other.restore(saved)
        np.testing.assert_array_equal(other([ROWS, 0])[0], second)
        session.reset_state()
        np.testing.assert_array_equal(session([ROWS, 0])[0], first)


class TestLists:
    JOINED = model(
        "g (seq(float[N]) parts, float[1] x) => (float[M] y) { all = SequenceInsert(parts, x) "
        "y = ConcatFromSequence<axis = 0>(all) }"
    )
    GROWN = model("g (seq(float[N]) parts, float[1] x) => (seq(float[N]) y) { y = SequenceInsert(parts, x) }")

    def test_list_input_of_any_length(self) -> None:
        network = compile_proto(self.JOINED)
        ones = np.ones(1, np.float32)
        assert network({"parts": [X2, ones], "x": ones * 7})["y"].tolist() == [1, 2, 1, 7]
        assert network({"parts": [], "x": ones * 7})["y"].tolist() == [7]
        assert network({"parts/0": X2, "x": ones})["y"].tolist() == [1, 2, 1]
        assert network.specializations[-1] == {"parts": "shape ([2])"}

    def test_an_output_is_a_list(self) -> None:
        outputs = compile_proto(self.GROWN)([[X2], [3]])
        assert {name: array.tolist() for name, array in outputs.items()} == {"y/0": [1, 2], "y/1": [3]}

    def test_all_elements_may_be_taken_out(self) -> None:
        network = compile_proto(model("g (seq(float[N]) parts) => (seq(float[N]) y) { y = SequenceErase(parts) }"))
        assert [len(network([[X2] * count])) for count in (2, 1)] == [1, 0]

    def test_element_of_ragged_list_at_computed_position(self) -> None:
        text = """g (float[N] a, float[N] b, int64 at) => (float[M] y) {
            list = SequenceConstruct(a, b) y = SequenceAt(list, at) }"""
        network = compile_proto(model(text))
        assert network([X2, X2 * 2, 1])["y"].tolist() == [2, 4]
        assert network.specializations == []
        assert [network([X2, [5], at])["y"].tolist() for at in (0, 1)] == [[1, 2], [5]]

    def test_a_tensor_is_no_list(self) -> None:
        with pytest.raises(EvaluationError) as caught:
            compile_proto(self.JOINED)([X2, [1]])
        assert caught.value.code == Code.unknown_input

    def test_an_optional_may_be_left_out(self) -> None:
        network = compile_proto(model("g (optional(float[2]) x) => (bool y) { y = OptionalHasElement(x) }", opset=18))
        assert [network({"x": X2})[0].item(), network({"x": None})[0].item(), network({})[0].item()] == [
            True,
            False,
            False,
        ]


class TestTools:
    INPUTS: ClassVar[dict[str, Any]] = {"x": ROWS, "axis": np.array(1)}

    def test_values_are_traced(self) -> None:
        traced = trace(ir_exec.read_model(PRODUCTS.SerializeToString()), self.INPUTS)
        np.testing.assert_array_equal(traced["y"], np.cumprod(ROWS, 1))

    def test_a_trace_is_compared(self) -> None:
        read = ir_exec.read_model(PRODUCTS.SerializeToString())
        result = compare(read, trace(read, self.INPUTS))
        assert result.equal
        assert any("axis: value 1" in note for note in result.notes)

    def test_a_file_is_compared_with_onnxruntime(self, tmp_path: Path) -> None:
        path = write_model(tmp_path, KEPT)
        assert_same(path, path, {"a": X2, "b": X2, "n": np.array(2)})

    def test_partial_networks_are_compared(self) -> None:
        left, right = (ir_exec.read_model(PRODUCTS.SerializeToString()) for _ in range(2))
        assert compare(left, right, self.INPUTS).equal

    def test_diverging_calls_are_refused(self) -> None:
        read = ir_exec.read_model(PRODUCTS.SerializeToString())
        with pytest.raises(EvaluationError):
            compare(read, read, self.INPUTS, then=[{"x": ROWS, "axis": np.array(0)}])

    def test_profile_names_its_specialization(self) -> None:
        result = profile(ir_exec.read_model(PRODUCTS.SerializeToString()), self.INPUTS, repeat=1)
        assert result.specialised == {"axis": "value 1"}

    def test_extraction_requires_inputs(self) -> None:
        read = ir_exec.read_model(PRODUCTS.SerializeToString())
        assert extract(read, self.INPUTS, to="y").model.outputs[0].name == "y"
        with pytest.raises(NotKnownError):
            extract(read, to="y")

    def test_model_is_reduced_and_bundled_with_inputs(self, tmp_path: Path) -> None:
        read = ir_exec.read_model(PRODUCTS.SerializeToString())
        result = reduce(
            read, lambda part, inputs: any(node.type == "TensorIterator" for node in part.graph.nodes), self.INPUTS
        )
        assert result.layers
        with pytest.raises(NotKnownError):
            reduce(read, lambda part: True)
        assert bundle(read, self.INPUTS, output=tmp_path / "b.zip").members

    def test_unexamined_sizes_are_noted(self) -> None:
        assert not shapes(ir_exec.read_model(RANKS.SerializeToString())).complete

    def test_many_inputs_are_run(self) -> None:
        items = [{"x": ROWS, "axis": np.array(at % 2)} for at in range(4)]
        read = ir_exec.read_model(PRODUCTS.SerializeToString())
        for at, result in enumerate(run(read, items, jobs=2)):
            np.testing.assert_array_equal(result.outputs["y"], np.cumprod(ROWS, at % 2))

    def test_a_pickle_with_its_weights_inside_needs_no_file(self, tmp_path: Path) -> None:
        proto = model("g (float[N,3] x, int64 axis) => (float[N,3] y) { z = Mul(x, w) y = CumProd(z, axis) }", opset=26)
        (tmp_path / "w.bin").write_bytes(np.full(3, 2, np.float32).tobytes())
        proto.graph.initializer.append(external(np.full(3, 2, np.float32), "w", location="w.bin"))
        read = ir_exec.read_model(write_model(tmp_path, proto))
        inside, outside = pickle.dumps(read.with_weights_inside()), pickle.dumps(read)
        (tmp_path / "w.bin").unlink()
        with pytest.raises(ir_exec.WeightsError):
            pickle.loads(outside)
        output = ir_exec.compile_model(pickle.loads(inside))([ROWS, 0])[0]
        np.testing.assert_array_equal(output, np.cumprod(ROWS * 2, 0))


def test_former_names_warn() -> None:
    read = ir_exec.read_model(PRODUCTS.SerializeToString())
    inputs = {"x": ROWS, "axis": 1}
    with pytest.warns(DeprecationWarning, match="specialize_for"):
        assert not read.specialised(inputs).is_partial
    compiled = ir_exec.compile_model(read)
    compiled(inputs)
    with pytest.warns(DeprecationWarning, match="specializations"):
        assert compiled.specialisations == compiled.specializations == [{"axis": "value 1"}]
