"""First output, warm time and peak memory of ir_exec alone, to compare two versions of the compiler.

Each model is loaded and run in separate processes. The figures are the processor time from the import of ir_exec to the
first output, the minimum wall time of the warm runs, and the peak memory minus the memory before loading the model, up
to the first output and up to the last run. `share` is the peak up to the first output and of all runs relative to the
weights as f32, without the import, for models with at least 16 MiB of weights. The models are those of the snapshots of
plans in `tests/plans`, and an encoder of BERT-base's size with f32 and with f16 weights.

    python -m benchmarks.first_output [--only TEXT] [--folder DIR] [--save] [--runs 40] [--large] [--optimize full]

`--save` writes `results/first_output.json`; without it the stored figures are shown for comparison. `--folder` measures
models `NAME.xml` with `NAME.inputs.npz` of another folder.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TypeAlias

import numpy as np

import ir_exec
from benchmarks.measure import RESULTS, geometric_mean, machine
from ir_exec.types import Array
from tests.plans.networks import cases

__all__: list[str] = []

ROOT = Path(__file__).resolve().parent.parent

FIGURES = ("first_cpu", "first", "first_peak", "warm", "peak")
"""The figures of each model."""

Figures: TypeAlias = dict[str, float]

PROGRAM = """
import json, sys, time
import numpy as np

def peak(name="VmHWM"):
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith(name)) * 1024

path, inputs, options, runs = sys.argv[1], sys.argv[2], json.loads(sys.argv[3]), int(sys.argv[4])
with np.load(inputs) as stored:
    arrays = [stored[f"in{i}"] for i in range(len(stored.files))]
with open("/proc/self/clear_refs", "w") as file:
    file.write("5")
before, start, wall = peak(), time.process_time(), time.perf_counter()
import ir_exec
loaded = peak("VmRSS") - before
compiled = ir_exec.compile_model(path, **options)
compiled(arrays)
first, first_wall, first_peak = time.process_time() - start, time.perf_counter() - wall, peak() - before
times = []
for _ in range(runs):
    start = time.perf_counter()
    compiled(arrays)
    times.append(time.perf_counter() - start)
warm = min(times[len(times) // 2:])
figures = {"first_cpu": first, "first": first_wall, "first_peak": first_peak, "warm": warm, "peak": peak() - before}
weights = sum(
    node.op.size * (2 if node.op.element_type.name in ("f16", "bf16") else 1)
    for node in ir_exec.read_model(path).graph.nodes
    if node.type == "Const"
)
if weights >= 2**24:
    figures |= {"first_share": (first_peak - loaded) / weights, "share": (figures["peak"] - loaded) / weights}
print(json.dumps(figures))
"""


def measure_figures(path: Path, inputs: list[Array], options: dict[str, object], processes: int, runs: int) -> Figures:
    """Return the median of each figure over several processes, after an uncounted one."""
    with tempfile.TemporaryDirectory() as folder:
        stored = Path(folder) / "inputs.npz"
        np.savez(stored, **{f"in{index}": array for index, array in enumerate(inputs)})
        command = [sys.executable, "-c", PROGRAM, str(path), str(stored), json.dumps(options), str(runs)]
        measurements = [
            json.loads(subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT).stdout)
            for _ in range(processes + 1)
        ][1:]
    return {name: statistics.median(run[name] for run in measurements) for name in measurements[0]}


def _networks(
    folder: Path, arguments: argparse.Namespace
) -> Iterator[tuple[str, Path, list[Array], dict[str, object]]]:
    if arguments.folder:
        for path in sorted(Path(arguments.folder).glob("*.xml")):
            stored = path.with_name(f"{path.stem}.inputs.npz")
            if stored.exists():
                with np.load(stored) as arrays:
                    yield path.stem, path, [arrays[key] for key in arrays.files], {}
        return
    if arguments.large:
        from benchmarks.encoder import write_encoder  # OpenVINO writes it

        path = folder / "encoder.xml"
        write_encoder(path)
        ir_exec.read_model(path).save(folder / "encoder_f16.xml", compress_to_fp16=True)
        tokens = [np.arange(128, dtype=np.int64)[np.newaxis], np.ones((1, 128), np.int64)]
        for name in ("encoder", "encoder_f16"):
            yield name, folder / f"{name}.xml", tokens, {}
        return
    for name, case in cases().items():
        model, inputs = case.make()
        path = folder / f"{name}.xml"
        model.save(path)
        yield name, path, inputs, dict(case.options)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", default="", metavar="TEXT", help="models whose name contains this text")
    parser.add_argument("--folder", metavar="DIR", help="measure the models of a folder")
    parser.add_argument("--large", action="store_true", help="measure the encoders of BERT-base's size")
    parser.add_argument("--save", action="store_true", help="store the figures")
    parser.add_argument("--optimize", choices=("auto", "full"), help="optimization, instead of the default")
    parser.add_argument("--processes", type=int, default=3)
    parser.add_argument("--runs", type=int, default=40, help="runs after the first one")
    arguments = parser.parse_args()
    stored = RESULTS / "first_output.json"
    earlier: dict[str, Figures] = json.loads(stored.read_text())["networks"] if stored.exists() else {}
    figures: dict[str, Figures] = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, path, inputs, options in _networks(Path(folder), arguments):
            if arguments.only in name:
                options |= {} if arguments.optimize is None else {"optimize": arguments.optimize}
                figures[name] = measure_figures(path, inputs, options, arguments.processes, arguments.runs)
                print(f"{name:34}" + "".join(map(_cell, figures[name].items())), flush=True)
    both = figures.keys() & earlier.keys()
    for figure in FIGURES if both else ():
        mean = geometric_mean(figures[name][figure] / max(earlier[name][figure], 1e-9) for name in both)
        print(f"{figure}: {mean:.3f}x of the stored figure, geometric mean of {len(both)}")
    if arguments.save:
        stored.write_text(json.dumps({"machine": machine(), "networks": earlier | figures}, indent=1) + "\n")


def _cell(figure: tuple[str, float]) -> str:
    name, value = figure
    if "share" in name:
        return f"  {name} {value:5.2f}"
    return f"  {name} {value / 2**20:7.1f} MiB" if "peak" in name else f"  {name} {value * 1e3:8.2f} ms"


if __name__ == "__main__":
    main()
