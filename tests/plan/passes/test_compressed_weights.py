"""Products with weights that stay as they are stored, against the expanded ones and OpenVINO."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ir_exec
from ir_exec import build
from ir_exec.build.compress import Compression, compress_weights
from ir_exec.build.weight_formats import FORMATS
from ir_exec.types import Array, ElementType
from tests.conformance.build import IRFile
from tests.conformance.networks import networks
from tests.conformance.numbers import cut, mix, replace_thresholds, without_cuts
from tests.conformance.oracle import Oracle
from tests.helpers.chunks import in_chunks
from tests.helpers.network_text import NetworkText, Output

NETWORKS = networks()

ROWS, COLUMNS, GROUP = 96, 64, 16

INTEGERS = ("u4", "i4", "u8", "i8")
CODES = (*INTEGERS, "nf4", "f4e2m1", "f8e4m3", "f8e5m2")
FLOATS = ("f16", "bf16")


def codes(type_name: str, shape: tuple[int, ...]) -> Array:
    """Random codes of a type; of 8-bit floats none that is no number."""
    random = np.random.default_rng(7)
    element_type = ElementType[type_name]
    if type_name in FLOATS:
        return random.standard_normal(shape).astype(element_type.dtype)
    most = {"f8e4m3": 0x60, "f8e5m2": 0x60}.get(type_name, 2**element_type.bits)
    raw = random.integers(0, most, shape, np.uint8)
    if type_name == "i4":
        raw = (raw.astype(np.int8) - 8).view(np.uint8)
    return raw.view(element_type.dtype)


def numbers(shape: tuple[int, ...], element_type: str = "f16") -> Array:
    return np.random.default_rng(3).uniform(0.01, 0.1, shape).astype(ElementType[element_type].dtype)


class Network(NetworkText):
    """x [..., COLUMNS] times weights, with what files put between constants and products."""

    def convert(self, array: Array | Output, element_type: str = "f16") -> Output:
        source = array if isinstance(array, Output) else self.const(array)
        return self.op("Convert", source, destination_type=element_type)

    def decompress(self, data: Array, scale: Array | None, zero: Array | None, shape: tuple[int, ...] = ()) -> Output:
        if data.dtype == ElementType.bf16.dtype:
            # f16 does not hold every bf16.
            assert zero is None or zero.dtype == np.float16
            values = self.convert(data, "f32")
            factor = self.convert(scale, "f32") if scale is not None else None
            if zero is not None:
                values = self.op("Subtract", values, self.convert(zero, "f32"))
            values = values if factor is None else self.op("Multiply", values, factor)
            return self.op("Reshape", values, self.const(np.array(shape)), special_zero="false") if shape else values
        values = self.convert(data)
        if zero is not None:
            values = self.op("Subtract", values, self.convert(zero) if zero.dtype != np.float16 else self.const(zero))
        if scale is not None:
            values = self.op("Multiply", values, self.const(scale))
        if shape:
            values = self.op("Reshape", values, self.const(np.array(shape)), special_zero="false")
        return self.convert(values, "f32")

    def product(self, weights: Output, *, transposed: bool, x: Array) -> IRFile:
        a = self.parameter(",".join(map(str, x.shape)))
        self.result(self.op("MatMul", a, weights, transpose_a="false", transpose_b=str(transposed).lower()))
        return self.file(x)


def random_array(*shape: int) -> Array:
    return np.random.default_rng(1).standard_normal(shape).astype(np.float32)


X = random_array(3, 2, COLUMNS)


def grouped_weights(element_type: str, x: Array = X, *, zero: bool = True) -> IRFile:
    net, shape = Network(), (ROWS, COLUMNS // GROUP)
    stored = codes(element_type, (*shape, GROUP))
    zeros = codes(element_type, (*shape, 1)) if zero else None
    weights = net.decompress(stored, numbers((*shape, 1)), zeros, (ROWS, COLUMNS))
    return net.product(weights, transposed=True, x=x)


def by_channel(element_type: str, x: Array = X) -> IRFile:
    net = Network()
    zero = codes(element_type, (ROWS, 1)) if element_type in INTEGERS else None
    return net.product(
        net.decompress(codes(element_type, (ROWS, COLUMNS)), numbers((ROWS, 1)), zero), transposed=True, x=x
    )


def with_one_scale(element_type: str, x: Array = X) -> IRFile:
    net = Network()
    weights = net.decompress(codes(element_type, (ROWS, COLUMNS)), numbers(()), numbers((1, 1)))
    return net.product(weights, transposed=True, x=x)


def without_scale(element_type: str, x: Array = X) -> IRFile:
    net = Network()
    weights = net.convert(codes(element_type, (ROWS, COLUMNS)), "f32")
    return net.product(weights, transposed=True, x=x)


def in_columns(element_type: str, x: Array = X) -> IRFile:
    net = Network()
    zero = codes(element_type, (1, ROWS)) if element_type in INTEGERS else None
    return net.product(
        net.decompress(codes(element_type, (COLUMNS, ROWS)), numbers((1, ROWS)), zero), transposed=False, x=x
    )


def grouped_in_columns(element_type: str, x: Array = X) -> IRFile:
    net, groups = Network(), COLUMNS // GROUP
    zero = codes(element_type, (groups, 1, ROWS)) if element_type in INTEGERS else None
    stored = codes(element_type, (groups, GROUP, ROWS))
    weights = net.decompress(stored, numbers((groups, 1, ROWS)), zero, (COLUMNS, ROWS))
    return net.product(weights, transposed=False, x=x)


def transposed_by_a_layer(element_type: str, x: Array = X) -> IRFile:
    net = Network()
    weights = net.decompress(codes(element_type, (ROWS, COLUMNS)), numbers((ROWS, 1)), None)
    return net.product(net.op("Transpose", weights, net.const(np.array([1, 0]))), transposed=False, x=x)


def of_experts(element_type: str, x: Array = X) -> IRFile:
    """Three matrices, one for each of the three batches of x."""
    net, shape = Network(), (3, ROWS, COLUMNS // GROUP)
    weights = net.decompress(codes(element_type, (*shape, GROUP)), numbers((*shape, 1)), None, (3, ROWS, COLUMNS))
    return net.product(weights, transposed=True, x=x)


LAYOUTS: tuple[Callable[..., IRFile], ...] = (
    grouped_weights,
    by_channel,
    with_one_scale,
    without_scale,
    in_columns,
    grouped_in_columns,
    transposed_by_a_layer,
    of_experts,
)

ALL = [
    pytest.param(layout, element_type, id=f"{layout.__name__}-{element_type}")
    for layout in LAYOUTS
    for element_type in (*CODES, *FLOATS)
    if not (layout is grouped_weights and element_type not in INTEGERS)
]


def compile_file(file: IRFile, **options: Any) -> ir_exec.CompiledModel:
    return ir_exec.compile_model(ir_exec.read_model(file.xml, weights=file.weights), **options)


def output(file: IRFile, **options: Any) -> Array:
    result: Array = compile_file(file, **options)(list(file.inputs))[0]
    return result


def assert_not_expanded(file: IRFile) -> None:
    """The run takes less than the expanded matrix."""
    assert compile_file(file, weight_mode="keep").memory_plan().peak < 4 * ROWS * COLUMNS
    assert compile_file(file, weight_mode="keep").memory_plan().constants < ROWS * COLUMNS


def assert_close(actual: Array, expected: Array, tolerance: float = 2e-6) -> None:
    np.testing.assert_allclose(actual, expected, rtol=0, atol=tolerance * max(float(np.abs(expected).max()), 1e-3))


@pytest.mark.broad(keep=60)
@pytest.mark.parametrize(("layout", "element_type"), ALL)
@pytest.mark.parametrize("block", [2**10, 2**18])
def test_products_are_those_of_expanded_weights(
    layout: Callable[..., IRFile], element_type: str, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_chunks(monkeypatch, "WINDOW_ELEMENTS", block)
    in_chunks(monkeypatch, "LEAST_WINDOWS", 16)
    file = layout(element_type)
    assert_not_expanded(file)
    assert_close(output(file, weight_mode="keep"), output(file))


@pytest.mark.broad(keep=60)
@pytest.mark.parametrize(("layout", "element_type"), ALL)
@pytest.mark.parametrize("tokens", [1, 40])
def test_products_are_independent_of_chunks(layout: Callable[..., IRFile], element_type: str, tokens: int) -> None:
    file = layout(element_type, random_array(3, tokens, COLUMNS))
    expected = output(file)
    for chosen in (without_cuts(), cut(3), mix(f"{layout.__name__} {element_type} {tokens}")):
        with replace_thresholds(chosen):
            serial, shared = [output(file, weight_mode="keep", threads=threads) for threads in (1, 3)]
        assert_close(serial, expected)
        assert np.array_equal(serial, shared), "the result depends on the number of threads"


@pytest.mark.conformance
@pytest.mark.parametrize(
    ("layout", "element_type"), [param for param in ALL if param.values[1] in (*INTEGERS, *FLOATS, "nf4")]
)
def test_products_are_those_of_openvino(layout: Callable[..., IRFile], element_type: str, oracle: Oracle) -> None:
    file = layout(element_type)
    answer = oracle.values(file, "plugin")
    assert isinstance(answer, tuple), answer
    # OpenVINO's plugin multiplies codes by scales in other orders, and rounds some scales to f16.
    assert_close(output(file, weight_mode="keep"), answer[0], 2e-3)


@pytest.mark.parametrize("layout", [grouped_weights, by_channel, without_scale, grouped_in_columns])
@pytest.mark.parametrize("element_type", ["u4", "i8", "f16"])
@pytest.mark.parametrize(
    "shape", [(COLUMNS,), (1, COLUMNS), (2, 1, COLUMNS), (40, COLUMNS), (300, COLUMNS), (0, COLUMNS)]
)
def test_numbers_of_tokens(layout: Callable[..., IRFile], element_type: str, shape: tuple[int, ...]) -> None:
    file = layout(element_type, random_array(*shape))
    compressed, expanded = output(file, weight_mode="keep"), output(file)
    assert compressed.shape == expanded.shape
    if compressed.size:
        assert_close(compressed, expanded)


@pytest.mark.parametrize("element_type", FLOATS)
def test_a_row_of_an_odd_number_of_floats(element_type: str) -> None:
    net = Network()
    file = net.product(net.convert(codes(element_type, (ROWS, 63)), "f32"), transposed=True, x=random_array(2, 63))
    assert_not_expanded(file)
    assert_close(output(file, weight_mode="keep"), output(file))


def test_f16_nan_infinite_and_subnormal_codes() -> None:
    weights = codes("f16", (ROWS, COLUMNS))
    weights[0, :3] = 6e-8, -6e-8, 3e-6
    weights[1, 0] = 65504
    plain = Network()
    file = plain.product(plain.convert(weights, "f32"), transposed=True, x=X)
    assert_close(output(file, weight_mode="keep")[..., 0], output(file)[..., 0])
    weights[2, 0], weights[3, 0] = np.inf, np.nan
    odd = Network()
    file = odd.product(odd.convert(weights, "f32"), transposed=True, x=X)
    compressed, expanded = output(file, weight_mode="keep"), output(file)
    assert np.isinf(compressed[..., 2]).all()
    assert np.isnan(compressed[..., 3]).all()
    assert_close(compressed[..., 4:], expanded[..., 4:])


@pytest.mark.parametrize("x", [1e25, 1e-20, 1e-30])
def test_f16_times_very_large_and_small_numbers(x: float) -> None:
    file = without_scale("f16", X * np.float32(x))
    compressed, expanded = output(file, weight_mode="keep"), output(file)
    assert np.isfinite(compressed).all()
    np.testing.assert_allclose(compressed, expanded, rtol=0, atol=2e-6 * float(np.abs(expanded).max()))


@pytest.mark.parametrize("element_type", [*CODES, *FLOATS])
@pytest.mark.parametrize("opset", [1, 7, 8])
def test_rows_that_gather_takes(element_type: str, opset: int) -> None:
    net, shape = Network(), (ROWS, COLUMNS // GROUP)
    zero = codes(element_type, (*shape, 1)) if element_type in INTEGERS else None
    table = net.decompress(codes(element_type, (*shape, GROUP)), numbers((*shape, 1)), zero, (ROWS, COLUMNS))
    places = np.array([[0, ROWS - 1], [5, -1]])
    if opset == 8:
        places[0, 0] = ROWS
    net.result(net.op("Gather", table, net.parameter("2,2", "i64"), net.const(np.array(0)), opset=opset))
    file = net.file(places)
    assert_not_expanded(file)
    np.testing.assert_array_equal(output(file, weight_mode="keep"), output(file))


def test_out_of_range_index_is_a_layer_error() -> None:
    net = Network()
    table = net.convert(codes("f16", (ROWS, COLUMNS)), "f32")
    net.result(net.op("Gather", table, net.parameter("1", "i64"), net.const(np.array(0)), opset=7))
    with pytest.raises(ir_exec.IRError, match="Gather"):
        output(net.file(np.array([ROWS])), weight_mode="keep")


def test_results_do_not_depend_on_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    in_chunks(monkeypatch, "WINDOW_ELEMENTS", 2**10)
    in_chunks(monkeypatch, "SHARED_PRODUCT_NANOSECONDS", 1)
    for file in (
        grouped_weights("u4"),
        grouped_weights("u4", random_array(20, COLUMNS)),
        in_columns("i8"),
        without_scale("f16"),
    ):
        np.testing.assert_array_equal(
            output(file, weight_mode="keep", threads=1), output(file, weight_mode="keep", threads=4)
        )


def test_weights_with_other_readers_stay() -> None:
    net = Network()
    weights = net.convert(codes("f16", (ROWS, COLUMNS)), "f32")
    net.result(weights)
    file = net.product(weights, transposed=True, x=X)
    compressed, expanded = (list(compile_file(file, weight_mode=how)([X]).values()) for how in ("keep", "expand"))
    np.testing.assert_array_equal(compressed[0], expanded[0])
    assert_close(compressed[1], expanded[1])


def test_an_observer_sees_every_layer() -> None:
    file = grouped_weights("u4")
    model = ir_exec.read_model(file.xml, weights=file.weights)
    run = ir_exec.compile_model(model, weight_mode="keep")
    seen: list[str] = []
    run(list(file.inputs), observe=lambda node, inputs, outputs: seen.append(node.type))
    assert seen.count("Multiply") == seen.count("Subtract") == seen.count("MatMul") == 1


def test_scales_along_the_sum_are_distinguished() -> None:
    """(codes * scale [1, COLUMNS]) is no scale of rows: the layers run as they are."""
    net = Network()
    weights = net.decompress(codes("u8", (ROWS, COLUMNS)), numbers((1, COLUMNS)), None)
    file = net.product(weights, transposed=True, x=X)
    assert_close(output(file, weight_mode="keep"), output(file))


def test_the_precision_of_the_file_rounds_every_layer() -> None:
    file = grouped_weights("u4")
    compressed, expanded = (output(file, weight_mode=how, precision="file") for how in ("keep", "expand"))
    assert_close(compressed, expanded)


@pytest.mark.parametrize("name", ["llama_int4_asym", "bert_tiny_fp16"])
def test_exported_networks(name: str) -> None:
    path = Path(NETWORKS[name])
    with np.load(path.with_suffix(".inputs.npz")) as stored:
        inputs = [stored[f"in{i}"] for i in range(len(stored.files))]
    with np.load(path.with_suffix(".outputs.npz")) as stored:
        expected = [stored[name] for name in stored.files]
    compressed = ir_exec.compile_model(path, weight_mode="keep")
    for actual, other in zip(compressed(inputs).values(), expected, strict=True):
        np.testing.assert_allclose(actual, other, rtol=1e-3, atol=1e-4)


def test_reversed_axes_are_no_matrix_transpose() -> None:
    stored = codes("u8", (96, 64, 2))
    x = np.random.default_rng(1).normal(size=(2, 3, 64)).astype(np.float32)
    net = NetworkText()
    weights = net.op("Convert", net.const(stored), destination_type="f32")
    turned = net.op("Transpose", weights, net.const(np.zeros(0, np.int64)))
    net.result(net.op("MatMul", net.parameter("2,3,64"), turned, transpose_a="false", transpose_b="false"))
    actual = compile_file(net.file(), weight_mode="keep")([x])[0]
    assert_close(actual, x @ stored.transpose().astype(np.float32))


def test_rounded_numbers_are_no_compressed_weights() -> None:
    wide = np.random.default_rng(0).normal(size=(64, 96))
    x = np.random.default_rng(1).normal(size=(3, 64)).astype(np.float32)
    net = NetworkText()
    weights = net.const(wide)
    for element_type in ("f16", "f32"):
        weights = net.op("Convert", weights, destination_type=element_type)
    net.result(net.op("MatMul", net.parameter("3,64"), weights, transpose_a="false", transpose_b="false"))
    actual = compile_file(net.file(), weight_mode="keep")([x])[0]
    assert_close(actual, x @ wide.astype(np.float16).astype(np.float32))


def split_by_a_reshape(element_type: str, x: Array = X) -> IRFile:
    """The groups are an axis only between two Reshapes."""
    net, shape = Network(), (ROWS, COLUMNS // GROUP)

    def reshape(data: Output, *to: int) -> Output:
        return net.op("Reshape", data, net.const(np.array(to)), special_zero="false")

    split = net.convert(reshape(net.const(codes(element_type, (ROWS, COLUMNS))), *shape, GROUP))
    rows = reshape(net.op("Multiply", split, net.const(numbers((*shape, 1)))), ROWS, COLUMNS)
    return net.product(net.convert(rows, "f32"), transposed=True, x=x)


@pytest.mark.parametrize("element_type", [*INTEGERS, "nf4", "f8e4m3"])
def test_groups_that_a_reshape_of_codes_makes(element_type: str) -> None:
    file = split_by_a_reshape(element_type)
    assert_not_expanded(file)
    assert_close(output(file, weight_mode="keep"), output(file))


def reason_layers(file: IRFile) -> list[str]:
    """The layers because of which weights are expanded in each run."""
    passes = compile_file(file, weight_mode="keep").explain().passes
    return [near.layer for entry in passes if entry.name == "use_compressed_weights" for near in entry.skipped]


def test_expanding_layer_is_named() -> None:
    assert reason_layers(grouped_weights("u4")) == []
    net = Network()
    halved = net.op("Divide", net.convert(codes("u8", (ROWS, COLUMNS)), "f32"), net.const(np.float32(2)))
    divided = net.product(halved, transposed=True, x=X)
    assert len(reason_layers(divided)) == 1
    net = Network()
    weights = net.decompress(codes("u8", (ROWS, COLUMNS)), numbers((1, COLUMNS)), None)
    assert len(reason_layers(net.product(weights, transposed=True, x=X))) == 1


def test_codes_without_kernel_are_the_reason() -> None:
    x = build.parameter([3, COLUMNS], "f32", name="x")
    stored = build.constant(np.ones((ROWS, COLUMNS), np.int64), "u2", name="codes")
    weights = build.multiply(build.convert(stored, "f32"), np.float32(0.5))
    model = build.model(build.result(build.matmul(x, weights, transpose_b=True), name="y"))
    passes = ir_exec.compile_model(model, weight_mode="keep").explain().passes
    assert [near.layer for step in passes for near in step.skipped] == ["codes"]


def test_product_of_two_inputs_has_no_reason() -> None:
    net = NetworkText()
    data = net.parameter("3,64")
    net.result(net.op("MatMul", data, net.parameter("64,5"), transpose_a="false", transpose_b="false"))
    assert reason_layers(net.file(X[:, 0], np.ones((64, 5), np.float32))) == []


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_of_the_quantizer(name: str) -> None:
    """Powers of two as scales are f32 in the run."""
    x = build.parameter([3, COLUMNS], "f32", name="x")
    weight = build.constant(random_array(ROWS, COLUMNS), name="weight")
    model = build.model(build.result(build.matmul(x, weight, transpose_b=True), name="y"))
    compressed, _ = compress_weights(model, Compression(name, GROUP, all_layers=True))
    compact, expanded = (ir_exec.compile_model(compressed, weight_mode=mode) for mode in ("keep", "expand"))
    (product,) = [layer for layer in compact.explain().layers if layer.type == "MatMul"]
    assert product.made_by == "use_compressed_weights"
    data = random_array(3, COLUMNS)
    assert_close(compact([data])[0], expanded([data])[0])


@pytest.mark.parametrize("element_type", ["f4e2m1", "u4"])
def test_scales_of_scales(element_type: str) -> None:
    net, shape = Network(), (ROWS, COLUMNS // GROUP)
    scales = net.op("Multiply", net.convert(codes("f8e4m3", (*shape, 1)), "f32"), net.const(np.float32(0.37)))
    weights = net.op("Multiply", net.convert(codes(element_type, (*shape, GROUP)), "f32"), scales)
    rows = net.op("Reshape", weights, net.const(np.array((ROWS, COLUMNS))), special_zero="false")
    file = net.product(rows, transposed=True, x=X)
    assert_not_expanded(file)
    assert reason_layers(file) == []
    assert_close(output(file, weight_mode="keep"), output(file))


def test_computed_scales_larger_than_codes() -> None:
    net = Network()
    scales = net.op("Multiply", net.convert(numbers((ROWS, 4, 1)), "f32"), net.const(np.float32(0.37)))
    weights = net.op("Multiply", net.convert(codes("u4", (ROWS, 4, 4)), "f32"), scales)
    rows = net.op("Reshape", weights, net.const(np.array((ROWS, 16))), special_zero="false")
    file = net.product(rows, transposed=True, x=random_array(3, 16))
    assert len(reason_layers(file)) == 1
    assert_close(output(file, weight_mode="keep"), output(file))
