"""The interpreter, the engine onnxruntime, OpenVINO, and onnxruntime on the original ONNX file, warm in one process.

Models are the .xml files of folders: by default `tests/networks` and `../shared/models`. NAME.inputs.npz has the inputs
of NAME.xml, NAME.onnx is the original of a converted model. The contestants take turns, and the result is the
median of each; the geometric means are of ratios to OpenVINO's time.

    python -m benchmarks.engines [FOLDER ...] [--only TEXT] [--seconds 2] [--threads 2] [--least] [--first]

--first measures from a loaded library to the first output, interpreter against engine, each time in a fresh process.
"""

from __future__ import annotations

import argparse
import gc
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

sys.path[:0] = [] if __package__ else [str(Path(__file__).resolve().parent.parent)]
# OpenVINO's telemetry forks a process that would take part in the measurement.
sys.modules["openvino_telemetry"] = None  # type: ignore[assignment]  # a module that cannot be imported

import ir_exec
from benchmarks.measure import RESULTS, geometric_mean, machine
from ir_exec.cli.process import keep_freed_memory
from ir_exec.types import Array

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ROOT / "tests" / "networks", ROOT.parent / "shared" / "models"
TOLERANCE = 2e-3
"""Tolerance, relative to the largest absolute value of an output."""
SHORTEST = 1e-3
CONTESTANTS = "interpreter", "engine", "openvino", "onnx"


@dataclass
class Row:
    """One model. seconds: the median of each contestant. note: a remark for the table."""

    name: str
    seconds: dict[str, float]
    on_engine: str
    note: str = ""
    faults: list[str] = field(default_factory=list)


def networks(folders: list[Path], only: str) -> Iterator[Path]:
    """Return the .xml files, each name once."""
    seen = set()
    for folder in folders:
        for path in sorted(folder.glob("*.xml")):
            if only in path.stem and path.stem not in seen and path.with_suffix(".inputs.npz").exists():
                seen.add(path.stem)
                yield path


def measured(path: Path, seconds: float, threads: int, *, least: bool) -> Row:
    """Time all contestants in turns for about this many seconds each; least: minimum times instead of medians."""
    with np.load(path.with_suffix(".inputs.npz"), allow_pickle=False) as stored:
        inputs = [stored[f"in{i}"] for i in range(len(stored.files))]
    interpreter = ir_exec.compile_model(path, threads=threads)
    engine: Any = ir_exec.compile_model(path, engine="onnxruntime", threads=threads)
    expected = list(interpreter(inputs).to_tuple())
    partition = engine.partition
    row = Row(path.stem, {}, f"{partition.on_engine}/{partition.layers} in {len(partition.parts)}")
    row.faults += _differing("engine", expected, engine(inputs).to_tuple())
    # A cache that grows from call to call does not fit repeated masks.
    ours, fast = (interpreter, engine) if not len(interpreter.state) else (_anew(interpreter), _anew(engine))
    calls: dict[str, Callable[[], object]] = {"interpreter": lambda: ours(inputs), "engine": lambda: fast(inputs)}
    _add_openvino(calls, path, inputs, threads, row)
    _add_original(calls, path, interpreter, inputs, threads, row)
    row.seconds = _in_turns(calls, seconds, min if least else statistics.median)
    engine.close()
    return row


def _anew(model: Any) -> Callable[[list[Array]], object]:
    def call(inputs: list[Array]) -> object:
        model.reset_state()
        return model(inputs)

    return call


def _add_openvino(
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
    states = request.query_state()

    def infer() -> object:
        if states:
            request.reset_state()
        return request.infer(inputs)

    calls["openvino"] = infer


def _add_original(
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
        feed = _fed(session, model, inputs)
        session.run(None, feed)
    except Exception as error:
        row.note = f"original: {str(error).splitlines()[0][:60]}"
        return
    calls["onnx"] = lambda: session.run(None, feed)


def _fed(session: Any, model: Any, inputs: list[Array]) -> dict[str, Array]:
    """Return the inputs by their names in the ONNX file; inputs without a common name in order."""
    by_name: dict[str, Array] = {}
    for port, array in zip(model.inputs, inputs, strict=True):
        by_name.update(dict.fromkeys(port.names, array))
    names = [one.name for one in session.get_inputs()]
    return {name: by_name.get(name, inputs[place]) for place, name in enumerate(names)}


def _in_turns(
    calls: Mapping[str, Callable[[], object]],
    seconds: float,
    usual: Callable[[list[float]], float],
) -> dict[str, float]:
    repeats = {}
    for name, call in calls.items():
        call()
        start = time.perf_counter()
        call()
        repeats[name] = max(1, round(SHORTEST / max(time.perf_counter() - start, 1e-7)))
    found: dict[str, list[float]] = {name: [] for name in calls}
    gc.collect()
    gc.disable()
    try:
        end = time.perf_counter() + seconds * len(calls)
        while time.perf_counter() < end or len(found["engine"]) < 5:
            for name, call in calls.items():
                call()  # refill the caches after the others
                start = time.perf_counter()
                for _ in range(repeats[name]):
                    call()
                found[name].append((time.perf_counter() - start) / repeats[name])
    finally:
        gc.enable()
    return {name: usual(times) for name, times in found.items()}


def _differing(who: str, expected: list[Array], found: tuple[Array, ...]) -> list[str]:
    faults = []
    for place, (ours, theirs) in enumerate(zip(expected, found, strict=True)):
        if ours.dtype != theirs.dtype or ours.shape != theirs.shape:
            faults.append(f"{who}: output {place} is {theirs.dtype}{theirs.shape}, expected {ours.dtype}{ours.shape}")
        elif ours.dtype.kind in "fV":
            left, right = ours.astype(np.float64), theirs.astype(np.float64)
            finite = np.isfinite(left)
            limit = TOLERANCE * np.abs(left[finite]).max(initial=1e-6)
            if not np.allclose(left, right, rtol=TOLERANCE, atol=limit, equal_nan=True):
                faults.append(f"{who}: output {place} differs by {np.nanmax(np.abs(left - right)):.3g}")
        elif not np.array_equal(ours, theirs):
            faults.append(f"{who}: output {place} differs in {(ours != theirs).sum()} elements")
    return faults


def _show(rows: list[Row]) -> None:
    heads = f"{'interpreter':>11} {'engine':>9} {'OpenVINO':>9} {'ONNX':>9} {'int/OV':>7} {'eng/OV':>7}"
    print(f"{'model':32} {heads}  layers")
    for row in rows:
        known = [row.seconds.get(name) for name in CONTESTANTS]
        cells = [f"{1e3 * one:.3f}" if one else "-" for one in known]
        base = row.seconds.get("openvino")
        ratios = [f"{row.seconds[name] / base:.2f}" if base else "-" for name in CONTESTANTS[:2]]
        told = "; ".join(filter(None, [row.note, *row.faults]))
        print(
            f"{row.name:32} {cells[0]:>11} {cells[1]:>9} {cells[2]:>9} {cells[3]:>9} {ratios[0]:>7} {ratios[1]:>7}"
            f"  {row.on_engine}{told and '  ' + told}"
        )
    for name in CONTESTANTS[:2]:
        ratios_of = [row.seconds[name] / row.seconds["openvino"] for row in rows if "openvino" in row.seconds]
        if ratios_of:
            mean, most = geometric_mean(ratios_of), max(ratios_of)
            print(f"{name}: geometric mean {mean:.3f} of OpenVINO's time, maximum {most:.2f}")
    both = [row.seconds["engine"] / row.seconds["onnx"] for row in rows if "onnx" in row.seconds]
    if both:
        print(f"engine: geometric mean {geometric_mean(both):.3f} of onnxruntime's time on the original ONNX file")


def _write(rows: list[Row], arguments: argparse.Namespace) -> None:
    """Write the seconds of each model and contestant to `results/engines.json`."""
    content = {
        "machine": machine(),
        "threads": arguments.threads,
        "time": "least" if arguments.least else "median",
        "rows": [{"name": row.name, "on_engine": row.on_engine, **row.seconds} for row in rows],
    }
    (RESULTS / "engines.json").write_text(json.dumps(content, indent=1) + "\n")


_FIRST = """
import sys, time, numpy, ir_exec, ir_exec.runtime.compiled
with numpy.load(sys.argv[1][:-4] + ".inputs.npz") as stored:
    inputs = [stored[f"in{i}"] for i in range(len(stored.files))]
start = time.perf_counter()
how = dict(engine=sys.argv[2]) if sys.argv[2] else {}
ir_exec.compile_model(sys.argv[1], threads=int(sys.argv[3]), **how)(inputs)
print(time.perf_counter() - start)
"""


def _first(path: Path, threads: int, runs: int = 3) -> tuple[float, float]:
    times: dict[str, list[float]] = {"": [], "onnxruntime": []}
    for _ in range(runs):
        for engine, found in times.items():
            command = [sys.executable, "-c", _FIRST, str(path), engine, str(threads)]
            done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=True)
            found.append(float(done.stdout))
    return statistics.median(times[""]), statistics.median(times["onnxruntime"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="*", type=Path, default=list(FOLDERS))
    parser.add_argument("--only", default="", help="models whose name contains this text")
    parser.add_argument("--seconds", type=float, default=2.0, help="seconds per contestant")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--least", action="store_true", help="minimum times, for a busy machine")
    parser.add_argument("--first", action="store_true", help="measure up to the first output, in fresh processes")
    arguments = parser.parse_args()
    keep_freed_memory()
    rows: list[Row] = []
    ratios = []
    for path in networks(arguments.folders, arguments.only):
        if arguments.first:
            ours, engine = _first(path, arguments.threads)
            ratios.append(engine / ours)
            print(f"{path.stem:32} interpreter {ours:.3f} s, engine {engine:.3f} s, {engine / ours:.2f}", flush=True)
            continue
        try:
            rows.append(measured(path, arguments.seconds, arguments.threads, least=arguments.least))
        except Exception as error:
            print(f"{path.stem}: {type(error).__name__}: {error}"[:300], flush=True)
    if ratios:
        print(f"first output: geometric mean {geometric_mean(ratios):.2f} of the interpreter's time")
    if rows:
        _show(rows)
        _write(rows, arguments)


if __name__ == "__main__":
    main()
