"""Cost of intermediate values: `trace` and `compare` between two files, relative to a run of the model.

A run is `compile_model` and the first call, because `trace` and `compare` also prepare a model and run it once. The
clock is the processor time of the process.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import time
from pathlib import Path

import numpy as np

import ir_exec
from benchmarks.measure import Paired, measure_pair, print_table, write_json
from ir_exec.debug import compare, trace
from ir_exec.types import Array

FOLDERS = (Path(__file__).parents[2] / "shared" / "models", Path(__file__).parents[1] / "tests" / "networks")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=2.0, help="seconds per figure")
    parser.add_argument("names", nargs="*", help="models, by default all")
    arguments = parser.parse_args()
    paths = {path.stem: path for folder in FOLDERS for path in sorted(folder.glob("*.xml"))}
    rows: dict[str, list[Paired]] = {"compare": [], "trace": []}
    for name, path in sorted(paths.items()):
        inputs = _inputs(path)
        if inputs is None or (arguments.names and name not in arguments.names):
            continue
        for command, row in _measure_network(name, path, inputs, arguments.seconds).items():
            rows[command].append(row)
            print(f"{name}: {command} takes {1 / row.ratio:.2f} runs", flush=True)
    for command, measured in rows.items():
        print(f"\n{command}: the ratio is the time of a run divided by its time")
        print_table(measured, ours=command, theirs="run")
        worst = min(measured, key=lambda row: row.ratio)
        print(f"maximum: {1 / worst.ratio:.2f} runs ({worst.name})")
        write_json(f"debug_{command}", measured)


def _inputs(path: Path) -> list[Array] | None:
    file = path.with_name(f"{path.stem}.inputs.npz")
    if not file.exists():
        return None
    with np.load(file) as stored:
        return [stored[f"in{i}"] for i in range(len(stored.files))]


def _measure_network(name: str, path: Path, inputs: list[Array], seconds: float) -> dict[str, Paired]:
    model, other = ir_exec.read_model(path), ir_exec.read_model(path)
    folder = tempfile.mkdtemp()

    def run() -> object:
        return ir_exec.compile_model(model)(inputs)

    def compare_plain() -> object:
        report = compare(model, other, inputs)
        assert report.equal, str(report)
        return report

    try:
        return {
            command: measure_pair(name, call, run, seconds=seconds, clock=time.process_time)
            for command, call in (("compare", compare_plain), ("trace", lambda: trace(model, inputs, output=folder)))
        }
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
