"""Two folders of one language model: the layer that explains a token that differs, and their differing tokenizers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ir_exec.debug import compare, quantization_report
from ir_exec.debug.precision.effects import loss_text
from ir_exec.errors import IRError
from ir_exec.report.numbers import format_number
from ir_exec.text.generation.generating import Pipeline

__all__ = ["LayerBetween", "describe_encodings", "find_layer_between"]

LayerBetween = tuple[str, str]
"""The name of a layer, and the reason for naming it."""


def find_layer_between(
    ours: Pipeline, theirs: Pipeline, ids: Sequence[int], new: Sequence[int], seconds: float
) -> LayerBetween | None:
    """Return the layer that explains why two folders continue the same tokens with different ones.

    It is the first wrong layer of their models. If there is none, and one side is compressed, it is the layer whose
    compression has the greatest effect on the logits.

    Args:
        ids: The prompt.
        new: The new tokens up to the difference.
        seconds: The time limit for runs of single layers.
    """
    our_part, their_part = ours.folder.decoder, theirs.folder.decoder
    if our_part is None or their_part is None:
        return None
    decoder, begin = ours.decoder(list(ids))
    inputs = decoder.first_inputs([*begin, *new])
    try:
        report = compare(our_part.path, their_part.path, inputs)
    except IRError:
        return None
    if report.named_fault is not None:
        error = report.named_fault.own
        return report.named_fault.path, "wrong" if error is None else f"own error {format_number(error.max_abs)}"
    return _find_compressed(our_part.path, their_part.path, inputs, seconds) or _find_compressed(
        their_part.path, our_part.path, inputs, seconds
    )


def _find_compressed(quantized: str, plain: str, inputs: Any, seconds: float) -> LayerBetween | None:
    """Return the layer whose compression has the greatest effect; None if the model has no compressed layer."""
    try:
        layers = quantization_report(quantized, plain, [inputs], seconds=seconds).layers
    except IRError:
        return None
    if not layers:
        return None
    effect = layers[0]
    loss = "" if effect.effect is None else f", {loss_text(effect.effect)}"
    return (effect.layers[0] if effect.layers else effect.path), f"{effect.format}{loss}"


def describe_encodings(ours: Pipeline, theirs: Pipeline, text: str) -> str | None:
    """Return a note if the tokenizers of two folders encode a text differently."""
    if "tokenizer" not in theirs.folder.parts:
        return None
    left, right = ours.encode(text), theirs.encode(text)
    if left == right:
        return None
    position = next(
        (index for index, pair in enumerate(zip(left, right, strict=False)) if pair[0] != pair[1]),
        min(len(left), len(right)),
    )
    return f"the tokenizers differ at token {position + 1} of the prompt; both models continue the tokens of ours"
