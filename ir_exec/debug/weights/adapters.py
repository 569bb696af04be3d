"""Adapters of low rank (LoRA): products that are added to a weight, and those that a model misses."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod, sqrt
from statistics import median
from typing import Any

import numpy as np

from ir_exec.debug.weights.comparing_values import compare_values
from ir_exec.debug.weights.layouts import Layout, find_layouts, read_in_layout, squeeze_shape
from ir_exec.debug.weights.matching import WeightMatch, describe_format
from ir_exec.debug.weights.model_weights import ModelWeight
from ir_exec.debug.weights.names import split_name
from ir_exec.debug.weights.placement import fault_of
from ir_exec.debug.weights.readers.tensors import CheckpointTensor, MemoryTensor, count_rows
from ir_exec.debug.weights.records import WeightFault
from ir_exec.debug.weights.source_tensors import SourceTensor
from ir_exec.types import Array

__all__ = ["Adapter", "find_adapters", "merge_adapters"]

_DOWN = re.compile(r"^(.*?)[._](?:lora_A|lora_down|lora_a)(?:\.[^.]+)?(?:\.weight)?$")
_UP = ("lora_A", "lora_B"), ("lora_down", "lora_up"), ("lora_a", "lora_b")
_PREFIXES = ("base_model.model.", "base_model.", "transformer.lora.", "diffusion_model.")
_SAME_SCALE = 0.02
_ABSENT = 0.01
"""Maximum share of the expected scale for an adapter that is not merged."""
_MOST_DOUBT = 0.2
"""Maximum relative error of a fitted scale for a verdict on it."""


@dataclass(frozen=True, eq=False)
class Adapter:
    """The two factors of an update of a weight.

    Attributes:
        module: The path of the module that it belongs to.
        names: The names of both tensors, and of the one with its scale.
        down: [rank, inputs].
        up: [outputs, rank].
        scale: The factor of the product; None if no settings declare it.
    """

    module: str
    names: tuple[str, ...]
    down: CheckpointTensor
    up: CheckpointTensor
    scale: float | None

    def multiply(self) -> Array:
        """The update [outputs, inputs] without the scale."""
        down = self.down.read(0, count_rows(self.down.shape)).reshape(count_rows(self.down.shape), -1)
        up = self.up.read(0, count_rows(self.up.shape)).reshape(count_rows(self.up.shape), -1)
        return np.asarray(up @ down)


def find_adapters(tensors: Mapping[str, CheckpointTensor], settings: Mapping[str, Any]) -> list[Adapter]:
    """The pairs of factors in a checkpoint.

    Args:
        settings: The content of `adapter_config.json`.
    """
    adapters: list[Adapter] = []
    for name, down in tensors.items():
        match = _DOWN.match(name)
        if match is None:
            continue
        up_name = next((name.replace(a, b) for a, b in _UP if a in name and name.replace(a, b) in tensors), None)
        if up_name is None or len(down.shape) < 2 or len(tensors[up_name].shape) < 2:
            continue
        up = tensors[up_name]
        if up.shape[1] != down.shape[0]:
            continue
        module = match[1]
        for prefix in _PREFIXES:
            module = module.removeprefix(prefix)
        alpha_name = f"{match[1]}.alpha"
        alpha = tensors.get(alpha_name)
        names = (name, up_name, *([alpha_name] if alpha is not None else []))
        adapters.append(Adapter(module, names, down, up, _scale(module, down.shape[0], alpha, settings)))
    return adapters


def _scale(module: str, rank: int, alpha: CheckpointTensor | None, settings: Mapping[str, Any]) -> float | None:
    if alpha is not None:
        return float(alpha.read(0, 1).reshape(-1)[0]) / rank
    value: Any = settings.get("lora_alpha")
    patterns = settings.get("alpha_pattern")
    if isinstance(patterns, Mapping):
        value = next((patterns[key] for key in patterns if module.endswith(str(key))), value)
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    return float(value) / (sqrt(rank) if settings.get("use_rslora") is True else rank)


def merge_adapters(
    matches: dict[ModelWeight, WeightMatch | None],
    adapters: Sequence[Adapter],
    by_name: Mapping[str, SourceTensor],
    named: Mapping[ModelWeight, frozenset[str]],
) -> Iterator[WeightFault]:
    """Replace the matches of weights that adapters are merged into, and yield the faults of adapters.

    Args:
        matches: The matches of all weights, which are changed.
        named: The tensors that the names of each weight state.
    """
    used = {name for match in matches.values() if match is not None for name in match.names}
    fitted: list[tuple[Adapter, ModelWeight, float]] = []
    for adapter in adapters:
        base = _find_base(adapter.module, by_name)
        if set(adapter.names[:2]) <= used:
            continue  # the model has the factors themselves
        if base is None:
            yield _report_unused(adapter, None, f"no tensor has the name of its layer {adapter.module}")
            continue
        weights = [
            weight
            for weight, match in matches.items()
            if (match is not None and match.names == (base.name,)) or (match is None and base.name in named[weight])
        ]
        if not weights:
            # A large update makes a weight unlike its tensor.
            size = prod(base.tensor.shape)
            unknown = [weight for weight in matches if matches[weight] is None and not named[weight]]
            weights = [weight for weight in unknown if weight.elements == size and _is_merged(weight, base, adapter)]
        if not weights:
            yield _report_unused(adapter, None, f"the model has no weight of {base.name}")
            continue
        for weight in weights:
            match, scale, doubt = _merge(weight, base, adapter)
            if match is None:
                yield _report_unused(adapter, weight, f"expected {adapter.module} with it, but it is {base.name} alone")
                continue
            if adapter.scale is not None and abs(scale - adapter.scale) > max(_SAME_SCALE, 3 * doubt) * abs(
                adapter.scale
            ):
                message = f"the adapter is merged with the scale {scale:.4g}, expected {adapter.scale:.4g}"
                yield fault_of(weight, "adapter scale", message, tensors=(base.name, *adapter.names))
            matches[weight] = match
            fitted.append((adapter, weight, scale))
    unscaled = [(adapter, weight, scale) for adapter, weight, scale in fitted if adapter.scale is None]
    usual = median([scale for *_, scale in unscaled]) if unscaled else 0.0
    for adapter, weight, scale in unscaled:
        if abs(scale - usual) > 0.1 * abs(usual):
            message = f"the adapter is merged with the scale {scale:.4g}, expected {usual:.4g} of the others"
            yield fault_of(weight, "adapter scale", message, tensors=adapter.names)


def _report_unused(adapter: Adapter, weight: ModelWeight | None, reason: str) -> WeightFault:
    message = f"the adapter of {adapter.module} is not in the model: {reason}"
    if weight is not None:
        return fault_of(weight, "adapter", message, tensors=adapter.names)
    return WeightFault(
        category="adapter",
        layer=adapter.module,
        tensors=adapter.names,
        bytes=adapter.down.size + adapter.up.size,
        message=message,
    )


def _find_base(module: str, by_name: Mapping[str, SourceTensor]) -> SourceTensor | None:
    """The weight of a module, with a longer or shorter path."""
    for suffix in (".weight", ".base_layer.weight", ""):
        if f"{module}{suffix}" in by_name:
            return by_name[f"{module}{suffix}"]
    words = split_name(module.replace("lora_unet_", "").replace("lora_te_", ""))
    for name, source in by_name.items():
        *path, leaf = split_name(name.replace(".base_layer.", "."))
        length = min(len(path), len(words))
        if (
            leaf == "weight"
            and length > 1
            and tuple(path[-length:]) == words[-length:]
            and len(source.tensor.shape) > 1
        ):
            return source
    return None


def _is_merged(weight: ModelWeight, base: SourceTensor, adapter: Adapter) -> bool:
    match, _, _ = _merge(weight, base, adapter)
    return match is not None and match.is_explained


def _merge(weight: ModelWeight, base: SourceTensor, adapter: Adapter) -> tuple[WeightMatch | None, float, float]:
    """The match of a weight with its adapter, the scale that fits best, and its relative error.

    The match is None if the adapter is not merged.
    """
    updates = _orient(adapter.multiply(), base.tensor.shape)
    layouts = list(find_layouts(base.tensor.shape, weight.shape))
    fitting = [layout for layout in layouts if layout.permuted_shape == squeeze_shape(weight.shape)] or layouts
    best: tuple[float, float, tuple[Layout, float, Array]] | None = None
    rows = count_rows(weight.shape)
    if not updates or base.tensor.shape == () or updates[0].size != weight.elements:
        return None, 0.0, 0.0
    x = weight.read(0, rows).reshape(-1)
    for layout, update in product(fitting, updates):
        difference = x - read_in_layout(base.tensor, layout, weight.shape, 0, rows).reshape(-1)
        delta = read_in_layout(MemoryTensor(adapter.module, update), layout, weight.shape, 0, rows).reshape(-1)
        power = float(delta @ delta) or 1.0
        scale = float(difference @ delta) / power
        noise = float(np.square(difference - np.float32(scale) * delta).mean())
        if best is None or noise < best[0]:
            best = noise, sqrt(noise / power) / max(abs(scale), 1e-30), (layout, scale, update)
    assert best is not None, "every tensor has a layout"
    _, doubt, (layout, scale, update) = best
    is_absent = abs(scale) < _ABSENT * abs(adapter.scale if adapter.scale is not None else 1.0)
    if doubt > _MOST_DOUBT or is_absent:
        return None, scale, doubt
    is_expected = adapter.scale is not None and abs(scale - adapter.scale) <= max(_SAME_SCALE, 3 * doubt) * abs(
        adapter.scale
    )
    factor = adapter.scale if is_expected and adapter.scale is not None else scale
    numbers = base.tensor.read(0, count_rows(base.tensor.shape)).reshape(update.shape)
    tensor = MemoryTensor(base.name, numbers + np.float32(factor) * update, base.tensor.format)

    def read(start: int, stop: int) -> Array:
        return read_in_layout(tensor, layout, weight.shape, start, stop)

    comparison = compare_values(weight, read, base.tensor.format, is_computed=True)
    words = (*(() if layout.is_row_major else ("transposed",)), f"merged with an adapter, scale {factor:.4g}")
    words = (*words, *describe_format(weight, base.tensor.format))
    sources = (SourceTensor(tensor, (base.name, *adapter.names), "merged with an adapter"),)
    return WeightMatch(weight, sources, words, comparison, read=read), scale, doubt


def _orient(update: Array, shape: tuple[int, ...]) -> list[Array]:
    """The product of both factors in the shape of the weight, which may be [inputs, outputs]."""
    if len(shape) < 2 or update.size != prod(shape):
        return []
    oriented = [update.reshape(shape)] if update.shape[0] == shape[0] else []
    return [*oriented, update.T] if update.T.shape == shape else oriented
