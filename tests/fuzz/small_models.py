"""Small valid models of many forms, as files: dynamic and unknown shapes, states, bodies, lists, strings, no layers."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from random import Random

import numpy as np

from ir_exec import build
from ir_exec.model import Model, read_model
from ir_exec.types import ElementType
from tests.onnx.files import model as onnx_text

__all__ = ["MAKERS", "write_model"]

_TYPES = ("f32", "f16", "bf16", "f64", "i64", "i32", "u8", "i8", "boolean")


def _elementwise(random: Random) -> Model:
    """One to three layers, of any rank and type."""
    element_type = random.choice(_TYPES[:-1])
    dims = [random.choice([None, 0, 1, 2, 3, (1, 4)]) for _ in range(random.randrange(4))]
    x = build.parameter(random.choice([dims, dims, dims, "..."]), element_type, name="x")
    y = x
    for _ in range(random.randint(1, 3)):
        y = random.choice([lambda v: build.add(v, v), lambda v: build.multiply(v, v), build.shape_of])(y)
    return build.model([build.result(y, name="y")])


def _decoder(random: Random) -> Model:
    """Ids and a mask of any rank, by the names of decoders."""
    ids = build.parameter([None] * random.randint(0, 3), random.choice(["i64", "i32"]), name="input_ids")
    mask = build.parameter([None] * random.randint(0, 4), "i64", name="attention_mask")
    past = build.parameter([None, 2, None, 4], "f32", name="past_key_values.0.key")
    table = build.constant(np.ones((7, 4), np.float32), name="table")
    ends = [build.result(build.gather(table, ids, 0), name="logits"), build.result(build.abs(mask), name="mask")]
    return build.model([*ends, build.result(build.relu(past), name="present")][: random.randint(1, 3)])


def _constant(random: Random) -> Model:
    """No inputs: an output is a constant, or folds to one."""
    value = build.constant(np.arange(random.randrange(3), dtype=np.float32), name="c")
    return build.model([build.result(random.choice([value, build.relu(value)]), name="y")])


def _identity_model(random: Random) -> Model:
    """An input that is an output."""
    x = build.parameter(random.choice([[], [0], [2, 0], [2, 3], "..."]), random.choice(_TYPES), name="x")
    return build.model([build.result(x, name="y")])


def _strings(random: Random) -> Model:
    x = build.parameter(random.choice([[None], [2], []]), "string", name="x")
    return build.model([build.result(build.reshape(x, [-1], special_zero=False), name="y")])


def _state(random: Random) -> Model:
    x = build.parameter([random.choice([1, None]), 2], "f32", name="x")
    state = build.read_value(build.constant(np.zeros((1, 2), np.float32)), "state", shape=[None, 2], element_type="f32")
    total = build.add(state, x, name="total")
    return build.model([build.result(total, name="y")], sinks=[build.assign(total, "state")])


def _network(random: Random) -> Model:
    """A convolution or a product with weights."""
    rows = random.choice([None, 1, 2])
    if random.random() < 0.5:
        x = build.parameter([rows, 3, None, 8], "f32", name="image")
        filters = build.constant(np.ones((2, 3, 3, 3), random.choice([np.float32, np.float16])), name="filters")
        return build.model([build.result(build.convolution(x, build.convert(filters, "f32")), name="y")])
    x = build.parameter([rows, 4], "f32", name="x")
    weights = build.constant(np.linspace(-1, 1, 12, dtype=np.float32).reshape(4, 3), name="weights")
    scores = build.softmax(build.matmul(x, weights), axis=1, name="scores")
    values, indices = build.topk(scores, random.randint(0, 3), axis=1, mode="max", sort="value")
    return build.model([build.result(values, name="values"), build.result(indices, name="indices")])


def _quantized_model(random: Random) -> Model:
    """Compressed weights, and activations with levels."""
    x = build.parameter([random.choice([None, 2]), 4], "f32", name="x")
    stored = build.constant(np.arange(12, dtype=np.uint8).reshape(3, 4), name="stored")
    weights = build.multiply(build.convert(stored, "f32"), build.constant(np.full((3, 1), 0.5, np.float32)))
    ends = [build.constant(np.float32(end)) for end in (-1, 1, -1, 1)]
    levels = build.fake_quantize(x, *ends, levels=256, name="levels")
    return build.model([build.result(build.matmul(levels, weights, transpose_b=True), name="y")])


def _loop(random: Random) -> Model:
    trips = random.choice([build.constant(random.randrange(4)), build.parameter([], "i64", name="trips")])
    x = build.parameter([random.choice([None, 2])], "f32", name="x")

    def body(index: build.Value, total: build.Value) -> tuple[None, list[build.Value], list[build.Value]]:
        after = build.add(total, build.convert(index, "f32"))
        return None, [after], [build.unsqueeze(after, 0)]

    total, steps = build.loop(trips, None, body, [x])
    return build.model([build.result(total, name="total"), build.result(steps, name="steps")])


def _random_numbers(random: Random) -> Model:
    numbers = build.random_uniform([2, 3], 0.0, 1.0, output_type="f32", op_seed=random.randrange(3))
    return build.model([build.result(numbers, name="y")])


_ONNX_TEXTS = (
    "g (float[N,3] x) => (float[N,3] y) { y = Relu(x) }",
    "g (float[b,3,4] x, int64[2,2,1] i) => (float[2,2,4] y) { y = GatherND<batch_dims = 1>(x, i) }",
    "g (float[N,M] x, int64[P] a) => (y) { y = Unsqueeze(x, a) }",
    "g (float[N,3] x, int64[2] sizes) => (y) { s = SplitToSequence<axis = 0>(x, sizes) y = SequenceAt(s, z) "
    "z = Constant<value_int = 0>() }",
    "g (float[N] x, float[N] z, int64 i) => (y) { s = SequenceConstruct(x, z) y = SequenceAt(s, i) }",
    "g (float[N] x) => (seq(float[N]) y) { y = SequenceConstruct(x, x) }",
    "g (bool c, float[2] x) => (y) { y = If(c) <then_branch = t () => (a) { a = Neg(x) }, "
    "else_branch = e () => (b) { b = Relu(x) }> }",
    "g (float[2,3] x) => (y) { h = Identity(x) y = LayerNormalization<axis = 0>(h, h) }",
    "g () => (float y) { y = Constant<value_float = 2.0>() }",
    "g (float[2] x) => (float[2] x) { }",
    "g (float[1,1,4,4] x) => (y) { s = Constant<value_floats = [1.0, 1.0, 2.0, 2.0]>() y = Resize(x, , s) }",
)

MAKERS: tuple[Callable[[Random], Model], ...] = (
    _elementwise,
    _decoder,
    _constant,
    _identity_model,
    _strings,
    _state,
    _network,
    _quantized_model,
    _loop,
    _random_numbers,
)


_NETWORKS = Path(__file__).parents[1] / "networks"

_MOST_BYTES = 2**16
"""Maximum bytes of a file of an exported model."""


def _write_network(random: Random) -> str:
    """Copy an exported model."""
    paths = [*sorted(_NETWORKS.glob("*.xml")), *sorted((_NETWORKS / "onnx").glob("*.onnx"))]
    small = [path for path in paths if max(_size(path), _size(path.with_suffix(".bin"))) < _MOST_BYTES]
    source = random.choice(small)
    path = f"model{source.suffix}"
    shutil.copy(source, path)
    if source.suffix == ".xml":
        shutil.copy(source.with_suffix(".bin"), "model.bin")
    return path


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def write_model(random: Random) -> str:
    """Write a model with the name `model` to the current folder, with inputs, and return its path."""
    if random.random() < 0.2:
        path = _write_network(random)
        model = read_model(path)
    elif random.random() < 0.4:
        path = "model.onnx"
        proto = onnx_text(random.choice(_ONNX_TEXTS))
        with open(path, "wb") as file:
            file.write(proto.SerializeToString())
        model = read_model(path)
    else:
        path = "model.xml"
        model = random.choice(MAKERS)(random)
        model.save(path)
    _write_inputs(model, random)
    return path


def _write_inputs(model: Model, random: Random) -> None:
    """Write `inputs.npz` with an array for each input, and the first of them as `x.npy`."""
    lists = model.list_inputs
    arrays: dict[str, np.ndarray] = {}
    for port in model.inputs:
        if port.name in lists:
            continue
        dims = () if port.shape.dims is None else port.shape.dims
        sizes = [dim.lo if dim.is_static else max(dim.lo, random.randint(1, 3)) for dim in dims]
        element_type = port.element_type if port.element_type.is_known else ElementType.f32
        array = (
            np.full(sizes, "a", object)
            if element_type is ElementType.string
            else np.ones(sizes).astype(element_type.dtype)
        )
        arrays[port.name.replace("/", "_")] = array
    numbers = {name: array for name, array in arrays.items() if array.dtype.isbuiltin == 1 and array.dtype != object}
    np.savez("inputs.npz", **numbers)
    np.save("x.npy", next(iter(numbers.values()), np.zeros(1, np.float32)))
