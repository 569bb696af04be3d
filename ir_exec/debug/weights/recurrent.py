"""The weights of recurrent layers, whose gates other formats order in other ways.

PyTorch has the gates i, f, g, o of an LSTM and r, z, n of a GRU as rows of `weight_ih_l0` and `weight_hh_l0`, and two
biases. OpenVINO has f, i, c, o and z, r, h and adds the biases, except those of the last gate of a GRU. ONNX has i, o,
f, c and z, r, h and concatenates the biases. Both have the two directions along the first axis.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import prod

import numpy as np

from ir_exec.debug.weights.readers.tensors import CheckpointTensor, MemoryTensor, count_rows
from ir_exec.debug.weights.source_tensors import SourceTensor
from ir_exec.types import Array

__all__ = ["derive_gates"]

_OPENVINO: Mapping[int, tuple[int, ...]] = {4: (1, 0, 2, 3), 3: (1, 0, 2), 1: (0,)}
_ONNX: Mapping[int, tuple[int, ...]] = {4: (0, 3, 1, 2), 3: (1, 0, 2), 1: (0,)}
_GRU = 3
_MOST_ELEMENTS = 2**24
"""Maximum elements of a tensor that is computed."""

_FIRST = "weight_ih_l"
_REVERSE = "_reverse"


def derive_gates(name: str, tensors: Mapping[str, CheckpointTensor]) -> Iterator[SourceTensor]:
    """Yield the weights and biases of a recurrent layer in the orders of other formats.

    Args:
        name: The name of the weight of its inputs, in one direction.
    """
    prefix, _, leaf = name.rpartition(".")
    number = leaf.removeprefix(_FIRST)
    if not leaf.startswith(_FIRST) or number.endswith(_REVERSE):
        return
    path = f"{prefix}." if prefix else ""
    for directions in ([number], [f"{number}{_REVERSE}"], [number, f"{number}{_REVERSE}"]):
        layers = [_read_layer(path, direction, tensors) for direction in directions]
        if all(layer is not None for layer in layers):
            yield from _reorder([layer for layer in layers if layer is not None])


def _read_layer(path: str, number: str, tensors: Mapping[str, CheckpointTensor]) -> dict[str, CheckpointTensor] | None:
    """The tensors of one direction by their words; None without weights of fitting shapes."""
    names = {word: f"{path}{word}_l{number}" for word in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")}
    layer = {word: tensors[name] for word, name in names.items() if name in tensors}
    shapes = {word: tensor.shape for word, tensor in layer.items()}
    if "weight_hh" not in layer or "weight_ih" not in layer or sum(map(prod, shapes.values())) > _MOST_ELEMENTS:
        return None
    rows, hidden = (*shapes["weight_hh"], 1, 1)[:2]
    is_fitting = len(shapes["weight_hh"]) == 2 and hidden > 0 and rows % hidden == 0 and rows // hidden in _ONNX
    return layer if is_fitting and {shape[:1] for shape in shapes.values()} == {(rows,)} else None


def _reorder(layers: Sequence[Mapping[str, CheckpointTensor]]) -> Iterator[SourceTensor]:
    rows, hidden = layers[0]["weight_hh"].shape
    gates = rows // hidden
    for word in ("weight_ih", "weight_hh"):
        for order in dict.fromkeys((tuple(range(gates)), _OPENVINO[gates], _ONNX[gates])):
            if order != tuple(range(gates)) or len(layers) > 1:
                parts = [_select_gates(_read(layer[word]), order) for layer in layers]
                yield _join(parts, [layer[word] for layer in layers])
    if not all("bias_ih" in layer and "bias_hh" in layer for layer in layers):
        return
    biases = [tensor for layer in layers for tensor in (layer["bias_ih"], layer["bias_hh"])]
    pairs = [(_read(layer["bias_ih"]), _read(layer["bias_hh"])) for layer in layers]
    yield _join([_add_biases(*pair, gates) for pair in pairs], biases)
    for order in dict.fromkeys((tuple(range(gates)), _ONNX[gates])):
        concatenated = [np.concatenate([_select_gates(bias, order) for bias in pair]) for pair in pairs]
        yield _join(concatenated, biases)


def _add_biases(inputs: Array, hidden: Array, gates: int) -> Array:
    order = _OPENVINO[gates]
    inputs, hidden = _select_gates(inputs, order), _select_gates(hidden, order)
    if gates != _GRU:
        return inputs + hidden
    split = len(inputs) // gates * (gates - 1)
    return np.concatenate([inputs[:split] + hidden[:split], inputs[split:], hidden[split:]])


def _select_gates(array: Array, order: tuple[int, ...]) -> Array:
    return array.reshape(len(order), -1, *array.shape[1:])[list(order)].reshape(array.shape)


def _join(parts: Sequence[Array], tensors: Sequence[CheckpointTensor]) -> SourceTensor:
    names = tuple([tensor.name for tensor in tensors])
    return SourceTensor(MemoryTensor(names[0], np.stack(parts).astype(np.float32)), names, "gates reordered")


def _read(tensor: CheckpointTensor) -> Array:
    return tensor.read(0, count_rows(tensor.shape)).astype(np.float64).reshape(tensor.shape)
