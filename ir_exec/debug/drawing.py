"""The names of `ir_exec.debug.draw` that draw inputs."""

from __future__ import annotations

from ir_exec.debug.draw.inputs import drawn_inputs
from ir_exec.debug.draw.values import draw

__all__ = ["draw", "drawn_inputs"]
