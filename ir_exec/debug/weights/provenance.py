"""Weights that come from no tensor of the checkpoint, and checkpoints of another model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import prod

from ir_exec.debug.weights.computed_tables import is_computed_table
from ir_exec.debug.weights.matching import WeightMatch
from ir_exec.debug.weights.model_weights import ModelWeight
from ir_exec.debug.weights.placement import fault_of
from ir_exec.debug.weights.readers.tensors import Checkpoint
from ir_exec.debug.weights.records import WeightFault
from ir_exec.report.numbers import format_bytes, pluralize

__all__ = ["find_foreign"]

_LEAST_ELEMENTS = 64
"""Minimum elements of a weight whose numbers show where it comes from."""

_FOREIGN = 0.5
"""Maximum share of the bytes from no tensor in a model of the checkpoint."""

_NEGLIGIBLE = 0.01
"""Share of the bytes from no tensor that exporters compute in ways that are not recognized."""


def find_foreign(
    weights: Sequence[ModelWeight],
    matches: Mapping[ModelWeight, WeightMatch | None],
    faults: Sequence[WeightFault],
    checkpoint: Checkpoint,
    adapters: frozenset[str],
) -> Iterator[WeightFault]:
    """Yield a fault for a checkpoint of another model, or one for each weight from no tensor.

    Only matrices, filters and tables are evidence, unless the model has none of them: ones and zeros are alike in all
    models. Tables that exporters compute are none.

    Args:
        weights: All weights that are accounted for.
        faults: The faults of single weights.
        adapters: The names of tensors of adapters.
    """
    elsewhere = {fault.path for fault in faults if fault.category in ("other values", "untied")}
    wrong = {fault.path for fault in faults} - elsewhere
    of_checkpoint: list[ModelWeight] = []
    foreign: list[ModelWeight] = []
    for weight in _select_evidence(weights):
        match = matches.get(weight)
        if match is not None and match.is_explained:
            if match.comparison.range[0] < match.comparison.range[1]:
                of_checkpoint.append(weight)
        elif weight.name in elsewhere or (weight.name not in wrong and not is_computed_table(weight)):
            foreign.append(weight)
    evidence = _count_bytes(foreign) + _count_bytes(of_checkpoint)
    share = _count_bytes(foreign) / evidence if evidence else 0.0
    # A single weight that differs from its tensor has a more specific fault.
    is_single = len(foreign) == 1 and foreign[0].name in elsewhere
    if (
        (share > _FOREIGN and not is_single)
        or (checkpoint.tensors and not weights)
        or (weights and not checkpoint.tensors)
    ):
        yield _describe_checkpoint(weights, of_checkpoint, foreign, checkpoint, adapters)
    elif share > _NEGLIGIBLE:
        message = "the values are those of no tensor of the checkpoint, expected one or several of them"
        yield from (fault_of(weight, "other values", message) for weight in foreign if weight.name not in elsewhere)


def _select_evidence(weights: Sequence[ModelWeight]) -> list[ModelWeight]:
    large = [weight for weight in weights if weight.elements >= _LEAST_ELEMENTS]
    trained = [weight for weight in large if weight.is_read_as("matrix", "filters", "table", "other matrix")]
    return trained or large or list(weights)


def _count_bytes(weights: Sequence[ModelWeight]) -> int:
    return sum(weight.size for weight in weights)


def _describe_checkpoint(
    weights: Sequence[ModelWeight],
    of_checkpoint: Sequence[ModelWeight],
    foreign: Sequence[ModelWeight],
    checkpoint: Checkpoint,
    adapters: frozenset[str],
) -> WeightFault:
    """The fault of a checkpoint of another model."""
    if not checkpoint.tensors:
        message = f"the checkpoint has no tensors with numbers, expected those of {len(weights):,} constants"
    elif adapters.issuperset(checkpoint.tensors):
        message = "the checkpoint is an adapter alone, expected the weights that it changes; --adapter names an adapter"
    elif not weights:
        message = f"the model has no weights, expected those of the {len(checkpoint.tensors):,} tensors"
    else:
        counts = len(of_checkpoint), len(of_checkpoint) + len(foreign)
        total = _count_bytes(of_checkpoint) + _count_bytes(foreign)
        sizes = {prod(tensor.shape) for tensor in checkpoint.tensors.values()}
        other_sizes = sum(weight.elements not in sizes for weight in foreign)
        reason = f", and {other_sizes:,} of the others have the size of no tensor" if other_sizes else ""
        share = _count_bytes(of_checkpoint) / total
        message = (
            f"the checkpoint is that of another model: {counts[0]:,} of {counts[1]:,} "
            f"{pluralize(counts[1], 'weight', 'weights')} ({share:.2%} of {format_bytes(total)}) "
            f"{pluralize(counts[0], 'comes', 'come')} from it, expected all{reason}"
        )
    return WeightFault(
        category="other checkpoint",
        bytes=_count_bytes(foreign),
        elements=sum(weight.elements for weight in foreign),
        message=message,
    )
