"""Peak memory of a model: interpreter, engine onnxruntime and OpenVINO's CPU plugin, each in a separate process.

The result is the peak of a process minus its memory before loading the model: pages of the weights file, prepared
weights, and the tensors of a run without the inputs. Imports are excluded. The models are those of
`benchmarks.networks`, the large ones also with f16 weights, and large gathers and scatters and attention over 8,192
tokens, which are built here (Linux only).

    python -m benchmarks.memory [--only TEXT] [--runs 3]
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

sys.path[:0] = [] if __package__ else [str(Path(__file__).resolve().parent.parent)]
# OpenVINO's telemetry forks a separate process.
sys.modules["openvino_telemetry"] = None  # type: ignore[assignment]  # a module that cannot be imported

import openvino as ov
from openvino import opset16 as ops

import ir_exec
from benchmarks.measure import LARGE_WEIGHTS, Paired, draw_chart, format_size, print_table, write_json
from benchmarks.networks import networks
from ir_exec.types import Array

ROOT = Path(__file__).resolve().parent.parent

_START = """
import json, sys
import numpy as np

def peak():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) * 1024

path, inputs = sys.argv[1:]
with np.load(inputs) as stored:
    arrays = [stored[f"in{i}"] for i in range(len(stored.files))]
"""
_END = """
with open("/proc/self/clear_refs", "w") as file:
    file.write("5")
before = peak()
run = load()
for _ in range(2):
    outputs = None
    outputs = [np.asarray(output) for output in run(arrays).values()]
print(json.dumps(peak() - before))
"""
SMALL = str(ROOT / "samples" / "gather_elements.xml")
# Imports by the first loaded model belong to the library, so a small model is loaded first.
OURS = f"""{_START}
import ir_exec
ir_exec.compile_model({SMALL!r})
load = lambda: ir_exec.compile_model(path)
{_END}"""
ENGINE = f"""{_START}
import ir_exec
ir_exec.compile_model({SMALL!r}, engine="onnxruntime")([np.zeros((2, 2, 3), np.float32), np.zeros((2, 1, 3), np.int64)])
load = lambda: ir_exec.compile_model(path, engine="onnxruntime")
{_END}"""
THEIRS = f"""{_START}
sys.modules["openvino_telemetry"] = None
import openvino
core = openvino.Core()
core.compile_model({SMALL!r}, "CPU")
load = lambda: core.compile_model(path, "CPU", {{"INFERENCE_PRECISION_HINT": "f32"}})
{_END}"""

_LARGE = 2**24
_TOKENS = 8192


def large_models(folder: Path) -> Iterator[tuple[str, Path, list[Array]]]:
    """Yield name, file and inputs of models with gathers, scatters or attention on large tensors."""
    random = np.random.default_rng(0)
    data = random.standard_normal((_LARGE // 256, 256)).astype(np.float32)
    grid = random.integers(0, len(data), data.shape).astype(np.int32)
    rows = random.permutation(len(data)).astype(np.int32)[: len(data) // 2]
    cases = {
        "GatherElements of 16 Mi elements": ([data, grid], lambda x, i: ops.gather_elements(x, i, 0)),
        "Gather of 8 Mi elements": ([data, rows], lambda x, i: ops.gather(x, i, np.int32(0))),
        "ScatterUpdate of 16 Mi elements": (
            [data, rows, data[: len(rows)]],
            lambda x, i, u: ops.scatter_update(x, i, u, np.int32(0)),
        ),
        "ScatterElementsUpdate of 16 Mi elements": (
            [data, grid, data],
            lambda x, i, u: ops.scatter_elements_update(x, i, u, np.int32(0)),
        ),
        "ScatterNDUpdate of 16 Mi elements": (
            [data, rows[:, None], data[: len(rows)]],
            lambda x, i, u: ops.scatter_nd_update(x, i, u),
        ),
        f"attention over {_TOKENS:,} tokens": (
            [random.standard_normal((1, 4, _TOKENS, 64)).astype(np.float32)] * 3,
            lambda q, k, v: ops.scaled_dot_product_attention(q, k, v),
        ),
    }
    for name, (arrays, build) in cases.items():
        parameters = [ops.parameter(array.shape, array.dtype) for array in arrays]
        path = folder / f"{name.replace(' ', '_').replace(',', '')}.xml"
        ov.save_model(ov.Model([build(*parameters)], parameters), path, compress_to_fp16=False)
        yield name, path, arrays


def models(folder: Path) -> Iterator[tuple[str, Path, list[Array]]]:
    """Yield name, file and inputs of every model."""
    for name, path, inputs in networks():
        yield name, path, inputs
        if path.with_suffix(".bin").stat().st_size >= LARGE_WEIGHTS:
            yield f"{name}, f16", in_f16(path, folder), inputs
    yield from large_models(folder)


def in_f16(path: Path, folder: Path) -> Path:
    """Write the model with f16 weights."""
    copy = folder / f"{path.stem}_f16.xml"
    ov.save_model(ov.Core().read_model(path), copy, compress_to_fp16=True)
    return copy


def measure(program: str, path: Path, inputs: list[Array], runs: int) -> float:
    """Return the peak bytes of a process, as the median of this many processes."""
    with tempfile.TemporaryDirectory() as folder:
        stored = Path(folder) / "inputs.npz"
        np.savez(stored, **{f"in{index}": array for index, array in enumerate(inputs)})
        return statistics.median(_peak(program, path, stored) for _ in range(runs))


def _peak(program: str, path: Path, inputs: Path) -> float:
    command = [sys.executable, "-c", program, str(path), str(inputs)]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    # If the earlier peak was higher, the model took less than a page.
    return max(float(json.loads(done.stdout)), 4096.0)


def planned_bytes(path: Path, inputs: list[Array]) -> int:
    """Return the planned memory: the weights file, prepared weights, and the tensors of a run."""
    compiled = ir_exec.compile_model(path)
    plan = compiled.memory_plan({index: array.shape for index, array in enumerate(inputs)})
    weights = path.with_suffix(".bin")
    return plan.peak + plan.constants + (weights.stat().st_size if weights.exists() else 0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="models whose name contains this text")
    parser.add_argument("--runs", type=int, default=3, help="number of processes per library")
    arguments = parser.parse_args()
    rows: list[Paired] = []
    details: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, path, inputs in models(Path(folder)):
            if arguments.only not in name:
                continue
            ours, engine, theirs = (
                measure(program, path, inputs, arguments.runs) for program in (OURS, ENGINE, THEIRS)
            )
            rows.append(Paired(name, ours, theirs, theirs / ours))
            weights = path.with_suffix(".bin")
            size = weights.stat().st_size if weights.exists() else 0
            details[name] = {"weights": size, "engine": engine, "planned": planned_bytes(path, inputs)}
    print_table(rows, form=format_size)
    print("\nthe engine, and planned for the interpreter before the run:")
    for row in rows:
        engine, plan = (format_size(details[row.name][key]) for key in ("engine", "planned"))
        print(f"{row.name:42} {engine:>10}  {plan:>10}, measured {format_size(row.ours):>10}")
    write_json("memory", rows, details=details)
    draw_chart("memory", rows, "Peak memory: OpenVINO relative to ir_exec", theirs="ir_exec")


if __name__ == "__main__":
    main()
