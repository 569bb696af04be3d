"""From the start of a process to the first output, ir_exec and OpenVINO in turns, each in a separate process.

A process starts, imports the library, loads a model, runs it once on inputs from a file, and reports the time. Both
find the bytecode of their modules, as installed packages do.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.measure import Paired
from ir_exec.types import Array

__all__ = ["measure_cold"]

ROOT = Path(__file__).resolve().parent.parent

_START = """
import sys, time
import numpy as np
path, inputs = sys.argv[1:]
"""
_INPUTS = """
with np.load(inputs) as stored:
    arrays = [stored[f"in{i}"] for i in range(len(stored.files))]
"""
_END = """
print(time.monotonic())
sys.stdout.flush()
import os
os._exit(0)
"""
OURS = f"{_START}import ir_exec{_INPUTS}np.asarray(ir_exec.compile_model(path)(arrays)[0]){_END}"
# OpenVINO's telemetry forks a process that would take part in the measurement.
THEIRS = (
    f'{_START}sys.modules["openvino_telemetry"] = None\nimport openvino{_INPUTS}'
    f'np.asarray(openvino.Core().compile_model(path, "CPU")(arrays)[0]){_END}'
)


def measure_cold(name: str, path: Path, inputs: Sequence[Array], *, runs: int) -> Paired:
    """Seconds until the first output; the median of `runs` processes each, after one that is not counted."""
    with tempfile.TemporaryDirectory() as folder:
        stored = Path(folder) / "inputs.npz"
        np.savez(stored, **{f"in{index}": array for index, array in enumerate(inputs)})
        times = [[_first_output(program, path, stored) for program in (OURS, THEIRS)] for _ in range(runs + 1)][1:]
    ratio = statistics.median(theirs / ours for ours, theirs in times)
    return Paired(name, *(statistics.median(column) for column in zip(*times, strict=True)), ratio)


def _first_output(program: str, path: Path, inputs: Path) -> float:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment["PYTHONPYCACHEPREFIX"] = str(Path(tempfile.gettempdir()) / "ir_exec-benchmarks" / "bytecode")
    environment["PYTHONPATH"] = str(ROOT)
    command = [sys.executable, "-c", program, str(path), str(inputs)]
    start = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    return float(done.stdout.split()[-1]) - start
