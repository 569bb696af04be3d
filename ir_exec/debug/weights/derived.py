"""Tensors that exporters compute from those of a checkpoint: folded batch normalization, normalized weights."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import prod

import numpy as np

from ir_exec.debug.weights.readers.tensors import CheckpointTensor, MemoryTensor, count_rows
from ir_exec.debug.weights.recurrent import derive_gates
from ir_exec.debug.weights.source_tensors import NORMALIZED, SourceTensor
from ir_exec.types import Array

__all__ = ["TYPED_POSITIONS", "batch_norm_of", "derive_tensors", "list_sources", "multiply_vectors"]

_EPSILONS = (1e-5, 1e-3, 1e-6, 1e-4, 1e-12)
"""Usual numbers added to the variance of a batch normalization: of PyTorch, TensorFlow, and others."""

TYPED_POSITIONS = "plus the first type of tokens"
"""The transformation of embeddings of positions, of which models for shorter inputs have the first rows."""

_MOST_ELEMENTS = 2**24
"""Maximum elements of a tensor that is computed."""


def list_sources(tensors: Mapping[str, CheckpointTensor]) -> list[SourceTensor]:
    """The tensors with elements, then those that are computed from them."""
    plain = [SourceTensor(tensor, (name,)) for name, tensor in tensors.items() if prod(tensor.shape) > 0]
    return [*plain, *derive_tensors(tensors)]


def derive_tensors(tensors: Mapping[str, CheckpointTensor]) -> Iterator[SourceTensor]:
    """Yield the tensors that exporters compute from those of a checkpoint."""
    for name in tensors:
        prefix, _, leaf = name.rpartition(".")
        if leaf == "running_var":
            yield from _batch_norm(prefix, tensors)
        elif leaf == "original1" and prefix.endswith("parametrizations.weight"):
            yield from _weight_norm(f"{prefix}.original0", name, tensors)
        elif leaf == "weight_v":
            yield from _weight_norm(f"{prefix}.weight_g", name, tensors)
        elif leaf == "weight_orig":
            yield from _spectral_norm(name, f"{prefix}.weight_u", f"{prefix}.weight_v", tensors)
        elif leaf == "original" and f"{prefix}.0._u" in tensors:
            yield from _spectral_norm(name, f"{prefix}.0._u", f"{prefix}.0._v", tensors)
        elif leaf.startswith("weight_ih_l"):
            yield from derive_gates(name, tensors)
        elif prefix.endswith("token_type_embeddings"):
            yield from _typed_positions(prefix.removesuffix("token_type_embeddings"), name, tensors)
        elif leaf == "relative_position_bias_table":
            yield from _relative_positions(name, tensors[name])
        elif leaf.endswith("A_log") and prod(tensors[name].shape) <= _MOST_ELEMENTS:
            exponential = np.exp(_read(tensors[name]))
            yield SourceTensor(MemoryTensor(name, -exponential), (name,), "negated exponential")
            yield SourceTensor(MemoryTensor(name, exponential), (name,), "exponential")


def batch_norm_of(prefix: str, tensors: Mapping[str, CheckpointTensor], epsilon: float) -> tuple[Array, Array] | None:
    """The scale and the shift of a batch normalization with statistics, as f64."""
    mean, variance = tensors.get(f"{prefix}.running_mean"), tensors.get(f"{prefix}.running_var")
    if mean is None or variance is None or mean.shape != variance.shape or len(mean.shape) != 1:
        return None
    gamma, beta = tensors.get(f"{prefix}.weight"), tensors.get(f"{prefix}.bias")
    if any(tensor is not None and tensor.shape != mean.shape for tensor in (gamma, beta)):
        return None
    with np.errstate(all="ignore"):
        scale = (1.0 if gamma is None else _read(gamma)) / np.sqrt(_read(variance) + epsilon)
        shift = (0.0 if beta is None else _read(beta)) - _read(mean) * scale
    return scale, shift


def _batch_norm(prefix: str, tensors: Mapping[str, CheckpointTensor]) -> Iterator[SourceTensor]:
    names = [f"{prefix}.{leaf}" for leaf in ("weight", "bias", "running_mean", "running_var")]
    present = tuple([name for name in names if name in tensors])
    with_shift = tuple([name for name in reversed(present) if not name.endswith(".weight")])
    for epsilon in _EPSILONS:
        folded = batch_norm_of(prefix, tensors, epsilon)
        if folded is None:
            return
        scale, shift = (np.asarray(values, np.float32) for values in folded)
        transformation = f"folded batch normalization, epsilon {epsilon:g}"
        yield SourceTensor(MemoryTensor(prefix, scale), (*present[:1], f"{prefix}.running_var"), transformation)
        yield SourceTensor(MemoryTensor(prefix, shift), (*with_shift[::-1], *present[:1]), transformation)


def _weight_norm(
    scale_name: str, direction_name: str, tensors: Mapping[str, CheckpointTensor]
) -> Iterator[SourceTensor]:
    scale, direction = tensors.get(scale_name), tensors[direction_name]
    if scale is None or len(scale.shape) != len(direction.shape) or prod(direction.shape) > _MOST_ELEMENTS:
        return
    numbers, magnitude = _read(direction), _read(scale)
    axes = tuple([axis for axis, size in enumerate(scale.shape) if size == 1])
    with np.errstate(all="ignore"):
        values = magnitude * numbers / np.sqrt(np.square(numbers).sum(axis=axes, keepdims=True))
    if values.shape == direction.shape:
        tensor = MemoryTensor(direction_name, values.astype(np.float32))
        yield SourceTensor(tensor, (direction_name, scale_name), NORMALIZED)


def _spectral_norm(
    name: str, left_name: str, right_name: str, tensors: Mapping[str, CheckpointTensor]
) -> Iterator[SourceTensor]:
    """A weight divided by its greatest singular value, that of two stored vectors."""
    weight, left, right = tensors[name], tensors.get(left_name), tensors.get(right_name)
    if left is None or right is None or prod(weight.shape) > _MOST_ELEMENTS:
        return
    if prod(left.shape) * prod(right.shape) != prod(weight.shape) or weight.shape[:1] != left.shape:
        return
    numbers = _read(weight)
    with np.errstate(all="ignore"):
        values = numbers / (_read(left) @ numbers.reshape(len(numbers), -1) @ _read(right))
    tensor = MemoryTensor(name, values.astype(np.float32))
    yield SourceTensor(tensor, (name, left_name, right_name), "divided by its spectral norm")


def _typed_positions(prefix: str, type_name: str, tensors: Mapping[str, CheckpointTensor]) -> Iterator[SourceTensor]:
    """The embeddings of positions plus that of the first type of tokens, which a model without types adds to all."""
    name = f"{prefix}position_embeddings.weight"
    positions, types = tensors.get(name), tensors[type_name]
    if positions is None or positions.shape[1:] != types.shape[1:] or prod(positions.shape) > _MOST_ELEMENTS:
        return
    total = (_read(positions) + _read(types)[:1]).astype(np.float32)
    yield SourceTensor(MemoryTensor(name, total), (name, type_name), TYPED_POSITIONS)


def _relative_positions(name: str, table: CheckpointTensor) -> Iterator[SourceTensor]:
    """The bias of each pair of positions in a square window, of a table of differences in both directions."""
    if len(table.shape) != 2:
        return
    span = round(table.shape[0] ** 0.5)
    window = (span + 1) // 2
    if span * span != table.shape[0] or span % 2 == 0 or window**4 * table.shape[1] > _MOST_ELEMENTS:
        return
    row, column = np.divmod(np.arange(window * window), window)
    index = (row[:, None] - row + window - 1) * span + column[:, None] - column + window - 1
    bias = _read(table)[index].transpose(2, 0, 1).astype(np.float32)
    yield SourceTensor(MemoryTensor(name, bias), (name,), "gathered by relative positions")


def multiply_vectors(
    name: str, tensors: Mapping[str, CheckpointTensor], scale: SourceTensor, shift: SourceTensor | None
) -> SourceTensor | None:
    """The bias of a layer whose outputs are multiplied, plus the shift of a batch normalization."""
    bias = tensors.get(name)
    if bias is None or prod(bias.shape) != prod(scale.tensor.shape):
        return None
    product = _read(bias).reshape(-1) * _read(scale.tensor).reshape(-1)
    if shift is not None:
        product = product + _read(shift.tensor).reshape(-1)
    names = tuple(dict.fromkeys((name, *scale.names, *(() if shift is None else shift.names))))
    return SourceTensor(
        MemoryTensor(name, product.astype(np.float32)), names, scale.transformation or f"scaled by {scale.name}"
    )


def _read(tensor: CheckpointTensor) -> Array:
    return tensor.read(0, count_rows(tensor.shape)).astype(np.float64).reshape(tensor.shape)
