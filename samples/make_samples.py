"""Makes the samples with OpenVINO: `python samples/make_samples.py` from a clone with the `test` extra installed.

Every sample is an IR file (.xml and .bin) as OpenVINO writes it, with inputs (.inputs.npz) and the outputs that
OpenVINO computes from them (.outputs.npz), both by name. broken.xml is gnn_step.xml with faults put in by hand.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import openvino as ov
from openvino import opset15 as ops

HERE = Path(__file__).parent

Arrays = dict[str, np.ndarray[Any, Any]]


def named(node: ov.Node, name: str) -> ov.Node:
    node.set_friendly_name(name)
    node.output(0).get_tensor().set_names({name})
    return node


def parameter(name: str, shape: list[int], element_type: Any) -> ov.Node:
    return named(ops.parameter(shape, element_type), name)


def gather_elements() -> tuple[ov.Model, Arrays]:
    """The second example of GatherElements-6: rank 3, axis 1."""
    data = parameter("data", [2, 2, 3], np.float32)
    indices = parameter("indices", [2, 1, 3], np.int64)
    output = named(ops.gather_elements(data, indices, 1), "output")
    arrays = {
        "data": np.arange(1, 13, dtype=np.float32).reshape(2, 2, 3),
        "indices": np.array([[[1, 0, 1]], [[0, 1, 1]]]),
    }
    return ov.Model([output], [data, indices], "gather_elements"), arrays


def scatter_update() -> tuple[ov.Model, Arrays]:
    """The example of ScatterUpdate-3: rows of updates replace rows of data, here along axis 1."""
    data = parameter("data", [-1, 16, 10, 15], np.float32)
    indices = parameter("indices", [-1, 2], np.int32)
    updates = parameter("updates", [-1, -1, 2, 10, 15], np.float32)
    axis = named(ops.constant(1, dtype=np.int32), "axis")
    output = named(ops.scatter_update(data, indices, updates, axis), "output")
    random = np.random.default_rng(0)
    arrays = {
        "data": np.zeros((1, 16, 10, 15), np.float32),
        "indices": random.permutation(16)[:6].reshape(3, 2).astype(np.int32),
        "updates": random.standard_normal((1, 3, 2, 10, 15)).astype(np.float32),
    }
    return ov.Model([output], [data, indices, updates], "scatter_update"), arrays


def cache_update() -> tuple[ov.Model, Arrays]:
    """A step of a decoder: new keys enter a cache that lives across calls, and a query is compared with all keys."""
    from openvino.op import util

    keys = parameter("new_keys", [1, 2, -1, 4], np.float32)
    position = parameter("position", [-1], np.int64)
    query = parameter("query", [1, 2, -1, 4], np.float32)
    info = util.VariableInfo()
    info.data_shape = ov.PartialShape([1, 2, 8, 4])
    info.data_type = ov.Type.f32
    info.variable_id = "keys"
    variable = util.Variable(info)
    empty = ops.constant(np.zeros((1, 2, 8, 4), np.float32))
    cache = named(ops.read_value(empty, variable), "cache")
    updated = named(ops.scatter_update(cache, position, keys, ops.constant(np.int64(2))), "updated")
    scores = named(ops.matmul(query, updated, False, True), "scores")
    random = np.random.default_rng(1)
    arrays = {
        "new_keys": random.standard_normal((1, 2, 3, 4)).astype(np.float32),
        "position": np.array([0, 1, 2]),
        "query": random.standard_normal((1, 2, 1, 4)).astype(np.float32),
    }
    model = ov.Model([ops.result(scores)], [ops.assign(updated, variable)], [keys, position, query], "cache_update")
    return model, arrays


def gnn_step() -> tuple[ov.Model, Arrays]:
    """Messages along the edges of a graph: gather from the sources, scatter-add to the targets, transform."""
    random = np.random.default_rng(2)
    features = parameter("features", [-1, 4], np.float32)
    edges = parameter("edges", [2, -1], np.int64)
    zero = ops.constant(np.int64(0))
    source, target = ops.split(edges, zero, 2).outputs()
    messages = named(ops.gather(features, ops.squeeze(source, zero), zero), "messages")
    column = ops.transpose(target, ops.constant(np.array([1, 0])))
    places = named(ops.broadcast(column, ops.shape_of(messages)), "places")
    nothing = named(ops.multiply(features, ops.constant(np.float32(0))), "nothing")
    total = named(ops.scatter_elements_update(nothing, places, messages, zero, "sum", True), "total")
    weight = ops.constant(random.standard_normal((4, 8)).astype(np.float32))
    hidden = named(ops.relu(ops.matmul(ops.add(features, total), weight, False, False)), "hidden")
    arrays = {
        "features": random.standard_normal((5, 4)).astype(np.float32),
        "edges": np.array([[0, 1, 2, 3, 4, 0], [1, 2, 3, 4, 0, 2]]),
    }
    return ov.Model([hidden], [features, edges], "gnn_step"), arrays


def bert() -> tuple[ov.Model, Arrays]:
    """An encoder as BERT's: embeddings, two layers of attention and feed-forward, dynamic batch and length."""
    random = np.random.default_rng(3)
    width, heads, vocabulary, longest = 32, 4, 100, 64

    def weights(*shape: int) -> ov.Node:
        return ops.constant((random.standard_normal(shape) / np.sqrt(shape[0])).astype(np.float32))

    def linear(x: ov.Node, columns: int) -> ov.Node:
        rows = x.get_output_partial_shape(0)[-1].get_length()
        return ops.add(ops.matmul(x, weights(rows, columns), False, False), weights(1, 1, columns))

    def normalize(x: ov.Node) -> ov.Node:
        centered = ops.mvn(x, ops.constant(np.array([-1])), True, 1e-5, "inside_sqrt")
        return ops.add(ops.multiply(centered, weights(1, 1, width)), weights(1, 1, width))

    def split_heads(x: ov.Node) -> ov.Node:
        pattern = ops.constant(np.array([0, 0, heads, width // heads]))
        return ops.transpose(ops.reshape(x, pattern, True), ops.constant(np.array([0, 2, 1, 3])))

    def attention(x: ov.Node, mask: ov.Node) -> ov.Node:
        query, key, value = (split_heads(linear(x, width)) for _ in range(3))
        found = ops.scaled_dot_product_attention(query, key, value, mask)
        rows = ops.transpose(found, ops.constant(np.array([0, 2, 1, 3])))
        return linear(ops.reshape(rows, ops.constant(np.array([0, 0, width])), True), width)

    ids = parameter("input_ids", [-1, -1], np.int64)
    attended = parameter("attention_mask", [-1, -1], np.int64)
    zero, one = ops.constant(np.int64(0)), ops.constant(np.int64(1))
    length = ops.gather(ops.shape_of(ids), one, zero)
    positions = ops.range(zero, length, one, "i64")
    words = ops.gather(weights(vocabulary, width), ids, zero)
    x = normalize(ops.add(words, ops.gather(weights(longest, width), positions, zero)))
    rows = ops.unsqueeze(attended, ops.constant(np.array([1, 2])))
    mask = ops.convert(rows, "boolean")
    for _ in range(2):
        x = normalize(ops.add(x, attention(x, mask)))
        x = normalize(ops.add(x, linear(ops.gelu(linear(x, 2 * width), "erf"), width)))
    x = named(x, "last_hidden_state")
    first = ops.gather(x, zero, one)
    pooled = named(ops.tanh(ops.matmul(first, weights(width, width), False, False)), "pooled")
    arrays = {
        "input_ids": random.integers(0, vocabulary, (2, 7)),
        "attention_mask": np.array([[1] * 7, [1] * 4 + [0] * 3]),
    }
    return ov.Model([x, pooled], [ids, attended], "bert"), arrays


def write(make: Callable[[], tuple[ov.Model, Arrays]]) -> None:
    model, arrays = make()
    path = HERE / f"{make.__name__}.xml"
    ov.save_model(model, path, compress_to_fp16=False)
    compiled = ov.Core().compile_model(path, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    results = compiled(arrays)
    np.savez(HERE / f"{make.__name__}.inputs.npz", **arrays)
    outputs = {output.get_any_name(): results[output] for output in compiled.outputs}
    np.savez(HERE / f"{make.__name__}.outputs.npz", **outputs)


def write_broken() -> None:
    """Four faults that have nothing to do with each other, as careless edits and broken copies put them in."""
    text = (HERE / "gnn_step.xml").read_text()
    column = '<port id="2" precision="I64">\n\t\t\t\t\t<dim>-1</dim>\n\t\t\t\t\t<dim>1</dim>'
    for old, new in [
        ('name="messages" type="Gather"', 'name="messages" type="Gathr"'),
        ('reduction="sum"', 'reduction="add"'),
        (column, column.replace("<dim>1</dim>", "<dim>3</dim>")),
    ]:
        if old not in text:
            raise ValueError(f"gnn_step.xml does not hold {old!r}")
        text = text.replace(old, new, 1)
    (HERE / "broken.xml").write_text(text)
    (HERE / "broken.bin").write_bytes((HERE / "gnn_step.bin").read_bytes()[:-28])


if __name__ == "__main__":
    for make in (gather_elements, scatter_update, cache_update, gnn_step, bert):
        write(make)
    write_broken()
