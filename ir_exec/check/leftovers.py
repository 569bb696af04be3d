"""Attributes that writers of IR always wrote and no operator has: they say nothing, so they are one info for a file."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ir_exec.check.diagnostic import Diagnostic
from ir_exec.codes import Code

__all__ = ["with_leftovers_folded"]

_CONVOLUTIONS = (
    "Convolution",
    "GroupConvolution",
    "BinaryConvolution",
    "DeformableConvolution",
    "ConvolutionBackpropData",
    "GroupConvolutionBackpropData",
)
_OF_CONVOLUTIONS = "output_padding output group kernel auto_pad pad_value mode"
_OF_PRIORS = "flip img_h img_w img_size step_h step_w width height aspect_ratio"
_OF_POOLING = "exclude-pad pool-method"

_LEFTOVERS: dict[str, str] = {
    **dict.fromkeys(_CONVOLUTIONS, _OF_CONVOLUTIONS),
    "PriorBox": _OF_PRIORS,
    "PriorBoxClustered": _OF_PRIORS,
    "MaxPool": _OF_POOLING,
    "AvgPool": _OF_POOLING,
    "DetectionOutput": "eta height height_scale interp_mode label_map_file name_size_file num_classes num_test_image "
    "output_directory output_format output_name_prefix pad_mode pad_value prob resize_mode save_file visualize "
    "visualize_threshold width width_scale",
    "Interpolate": "factor height pad_beg pad_end shrink_factor width zoom_factor",
    "NormalizeL2": "across_spatial channel_shared",
    "Parameter": "cacheable",
    "PReLU": "channel_shared filler_type filler_value max mean min sparse std variance_norm",
    "Proposal": "for_deformable version",
    "PSROIPooling": "no_trans part_size trans_std",
    "RegionYolo": "bias_term",
    "LSTMCell": "input_forget",
    "LSTMSequence": "input_forget",
}
"""By type; those of older opsets are among them, which newer ones no longer have."""

_UNKNOWN = re.compile(r"(\w+) has no attribute ([\w-]+); it is ignored")


def with_leftovers_folded(found: Iterable[Diagnostic]) -> list[Diagnostic]:
    """The findings, with one info for all attributes that Model Optimizer wrote without need."""
    kept: list[Diagnostic] = []
    leftovers: list[Diagnostic] = []
    attributes: set[tuple[str, str]] = set()
    for diagnostic in found:
        attribute = _leftover(diagnostic)
        if attribute is None:
            kept.append(diagnostic)
        else:
            leftovers.append(diagnostic)
            attributes.add(attribute)
    if not leftovers:
        return kept
    first = min(leftovers, key=lambda one: one.location.line or 0)
    told = ", ".join(f"{name} of {type}" for type, name in sorted(attributes))
    where = f"{len(leftovers)} times, here first" if len(leftovers) > 1 else "once"
    message = f"Model Optimizer always wrote what the operators do not have, and all readers ignore ({where}): {told}"
    kept.append(first.model_copy(update={"severity": "info", "message": message}))
    return kept


def _leftover(diagnostic: Diagnostic) -> tuple[str, str] | None:
    """Type and attribute, where a finding is about such an attribute."""
    if diagnostic.code != Code.unknown_attribute:
        return None
    match = _UNKNOWN.fullmatch(diagnostic.message)
    return (match[1], match[2]) if match is not None and match[2] in _LEFTOVERS.get(match[1], "").split() else None
