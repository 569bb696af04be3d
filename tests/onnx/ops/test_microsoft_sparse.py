"""SparseAttention as onnxruntime computes it, in caches that the run shares, and weights of few bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper, numpy_helper

from ir_exec import check_model, compile_model
from tests.onnx.runtime import Node, assert_as_onnxruntime, node

BLOCK, HEADS, SHARED, SIZE, ROOM = 16, 4, 2, 16, 64
BATCHED = ("query", "key", "value", "past_key", "past_value", "lengths")
RANDOM = np.random.default_rng(7)

# Of two layouts: the blocks of each row, and where each row begins among them.
COLUMNS = np.array([[0, 0, 1, 1, 2, 1, 2, 3, -1], [0, 0, 1, 0, 1, 2, 0, 2, 3]], np.int32)
ROWS = np.array([[0, 1, 3, 5, 8], [0, 1, 3, 6, 9]], np.int32)


def f(*shape: int) -> Any:
    return RANDOM.standard_normal(shape).astype(np.float32)


def sparse(length: int, total: int, lengths: list[int], *, packed: bool, **attributes: Any) -> tuple[Any, Any]:
    """A model, and what it is given."""
    batch = len(lengths)
    width = (HEADS + 2 * SHARED) * SIZE if packed else HEADS * SIZE
    tensors = {
        "query": f(batch, length, width),
        "key": None if packed else f(batch, length, SHARED * SIZE),
        "value": None if packed else f(batch, length, SHARED * SIZE),
        "past_key": f(batch, SHARED, ROOM, SIZE),
        "past_value": f(batch, SHARED, ROOM, SIZE),
        "rows": ROWS,
        "columns": COLUMNS,
        "total": np.array([total], np.int32),
        "lengths": np.array(lengths, np.int32),
        "cosines": f(ROOM, SIZE // 2),
        "sines": f(ROOM, SIZE // 2),
    }
    names = ["" if value is None else name for name, value in tensors.items()]
    settings = {"num_heads": HEADS, "kv_num_heads": SHARED, "sparse_block_size": BLOCK, **attributes}
    operator = helper.make_node("SparseAttention", names, ["y", "k", "v"], domain="com.microsoft", **settings)
    feed = {name: value for name, value in tensors.items() if value is not None}
    inputs = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape)
        for name, value in feed.items()
    ]
    outputs = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None) for name in "ykv"]
    graph = helper.make_graph([operator], "g", inputs, outputs)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=9).SerializeToString(), feed


def in_onnxruntime(stored: bytes, feed: dict[str, Any]) -> list[Any]:
    """Its caches before and after a run are the same memory."""
    session = onnxruntime.InferenceSession(stored, providers=["CPUExecutionProvider"])
    copies = {name: value.copy() for name, value in feed.items()}  # Alive as long as the values that share them.
    values = {name: onnxruntime.OrtValue.ortvalue_from_numpy(value) for name, value in copies.items()}
    binding = session.io_binding()
    for name, value in values.items():
        binding.bind_ortvalue_input(name, value)
    binding.bind_output("y")
    binding.bind_ortvalue_output("k", values["past_key"])
    binding.bind_ortvalue_output("v", values["past_value"])
    session.run_with_iobinding(binding)
    return [output.numpy().copy() for output in binding.get_outputs()]


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize(
    ("length", "total", "lengths", "attributes"),
    [
        (40, 40, [40, 40], {}),
        (1, 50, [50, 35], {}),
        (40, 40, [40], {"do_rotary": 1, "scale": 0.5}),
        (1, 50, [50, 35], {"do_rotary": 1, "rotary_interleaved": 1}),
    ],
)
def test_sparse_attention(
    length: int, total: int, lengths: list[int], attributes: dict[str, Any], packed: bool
) -> None:
    """Each entry of a batch is one by itself, where onnxruntime takes keys of one length alone for a whole batch."""
    stored, feed = sparse(length, total, lengths, packed=packed, **attributes)
    assert not check_model(stored).errors
    outputs = compile_model(stored)(list(feed.values()))
    for entry, keys in enumerate(lengths):
        alone, _ = sparse(length, keys, [keys], packed=packed, **attributes)
        own = {name: value[entry : entry + 1] if name in BATCHED else value for name, value in feed.items()}
        own["total"] = np.array([keys], np.int32)
        for position, expected in enumerate(in_onnxruntime(alone, own)):
            np.testing.assert_allclose(outputs[position][entry : entry + 1], expected, rtol=1e-4, atol=1e-5)


def q(*shape: int) -> Any:
    return RANDOM.integers(0, 256, shape).astype(np.uint8)


def blob(columns: int, blocks: int, *, has_offset: bool) -> Any:
    """Blocks as onnxruntime packs them: a scale, a zero point, 16 bytes."""
    scales = f(columns, blocks, 1).view(np.uint8)
    zeros = RANDOM.integers(0, 16, (columns, blocks, int(has_offset))).astype(np.uint8)
    return np.concatenate([scales, zeros, q(columns, blocks, 16)], axis=-1).ravel()


def ms(type: str, *inputs: Any, **options: Any) -> Node:
    return node(type, *inputs, domain="com.microsoft", opset=1, **options)


GROUPS = (np.arange(40) * 7 % 3).astype(np.int32)
SHAPE: dict[str, Any] = {"K": 40, "N": 5, "bits": 4, "block_size": 16}
WEIGHTS = [
    ms("MatMulNBits", f(3, 40), q(5, 3, 8), f(15), None, GROUPS, constants=[1, 2, 4], **SHAPE),
    ms("MatMulNBits", f(3, 40), q(5, 3, 8), f(15), None, GROUPS, f(5), constants=[1, 2, 4], **SHAPE),
    ms("MatMulNBits", f(3, 40), q(5, 3, 8), f(15), None, GROUPS - 1, constants=[1, 2, 4], **SHAPE),
    ms("MatMulFpQ4", f(2, 128), blob(3, 4, has_offset=False), np.array([128, 3]), constants=[1, 2], blk_quant_type=0),
    ms("MatMulFpQ4", f(2, 128), blob(3, 4, has_offset=True), np.array([128, 3]), constants=[1, 2], blk_quant_type=1),
]


@pytest.mark.parametrize("case", WEIGHTS, ids=str)
def test_weights_of_few_bits(case: Node) -> None:
    assert_as_onnxruntime(case, dynamic=False)


def run(type: str, a: Any, *constants: Any, **attributes: Any) -> Any:
    """A node of com.microsoft; constants are TensorProtos, arrays, or None."""
    names = ["a", *["" if constant is None else f"c{position}" for position, constant in enumerate(constants)]]
    tensors = []
    for position, constant in enumerate(constants):
        if constant is not None:
            tensor = constant if isinstance(constant, onnx.TensorProto) else numpy_helper.from_array(constant)
            tensor.name = f"c{position}"
            tensors.append(tensor)
    graph = helper.make_graph(
        [helper.make_node(type, names, ["y"], domain="com.microsoft", **attributes)],
        "g",
        [helper.make_tensor_value_info("a", helper.np_dtype_to_tensor_dtype(a.dtype), a.shape)],
        [helper.make_empty_tensor_value_info("y")],
        tensors,
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    stored = helper.make_model(graph, opset_imports=opsets, ir_version=10).SerializeToString()
    assert not check_model(stored).errors
    return compile_model(stored)([a])[0]


def test_weights_of_f4_with_two_scales() -> None:
    """Specified by the documentation of com.microsoft; onnxruntime computes it on GPUs alone."""
    numbers = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6])
    table = np.concatenate([numbers, -numbers])
    codes = RANDOM.integers(0, 16, (3, 32))
    packed = (codes[:, ::2] | codes[:, 1::2] << 4).astype(np.uint8)
    scales = np.array([[0x38, 0x40], [0x30, 0x38], [0x3C, 0x44]], np.uint8)  # 1, 2, 0.5, 1, 1.5, 3
    factors = np.array([[1, 2], [0.5, 1], [1.5, 3]]).repeat(16, 1)
    a = f(2, 32).astype(np.float16)
    expected = a.astype(np.float64) @ (table[codes] * factors * 0.25).T + 1
    bias = np.ones(3, np.float16)
    constants = (packed, scales, np.array([0.25], np.float32), None, bias)
    output = run("MatMulBlockQuantizedFp4Weight", a, *constants, block_size=16)
    assert output.dtype == np.float16
    np.testing.assert_allclose(output, expected, rtol=5e-3, atol=5e-2)


@pytest.mark.parametrize("rounds", [False, True])
def test_weights_of_f8_with_a_scale_for_each_block(rounds: bool) -> None:
    weights, scales = np.arange(-12.0, 12.0).reshape(2, 12), np.array([[1, 0.5, 2], [4, 1, 0.25]], np.float32)
    stored = helper.make_tensor("w", onnx.TensorProto.FLOAT8E4M3FN, weights.shape, weights.ravel())
    a = np.full((1, 12), 1.07, np.float16)
    row = 1.125 * 2 / 2 if rounds else float(a[0, 0])  # 1.07 lies between 1 and 1.125.
    expected = np.full((1, 12), row) @ (weights * scales.repeat(4, 1)).T
    scale = np.array([1.0], np.float32) if rounds else None
    output = run("MatMulBlockQuantizedFp8Weight", a, stored, scales, scale, block_size=4)
    np.testing.assert_allclose(output, expected, rtol=5e-3)


def test_zero_points_belong_to_groups() -> None:
    """Zero points follow the scales; onnxruntime 1.32 leaves the zero points out where there are groups."""
    a, stored, scales, zeros = f(3, 40), q(5, 3, 8), f(15), q(10)
    codes = np.stack([stored & 15, stored >> 4], axis=-1).reshape(5, 48)[:, :40].astype(np.float32)
    offsets = np.stack([zeros & 15, zeros >> 4], axis=-1).reshape(5, 4).astype(np.float32)
    weights = (codes - offsets[:, GROUPS]) * scales.reshape(5, 3)[:, GROUPS]
    output = run("MatMulNBits", a, stored, scales, zeros, GROUPS, **SHAPE)
    np.testing.assert_allclose(output, a @ weights.T, rtol=1e-4, atol=1e-4)
