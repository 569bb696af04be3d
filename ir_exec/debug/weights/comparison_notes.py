"""Notes on the weights of wrong layers in a comparison of values."""

from __future__ import annotations

from collections.abc import Iterator

from ir_exec.debug.comparison.report_text import Comparison
from ir_exec.debug.weights.records import AccountedWeight, WeightFault, WeightsDiff

__all__ = ["note_weights"]

_MOST_LAYERS = 5
"""Maximum number of wrong layers with a note."""


def note_weights(comparison: Comparison, account: WeightsDiff) -> Comparison:
    """Return the comparison with a note on the weights of each layer that is wrong by its own error.

    Args:
        account: The account of the weights of the same model.
    """
    by_layer: dict[str, list[AccountedWeight]] = {}
    for weight in account.weights:
        for reader in (weight.path, *weight.readers):
            by_layer.setdefault(reader, []).append(weight)
    faults = {fault.path: fault for fault in account.faults if fault.path is not None}
    wrong = [layer.path for layer in comparison.layers if layer.status == "wrong"][:_MOST_LAYERS]
    notes = [note for path in wrong for note in _describe_weights(path, by_layer.get(path, []), faults)]
    return comparison.model_copy(update={"notes": (*comparison.notes, *notes)})


def _describe_weights(path: str, weights: list[AccountedWeight], faults: dict[str, WeightFault]) -> Iterator[str]:
    """Yield a sentence for each weight of a layer, faulty ones first."""
    for weight in sorted(weights, key=lambda weight: weight.path not in faults):
        if weight.path in faults:
            yield f"the weight {weight.path} of {path} differs from the checkpoint: {faults[weight.path].message}"
        elif weight.is_explained:
            yield f"the weight {weight.path} of {path} is {', '.join(weight.tensors)} of the checkpoint: {weight.how}"
        else:
            yield f"the weight {weight.path} of {path} is no tensor of the checkpoint"
