"""Caches of a fixed size, scores as outputs and causal masks of com.microsoft give what onnxruntime gives."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper

from ir_exec import compile_model, read_model
from ir_exec.types import Array
from tests.onnx.runtime import Node, assert_as_onnxruntime, node

RANDOM = np.random.default_rng(5)
BATCH, BEAMS, HEADS, SIZE, ROOM = 2, 2, 2, 8, 6


def f(*shape: int) -> Any:
    return RANDOM.standard_normal(shape).astype(np.float32)


def i32(*values: int) -> Any:
    return np.array(values, np.int32)


def ms(type: str, *inputs: Any, **options: Any) -> Node:
    return node(type, *inputs, domain="com.microsoft", **options)._replace(opset=1)


def qkv(length: int, batch: int = BATCH, shared: int = HEADS) -> list[Any]:
    return [f(batch, length, HEADS * SIZE), f(batch, length, shared * SIZE), f(batch, length, shared * SIZE)]


def room(batch: int = BATCH, shared: int = HEADS) -> list[Any]:
    return [f(batch, shared, ROOM, SIZE) for _ in range(2)]


def grouped_attention(length: int, keys: Any, total: int, *more: Any, past: bool = False, **attributes: Any) -> Node:
    caches = room(shared=1) if past else [None, None]
    for row, last in enumerate(keys if past else ()):
        # onnxruntime clears the space after the last key.
        for cache in caches:
            cache[row, :, last + 1 :] = 0
    inputs = [*qkv(length, shared=1), *caches, i32(*keys), np.array(total, np.int32), *more]
    return ms("GroupQueryAttention", *inputs, num_heads=HEADS, kv_num_heads=1, outputs=4, **attributes)


GROUPED = [
    grouped_attention(3, (2, 1) if window < 0 else (2, 2), 3, qk_output=scores, softcap=cap, local_window_size=window)
    for scores, cap, window in product((1, 2), (0.0, 2.0), (-1, 2))
]
GROUPED += [
    *[grouped_attention(1, (3, 2), 4, past=True, qk_output=scores, scale=0.3) for scores in (1, 2)],
    *[grouped_attention(3, (2, 2), 3, None, None, None, f(1, 1, 3, 3), qk_output=scores) for scores in (1, 2)],
    grouped_attention(3, (2, 2), 3, None, None, None, None, f(HEADS), qk_output=2),
    grouped_attention(3, (2, 2), 3, None, None, None, None, f(HEADS), qk_output=1),
]

FIXED = [
    ms("MultiHeadAttention", *qkv(length), bias, None, None, *room(), i32(past), num_heads=HEADS, outputs=3, **more)
    for length, past, bias, more in (
        (1, 3, None, {}),
        (2, 3, None, {"scale": 0.2}),
        (2, 0, f(3 * HEADS * SIZE), {}),
        (3, 2, None, {"unidirectional": 1}),
    )
]
FIXED += [
    ms("MultiHeadAttention", *qkv(3), None, None, None, *room(), num_heads=HEADS, outputs=3, unidirectional=1),
    ms("MultiHeadAttention", *qkv(3), num_heads=HEADS, unidirectional=1),
]


def beams(type: str, *between: Any, width: bool = False, **attributes: Any) -> Node:
    """One new token for each beam, whose cached keys come from the beams of a table."""
    batch = BATCH * BEAMS
    sources = RANDOM.integers(0, BEAMS, (BATCH, BEAMS, ROOM)).astype(np.int32)
    inputs = [*qkv(1, batch), *between, *room(batch), i32(3), *([i32(BEAMS)] if width else []), sources]
    return ms(type, *inputs, num_heads=HEADS, outputs=3, **attributes)


MASKED = "DecoderMaskedMultiHeadAttention"
SHARE = {"past_present_share_buffer": 1}
DECODING = [
    beams("MultiHeadAttention", None, None, None),
    beams(MASKED, None, None, width=True, **SHARE),
    beams(MASKED, i32(*[1] * 4, *[1, 1, 0, 1], *[1, 0, 0, 1], *[0, 1, 1, 1]).reshape(4, 4), None, width=True, **SHARE),
    ms(MASKED, *qkv(1), None, f(BATCH, HEADS, 1, 5), *room(), i32(4), num_heads=HEADS, outputs=3, **SHARE),
    ms(MASKED, f(BATCH, 1, HEADS * SIZE), *room(), num_heads=HEADS),
    ms(
        MASKED,
        f(BATCH, 1, HEADS * SIZE),
        *room(),
        i32(*[1, 1, 0, 1, 1, 0] * 2).reshape(2, 6),
        num_heads=HEADS,
        scale=1.0,
    ),
]

POSITIONS = np.array([[0, 2, 4], [3, 1, 0]])

ROTATED = [
    ms("RotaryEmbedding", f(2, 3, 16), POSITIONS, f(5, 4), f(5, 4), scale=2.0, num_heads=2),
    *[
        ms("MRotaryEmbedding", f(2, 2, 3, 8), RANDOM.integers(0, 5, (3, 2, 3)), f(5, 4), f(5, 4), **sections)
        for sections in (
            {"mrope_section": [1, 2, 1]},
            {"mrope_section": [4, 0, 0]},
            {"mrope_section": [2, 1, 1], "mrope_layout": 1},
            {"mrope_section": [1, 1, 2], "mrope_layout": 1, "scale": 3.0},
        )
    ],
    ms(
        "MRotaryEmbedding",
        f(2, 3, 16),
        RANDOM.integers(0, 5, (3, 2, 3)),
        f(5, 2),
        f(5, 2),
        mrope_section=[1, 1, 0],
        rotary_embedding_dim=4,
        num_heads=2,
        interleaved=1,
    ),
]


@pytest.mark.parametrize("case", [*GROUPED, *FIXED, *DECODING, *ROTATED], ids=str)
def test_as_onnxruntime(case: Node) -> None:
    assert_as_onnxruntime(case, rtol=1e-3, atol=1e-4, dynamic=True)


def attention(queries: int, keys: int, past: int = 0, **attributes: Any) -> tuple[bytes, dict[str, Array]]:
    """A unidirectional MultiHeadAttention of one head with its scores, and inputs."""
    shapes = {"q": (1, queries, 4), "k": (1, keys, 4), "v": (1, keys, 4)}
    shapes |= {"pk": (1, 1, past, 4), "pv": (1, 1, past, 4)} if past else {}
    names = ["q", "k", "v", "", "", "", "pk", "pv"] if past else ["q", "k", "v"]
    operator = helper.make_node(
        "MultiHeadAttention", names, ["y"], domain="com.microsoft", num_heads=1, unidirectional=1, **attributes
    )
    inputs = [helper.make_tensor_value_info(name, 1, shape) for name, shape in shapes.items()]
    graph = helper.make_graph([operator], "g", inputs, [helper.make_tensor_value_info("y", 1, None)])
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(graph, opset_imports=imports, ir_version=9)
    return model.SerializeToString(), {name: f(*shape) for name, shape in shapes.items()}


@pytest.mark.parametrize(("queries", "keys", "past"), [(2, 4, 0), (3, 3, 0), (2, 2, 3), (4, 2, 0), (2, 3, 1)])
def test_queries_see_keys_up_to_their_own_position(queries: int, keys: int, past: int) -> None:
    """The masks start at the upper left, after the cached keys; onnxruntime masks nothing for the last query."""
    content, arrays = attention(queries, keys, past)
    (output,) = compile_model(read_model(content))(arrays).values()
    k, v = (
        np.concatenate([arrays[old][0, 0], arrays[new][0]]) if past else arrays[new][0]
        for new, old in (("k", "pk"), ("v", "pv"))
    )
    for row in range(queries):
        seen = min(row + past + 1, len(k))
        scores = np.exp(k[:seen] @ arrays["q"][0, row] / 2)
        np.testing.assert_allclose(output[0, row], scores @ v[:seen] / scores.sum(), rtol=1e-4, atol=1e-5)


def scores_of(type: str, inputs: dict[str, Array], names: list[str], **attributes: Any) -> tuple[Any, Any]:
    """The last output of a node in onnxruntime and in ir_exec."""
    import onnxruntime

    operator = helper.make_node(
        type, names, ["y", "pk", "pv", "qk"], domain="com.microsoft", num_heads=HEADS, **attributes
    )
    declared = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
        for name, array in inputs.items()
    ]
    ends = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None) for name in ("y", "qk")]
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    graph = helper.make_graph([operator], "g", declared, ends)
    content = helper.make_model(graph, opset_imports=imports, ir_version=9).SerializeToString()
    session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
    return session.run(["qk"], inputs)[0], compile_model(read_model(content))(inputs)["qk"]


@pytest.mark.parametrize(("type", "attributes"), [("MultiHeadAttention", {}), (MASKED, {**SHARE, "output_qk": 1})])
def test_scores_as_the_last_output(type: str, attributes: dict[str, Any]) -> None:
    q, k, v = qkv(1)
    past_key, past_value = room()
    inputs = {"q": q, "k": k, "v": v, "a": f(BATCH, HEADS, 1, 4), "pk0": past_key, "pv0": past_value, "n": i32(3)}
    names = ["q", "k", "v", "", "", "a", "pk0", "pv0", "n"]
    if type == MASKED:
        names = ["q", "k", "v", "", "a", "pk0", "pv0", "n"]
    expected, actual = scores_of(type, inputs, names, **attributes)
    np.testing.assert_allclose(actual, expected, rtol=1e-3, atol=1e-4)


def test_packed_queries_keys_and_values() -> None:
    """onnxruntime has no CPU kernel for packed ones: the parts give the expected values."""
    q, k, v = qkv(1)
    past_key, past_value = room()
    more = {"pk0": past_key, "pv0": past_value, "n": i32(3)}
    names = ["q", "k", "v", "", "", "pk0", "pv0", "n"]
    expected, _ = scores_of(MASKED, {"q": q, "k": k, "v": v, **more}, names, **SHARE, output_qk=1)
    packed = {"q": np.concatenate([q, k, v], -1), **more}
    names[1:3] = ["", ""]
    operator = helper.make_node(
        MASKED, names, ["y", "", "", "qk"], domain="com.microsoft", num_heads=HEADS, **SHARE, output_qk=1
    )
    declared = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
        for name, array in packed.items()
    ]
    graph = helper.make_graph(
        [operator], "g", declared, [helper.make_tensor_value_info("qk", onnx.TensorProto.FLOAT, None)]
    )
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    content = helper.make_model(graph, opset_imports=imports, ir_version=9).SerializeToString()
    np.testing.assert_allclose(compile_model(content)(packed)["qk"], expected, rtol=1e-3, atol=1e-4)
