"""Layers of bodies, for tests of what is written."""

from __future__ import annotations

import ir_exec
from ir_exec.ir import Layer

__all__ = ["body_layers"]


def body_layers(model: ir_exec.Model, name: str) -> tuple[Layer, ...]:
    """The layers of the first body of a layer."""
    return next(layer for layer in model.document.layers if layer.name == name).bodies[0].layers
