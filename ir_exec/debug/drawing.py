"""Functions and records of `ir_exec.debug.draw` that other packages use."""

from __future__ import annotations

from ir_exec.debug.draw.inputs import Drawer, drawn_inputs
from ir_exec.debug.draw.record import Drawn, DrawnInput
from ir_exec.debug.draw.redraw import Redraw, checked_inputs
from ir_exec.debug.draw.values import draw

__all__ = ["Drawer", "Drawn", "DrawnInput", "Redraw", "checked_inputs", "draw", "drawn_inputs"]
