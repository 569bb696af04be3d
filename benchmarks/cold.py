"""From the start of a process to the first output, ir_exec and OpenVINO in turns, each in a separate process.

A process starts, imports the library, loads a model, runs it once on inputs from a file, and reports the time. Both
find the bytecode of their modules, as installed packages do.

    python -m benchmarks.cold MODEL.xml [--runs 7]

prints the time of each stage as a Markdown table: the minimum processor time of several processes, which is reliable
on a busy machine. MODEL.inputs.npz holds the inputs, `in0` and so on.
"""

from __future__ import annotations

import argparse
import json
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

_STAGE = """
from time import process_time
stages = {}
def stage(name, since=[0.0]):
    stages[name] = process_time() - since[0]
    since[0] = process_time()
"""
_STAGES_START = f"""{_STAGE}
stage("Python")
{_START}
stage("NumPy"){_INPUTS}
stage("inputs")
"""
_STAGES_END = """
import json
print(json.dumps(stages))
"""
OUR_STAGES = f"""{_STAGES_START}
from pydantic import BaseModel, Field
stage("pydantic")
import lxml.etree
stage("lxml")
import ir_exec.runtime.compiled
stage("import of ir_exec")
model = ir_exec.read_model(path)
stage("reading and inferring")
compiled = ir_exec.compile_model(model)
first = compiled(arrays)
stage("plan and first run")
compiled(arrays)
stages["(a later run)"] = process_time() - sum(stages.values())
{_STAGES_END}"""
THEIR_STAGES = f"""{_STAGES_START}
sys.modules["openvino_telemetry"] = None
import openvino
stage("import of openvino")
compiled = openvino.Core().compile_model(path, "CPU")
stage("reading and compiling")
compiled(arrays)
stage("first run")
{_STAGES_END}"""


def measure_cold(name: str, path: Path, inputs: Sequence[Array], *, runs: int) -> Paired:
    """Return the seconds until the first output: the median of `runs` processes each, after an uncounted one."""
    with tempfile.TemporaryDirectory() as folder:
        stored = Path(folder) / "inputs.npz"
        np.savez(stored, **{f"in{index}": array for index, array in enumerate(inputs)})
        times = [[_first_output(program, path, stored) for program in (OURS, THEIRS)] for _ in range(runs + 1)][1:]
    ratio = statistics.median(theirs / ours for ours, theirs in times)
    return Paired(name, *(statistics.median(column) for column in zip(*times, strict=True)), ratio)


def _first_output(program: str, path: Path, inputs: Path) -> float:
    start = time.monotonic()
    return float(_printed_line(program, path, inputs)) - start


def _printed_line(program: str, path: Path, inputs: Path) -> str:
    """Return the last line that a program prints in a separate process."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment["PYTHONPYCACHEPREFIX"] = str(Path(tempfile.gettempdir()) / "ir_exec-benchmarks" / "bytecode")
    environment["PYTHONPATH"] = str(ROOT)
    command = [sys.executable, "-c", program, str(path), str(inputs)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    return done.stdout.splitlines()[-1]


def _print_stages(path: Path, runs: int) -> None:
    inputs = path.with_suffix(".inputs.npz")
    for library, program in (("ir_exec", OUR_STAGES), ("OpenVINO", THEIR_STAGES)):
        measurements = [json.loads(_printed_line(program, path, inputs)) for _ in range(runs + 1)][1:]
        least = {name: min(run[name] for run in measurements) for name in measurements[0]}
        first = sum(time for name, time in least.items() if not name.startswith("("))
        print(f"| {library}: {path.stem} | ms |\n|---|---:|")
        for name, seconds in {**least, "to the first output": first}.items():
            print(f"| {name} | {seconds * 1e3:.0f} |")
        print()


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("network", type=Path, metavar="NETWORK.xml")
    parser.add_argument("--runs", type=int, default=7, help="number of processes per library")
    arguments = parser.parse_args()
    _print_stages(arguments.network, arguments.runs)


if __name__ == "__main__":
    main()
