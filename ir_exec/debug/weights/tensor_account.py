"""The tensors of a checkpoint: where they are used, and why others are not."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from math import prod

import numpy as np

from ir_exec.debug.weights.layouts import squeeze_shape
from ir_exec.debug.weights.matching import Matcher, WeightMatch
from ir_exec.debug.weights.model_weights import ModelWeight
from ir_exec.debug.weights.names import NameIndex, generalize_name, split_name
from ir_exec.debug.weights.placement import equal_tensors
from ir_exec.debug.weights.readers.tensors import Checkpoint, CheckpointTensor, count_rows
from ir_exec.debug.weights.records import AccountedTensor, WeightFault
from ir_exec.report.text import list_names
from ir_exec.types import ElementType

__all__ = ["account_for_tensors", "find_missing"]

_CHUNK = 2**22
_SAMPLES = 64

_ZERO = "all values are 0"


def account_for_tensors(
    checkpoint: Checkpoint,
    matches: Mapping[ModelWeight, WeightMatch | None],
    claimed: Mapping[str, str],
    matcher: Matcher,
    index: NameIndex,
) -> list[AccountedTensor]:
    """Return the use of every tensor.

    Args:
        claimed: The weights that are wrong by the tensors that they should be.
    """
    uses: dict[str, list[str]] = {}
    for weight, match in matches.items():
        for name in () if match is None else match.names:
            uses.setdefault(name, []).append(weight.name)
    prefixes = _used_prefixes(uses)
    tensors = []
    for name, tensor in checkpoint.tensors.items():
        weights = tuple(dict.fromkeys(uses.get(name, ())))
        details: dict[str, object] = {"status": "used", "weights": weights}
        if not weights:
            details = _account_for_unused(name, tensor, checkpoint, uses, claimed, matcher, prefixes)
        tensors.append(
            AccountedTensor.model_validate(
                {"name": name, "shape": tensor.shape, "format": tensor.format, "bytes": tensor.size, **details}
            )
        )
    tensors += [
        AccountedTensor(name=name, shape=(), format="other", bytes=0, status="not compared")
        for name in checkpoint.not_compared
    ]
    return tensors


def _account_for_unused(
    name: str,
    tensor: CheckpointTensor,
    checkpoint: Checkpoint,
    uses: Mapping[str, list[str]],
    claimed: Mapping[str, str],
    matcher: Matcher,
    prefixes: set[tuple[str, ...]],
) -> dict[str, object]:
    if name in claimed:
        return {"status": "used", "weights": (claimed[name],), "reason": "its weight is wrong"}
    if not _has_numbers(tensor):
        return {"status": "not compared", "reason": "it has no floats, or a single one"}
    if _is_neutral(tensor):
        return {"status": "neutral", "reason": _ZERO if not tensor.read(0, 1).any() else "all values are 1"}
    tied = _find_equal(name, tensor, checkpoint, uses, matcher)
    if tied is not None:
        return {"status": "used", "weights": tuple(uses[tied]), "reason": f"equal to {tied}"}
    module = split_name(name)[:-1]
    is_near = any(module[:length] in prefixes for length in range(max(len(module) - 1, 1), len(module) + 1))
    return {"status": "unused" if is_near else "no layer"}


def _has_numbers(tensor: CheckpointTensor) -> bool:
    names = ElementType.__members__
    is_integer = tensor.format in names and not ElementType[tensor.format].is_float
    return not is_integer and prod(tensor.shape) > 1


def _is_neutral(tensor: CheckpointTensor) -> bool:
    """Return True if all elements are 0, or all are 1."""
    rows, width = count_rows(tensor.shape), max(prod(tensor.shape[1:]), 1)
    chunk = max(_CHUNK // width, 1)
    first = tensor.read(0, 1).reshape(-1)[:1]
    if not len(first) or float(first[0]) not in (0.0, 1.0):
        return False
    return all((tensor.read(start, min(start + chunk, rows)) == first).all() for start in range(0, rows, chunk))


def _find_equal(
    name: str, tensor: CheckpointTensor, checkpoint: Checkpoint, uses: Mapping[str, list[str]], matcher: Matcher
) -> str | None:
    """A used tensor with equal numbers."""
    positions = np.linspace(0, prod(tensor.shape) - 1, _SAMPLES).astype(np.int64)
    sample = tensor.gather(positions)
    for other, candidate in checkpoint.tensors.items():
        if other == name or other not in uses or squeeze_shape(candidate.shape) != squeeze_shape(tensor.shape):
            continue
        if np.array_equal(sample, candidate.gather(positions)) and equal_tensors(tensor, candidate):
            return other
    return None


def _used_prefixes(uses: Mapping[str, list[str]]) -> set[tuple[str, ...]]:
    prefixes: set[tuple[str, ...]] = set()
    for name in uses:
        module = split_name(name)[:-1]
        prefixes.update(module[:length] for length in range(1, len(module) + 1))
    return prefixes


def find_missing(
    tensors: list[AccountedTensor], index: NameIndex, adapters: frozenset[str], layers: int | None
) -> Iterator[WeightFault]:
    """Yield the unused tensors that other tensors show to be missing: of the same module, or of other layers.

    Args:
        adapters: The names of tensors of adapters.
        layers: The number of layers in the settings of the model; None if it is not known.
    """
    by_name = {tensor.name: tensor for tensor in tensors}
    # Layers whose outputs are multiplied by zeros are left out with them.
    dead = {split_name(tensor.name)[:-2] for tensor in tensors if tensor.reason == _ZERO and _is_scale(tensor.name)}
    used = {tensor.name for tensor in tensors if tensor.status == "used"}
    templates: dict[str, list[str]] = {}
    for name in used:
        templates.setdefault(generalize_name(name), []).append(name)
    missing: dict[str, list[AccountedTensor]] = {}
    for tensor in tensors:
        if tensor.status not in ("unused", "no layer") or tensor.name in adapters:
            continue
        if split_name(tensor.name)[:-2] in dead:
            continue
        has_siblings = any(sibling in used for sibling in index.siblings(tensor.name))
        others = templates.get(generalize_name(tensor.name), [])
        layer = _layer_of(tensor.name)
        if has_siblings:
            missing.setdefault(tensor.name, []).append(tensor)
        elif others and layer is not None:
            prefix, number = layer
            is_partly_used = any(name.startswith(f"{prefix}{number}.") for name in used)
            is_last = all(_number_after(name, prefix) < number for name in others)
            # Decoders of the hidden states of an earlier layer, and heads for further tokens, need no last layers.
            if is_partly_used or not is_last or (layers is not None and number < layers and "vision" not in prefix):
                missing.setdefault(tensor.name if is_partly_used else f"{prefix}{number}", []).append(tensor)
    for module, members in missing.items():
        names = tuple([member.name for member in members])
        layer_name = module if len(members) > 1 else module.rpartition(".")[0]
        message = (
            f"layer {module} is missing in the model: {len(members):,} tensors, {list_names(names, 2)}"
            if len(members) > 1
            else f"the tensor is missing in the model, expected its values in {layer_name}"
        )
        yield WeightFault(
            category="missing",
            layer=layer_name,
            tensors=names,
            bytes=sum(member.bytes for member in members),
            elements=sum(prod(by_name[name].shape) for name in names),
            message=message,
        )


def _is_scale(name: str) -> bool:
    """Return True for the weight of a normalization."""
    return name.endswith((".weight", ".gamma"))


def _layer_of(name: str) -> tuple[str, int] | None:
    """The path before the first number of a name, and the number."""
    match = re.match(r"(.*?[._])?(\d+)\.", name)
    return None if match is None else (match[1] or "", int(match[2]))


def _number_after(name: str, prefix: str) -> int:
    match = re.match(r"\d+", name[len(prefix) :]) if name.startswith(prefix) else None
    return -1 if match is None else int(match[0])
