"""Names that OpenVINO refuses, each case checked against it: collisions in version 10, and repeated rt_info; odd
elements of constants."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ir_exec import Report, build, check_model, read_model
from ir_exec.check import Diagnostic
from ir_exec.check.structure import LARGEST_BY_DEFAULT
from ir_exec.codes import Code
from ir_exec.types import Array, ElementType
from tests.conformance.build import IRFile
from tests.conformance.oracle import Oracle, Refused
from tests.helpers.facts import fault_with
from tests.helpers.ir_text import const, layer, net, parameter, port, result

DIMS = (2, 3)


def is_refused(oracle: Oracle, xml: bytes) -> bool:
    return isinstance(oracle.types(IRFile(xml, b"", ())), Refused)


def places(xml: bytes, code: Code) -> list[str | None]:
    return [error.location.layer_id for error in check_model(xml).errors if error.code == code]


def parameter_layer(id: int, name: str, names: str = "", element_type: str = "f32") -> str:
    data = f'shape="2,3" element_type="{element_type}"'
    return layer(id, "Parameter", name=name, data=data, outputs=[port(0, element_type, DIMS, names)])


def relu(id: int, name: str, names: str = "") -> str:
    return layer(id, "ReLU", name=name, inputs=[port(0, "f32", DIMS)], outputs=[port(1, "f32", DIMS, names)])


def add(id: int, name: str) -> str:
    inputs = [port(0, "f32", DIMS), port(1, "f32", DIMS)]
    return layer(id, "Add", name=name, inputs=inputs, outputs=[port(2, "f32", DIMS)])


IN, OUT = (0, 0, 1, 0), (1, 1, 2, 0)
TWO_INPUTS = [(0, 0, 2, 0), (1, 0, 2, 1), (2, 2, 3, 0)]

NAMED = {
    "two outputs, one value": (
        [parameter_layer(0, "x"), relu(1, "y"), result(2), result(3)],
        [IN, OUT, (1, 1, 3, 0)],
        [],
    ),
    "two outputs, one named value": (
        [parameter_layer(0, "x"), relu(1, "y", "t"), result(2), result(3)],
        [IN, OUT, (1, 1, 3, 0)],
        ["1"],
    ),
    "an input that is an output": ([parameter_layer(0, "x"), result(1)], [IN], []),
    "a named input that is an output": ([parameter_layer(0, "x", "t"), result(1)], [IN], ["0"]),
    "a tensor named as its layer": ([parameter_layer(0, "x", "x"), relu(1, "y", "y"), result(2)], [IN, OUT], []),
    "an input's tensor, an output's layer": ([parameter_layer(0, "x", "y"), relu(1, "y"), result(2)], [IN, OUT], ["1"]),
    "an output's tensor, an input's layer": (
        [parameter_layer(0, "x", "t"), relu(1, "y", "x"), result(2)],
        [IN, OUT],
        ["0"],
    ),
    "an inner tensor, an input's layer": (
        [parameter_layer(0, "x", "t"), relu(1, "y", "x"), relu(2, "z"), result(3)],
        [IN, OUT, (2, 1, 3, 0)],
        [],
    ),
    "two inputs, one tensor name": (
        [parameter_layer(0, "x", "t"), parameter_layer(1, "y", "t"), add(2, "z"), result(3)],
        TWO_INPUTS,
        [],
    ),
    "two inputs, one layer name": (
        [parameter_layer(0, "x"), parameter_layer(1, "x"), add(2, "z"), result(3)],
        TWO_INPUTS,
        ["1"],
    ),
    "two inputs, names crossed": (
        [parameter_layer(0, "x", "y"), parameter_layer(1, "y", "x"), add(2, "z"), result(3)],
        TWO_INPUTS,
        ["0", "1"],
    ),
    "two outputs, one layer name": (
        [parameter_layer(0, "x"), relu(1, "y"), result(2), relu(4, "y"), result(3)],
        [IN, OUT, (0, 0, 4, 0), (4, 1, 3, 0)],
        ["4"],
    ),
}


@pytest.mark.parametrize("name", NAMED)
def test_names_of_version_10(oracle: Oracle, name: str) -> None:
    layers, ends, at = NAMED[name]
    xml = net(layers, ends, version=10)
    assert is_refused(oracle, xml) == bool(at)
    assert places(xml, Code.colliding_names) == at
    read_model(xml)  # our own runs need no names
    assert not places(net(layers, ends), Code.colliding_names)


KNOWN = ["decompression", "fused_names", "layout", "memory_type", "old_api_map_order", "precise", "preprocessing"]

FUSED = '<attribute name="fused_names" version="0" value="a"/>'


def with_rt_info(marks: str, version: int = 11, anchor: bytes = b'type="ReLU" version="opset1">') -> bytes:
    xml = net([parameter_layer(0, "x"), relu(1, "y"), result(2)], [IN, OUT], version=version)
    return xml.replace(anchor, anchor + f"<rt_info>{marks}</rt_info>".encode())


@pytest.mark.parametrize("name", [*KNOWN, "primitives_priority", "our_own", "strides_prop", "fused_names_0"])
def test_an_attribute_twice(oracle: Oracle, name: str) -> None:
    twice = with_rt_info(f'<attribute name="{name}" version="0" value="1"/>' * 2)
    assert is_refused(oracle, twice) == (name in [*KNOWN, "primitives_priority"])
    assert places(twice, Code.repeated_rt_info) == (["1"] if is_refused(oracle, twice) else [])


def test_an_element_type_twice(oracle: Oracle) -> None:
    twice = with_rt_info('<attribute name="old_api_map_element_type" version="0" value="f16"/>' * 2)
    assert is_refused(oracle, twice)
    assert places(twice, Code.repeated_rt_info) == ["1"]


def test_at_a_port(oracle: Oracle) -> None:
    mark = '<attribute name="layout" version="0" layout="[N,C]"/>'
    at_port = with_rt_info(mark * 2, anchor=b'<port id="1" precision="FP32">')
    assert is_refused(oracle, at_port)
    assert places(at_port, Code.repeated_rt_info) == ["1"]
    assert not places(with_rt_info(mark, anchor=b'<port id="1" precision="FP32">'), Code.repeated_rt_info)


@pytest.mark.parametrize(
    ("marks", "version"),
    [
        (FUSED + FUSED.replace('"0"', '"1"'), 11),
        (FUSED * 2, 10),
        ('<fused_names version="0" value="a"/>' * 2, 11),
    ],
)
def test_what_may_stand_twice(oracle: Oracle, marks: str, version: int) -> None:
    xml = with_rt_info(marks, version)
    assert not is_refused(oracle, xml)
    assert not places(xml, Code.repeated_rt_info)


BAD = Path(__file__).parents[1] / "bad"
TEXT = (BAD / "IR208-nan-in-weights.xml").read_text("utf-8")


def check(array: Array, *, offset: int = 0, everything: bool = False) -> Report:
    """A network that adds a constant to x of two rows."""
    element_type = ElementType.of(array)
    count, size = array.size, array.nbytes
    text = TEXT.replace('shape="3" offset="0" size="12"', f'shape="{count}" offset="{offset}" size="{size}"')
    text = text.replace("2,3", f"2,{count}").replace("<dim>3</dim>", f"<dim>{count}</dim>")
    text = text.replace('"f32"', f'"{element_type}"').replace('"FP32"', f'"{element_type.precision}"')
    return check_model(text.encode(), weights=b"\0" * offset + array.tobytes(), weights_values=everything)


def codes(report: Report) -> list[str]:
    return [diagnostic.code for diagnostic in report.diagnostics]


@pytest.mark.parametrize("name", ["f16", "bf16", "f32", "f64"])
@pytest.mark.parametrize("offset", [0, 3])
def test_every_float_type(name: str, offset: int) -> None:
    dtype = ElementType.parse(name).dtype
    assert codes(check(np.array([1, -2, 0], dtype), offset=offset)) == []
    assert codes(check(np.array([1, np.nan, 0], dtype), offset=offset)) == [Code.nan_in_weights]
    assert codes(check(np.array([-np.inf, np.inf, 0], dtype), offset=offset)) == [Code.infinity_in_weights]
    both = check(np.array([-np.inf, np.nan, np.nan], dtype), offset=offset)
    assert list(both.diagnostics) == [fault_with(2, 3, "NaN"), fault_with(1, 3)]


def test_integers_are_never_odd() -> None:
    report = check(np.array([0x7FC00000, 2, 3], np.int32))
    assert not {Code.nan_in_weights, Code.infinity_in_weights, Code.saturated_f16} & set(codes(report))


def test_saturated_f16() -> None:
    assert codes(check(np.array([65504, 1, -65504], np.float16))) == [Code.saturated_f16]
    assert codes(check(np.array([65503, 1, 65472], np.float16))) == [Code.saturated_f16]  # rounds to 65504
    assert codes(check(np.array([65472, 1, -65472], np.float16))) == []
    assert codes(check(np.array([-65504, -65504], np.float16))) == []  # a mask


def test_large_constants_are_looked_at_on_request() -> None:
    array = np.zeros(LARGEST_BY_DEFAULT // 4 + 1, np.float32)
    array[-1] = np.nan
    assert codes(check(array)) == []
    assert codes(check(array, everything=True)) == [Code.nan_in_weights]
    assert codes(check(array[1:])) == [Code.nan_in_weights]


def test_more_than_64_mib_require_consent() -> None:
    """Constants may overlap: a small .xml can name the bytes of the .bin as often as it likes."""
    size, count = LARGEST_BY_DEFAULT, 67
    weights = np.zeros(size // 4 + count, np.float32)
    weights[count] = np.nan  # in all of them
    layers = [const(2 + index, "f32", (size // 4,), 4 * index, size) for index in range(count)]
    raw = net([parameter(0, dims=(2,)), result(1, dims=(2,)), *layers], [(0, 0, 1, 0)])
    assert codes(check_model(raw, weights=weights.tobytes())).count(Code.nan_in_weights) == 64
    everything = check_model(raw, weights=weights.tobytes(), weights_values=True)
    assert codes(everything).count(Code.nan_in_weights) == count


def constants(*ranges: tuple[int, int], sizes: int = 64) -> list[tuple[str, str]]:
    """The severity and id of each overlap between constants of u8 with these offsets and sizes; all are outputs."""
    layers, edges = [], []
    for index, (offset, size) in enumerate(ranges):
        layers.append(const(2 * index, "u8", (size,), offset, size))
        layers.append(result(2 * index + 1, "u8", (size,)))
        edges.append((2 * index, 0, 2 * index + 1, 0))
    report = check_model(net(layers, edges), weights=bytes(sizes))
    overlaps = [diagnostic for diagnostic in report.diagnostics if diagnostic.code == Code.overlapping_constants]
    return [(diagnostic.severity, diagnostic.location.layer_id or "") for diagnostic in overlaps]


class TestOverlappingConstants:
    @pytest.mark.parametrize(
        "ranges",
        [
            ((0, 8), (8, 8), (16, 48)),
            ((0, 8), (0, 8), (8, 8), (8, 8)),
            ((8, 8), (0, 8)),
            ((0, 8), (8, 0), (4, 0), (8, 8)),
            ((0, 8), (40, 8)),
        ],
    )
    def test_separate_and_shared_bytes(self, ranges: tuple[tuple[int, int], ...]) -> None:
        assert constants(*ranges) == []

    @pytest.mark.parametrize(
        ("ranges", "ids"),
        [
            (((0, 16), (12, 8)), ["2"]),
            (((12, 8), (0, 16)), ["0"]),
            (((0, 32), (8, 4), (32, 8)), ["2"]),
            (((0, 32), (8, 4), (20, 4)), ["2", "4"]),
            (((0, 4), (0, 8)), ["0"]),
            (((0, 8), (4, 8)), ["0"]),
            (((0, 16), (16, 8), (12, 8)), ["4"]),
            (((12, 8), (0, 16), (16, 8)), ["0"]),
        ],
    )
    def test_the_smaller_one_is_reported(self, ranges: tuple[tuple[int, int], ...], ids: list[str]) -> None:
        assert constants(*ranges) == [("warning", id) for id in ids]

    def test_overlap_is_reported_before_an_absurd_axis(self) -> None:
        """An edited offset in a sample: the axis is then part of the weights."""
        path = Path(__file__).parents[1] / "bad" / "IR213-overlapping-constants.xml"
        weights = bytearray(path.with_suffix(".bin").read_bytes())
        report = check_model(path)
        assert [error.code for error in report.errors] == [Code.overlapping_constants, Code.axis_out_of_range]
        moved = path.read_bytes().replace(b'offset="4" size="8"', b'offset="12" size="8"')
        assert check_model(moved, weights=bytes(weights)).diagnostics == ()


TOKENIZER = "openvino_tokenizers_version"


@pytest.mark.parametrize(
    ("type_name", "is_marked", "is_error"),
    [
        ("RegexSplitt", True, True),
        ("Wordpiece", True, True),
        ("RegexSplitt", False, False),
        ("StringToHashBucket", True, False),
    ],
)
def test_operators_missing_in_tokenizer_releases(type_name: str, is_marked: bool, is_error: bool) -> None:
    operator = layer(1, type_name, opset="extension", inputs=[port(0, "f32", DIMS)], outputs=[port(1, "f32", DIMS)])
    marks = f'<rt_info><{TOKENIZER} value="2026.4"/></rt_info>' if is_marked else ""
    report = check_model(net([parameter_layer(0, "x"), operator, result(2)], [IN, OUT], tail=marks))
    codes = [(error.code, error.location.layer_id) for error in report.errors]
    assert ((Code.unknown_type, "1") in codes) is is_error


@pytest.mark.parametrize(("size", "severity"), [(64, "warning"), (16, "info"), (4, None)])
@pytest.mark.parametrize(("value", "code"), [(0.0, Code.zero_weights), (0.5, Code.constant_weights)])
def test_weights_of_equal_elements(value: float, code: Code, size: int, severity: str | None) -> None:
    diagnostics = _check_product(np.full((size, size), value, np.float32))
    expected = [] if severity is None else [(code, severity)]
    assert [(diagnostic.code, diagnostic.severity) for diagnostic in diagnostics] == expected


def test_means_sums_and_other_weights_are_not_reported() -> None:
    other = np.zeros((64, 64), np.float32)
    other[-1, -1] = 1
    for array in (np.full((64, 64), 1 / 64, np.float32), np.ones((64, 64), np.float32), other):
        assert not _check_product(array)


def _check_product(weight: Array) -> tuple[Diagnostic, ...]:
    """The findings on a product with a weight."""
    data = build.parameter([2, len(weight)], name="x")
    return check_model(build.model(build.matmul(data, build.constant(weight), transpose_b=True))).diagnostics
