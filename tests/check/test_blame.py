"""The Reshape whose pattern drops or moves a new dim is named, not what lies between it and the layer that fails."""

from __future__ import annotations

import numpy as np
import pytest

from ir_exec import check_model
from ir_exec.check.blame import sizes_of, stray
from ir_exec.infer import infer_types
from ir_exec.model import load
from ir_exec.types import ElementType, Shape, TensorType
from tests.helpers.facts import mentions
from tests.helpers.ir_text import const, layer, net, parameter, port, result


class Builder:
    """A network with constants of i64 and f32 zeros, built layer by layer; its ids count from 0."""

    def __init__(self) -> None:
        self.layers: list[str] = []
        self.edges: list[tuple[int, int, int, int]] = []
        self.weights = b""

    def const(self, *elements: int) -> int:
        raw = np.array(elements, np.int64).tobytes()
        self.layers.append(const(len(self.layers), "i64", (len(elements),), len(self.weights), len(raw)))
        self.weights += raw
        return len(self.layers) - 1

    def zeros(self, *dims: int) -> int:
        raw = np.zeros(dims, np.float32).tobytes()
        self.layers.append(const(len(self.layers), "f32", dims, len(self.weights), len(raw)))
        self.weights += raw
        return len(self.layers) - 1

    def parameter(self, *dims: int) -> int:
        self.layers.append(parameter(len(self.layers), dims=dims, name="x"))
        return len(self.layers) - 1

    def add(
        self, type: str, kinds: str, inputs: list[tuple[int, tuple[int, ...]]], out: tuple[int, ...], data: str = ""
    ) -> int:
        """kinds: the element type of each input and of the output."""
        id = len(self.layers)
        types = kinds.split()
        ports = [
            port(position, element_type, dims)
            for position, (element_type, (_, dims)) in enumerate(zip(types, inputs, strict=False))
        ]
        self.layers.append(layer(id, type, data=data, inputs=ports, outputs=[port(9, types[-1], out)]))
        for position, (source, _) in enumerate(inputs):
            is_plain = "Const" in self.layers[source] or "Parameter" in self.layers[source]
            self.edges.append((source, 0 if is_plain else 9, id, position))
        return id

    def reshape(self, data: int, dims: tuple[int, ...], pattern: int, out: tuple[int, ...]) -> int:
        return self.add("Reshape", "f32 i64 f32", [(data, dims), (pattern, (len(out),))], out, 'special_zero="false"')

    def result(self, source: int, dims: tuple[int, ...]) -> bytes:
        id = len(self.layers)
        self.layers.append(result(id, dims=dims))
        self.edges.append((source, 9, id, 0))
        return net(self.layers, self.edges)


def attention() -> tuple[Builder, dict[str, int]]:
    """Heads are split off and merged again, each with a batch of 1 in the pattern."""
    builder = Builder()
    ids = {"x": builder.parameter(1, 6, 8), "split": builder.const(1, 6, -1, 4), "order": builder.const(0, 2, 1, 3)}
    heads = builder.reshape(ids["x"], (1, 6, 8), ids["split"], (1, 6, 2, 4))
    turned = builder.add("Transpose", "f32 i64 f32", [(heads, (1, 6, 2, 4)), (ids["order"], (4,))], (1, 2, 6, 4))
    ids["turned"] = turned
    ids["merge"] = builder.const(1, 6, -1)
    merged = builder.reshape(turned, (1, 2, 6, 4), ids["merge"], (1, 6, 8))
    ids["weight"] = builder.zeros(8, 8)
    flags = 'transpose_a="false" transpose_b="false"'
    inputs = [(merged, (1, 6, 8)), (ids["weight"], (8, 8))]
    ids["product"] = builder.add("MatMul", "f32 f32 f32", inputs, (1, 6, 8), flags)
    return builder, ids


def test_pattern_moving_the_batch_is_blamed_over_weight() -> None:
    builder, ids = attention()
    raw = builder.result(ids["product"], (1, 6, 8))
    assert check_model(raw, weights=builder.weights).ok
    (error,) = check_model(raw, weights=builder.weights, batch=3).errors
    assert error.location.layer_id == str(ids["product"])
    assert error.hint is not None
    assert error.hint == mentions(ids["merge"], f"layer{ids['merge']}", "[1,6,-1]")
    assert [location.layer_id for location in error.related] == [str(ids["merge"]), str(ids["merge"] + 1)]


def test_pattern_dropping_the_batch_is_blamed() -> None:
    builder, ids = attention()
    pattern = builder.const(1, 6, 2, 4)
    again = builder.reshape(ids["product"], (1, 6, 8), pattern, (1, 6, 2, 4))
    order = builder.const(0, 2, 1, 3)
    turned = builder.add("Transpose", "f32 i64 f32", [(again, (1, 6, 2, 4)), (order, (4,))], (1, 2, 6, 4))
    added = builder.add("Add", "f32 f32 f32", [(turned, (1, 2, 6, 4)), (ids["turned"], (1, 2, 6, 4))], (1, 2, 6, 4))
    raw = builder.result(added, (1, 2, 6, 4))
    assert check_model(raw, weights=builder.weights).ok
    error = check_model(raw, weights=builder.weights, batch=3).errors[-1]
    assert error.location.layer_id == str(added)
    assert error.hint is not None
    assert error.hint == mentions(1, pattern, f"layer{pattern}", "[1,6,2,4]")


def test_concatenated_pattern() -> None:
    builder = Builder()
    x = builder.parameter(1, 6, 8)
    parts = [builder.const(1), builder.const(6), builder.const(-1)]
    pattern = builder.add("Concat", "i64 i64 i64 i64", [(part, (1,)) for part in parts], (3,), 'axis="0"')
    reshaped = builder.reshape(x, (1, 6, 8), pattern, (1, 6, 8))
    weight = builder.zeros(8, 8)
    product = builder.add("MatMul", "f32 f32 f32", [(reshaped, (1, 6, 8)), (weight, (8, 8))], (1, 6, 8))
    (error,) = check_model(builder.result(product, (1, 6, 8)), weights=builder.weights, batch=3).errors
    assert error.hint is not None
    assert error.hint == mentions(1, parts[0], f"layer{parts[0]}", "[1]")


def test_computed_pattern_blames_no_constant() -> None:
    builder = Builder()
    x = builder.parameter(1, 6, 8)
    difference = builder.add("Subtract", "i64 i64 i64", [(builder.const(3), (1,)), (builder.const(2), (1,))], (1,))
    parts = [difference, builder.const(6), builder.const(-1)]
    pattern = builder.add("Concat", "i64 i64 i64 i64", [(part, (1,)) for part in parts], (3,), 'axis="0"')
    reshaped = builder.reshape(x, (1, 6, 8), pattern, (1, 6, 8))
    product = builder.add("MatMul", "f32 f32 f32", [(reshaped, (1, 6, 8)), (builder.zeros(8, 8), (8, 8))], (1, 6, 8))
    (error,) = check_model(builder.result(product, (1, 6, 8)), weights=builder.weights, batch=3).errors
    assert "(Const) = [3]" not in (error.hint or "")


@pytest.mark.parametrize("dims", [15, 16, 17])
def test_long_constant_is_described_by_type(dims: int) -> None:
    builder = Builder()
    x = builder.parameter(1, 6)
    sizes = (1, 6, *[1] * (dims - 2))
    reshaped = builder.reshape(x, (1, 6), builder.const(*sizes), sizes)
    xml = builder.result(reshaped, sizes)
    (error,) = check_model(xml, weights=builder.weights, batch=3).errors
    assert error.hint is not None
    shown = str(list(sizes)).replace(" ", "") if dims <= 16 else "i64[17]"
    assert f"(Const) {'= ' * (dims <= 16)}{shown}" in error.hint
    loaded = load(xml, builder.weights)
    assert loaded is not None
    (pattern,) = [node for node in loaded.graph.nodes if node.type == "Const"]
    type = infer_types(loaded.graph, weights=loaded.weights)[pattern.outputs[0].number]
    assert sizes_of(pattern, type) == ({1, 6} if dims <= 16 else {dims})


def test_unknown_values_are_not_stray() -> None:
    builder = Builder()
    reshaped = builder.reshape(builder.parameter(1, 6, 8), (1, 6, 8), builder.const(1, 6, -1), (1, 6, 8))
    relu = builder.add("ReLU", "f32 f32", [(reshaped, (1, 6, 8))], (1, 6, 8))
    loaded = load(builder.result(relu, (1, 6, 8)), builder.weights)
    assert loaded is not None
    types = infer_types(loaded.graph, weights=loaded.weights)
    node = next(node for node in loaded.graph.nodes if node.type == "ReLU")
    for value in (value for node in loaded.graph.nodes for value in node.outputs):
        unknown = [*types]
        unknown[value.number] = TensorType.unknown()
        assert stray(node, types, unknown) is None
        assert stray(node, unknown, types) is None


@pytest.mark.parametrize(
    ("old", "new", "pattern", "is_stray"),
    [
        ((1, 6, 8), (3, 6, 8), (1, 6, -1), True),
        ((1, 6, 8), (3, 6, 8), (1, -1, 8), True),
        ((1, 6, 8), (3, 6, 8), (-1, 6, 8), False),
        ((1, 6, 8), (3, 6, 8), (-1, 8), False),  # the batch is merged into rows
        ((1, 6, 8), (3, 6, 8), (6, -1), True),
        ((1, 6, 8), (1, 12, 8), (1, -1, 8), False),
        ((1, 6, 8), (1, 12, 8), (-1, 6, 8), True),
        ((2, 6, 8), (4, 6, 8), (2, 6, -1), True),
        ((6,), (18,), (-1, 1, 6), False),  # a merged batch is restored
        ((6,), (18,), (1, 2, -1), False),
        ((6, 8), (18, 8), (6, -1), True),
    ],
)
def test_where_a_change_goes(
    old: tuple[int, ...], new: tuple[int, ...], pattern: tuple[int, ...], is_stray: bool
) -> None:
    builder = Builder()
    x = builder.parameter(*old)
    out = np.zeros(old).reshape(pattern).shape
    reshaped = builder.reshape(x, old, builder.const(*pattern), out)
    relu = builder.add("ReLU", "f32 f32", [(reshaped, out)], out)
    loaded = load(builder.result(relu, out), builder.weights)
    assert loaded is not None
    before = infer_types(loaded.graph, weights=loaded.weights)
    overrides = {loaded.graph.parameters[0].outputs[0]: TensorType(ElementType.f32, Shape(new))}
    after = infer_types(loaded.graph, weights=loaded.weights, overrides=overrides)
    node = next(node for node in loaded.graph.nodes if node.type == "ReLU")
    assert (stray(node, before, after) is not None) == is_stray
