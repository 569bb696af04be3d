"""Operators of com.microsoft with blocks of weights, experts and images give what onnxruntime gives."""

from __future__ import annotations

from itertools import product
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import helper

from ir_exec import compile_model
from ir_exec.errors import IRError
from tests.onnx.runtime import Node, assert_as_onnxruntime, node

RANDOM = np.random.default_rng(11)


def f(*shape: int) -> Any:
    return RANDOM.standard_normal(shape).astype(np.float32)


def q(*shape: int, dtype: Any = np.uint8) -> Any:
    limits = np.iinfo(dtype)
    return RANDOM.integers(limits.min, limits.max, shape, endpoint=True).astype(dtype)


def ms(type: str, *inputs: Any, **options: Any) -> Node:
    return node(type, *inputs, domain="com.microsoft", **options)._replace(opset=1)


def nibbles(dtype: Any, *shape: int) -> Any:
    return RANDOM.integers(-8 if dtype is ml_dtypes.int4 else 0, 8, shape).astype(dtype)


I64 = np.array([[0, -1, 3], [2, 5, 1]])

BLOCKS = [
    *[
        ms("GatherBlockQuantized", q(6, 32), I64, f(6, 64 // 16), zero, constants=[0, 2], block_size=16, bits=4)
        for zero in (None, q(6, 2))
    ],
    ms("GatherBlockQuantized", q(6, 32), I64[0], f(6, 2), q(6, 2), constants=[0, 2, 3], block_size=16, bits=8),
    ms("GatherBlockQuantized", q(6, 8), np.int64(4), f(6, 2), q(6, 1), constants=[0, 2, 3], block_size=16, bits=2),
    ms("GatherBlockQuantized", q(6, 8, 16), I64.astype(np.int32), f(6, 8, 2), block_size=16, quantize_axis=2),
    *[
        ms("GatherBlockQuantized", nibbles(dtype, 6, 32), I64, f(6, 2), zero, constants=constants, block_size=16)
        for dtype in (ml_dtypes.int4, ml_dtypes.uint4)
        for zero, constants in ((None, [0, 2]), (nibbles(dtype, 6, 2), [0, 2, 3]))
    ],
    ms(
        "GatherBlockQuantized",
        nibbles(ml_dtypes.int4, 2, 32, 3),
        I64 * 3,
        f(2, 2, 3),
        nibbles(ml_dtypes.int4, 2, 2, 3),
        constants=[0, 2, 3],
        block_size=16,
        gather_axis=1,
    ),
    ms(
        "GatherBlockQuantized",
        nibbles(ml_dtypes.uint4, 3, 32, 6),
        I64,
        f(3, 2, 6),
        constants=[0, 2],
        block_size=16,
        gather_axis=-1,
    ),
    ms("GatherBlockQuantized", q(6, 32), np.array([0, 6, -7, 5]), f(6, 4), constants=[0, 2], block_size=16),
    *[
        ms("MatMulBnb4", f(3, 32), q(5 * 16), f(10), constants=[1, 2], K=32, N=5, block_size=16, quant_type=table)
        for table in (0, 1)
    ],
    ms("MatMulBnb4", f(2, 3, 21), q(53), f(4), constants=[1, 2], K=21, N=5, block_size=32, quant_type=1),
]


def moe(activation: str, *, tokens: tuple[int, ...] = (5,), hidden: int = 8, inter: int = 6, **attributes: Any) -> Node:
    wide = 2 * inter if activation == "swiglu" else inter
    rows = int(np.prod(tokens))
    inputs = [f(*tokens, hidden), f(rows, 4), f(4, wide, hidden), f(4, wide), f(4, hidden, inter), f(4, hidden)]
    return ms("MoE", *inputs, activation_type=activation, constants=[2, 3, 4, 5], **attributes)


def qmoe(
    activation: str, bits: int, block: int, *, has_zeros: bool = False, routers: int = 1, **attributes: Any
) -> Node:
    hidden = inter = 32
    wide = 2 * inter if activation == "swiglu" else inter
    attributes |= {"block_size": block} if block else {}

    def weights(outputs: int) -> tuple[Any, Any, Any]:
        blocks = hidden // block if block else 1
        scales = np.abs(f(3, outputs, blocks)) / 2**bits
        zeros = q(3, outputs, -(-blocks * bits // 8)) if block else q(3, outputs * bits // 8)
        return q(3, outputs, hidden * bits // 8), scales if block else scales[..., 0], zeros

    first, second = weights(wide), weights(hidden)
    inputs = [f(5, hidden), f(5, 3), first[0], first[1], f(3, wide), second[0], second[1], f(3, hidden)]
    inputs += [None] * 3 + ([first[2], second[2]] if has_zeros else [None] * 2) + [None]
    inputs += [np.abs(f(5, 3))] if routers == 2 else []
    while inputs[-1] is None:
        inputs.pop()
    constants = [at for at in range(2, len(inputs)) if at != 14 and inputs[at] is not None]
    return ms("QMoE", *inputs, activation_type=activation, expert_weight_bits=bits, constants=constants, **attributes)


EXPERTS = [
    *[moe(activation, k=2) for activation in ("relu", "gelu", "silu", "identity")],
    moe("silu", k=1, tokens=(2, 3), normalize_routing_weights=1),
    moe("swiglu", k=3, swiglu_fusion=1),
    moe("swiglu", k=2, swiglu_fusion=1, swiglu_limit=0.5, activation_alpha=1.702, activation_beta=1.0),
    *[qmoe("silu", 4, block, has_zeros=zeros, k=2) for block, zeros in product((0, 16), (False, True))],
    qmoe("relu", 8, 0, k=2, normalize_routing_weights=1),
    qmoe("relu", 8, 0, has_zeros=True, k=1),
    qmoe("swiglu", 4, 32, k=2, swiglu_fusion=1, swiglu_limit=7.0, activation_alpha=1.702, activation_beta=1.0),
    qmoe("silu", 4, 16, routers=2, k=2, normalize_routing_weights=1),
    qmoe("silu", 4, 16, routers=2, k=2),
]

S, Z = np.float32(0.02), np.uint8(120)


def qattention(*more: Any, dtype: Any = np.uint8, columns: bool = False, **attributes: Any) -> Node:
    """Small weights: with larger ones onnxruntime saturates sums of two products on some processors."""
    weights = (q(8, 24, dtype=dtype) // 4).astype(dtype)
    scale = np.abs(f(24)) / 50 if columns else S
    inputs = [q(2, 5, 8), weights, f(24), S, scale, *more]
    return ms("QAttention", *inputs, num_heads=2, constants=[1, 2, 4], **attributes)


ATTENTION = [
    qattention(None, Z, np.uint8(30)),
    qattention(None, Z, np.int8(0), dtype=np.int8, columns=True),
    qattention(np.array([5, 3], np.int32), Z, np.uint8(30), unidirectional=1),
    qattention(None, Z, np.int8(0), f(2, 2, 2, 3, 4), dtype=np.int8, outputs=2, unidirectional=1),
    qattention(np.array([[1] * 5, [1, 1, 1, 0, 0]], np.int32), Z, np.uint8(30), scale=0.3),
]

LAYERS = [
    *[ms("CDist", f(3, 5), f(4, 5), metric=metric) for metric in ("euclidean", "sqeuclidean")],
    ms("CDist", f(3, 5).astype(np.float64), f(1, 5).astype(np.float64)),
    ms("NhwcMaxPool", q(1, 5, 6, 3), kernel_shape=[2, 3], strides=[2, 1], pads=[1, 0, 0, 1]),
    ms("NhwcMaxPool", q(2, 7, 2, dtype=np.int8), kernel_shape=[3], ceil_mode=1, strides=[2]),
    ms("GatedAdd", f(2, 3, 4), f(2, 3, 4), f(2, 3, 1)),
    ms("GatedRMSNorm", f(2, 3, 8), f(4), f(2, 3, 8), epsilon=1e-3),
    ms("GatedRMSNorm", f(2, 8), f(8), f(2, 8), activation="sigmoid"),
    ms("LinearAttentionGate", f(2, 3, 4), f(4), f(4), f(2, 3, 4), outputs=2),
    ms("LinearAttentionGate", f(2, 3, 4), f(4), f(4)),
]


def linear(rule: str, *, queries: int = 2, keys: int = 2, past: bool = True, wide: bool = False, **more: Any) -> Node:
    size, values, length = 4, 3, 5
    inputs = [f(2, length, queries * size), f(2, length, keys * size) / 2, f(2, length, keys * values)]
    inputs += [f(2, keys, size, values) if past else None]
    inputs += [-np.abs(f(2, length, keys * (size if wide else 1))) if "gated" in rule else None]
    inputs += [np.abs(f(2, length, keys)) / 4 if "delta" in rule else None]
    heads = {"q_num_heads": queries, "kv_num_heads": keys}
    return ms("LinearAttention", *inputs, update_rule=rule, outputs=2, **heads, **more)


STATES = [
    *[linear(rule) for rule in ("linear", "gated", "delta", "gated_delta")],
    linear("gated_delta", queries=4, scale=1.0, past=False),
    linear("gated_delta", queries=2, keys=4, wide=True),
    *[
        ms(
            "CausalConvWithState",
            f(2, 3, 6),
            f(3, 1, 4),
            f(3),
            past,
            activation=activation,
            outputs=2,
            dilation=dilation,
        )
        for past, activation, dilation in ((f(2, 3, 3), "silu", 1), (None, "none", 1), (f(2, 3, 6), "none", 2))
    ],
    ms("CausalConvWithState", f(2, 6, 3), f(3, 1, 4), None, f(2, 3, 3), channels_last=1, outputs=2),
]


@pytest.mark.parametrize("case", [*BLOCKS, *EXPERTS, *ATTENTION, *LAYERS], ids=str)
def test_as_onnxruntime(case: Node) -> None:
    assert_as_onnxruntime(case, rtol=1e-3, atol=2e-4, dynamic=True)


@pytest.mark.parametrize("case", STATES, ids=str)
def test_states_as_onnxruntime(case: Node) -> None:
    assert_as_onnxruntime(case, rtol=1e-3, atol=2e-4)


def run(type: str, inputs: dict[str, Any], outputs: int = 1, **attributes: Any) -> list[Any]:
    """The outputs of an operator that onnxruntime does not run on a CPU."""
    return run_named(type, list(inputs), inputs, outputs, **attributes)


def run_named(
    type: str, input_names: list[str], inputs: dict[str, Any], outputs: int = 1, **attributes: Any
) -> list[Any]:
    """Run with an empty name for each input that is left out."""
    names = [f"y{position}" for position in range(outputs)]
    operator = helper.make_node(type, input_names, names, domain="com.microsoft", **attributes)
    declared = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
        for name, array in inputs.items()
    ]
    graph = helper.make_graph([operator], "g", declared, [onnx.ValueInfoProto(name=name) for name in names])
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(graph, opset_imports=imports, ir_version=9)
    return list(compile_model(model.SerializeToString())(inputs).values())


def group_norm(data: Any, gamma: Any, beta: Any, groups: int, epsilon: float, activation: int) -> Any:
    """Of an image with its channels last, one group of channels at a time."""
    normal = np.empty(data.shape, np.float64)
    size = data.shape[-1] // groups
    for entry in range(data.shape[0]):
        for start in range(0, data.shape[-1], size):
            part = data[entry, ..., start : start + size].astype(np.float64)
            normal[entry, ..., start : start + size] = (part - part.mean()) / np.sqrt(part.var() + epsilon)
    normal = normal * gamma + beta
    return normal / (1 + np.exp(-normal)) if activation else normal


@pytest.mark.parametrize("activation", [0, 1])
@pytest.mark.parametrize("channels_last", [0, 1])
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_group_norm(activation: int, channels_last: int, dtype: Any) -> None:
    image, gamma, beta = f(2, 3, 4, 6).astype(dtype), f(6), f(6)
    expected = group_norm(image, gamma, beta, 3, 1e-3, activation)
    data = image if channels_last else np.moveaxis(image, -1, 1)
    attributes = {"groups": 3, "epsilon": 1e-3, "activation": activation, "channels_last": channels_last}
    (output,) = run("GroupNorm", {"x": data, "gamma": gamma, "beta": beta}, **attributes)
    assert output.dtype == dtype
    output = output if channels_last else np.moveaxis(output, 1, -1)
    np.testing.assert_allclose(output, expected, atol=1e-4 if dtype is np.float32 else 1e-2)


@pytest.mark.parametrize("shape", [(2, 6), (2, 1, 1, 6), (2, 3, 4, 6)])
def test_skip_group_norm(shape: tuple[int, ...]) -> None:
    image, skip, bias, gamma, beta = f(2, 3, 4, 6), f(*shape), f(6), f(6), f(6)
    total = image + (skip[:, None, None] if skip.ndim == 2 else skip) + bias
    inputs = {"x": image, "gamma": gamma, "beta": beta, "skip": skip, "bias": bias}
    outputs = run("SkipGroupNorm", inputs, outputs=2, groups=2, activation=1)
    np.testing.assert_allclose(outputs[0], group_norm(total, gamma, beta, 2, 1e-5, 1), atol=1e-4)
    np.testing.assert_allclose(outputs[1], total, atol=1e-5)


@pytest.mark.parametrize(("axes", "keepdims"), [([1], 1), ([0, -1], 0)])
def test_quantized_mean(axes: list[int], keepdims: int) -> None:
    data = q(2, 3, 4)
    inputs = {"x": data, "s": np.float32(0.5), "z": np.uint8(7), "t": np.float32(0.25), "w": np.uint8(3)}
    inputs = {name: np.asarray(value) for name, value in inputs.items()}
    (output,) = run("QLinearReduceMean", inputs, axes=axes, keepdims=keepdims)
    mean = ((data.astype(np.float64) - 7) * 0.5).mean(tuple(axes), keepdims=bool(keepdims))
    assert output.dtype == np.uint8
    np.testing.assert_array_equal(output, np.clip(np.rint(mean / 0.25) + 3, 0, 255))


@pytest.mark.parametrize("fusion", [0, 2])
def test_gated_experts(fusion: int) -> None:
    """With third weights, and with both halves in sequence."""
    data, router, outer = f(4, 5), f(4, 3), f(3, 5, 6)
    gates, linears = f(3, 6, 5), f(3, 6, 5)
    first = gates if fusion == 0 else np.concatenate([gates, linears], 1)
    inputs = {"x": data, "r": router, "w1": first, "w2": outer} | ({"w3": linears} if fusion == 0 else {})
    names = ["x", "r", "w1", "", "w2"] + (["", "w3"] if fusion == 0 else [])
    attributes = {"activation_type": "swiglu", "swiglu_fusion": fusion, "k": 2, "swiglu_limit": 0.7}
    (output,) = run_named("MoE", names, inputs, **attributes)
    expected = np.zeros((4, 5))
    for row in range(4):
        shares = np.exp(router[row]) / np.exp(router[row]).sum()
        for expert in np.argsort(-shares)[:2]:
            gate = np.minimum(gates[expert] @ data[row], 0.7)
            linear = np.clip(linears[expert] @ data[row], -0.7, 0.7)
            expected[row] += shares[expert] * (outer[expert] @ (gate / (1 + np.exp(-gate)) * linear))
    np.testing.assert_allclose(output, expected, atol=1e-5)


REFUSED = [
    ("CDist", ["a", "b"], {"a": f(2, 3), "b": f(2, 3)}, {"metric": "cosine"}),
    ("MoE", ["x", "r", "w", "", "v"], {"x": f(2, 3), "r": f(2, 2), "w": f(2, 4, 3), "v": f(2, 3, 4)}, {"k": 3}),
    ("GatherBlockQuantized", ["x", "i", "s"], {"x": q(4, 8), "i": np.array([0]), "s": f(4, 1)}, {"block_size": 3}),
    ("GatherBlockQuantized", ["x", "i", "s"], {"x": q(4, 8), "i": np.array([0]), "s": f(4)}, {"block_size": 16}),
    ("GroupNorm", ["x", "g", "b"], {"x": f(1, 2, 2, 4), "g": f(4), "b": f(4)}, {"groups": 3, "activation": 0}),
]


@pytest.mark.parametrize(("type", "names", "arrays", "attributes"), REFUSED)
def test_unsupported_forms_are_refused(
    type: str, names: list[str], arrays: dict[str, Any], attributes: dict[str, Any]
) -> None:
    with pytest.raises(IRError):
        run_named(type, names, arrays, **attributes)
