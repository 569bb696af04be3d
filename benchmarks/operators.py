"""Models of one layer, for the operator types, in three sizes, against OpenVINO's CPU plugin in one process.

Outputs are compared before anything is timed, except random numbers and boxes in a different order.

    python -m benchmarks.operators [--only TEXT] [--size small|middle|large] [--seconds 0.4] [--processor-time]

--processor-time counts the processor time of all threads instead of the wall time, which is more reliable on a busy
machine. Threads that spin while they wait count too.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

sys.path[:0] = [] if __package__ else [str(Path(__file__).resolve().parent.parent)]
# OpenVINO's telemetry forks a process that would take part in the measurement.
sys.modules["openvino_telemetry"] = None  # type: ignore[assignment]  # a module that cannot be imported

import openvino as ov

import ir_exec
from benchmarks.measure import Paired, draw_chart, geometric_mean, measure_pair, print_table, write_json
from benchmarks.operator_cases import SIZES, cases
from ir_exec.cli.process import keep_freed_memory
from tests.conformance.build import build
from tests.conformance.case import Case

PRECISE = {"INFERENCE_PRECISION_HINT": "f32"}
TOLERANCE = 1e-3
"""Tolerance, relative to the largest absolute value of an output."""

FREE = ("RandomUniform", "Nms", "NonMax", "Detection", "Proposal", "Identity")
"""Parts of type names for which OpenVINO may compute different values, or the same in another order."""


def calls(case: Case) -> tuple[Callable[[], Any], Callable[[], Any]]:
    """Return a run of the case for each contestant."""
    file = build(case)
    ours = ir_exec.compile_model(file.xml, weights=file.weights)
    weights = ov.Tensor(np.frombuffer(file.weights or b"\0", np.uint8))
    request = ov.Core().compile_model(ov.Core().read_model(file.xml, weights), "CPU", PRECISE).create_infer_request()
    inputs = [np.asarray(array, order="C") for array in file.inputs]
    return lambda: ours(inputs), lambda: request.infer(inputs)


def differs(ours: Any, theirs: Any) -> bool:
    for index in range(len(ours)):
        left, other = np.asarray(ours[index]), np.asarray(theirs[index])
        if left.shape != other.shape:
            return True
        with np.errstate(all="ignore"):
            difference = np.abs(np.subtract(left, other, dtype=np.float64))
        scale = np.nanmax(np.abs(other.astype(np.float64)), initial=1e-30)
        if np.mean(difference > TOLERANCE * scale) > 1e-3:
            return True
    return False


def measure(name: str, case: Case, seconds: float, clock: Callable[[], float]) -> Paired | None:
    ours, theirs = calls(case)
    if not any(text in case.type for text in FREE) and differs(ours(), theirs()):
        print(f"{name}: the outputs differ", file=sys.stderr)
        return None
    return measure_pair(name, ours, theirs, seconds=seconds, clock=clock)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="types whose name contains this text")
    parser.add_argument("--size", choices=SIZES, help="only one size")
    parser.add_argument("--seconds", type=float, default=0.4, help="seconds per layer")
    parser.add_argument("--processor-time", action="store_true", help="measure processor time instead of wall time")
    arguments = parser.parse_args()
    clock = time.process_time if arguments.processor_time else time.perf_counter
    keep_freed_memory()
    rows: list[Paired] = []
    sizes = (arguments.size,) if arguments.size else SIZES
    for type, size, case in cases(arguments.only, sizes):
        try:
            row = measure(f"{type} {size}", case, arguments.seconds, clock)
        except (ir_exec.IRError, RuntimeError) as error:
            reason = " ".join(str(error).split())[-200:]
            print(f"{type} {size}: {reason}", file=sys.stderr)
            continue
        rows += [row] if row else []
    rows.sort(key=lambda row: row.ratio)
    print_table(rows)
    for size in SIZES:
        ratios = [row.ratio for row in rows if row.name.endswith(size)]
        if ratios:
            slow = sum(ratio < 1 / 3 for ratio in ratios)
            print(f"{size}: {geometric_mean(ratios):.2f}, {slow} of {len(ratios)} below a speedup of 1/3")
    if not (arguments.only or arguments.size or arguments.processor_time):
        write_json("operators", rows)
        draw_chart("operators", rows, "Models of one layer: speed relative to OpenVINO's CPU plugin")


if __name__ == "__main__":
    main()
