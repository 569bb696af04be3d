"""Rewritten plans compared with plain ones: the savings by `optimize` in a model."""

from __future__ import annotations

import time
from pathlib import Path

import ir_exec
from benchmarks.measure import Paired, measure_pair
from ir_exec.types import Array

__all__ = ["measure_rewrites"]


def measure_rewrites(name: str, path: Path, inputs: list[Array], seconds: float) -> Paired | None:
    """Measure the processor time of a run on one thread, which depends less on other work than wall time."""
    try:
        model = ir_exec.read_model(path)
        rewritten, plain = (ir_exec.compile_model(model, threads=1, optimize=chosen) for chosen in (True, False))
    except ir_exec.UnsupportedError as error:
        print(f"{name}: left out, {error.message}")
        return None
    for compiled in (rewritten, plain):
        compiled(inputs)
    return measure_pair(
        name, lambda: rewritten(inputs), lambda: plain(inputs), seconds=seconds, clock=time.process_time
    )
