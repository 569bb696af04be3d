"""Building models in Python, against OpenVINO's Python API and against reading a file of the model.

python -m benchmarks.building [--blocks 300] [--seconds 6]
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from types import ModuleType
from typing import Any

sys.path[:0] = [] if __package__ else [str(Path(__file__).resolve().parent.parent)]
# OpenVINO's telemetry forks a process that would take part in the measurement.
sys.modules["openvino_telemetry"] = None  # type: ignore[assignment]  # a module that cannot be imported

import numpy as np
import openvino as ov
from openvino import opset13

import ir_exec
from benchmarks.measure import Paired, measure_pair, print_table, write_json
from ir_exec import build

WEIGHTS = np.ones((64, 64), np.float32)


def blocks(ops: ModuleType, x: Any, count: int) -> Any:
    """Build blocks of 12 layers: a product, a shift, an activation and a Reshape to a computed shape."""
    zero = ops.constant(np.int64(0))
    for _ in range(count):
        x = ops.relu(ops.add(ops.matmul(x, WEIGHTS, False, True), np.full((1, 64), 0.5, np.float32)))
        size = ops.gather(ops.shape_of(x), np.array([0]), zero)
        shape = ops.concat([size, ops.constant(np.array([64]))], 0)
        x = ops.reshape(x, shape, False)
    return x


def of_ir_exec(count: int) -> ir_exec.Model:
    # The builder's functions have the parameters of OpenVINO's, except for keywords.
    return build.model(blocks(_Positional(), build.parameter([None, 64], name="x"), count))


def of_openvino(count: int) -> ov.Model:
    x = opset13.parameter([-1, 64], np.float32, name="x")
    return ov.Model([blocks(opset13, x, count)], [x])


class _Positional(ModuleType):
    """The builder with the call signatures of OpenVINO."""

    def __init__(self) -> None:
        super().__init__("positional")

    def __getattr__(self, name: str) -> Any:
        return getattr(build, name)

    def matmul(self, a: Any, b: Any, transpose_a: bool, transpose_b: bool) -> Any:
        return build.matmul(a, b, transpose_a=transpose_a, transpose_b=transpose_b)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--blocks", type=int, default=300, help="number of blocks of twelve layers")
    parser.add_argument("--seconds", type=float, default=6.0, help="seconds of measurement")
    arguments = parser.parse_args()
    count = arguments.blocks
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "built.xml"
        model = of_ir_exec(count)
        model.save(path)
        layers = len(model.graph.nodes)
        against_openvino = measure_pair(
            "build", lambda: of_ir_exec(count), lambda: of_openvino(count), seconds=arguments.seconds / 2
        )
        against_reading = measure_pair(
            "build", lambda: of_ir_exec(count), lambda: ir_exec.read_model(path), seconds=arguments.seconds / 2
        )
    rows = [
        Paired(f"{row.name} ({layers:,} layers)", row.ours / layers, row.theirs / layers, row.ratio)
        for row in (against_openvino, against_reading)
    ]
    print("Building, per layer, against OpenVINO's Python API")
    print_table(rows[:1])
    print("\nBuilding, per layer, against reading a file of the model")
    print_table(rows[1:], theirs="read_model")
    write_json("building", rows[:1], unit="seconds per layer", read_model=vars(rows[1]))


if __name__ == "__main__":
    main()
