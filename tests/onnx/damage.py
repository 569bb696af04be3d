"""Damaged copies of ONNX files: what becomes of them is an IRError or a network, in little memory.

    python -m tests.onnx.damage [--count 1000] [--seed 0]

tries more than the tests do, and prints what they would fail for.
"""

from __future__ import annotations

import argparse
import sys
import tracemalloc
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import onnx
from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto

import ir_exec
from ir_exec.codes import Code
from ir_exec.errors import IRError

__all__ = ["FILES", "copies", "fault"]

FILES = sorted((Path(__file__).parents[1] / "networks" / "onnx").glob("*.onnx"))

_MOST_MEMORY = 2**26
"""Bytes that a damaged file of some kilobytes may take: it is read, checked and run."""

_ABSURD = (-1, 0, 1, 7, -(2**31), 2**31, 2**40, 2**62, -(2**63))


def _cut(raw: bytes, random: Random) -> bytes:
    return raw[: random.randrange(len(raw))]


def _bytes(raw: bytes, random: Random) -> bytes:
    changed = bytearray(raw)
    for _ in range(random.randint(1, 8)):
        changed[random.randrange(len(raw))] = random.randrange(256)
    return bytes(changed)


def _graphs(graph: GraphProto) -> Iterator[GraphProto]:
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from _graphs(attribute.g)


def _any_node(model: ModelProto, random: Random) -> NodeProto:
    return random.choice([node for graph in _graphs(model.graph) for node in graph.node])


def _any_tensor(model: ModelProto, random: Random) -> TensorProto:
    """An initializer, or the value of a Constant."""
    tensors = [tensor for graph in _graphs(model.graph) for tensor in graph.initializer]
    nodes = [node for graph in _graphs(model.graph) for node in graph.node]
    tensors += [
        attribute.t for node in nodes for attribute in node.attribute if attribute.type == AttributeProto.TENSOR
    ]
    return random.choice(tensors) if tensors else TensorProto()


def _dims(model: ModelProto, random: Random) -> None:
    tensor = _any_tensor(model, random)
    dims = list(tensor.dims)
    if dims and random.random() < 0.8:
        dims[random.randrange(len(dims))] = random.choice(_ABSURD)
    else:
        dims.append(random.choice(_ABSURD))
    del tensor.dims[:]
    tensor.dims.extend(dims)


def _data_type(model: ModelProto, random: Random) -> None:
    _any_tensor(model, random).data_type = random.choice([*TensorProto.DataType.values(), 99])


def _elements(model: ModelProto, random: Random) -> None:
    """Other elements: sizes, axes and indices among them."""
    tensor = _any_tensor(model, random)
    if tensor.data_type == TensorProto.INT64 and tensor.raw_data:
        values = np.frombuffer(tensor.raw_data, np.int64).copy()
        values[random.randrange(values.size)] = random.choice(_ABSURD)
        tensor.raw_data = values.tobytes()
    else:
        tensor.raw_data = tensor.raw_data[: random.randrange(len(tensor.raw_data) + 1)]


def _damage_type(model: ModelProto, random: Random) -> None:
    graph = random.choice(list(_graphs(model.graph)))
    ports = [*graph.input, *graph.output, *graph.value_info]
    if not ports:
        return
    type = random.choice(ports).type.tensor_type
    way = random.randrange(3)
    if way == 0:
        type.elem_type = random.choice([*TensorProto.DataType.values(), 99])
    elif way == 1 or not type.shape.dim:
        type.shape.dim.add().dim_value = random.choice(_ABSURD)
    else:
        random.choice(type.shape.dim).dim_value = random.choice(_ABSURD)


def _names(model: ModelProto, random: Random) -> None:
    left, right = _any_node(model, random), _any_node(model, random)
    ends = random.choice([("input", "input"), ("output", "output"), ("input", "output")])
    first, second = getattr(left, ends[0]), getattr(right, ends[1])
    if first and second:
        i, j = random.randrange(len(first)), random.randrange(len(second))
        first[i], second[j] = second[j], first[i]


def _attribute(model: ModelProto, random: Random) -> None:
    nodes = [node for graph in _graphs(model.graph) for node in graph.node if node.attribute]
    if not nodes:
        return
    node = random.choice(nodes)
    attribute = random.choice(node.attribute)
    way = random.randrange(5)
    if way == 0:
        node.attribute.remove(attribute)
    elif way == 1:
        attribute.type = random.choice([type for type in AttributeProto.AttributeType.values() if type])
    elif attribute.ints:
        attribute.ints[random.randrange(len(attribute.ints))] = random.choice(_ABSURD)
    elif attribute.type == AttributeProto.INT:
        attribute.i = random.choice(_ABSURD)
    elif attribute.type == AttributeProto.FLOAT:
        attribute.f = random.choice([float("nan"), float("inf"), -1.0, 0.0, 1e30])
    elif attribute.type == AttributeProto.STRING:
        attribute.s = random.choice([b"", b"other", b"\xff\xfe", attribute.s[::-1]])
    else:
        attribute.name = random.choice(["", "axis", "value", "body"])


def _operator(model: ModelProto, random: Random) -> None:
    node = _any_node(model, random)
    choices = ["Loop", "If", "Reshape", "Gather", "Nothing", _any_node(model, random).op_type]
    node.op_type = random.choice(choices)
    if random.random() < 0.2:
        node.domain = random.choice(["com.microsoft", "ai.onnx.ml", "nowhere"])


def _version(model: ModelProto, random: Random) -> None:
    random.choice(model.opset_import).version = random.choice([-1, 0, 1, 6, 11, 13, 18, 23, 99])


def _nodes(model: ModelProto, random: Random) -> None:
    graph = random.choice(list(_graphs(model.graph)))
    if not graph.node:
        return
    position = random.randrange(len(graph.node))
    way = random.randrange(4)
    if way == 0:
        del graph.node[position]
    elif way == 1:
        graph.node.add().CopyFrom(graph.node[position])
    elif way == 2 and graph.node[position].input:
        del graph.node[position].input[-1]
    else:
        graph.node[position].input.append(random.choice(graph.node).output[0])


def _ends(model: ModelProto, random: Random) -> None:
    """Inputs and outputs of a graph or a body that are missing, doubled or renamed."""
    graph = random.choice(list(_graphs(model.graph)))
    ends = random.choice([graph.input, graph.output])
    if not ends:
        return
    way = random.randrange(3)
    if way == 0:
        del ends[random.randrange(len(ends))]
    elif way == 1:
        ends.add().CopyFrom(random.choice(ends))
    else:
        random.choice(ends).name = random.choice(["", "other", graph.node[0].output[0] if graph.node else "x"])


_OF_BYTES: tuple[Callable[[bytes, Random], bytes], ...] = (_cut, _bytes)
_OF_MODELS: tuple[Callable[[ModelProto, Random], None], ...] = (
    _dims,
    _data_type,
    _elements,
    _damage_type,
    _names,
    _attribute,
    _operator,
    _version,
    _nodes,
    _ends,
)


def copies(path: Path, count: int, seed: int = 0) -> Iterator[tuple[str, bytes]]:
    """So many damaged copies of a file, with a description of each damage: reproducible by the seed."""
    raw = path.read_bytes()
    for number in range(count):
        random = Random(f"{path.stem}-{seed}-{number}")  # nothing is kept secret
        way: Callable[..., Any] = random.choice([*_OF_BYTES, *_OF_MODELS])
        name = f"{path.stem}{way.__name__}-{number}"
        if way in _OF_BYTES:
            yield name, way(raw, random)
            continue
        model = onnx.load_from_string(raw)
        for _ in range(random.choice([1, 1, 1, 2, 3])):
            way(model, random)
        yield name, model.SerializeToString()


def fault(raw: bytes) -> str | None:
    """Faults in reading, checking and running a damaged file; None without any."""
    tracemalloc.start()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            for step in (ir_exec.check_model, _run):
                try:
                    step(raw)
                except IRError as error:
                    if error.code == Code.internal_error:
                        return f"{step.__name__}: {error}"
        peak = tracemalloc.get_traced_memory()[1]
    except Exception as error:  # any other one is a fault
        return f"{step.__name__}: {type(error).__name__}: {error}"
    finally:
        tracemalloc.stop()
    return f"it took {peak:,} bytes" if peak > _MOST_MEMORY + 20 * len(raw) else None


def _run(raw: bytes) -> None:
    compiled = ir_exec.compile_model(raw, max_memory=_MOST_MEMORY // 4, max_seconds=20)
    inputs = {}
    for port in compiled.inputs:
        if not port.element_type.is_known:
            return
        dims = [3] * 2 if port.shape.dims is None else [dim.size if dim.is_static else 2 for dim in port.shape]
        if any(dim > 64 for dim in dims) or len(dims) > 6:
            return
        inputs[port.name] = np.ones(dims, port.element_type.dtype)
    compiled(inputs)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    faults = 0
    for path in FILES:
        for name, raw in copies(path, options.count // len(FILES), options.seed):
            told = fault(raw)
            if told is not None:
                faults += 1
                print(f"{name}: {told}", flush=True)  # noqa: T201
    return int(faults > 0)


if __name__ == "__main__":
    sys.exit(main())
