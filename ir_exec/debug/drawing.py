"""Functions and records of `ir_exec.debug.inputs` that other packages use."""

from __future__ import annotations

from ir_exec.debug.inputs.drawing import Drawer, drawn_inputs
from ir_exec.debug.inputs.record import Drawn, DrawnInput
from ir_exec.debug.inputs.redraw import Redraw, checked_inputs
from ir_exec.debug.inputs.values import draw

__all__ = ["Drawer", "Drawn", "DrawnInput", "Redraw", "checked_inputs", "draw", "drawn_inputs"]
