"""Zeros around an image that the convolution which reads it adds itself."""

from __future__ import annotations

from operator import add
from typing import Any

import numpy as np

from ir_exec.graph import Node
from ir_exec.plan.graph import Fusion, PlanGraph, changed

__all__ = ["as_padding"]


def as_padding(draft: PlanGraph, node: Node) -> Fusion | None:
    """A Pad that adds known numbers of zeros along spatial axes for one convolution, whose filters are finite.

    The results are the same.
    """
    reader = draft.only_reader(node.outputs[0]) if draft.kind(node) == "Pad" else None
    if reader is None or draft.kind(reader) not in ("Convolution", "GroupConvolution"):
        return None
    data, filters = reader.values_in
    known, added = draft.known(filters), _zeros(draft, node)
    if added is None or data is not node.outputs[0] or known is None or not np.isfinite(known).all():
        return None
    op: Any = draft.operator(reader)
    if op.auto_pad not in ("explicit", "valid"):
        return None
    values: dict[str, Any] = {"auto_pad": "explicit"}
    for name, zeros in zip(("pads_begin", "pads_end"), added, strict=True):
        own = getattr(op, name) if op.auto_pad == "explicit" else ()
        values[name] = tuple(map(add, zeros, own or [0] * len(zeros)))
    return Fusion([node, reader], changed(op, type(op), values), [node.values_in[0], filters])


def _zeros(draft: PlanGraph, node: Node) -> tuple[list[int], list[int]] | None:
    """How many zeros a Pad adds before and behind each spatial axis of an image; None where it does anything else."""
    op: Any = draft.operator(node)
    begins, ends, *value = [draft.known(one) for one in node.values_in[1:]]
    if begins is None or ends is None or op.pad_mode != "constant" or draft.type(node.values_in[0]).rank != len(begins):
        return None
    is_zero = not value or (value[0] is not None and value[0] == 0)
    is_around = min(*begins, *ends) >= 0 and not any([*begins[:2], *ends[:2]])
    return (begins[2:].tolist(), ends[2:].tolist()) if is_zero and is_around else None
