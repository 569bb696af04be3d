"""The interpreter, the engine onnxruntime, OpenVINO, and onnxruntime on the original ONNX file, warm.

Models are those of `benchmarks.networks` and of `tests/networks`, or the .xml files of folders: NAME.inputs.npz has the
inputs of NAME.xml, NAME.onnx is the original of a converted model. Each contestant has a process of its own and is
measured in blocks of calls with a pause and a discarded call before each block (`benchmarks.measure`). The result is
the median. --together measures them in one process, one block after another: the import of onnxruntime alone makes
OpenVINO slower there. Geometric means are of speedups over OpenVINO.

    python -m benchmarks.engines [FOLDER ...] [--only TEXT] [--seconds 2] [--threads 2] [--together] [--first]

--first measures from a loaded library to the first output, interpreter against engine, each time in a fresh process.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

sys.path[:0] = [] if __package__ else [str(Path(__file__).resolve().parent.parent)]
# OpenVINO's telemetry forks a process that would take part in the measurement.
sys.modules["openvino_telemetry"] = None  # type: ignore[assignment]  # a module that cannot be imported

import ir_exec
from benchmarks.measure import RESULTS, geometric_mean, machine, measure_blocks, read_arrays
from benchmarks.networks import networks, without_state, without_state_in_openvino
from ir_exec.cli.process import keep_freed_memory
from ir_exec.types import Array

ROOT = Path(__file__).resolve().parent.parent
TOLERANCE = 2e-3
"""Tolerance, relative to the largest absolute value of an output."""
CONTESTANTS = "interpreter", "engine", "openvino", "onnx"


@dataclass
class Row:
    """One model. seconds: the median of each contestant. note: a remark for the table."""

    name: str
    seconds: dict[str, float]
    on_engine: str
    note: str = ""
    faults: list[str] = field(default_factory=list)


def stored_networks(folders: list[Path]) -> Iterator[tuple[str, Path, list[Array]]]:
    """Yield name, path and inputs of the .xml files in folders."""
    for folder in folders:
        for path in sorted(folder.glob("*.xml")):
            if path.with_suffix(".inputs.npz").exists():
                yield path.stem, path, read_arrays(path.with_suffix(".inputs.npz"))


def select_networks(folders: list[Path], only: str) -> Iterator[tuple[str, Path, list[Array]]]:
    """Yield name, path and inputs of each model once."""
    names = set()
    default = (*networks(), *stored_networks([ROOT / "tests" / "networks"]))
    for name, path, inputs in stored_networks(folders) if folders else default:
        if only in name and name not in names:
            names.add(name)
            yield name, path, inputs


def measure(name: str, path: Path, inputs: list[Array], seconds: float, threads: int, *, contestant: str = "") -> Row:
    """Time all contestants, or one of them, in blocks, for about this many seconds each."""
    interpreter = ir_exec.compile_model(path, threads=threads)
    expected = list(interpreter(inputs).to_tuple())
    row = Row(name, {}, "")
    calls: dict[str, Callable[[], object]] = {"interpreter": without_state(interpreter, inputs)}
    engine: Any = None
    if contestant in ("", "engine"):
        engine, call = prepare_engine(path, inputs, threads, row)
        calls["engine"] = call
        row.faults += find_differences("engine", expected, call().to_tuple())
    if contestant in ("", "openvino"):
        add_openvino(calls, path, inputs, threads, row)
    if contestant in ("", "onnx"):
        add_original(calls, path, interpreter, inputs, threads, row)
    if contestant:
        calls = {key: call for key, call in calls.items() if key == contestant}
    times = measure_blocks(calls, seconds=seconds * len(calls), least=5)
    row.seconds = {key: statistics.median(blocks) for key, blocks in times.items()}
    if engine is not None:
        engine.close()
    return row


def prepare_engine(
    path: Path, inputs: list[Array], threads: int, row: Row, name: str = "onnxruntime"
) -> tuple[Any, Callable[[], object]]:
    """Return the model compiled for the engine, and its call; the row records the layers on the engine."""
    engine: Any = ir_exec.compile_model(path, engine=name, threads=threads)
    call = without_state(engine, inputs)
    call()
    partition = engine.partition
    row.on_engine = f"{partition.on_engine}/{partition.layers} in {len(partition.parts)}"
    return engine, call


_APART = """
import json, sys
from pathlib import Path
from benchmarks.engines import measure
from benchmarks.measure import read_arrays
from ir_exec.cli.process import keep_freed_memory
keep_freed_memory()
name, path, inputs, seconds, threads, contestant = sys.argv[1:]
row = measure(name, Path(path), read_arrays(Path(inputs)), float(seconds), int(threads), contestant=contestant)
print(json.dumps(vars(row)))
"""


def measure_apart(name: str, path: Path, inputs: list[Array], seconds: float, threads: int) -> Row:
    """Time each contestant in a process of its own."""
    row = Row(name, {}, "")
    with tempfile.TemporaryDirectory() as folder:
        stored = Path(folder) / "inputs.npz"
        np.savez(stored, **{f"in{index}": array for index, array in enumerate(inputs)})
        for contestant in CONTESTANTS:
            if contestant == "onnx" and not path.with_suffix(".onnx").exists():
                continue
            command = [sys.executable, "-c", _APART, name, path, stored, str(seconds), str(threads), contestant]
            done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=True)
            fields = json.loads(done.stdout.splitlines()[-1])
            row.seconds |= fields["seconds"]
            row.on_engine = row.on_engine or fields["on_engine"]
            row.note = row.note or fields["note"]
            row.faults += fields["faults"]
    return row


def add_openvino(
    calls: dict[str, Callable[[], object]], path: Path, inputs: list[Array], threads: int, row: Row
) -> None:
    try:
        import openvino as ov

        settings = {"INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": str(threads)}
        request = ov.Core().compile_model(path, "CPU", settings).create_infer_request()
        request.infer(inputs)
    except Exception as error:
        row.note = f"OpenVINO: {str(error).splitlines()[0][:60]}"
        return
    calls["openvino"] = without_state_in_openvino(request, inputs)


def add_original(
    calls: dict[str, Callable[[], object]], path: Path, model: Any, inputs: list[Array], threads: int, row: Row
) -> None:
    original = path.with_suffix(".onnx")
    if not original.exists():
        return
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = threads, 4
    try:
        session = onnxruntime.InferenceSession(str(original), options, providers=["CPUExecutionProvider"])
        feed = _inputs_by_name(session, model, inputs)
        session.run(None, feed)
    except Exception as error:
        row.note = f"original: {str(error).splitlines()[0][:60]}"
        return
    calls["onnx"] = lambda: session.run(None, feed)


def _inputs_by_name(session: Any, model: Any, inputs: list[Array]) -> dict[str, Array]:
    """Return the inputs by their names in the ONNX file; inputs without a common name in order."""
    by_name: dict[str, Array] = {}
    for port, array in zip(model.inputs, inputs, strict=True):
        by_name.update(dict.fromkeys(port.names, array))
    names = [input.name for input in session.get_inputs()]
    return {name: by_name.get(name, inputs[position]) for position, name in enumerate(names)}


def find_differences(who: str, expected: list[Array], actual: tuple[Array, ...]) -> list[str]:
    faults = []
    for index, (ours, theirs) in enumerate(zip(expected, actual, strict=True)):
        if ours.dtype != theirs.dtype or ours.shape != theirs.shape:
            faults.append(f"{who}: output {index} is {theirs.dtype}{theirs.shape}, expected {ours.dtype}{ours.shape}")
        elif ours.dtype.kind in "fV":
            left, right = ours.astype(np.float64), theirs.astype(np.float64)
            finite = np.isfinite(left)
            limit = TOLERANCE * np.abs(left[finite]).max(initial=1e-6)
            if not np.allclose(left, right, rtol=TOLERANCE, atol=limit, equal_nan=True):
                faults.append(f"{who}: output {index} differs by {np.nanmax(np.abs(left - right)):.3g}")
        elif not np.array_equal(ours, theirs):
            faults.append(f"{who}: output {index} differs in {(ours != theirs).sum()} elements")
    return faults


def _show(rows: list[Row]) -> None:
    heads = f"{'interpreter':>11} {'engine':>9} {'OpenVINO':>9} {'ONNX':>9} {'interp.':>8} {'engine':>8}"
    print(f"{'model, ms and speedups':32} {heads}  layers")
    for row in rows:
        cells = [f"{1e3 * row.seconds[name]:.3f}" if name in row.seconds else "-" for name in CONTESTANTS]
        base = row.seconds.get("openvino")
        speedups = [f"{base / row.seconds[name]:.2f}x" if base else "-" for name in CONTESTANTS[:2]]
        remarks = "; ".join(filter(None, [row.note, *row.faults]))
        print(
            f"{row.name:32} {cells[0]:>11} {cells[1]:>9} {cells[2]:>9} {cells[3]:>9} {speedups[0]:>8} {speedups[1]:>8}"
            f"  {row.on_engine}{remarks and '  ' + remarks}"
        )
    for name in CONTESTANTS[:2]:
        ratios = [row.seconds["openvino"] / row.seconds[name] for row in rows if "openvino" in row.seconds]
        if ratios:
            print(f"{name}: speedup over OpenVINO {geometric_mean(ratios):.3f}x, minimum {min(ratios):.2f}x")
    both = [row.seconds["onnx"] / row.seconds["engine"] for row in rows if "onnx" in row.seconds]
    if both:
        print(f"engine: speedup over onnxruntime on the original ONNX file {geometric_mean(both):.3f}x")


def _write(rows: list[Row], arguments: argparse.Namespace) -> None:
    """Write the seconds of each model and contestant to `results/engines.json`."""
    content = {
        "machine": machine(),
        "threads": arguments.threads,
        "processes": "one for all" if arguments.together else "one for each",
        "rows": [{"name": row.name, "on_engine": row.on_engine, **row.seconds} for row in rows],
    }
    (RESULTS / "engines.json").write_text(json.dumps(content, indent=1) + "\n")


_FIRST = """
import sys, time, numpy, ir_exec, ir_exec.runtime.compiled
from benchmarks.measure import read_arrays
inputs = read_arrays(sys.argv[2])
start = time.perf_counter()
how = dict(engine=sys.argv[3]) if sys.argv[3] else {}
ir_exec.compile_model(sys.argv[1], threads=int(sys.argv[4]), **how)(inputs)
print(time.perf_counter() - start)
"""


def _first(path: Path, inputs: list[Array], threads: int, runs: int = 3) -> tuple[float, float]:
    times: dict[str, list[float]] = {"": [], "onnxruntime": []}
    with tempfile.TemporaryDirectory() as folder:
        stored = Path(folder) / "inputs.npz"
        np.savez(stored, **{f"in{index}": array for index, array in enumerate(inputs)})
        for _ in range(runs):
            for engine, seconds in times.items():
                command = [sys.executable, "-c", _FIRST, str(path), str(stored), engine, str(threads)]
                done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=True)
                seconds.append(float(done.stdout))
    return statistics.median(times[""]), statistics.median(times["onnxruntime"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--only", default="", help="models whose name contains this text")
    parser.add_argument("--seconds", type=float, default=2.0, help="seconds per contestant")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--together", action="store_true", help="measure all contestants in one process")
    parser.add_argument("--first", action="store_true", help="measure up to the first output, in fresh processes")
    arguments = parser.parse_args()
    keep_freed_memory()
    rows: list[Row] = []
    ratios = []
    for name, path, inputs in select_networks(arguments.folders, arguments.only):
        if arguments.first:
            ours, engine = _first(path, inputs, arguments.threads)
            ratios.append(engine / ours)
            print(f"{name:32} interpreter {ours:.3f} s, engine {engine:.3f} s, {engine / ours:.2f}", flush=True)
            continue
        try:
            measure_model = measure if arguments.together else measure_apart
            rows.append(measure_model(name, path, inputs, arguments.seconds, arguments.threads))
        except Exception as error:
            print(f"{name}: {type(error).__name__}: {error}"[:300], flush=True)
    if ratios:
        print(f"first output: geometric mean {geometric_mean(ratios):.2f} of the interpreter's time")
    if rows:
        _show(rows)
        _write(rows, arguments)


if __name__ == "__main__":
    main()
