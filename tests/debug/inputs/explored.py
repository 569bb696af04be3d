"""The input sizes of a network, explored once for all tests."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from ir_exec import read_model
from ir_exec.debug.inputs.input_shapes import SizeFindings, explore
from ir_exec.debug.inputs.probing import Prober

__all__ = ["explore_network"]


@cache
def explore_network(path: Path) -> tuple[Prober, SizeFindings]:
    """A prober that has no limit any more, and what it has found within its limit."""
    prober = Prober(read_model(path))
    findings = explore(prober)
    prober.inferred_layers = -(10**9)
    return prober, findings
