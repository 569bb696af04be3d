"""Padding of an image by a Pad, moved into the convolution that reads it."""

from __future__ import annotations

from operator import add
from typing import Any

import numpy as np

from ir_exec.graph import Value
from ir_exec.ops import Op
from ir_exec.plan.fusing import FusionRule
from ir_exec.plan.graph import convert_op
from ir_exec.plan.patterns import Match, anything, constant, op

__all__ = ["PADDING"]


def _is_spatial(match: Match, value: Value) -> bool:
    """Return True if a Pad adds elements, along spatial axes only."""
    begins, ends = match.known("begins"), match.known("ends")
    is_around = min(*begins, *ends) >= 0 and not any([*begins[:2], *ends[:2]])
    return is_around and match.type("x").rank == len(begins)


def _is_finite(match: Match, value: Value) -> bool:
    return bool(np.isfinite(match.known("filters")).all())


def _padding(match: Match) -> Op:
    convolution: Any = match.operator(match.values["convolved"])
    values: dict[str, Any] = {"auto_pad": "explicit"}
    for name, added in (("pads_begin", "begins"), ("pads_end", "ends")):
        zeros = match.known(added)[2:].tolist()
        own = getattr(convolution, name) if convolution.auto_pad == "explicit" else ()
        values[name] = tuple(map(add, zeros, own or [0] * len(zeros)))
    return convert_op(convolution, type(convolution), values)


_ENDS = anything("x"), constant("begins"), constant("ends")
_PADDED = (
    (op("Pad", *_ENDS) | op("Pad", *_ENDS, 0))
    .where("zeros", lambda match, value: match.operator(value).pad_mode == "constant")
    .where("zeros along spatial axes", _is_spatial)
)
_CONVOLVED = op("Convolution|GroupConvolution", _PADDED, constant("filters"))

PADDING = FusionRule(
    _CONVOLVED.where("finite filters", _is_finite)
    .where("explicit padding", lambda match, value: match.operator(value).auto_pad in ("explicit", "valid"))
    .named("convolved"),
    inputs=("x", "filters"),
    operator=_padding,
    anchors=frozenset({"Pad"}),
)
"""A Pad that adds known numbers of zeros along spatial axes for one convolution with finite filters.

The results are equal.
"""
