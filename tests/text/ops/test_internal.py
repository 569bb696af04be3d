"""Operators that OpenVINO makes for itself: named as what they are, and run where their meaning is published."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
import pytest

import ir_exec
from ir_exec import UnsupportedError, build
from ir_exec.ops.base.known_extensions import EXTENSION_MODULES
from ir_exec.types import Array, ElementType
from tests.helpers.network_text import NetworkText
from tests.text.openvino import OpenVINO

INTERNAL = "ie_internal_opset"


class Case(NamedTuple):
    """A layer: its type, inputs, number of outputs and attributes."""

    type: str
    inputs: Sequence[Array]
    outputs: int = 1
    version: str = INTERNAL
    attributes: dict[str, Any] = {}  # noqa: RUF012  # never changed

    def __str__(self) -> str:
        return "-".join([self.type, *[f"{key.rpartition('.')[2]}={value}" for key, value in self.attributes.items()]])


def draw(*shape: int) -> Array:
    return np.random.default_rng(sum(shape)).normal(size=shape).astype(np.float32)


def angles(positions: int, pairs: int) -> Array:
    return np.outer(np.arange(positions), 10.0 ** -(np.arange(pairs) / pairs)).astype(np.float32)


def tables(positions: int, channels: int) -> tuple[Array, Array]:
    """Cosines and sines, [positions, channels], alike in both halves."""
    angles_of_channels = np.tile(angles(positions, channels // 2), 2)
    return np.cos(angles_of_channels), np.sin(angles_of_channels)


def rope(*inputs: Array, **config: object) -> Case:
    texts = {f"config.{name}": str(value).lower() for name, value in config.items()}
    return Case("RoPE", inputs, attributes={"config.rotary_ndims": 8, **texts})


COS, SIN = tables(3, 8)
LONG_COS, LONG_SIN = tables(9, 8)
POSITIONS = np.array([[2, 0, 1], [5, 6, 7]], np.int32)
SIDE_BY_SIDE = np.concatenate([np.sin(angles(3, 4)), np.cos(angles(3, 4))], -1)[np.newaxis]
PAIRS = np.stack([np.cos(angles(3, 4)), np.sin(angles(3, 4))], -1)[:, np.newaxis]
GLM = {"is_chatglm": True, "head_cnt": 2, "head_size": 12}
QWEN = {"is_qwen": True, "head_cnt": 2, "head_size": 12}

CASES = [
    Case("RMS", [draw(2, 3, 64), draw(64)], attributes={"epsilon": 0.5, "output_type": "f32"}),
    Case("RMS", [draw(2, 3, 64), draw(64)], attributes={"epsilon": 1e-5, "output_type": "dynamic"}),
    rope(draw(2, 2, 3, 8), COS[None, None], SIN[None, None]),
    rope(draw(2, 2, 3, 12), COS[None, None], SIN[None, None], slice_start=0, slice_stop=12),
    rope(draw(2, 3, 2, 20), COS[None, None], SIN[None, None], input_trans0213=True, slice_start=4, slice_stop=16),
    rope(draw(2, 3, 2, 8), COS, SIN, input_trans0213=True),
    rope(draw(2, 2, 3, 8), LONG_COS[None, None], LONG_SIN[None, None], POSITIONS, gather_position_arg_id=3),
    rope(
        draw(2, 2, 3, 8),
        *[LONG_COS[None, None], LONG_SIN[None, None], POSITIONS[:, None, :, None]],
        gather_position_arg_id=3,
    ),
    rope(draw(2, 3, 2, 12), SIDE_BY_SIDE, SIDE_BY_SIDE, is_interleaved=True, output_trans0213=True),
    rope(draw(2, 3, 2, 8), SIDE_BY_SIDE, SIDE_BY_SIDE, is_interleaved=True),
    rope(draw(3, 2, 24), PAIRS, PAIRS, use_rope_cache=True, **GLM),
    rope(draw(3, 2, 50), PAIRS, PAIRS, use_rope_cache=True, slice_start=24, slice_stop=48, **GLM),
    rope(
        draw(2, 3, 24),
        *[PAIRS.swapaxes(0, 1), PAIRS.swapaxes(0, 1)],
        use_rope_cache=True,
        support_2d_rope=True,
        **GLM,
    ),
    rope(
        draw(2, 3, 24),
        *[np.cos(angles(2, 4))[:, None, None], np.sin(angles(2, 4))[:, None, None]],
        support_2d_rope=True,
        **GLM,
    ),
    rope(draw(2, 3, 24), tables(5, 8)[0][None, :, None], tables(5, 8)[1][None, :, None], **QWEN),
    rope(
        draw(2, 3, 72),
        *[LONG_COS[None, :, None], LONG_SIN[None, :, None], POSITIONS],
        slice_start=24,
        slice_stop=48,
        gather_position_arg_id=3,
        **QWEN,
    ),
    rope(draw(2, 3, 8), COS[None], SIN[None], support_3d_rope=True),
    *[
        Case(
            "GatedDeltaNet",
            [
                *[draw(2, 3, heads, 16), draw(2, 3, heads, 16) / 4, draw(2, 3, 4, 8), draw(2, 4, 16, 8)],
                *[-abs(draw(2, 3, 4)), abs(draw(2, 3, 4))],
            ],
            2,
            "extension",
            {"fuse_qk_l2norm": fuse, "q_l2_norm_eps": 1e-6, "k_l2_norm_eps": 1e-3},
        )
        for heads in (4, 2)
        for fuse in ("true", "false")
    ],
    Case(
        "SelectiveSSM",
        [
            *[-abs(draw(4)), abs(draw(2, 3, 4)), draw(2, 3, 2, 16)],
            *[draw(2, 3, 4, 8), draw(2, 3, 2, 16), draw(2, 4, 8, 16)],
        ],
        2,
        "extension",
    ),
]

TOLERANCES = {"f32": 2e-6, "f16": 4e-3, "bf16": 3e-2}
"""Of the larger of 1 and the expected value. OpenVINO rounds within some kernels for types of 16 bits."""


def cast(case: Case, element_type: str) -> Case:
    """The case with floats of this type; angles stay f32, as tables of the runtime are."""
    dtype = {"f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16}[element_type]
    some = case.inputs[:1] if case.type == "RoPE" else case.inputs
    inputs = [array.astype(dtype) if any(array is candidate for candidate in some) else array for array in case.inputs]
    named = {"output_type": element_type} if case.attributes.get("output_type") == "f32" else {}
    return case._replace(inputs=inputs, attributes={**case.attributes, **named})


def network(case: Case, form: str = "static") -> NetworkText:
    net = NetworkText()
    values = []
    for array in case.inputs:
        shapes = {"static": ",".join(map(str, array.shape)), "any dims": ",".join("?" * array.ndim), "any rank": "..."}
        values.append(net.parameter(shapes[form], ElementType.of(array).name))
    for output in net.outputs(case.outputs, case.type, *values, opset=case.version, **case.attributes):
        net.result(output)
    return net


def check(case: Case) -> ir_exec.Report:
    file = network(case).file()
    return ir_exec.check_model(file.xml, weights=file.weights)


def model(net: NetworkText) -> ir_exec.Model:
    file = net.file()
    return ir_exec.read_model(file.xml, weights=file.weights)


@pytest.mark.parametrize("element_type", ["f32", "f16", "bf16"])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_values_are_those_of_openvino(case: Case, element_type: str, openvino: OpenVINO, tmp_path: Path) -> None:
    case = cast(case, element_type)
    file = network(case).file()
    path = tmp_path / "net.xml"
    path.write_bytes(file.xml)
    path.with_suffix(".bin").write_bytes(file.weights)
    theirs = openvino.run(path, case.inputs, is_compiled=True)
    for form in ("static", "any dims", "any rank"):
        ours = ir_exec.compile_model(model(network(case, form)))(list(case.inputs)).values()
        for actual, expected in zip(ours, theirs, strict=True):
            assert actual.shape == expected.shape
            error = np.abs(actual.astype(np.float32) - expected) / np.maximum(1, np.abs(expected))
            assert np.max(error) <= TOLERANCES[element_type]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_types_of_static_inputs_match_values(case: Case) -> None:
    network_model = model(network(case))
    values = list(ir_exec.compile_model(network_model)(list(case.inputs)).values())
    assert [output.shape.static for output in network_model.outputs] == [value.shape for value in values]


def test_every_operator_has_a_case() -> None:
    modules = {"grouped_attention", "internal", "recurrences"}
    operators = {name for name, module in EXTENSION_MODULES.items() if module.rpartition(".")[2] in modules}
    assert {case.type.lower() for case in CASES} | {"glu", "groupqueryattention"} == operators


@pytest.mark.parametrize("axis", [-1, 1])
def test_glu_equals_its_parts(axis: int, openvino: OpenVINO, tmp_path: Path) -> None:
    data = draw(2, 6, 6)
    case = Case("GLU", [data], attributes={"axis": axis, "split_lengths": 3, "output_type": "f32"})
    x = build.parameter([2, 6, 6], name="x")
    gate, value = build.variadic_split(x, axis, np.array([3, 3], np.int64))
    build.model(build.result(build.multiply(build.swish(gate), value))).save(tmp_path / "net.xml")
    (expected,) = openvino.run(tmp_path / "net.xml", [data])
    (actual,) = ir_exec.compile_model(model(network(case, "any dims")))([data]).values()
    np.testing.assert_allclose(actual, expected, rtol=1e-5, atol=1e-6)


def test_a_table_of_half_the_channels() -> None:
    data = draw(2, 2, 3, 8)
    half = [COS[None, None, :, :4], SIN[None, None, :, :4]]
    (actual,) = ir_exec.compile_model(model(network(rope(data, *half, cos_sin_ndims=4))))([data, *half]).values()
    complete_tables = [COS[None, None], SIN[None, None]]
    (expected,) = ir_exec.compile_model(model(network(rope(data, *complete_tables))))([data, *complete_tables]).values()
    assert np.array_equal(actual, expected)


@pytest.mark.parametrize(
    ("case", "code"),
    [
        (rope(draw(2, 3, 8), COS, SIN), "IR501"),
        (rope(draw(2, 2, 3, 8), COS, SIN, rotary_ndims=7), "IR302"),
        (rope(draw(2, 2, 3, 8), COS, SIN, gather_position_arg_id=3), "IR505"),
        (Case("GLU", [draw(2, 3)], attributes={"axis": 1, "split_lengths": 4, "output_type": "f32"}), "IR505"),
        (Case("GLU", [draw(2, 3)], attributes={"axis": 2, "split_lengths": 1, "output_type": "f32"}), "IR503"),
        (
            Case(
                "SelectiveSSM",
                [
                    draw(4),
                    draw(2, 3, 4),
                    draw(2, 3, 3, 16),
                    draw(2, 3, 4, 8),
                    draw(2, 3, 3, 16),
                    draw(2, 4, 8, 16),
                ],
                2,
                "extension",
            ),
            "IR502",
        ),
    ],
)
def test_contradictions(case: Case, code: str) -> None:
    report = check(case)
    assert [error.code for error in report.errors] == [code]


@pytest.mark.parametrize(
    ("type", "version", "owner"),
    [
        ("MOE", "extension", "core"),
        ("PagedAttentionExtension", "extension", "core"),
        ("MOECompressed", "ie_internal_opset", "transformations"),
        ("KVCache", "gpu_opset", "GPU plugin"),
        ("ReadKVCache", "gpu_opset", "GPU plugin"),
        ("NobodyKnows", "gpu_opset", "GPU plugin"),
        ("PowerStatic", "cpu_plugin_opset", "CPU plugin"),
        ("NobodyKnows", "cpu_plugin_opset", "CPU plugin"),
        ("NobodyKnows", "ie_internal_opset", "transformations"),
    ],
)
def test_others_are_named(type: str, version: str, owner: str) -> None:
    case = Case(type, [draw(2, 4)], 1, version)
    with pytest.raises(UnsupportedError) as caught:
        ir_exec.compile_model(model(network(case)))
    assert type in str(caught.value)
    report = check(case)
    (finding,) = [diagnostic for diagnostic in report.diagnostics if diagnostic.code == "IR902"]
    assert owner in finding.message
    assert finding.hint is not None


def test_foreign_extension_is_no_internal_operator() -> None:
    hints = {
        diagnostic.hint
        for type in ("PagedAttentionExtension", "MOE", "RMS", "NobodyKnows")
        for diagnostic in check(Case(type, [draw(2, 4)], 1, "extension")).diagnostics
        if diagnostic.code == "IR902"
    }
    assert len(hints) == 3
