"""Exported models in folders: the interpreter, the engine, OpenVINO, and onnxruntime on ONNX files, by class of size.

NAME.xml and NAME.onnx are models, NAME.inputs.npz has their inputs, by name or as `in0`, `in1`, ...; models without it
are run on drawn inputs. Each contestant runs in a process of its own, which measures model after model in blocks of
calls after a pause and a discarded call (`benchmarks.measure`). The figure is the median.

The run continues after the models in the JSON file of results, so that it can be divided into slices: --slice is the
number of seconds after which no further models are started. A model that takes longer than --limit is skipped.

    python -m benchmarks.exported FOLDER... [--only TEXT] [--seconds 0.5] [--threads 2] [--limit 60] [--slice 80]
    python -m benchmarks.exported --show [--result NAME]
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
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from queue import Empty, Queue
from threading import Thread
from typing import Any

import numpy as np

sys.path[:0] = [] if __package__ else [str(Path(__file__).resolve().parent.parent)]
# OpenVINO's telemetry forks a process that would take part in the measurement.
sys.modules["openvino_telemetry"] = None  # type: ignore[assignment]  # a module that cannot be imported

import ir_exec
from benchmarks.engines import Row, add_openvino, add_original, find_differences, prepare_engine
from benchmarks.limits import stored_networks
from benchmarks.measure import RESULTS, geometric_mean, machine, measure_blocks
from benchmarks.networks import without_state
from ir_exec.cli.process import keep_freed_memory
from ir_exec.engines.faster import TRIAL_CALLS

ROOT = Path(__file__).resolve().parent.parent
CONTESTANTS = "interpreter", "engine", "auto", "openvino", "onnx"
CLASSES = (
    ("below 0.2 ms", 0.0, 2e-4),
    ("0.2 to 1 ms", 2e-4, 1e-3),
    ("1 to 10 ms", 1e-3, 1e-2),
    ("above 10 ms", 1e-2, float("inf")),
)
"""Classes of models by OpenVINO's seconds per call."""
BATCH = 8
"""Models that one process measures: the next contestant follows after them."""
WORST = 10
"""Models of the list of the slowest."""


@dataclass
class ModelResult:
    """The figures of one model.

    Attributes:
        seconds: The median of each contestant.
        on_engine: The layers on the engine, of all layers, and the number of parts.
        notes: Remarks by contestant: errors, and limits that were reached.
        faults: Outputs of the engine that differ from the interpreter's.
    """

    name: str
    seconds: dict[str, float] = field(default_factory=dict)
    on_engine: str = ""
    notes: dict[str, str] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)


def find_models(folders: Iterable[Path], only: str) -> list[Path]:
    """Return the models in folders, without ONNX files that are the originals of IR files next to them."""
    paths = [path for folder in folders for path in sorted(folder.iterdir()) if path.suffix in (".xml", ".onnx")]
    irs = {path for path in paths if path.suffix == ".xml"}
    return [path for path in paths if only in path.name and (path in irs or path.with_suffix(".xml") not in irs)]


def measure_one(path: Path, contestant: str, seconds: float, threads: int, outputs: Path) -> ModelResult | None:
    """Time one contestant; None for an original that does not exist.

    Args:
        outputs: The interpreter's outputs: it writes them, and the engines are compared with them.
    """
    ((_, _, inputs),) = stored_networks([str(path)])
    row = Row(path.name, {}, "")
    calls: dict[str, Callable[[], object]] = {}
    if contestant == "interpreter":
        compiled = ir_exec.compile_model(path, threads=threads)
        calls[contestant] = without_state(compiled, inputs)
        np.savez(outputs, *compiled(inputs).to_tuple())
    elif contestant in ("engine", "auto"):
        name = "onnxruntime" if contestant == "engine" else "auto"
        engine, calls[contestant] = prepare_engine(path, inputs, threads, row, name)
        for _ in range(TRIAL_CALLS if contestant == "auto" else 0):
            calls[contestant]()
        if outputs.exists():
            engine.reset_state()
            with np.load(outputs) as archive:
                row.faults += find_differences(contestant, [*archive.values()], engine(inputs).to_tuple())
    elif contestant == "openvino":
        add_openvino(calls, path, inputs, threads, row)
    elif path.with_suffix(".onnx").exists():
        add_original(calls, path, ir_exec.read_model(path), inputs, threads, row)
    else:
        return None
    times = measure_blocks(calls, seconds=seconds, least=3) if calls else {}
    result = ModelResult(path.name, on_engine=row.on_engine, faults=row.faults)
    result.seconds = {key: statistics.median(blocks) for key, blocks in times.items()}
    result.notes = {contestant: row.note} if row.note else {}
    return result


def work(arguments: argparse.Namespace) -> None:
    """Measure the paths of standard input, one a line, and print a line of JSON for each."""
    keep_freed_memory()
    for line in sys.stdin:
        path = Path(line.rstrip("\n"))
        outputs = arguments.outputs / f"{path.name}.npz"
        try:
            result = measure_one(path, arguments.worker, arguments.seconds, arguments.threads, outputs)
        except Exception as error:
            note = f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"[:160]
            result = ModelResult(path.name, notes={arguments.worker: note})
        print(json.dumps(None if result is None else asdict(result)), flush=True)


class Worker:
    """A process that measures one contestant, model after model."""

    def __init__(self, contestant: str, arguments: argparse.Namespace, outputs: Path) -> None:
        self._contestant = contestant
        command = [sys.executable, "-m", "benchmarks.exported", "--worker", contestant, "--outputs", str(outputs)]
        command += ["--seconds", str(arguments.seconds), "--threads", str(arguments.threads)]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=ROOT
        )
        self._lines: Queue[str] = Queue()
        Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith(("{", "null")):
                self._lines.put(line)
        self._lines.put("")

    def measure(self, path: Path, limit: float) -> ModelResult | None:
        """Return the figures of a model; after an end of the process or the limit the worker is closed."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(f"{path}\n")
            self._process.stdin.flush()
            line = self._lines.get(timeout=limit)
        except (Empty, OSError) as error:
            line = f"more than {limit:g} s" if isinstance(error, Empty) else ""
        if line.startswith(("{", "null")):
            content = json.loads(line)
            return None if content is None else ModelResult(**content)
        self.close()
        return ModelResult(path.name, notes={self._contestant: line or "the process ended"})

    @property
    def is_open(self) -> bool:
        return self._process.poll() is None

    def close(self) -> None:
        self._process.kill()
        self._process.wait()


def measure_batch(paths: Iterable[Path], arguments: argparse.Namespace, outputs: Path) -> Iterator[ModelResult]:
    """Yield the figures of each contestant for each model."""
    for contestant in arguments.contestants.split(","):
        worker = Worker(contestant, arguments, outputs)
        for path in paths:
            if not worker.is_open:
                worker = Worker(contestant, arguments, outputs)
            result = worker.measure(path, arguments.limit)
            if result is not None:
                yield result
        worker.close()


def merge(results: dict[str, ModelResult], result: ModelResult) -> None:
    """Add the figures of one contestant to those of its model."""
    model = results.setdefault(result.name, ModelResult(result.name))
    model.seconds |= result.seconds
    model.notes |= result.notes
    model.on_engine = model.on_engine or result.on_engine
    model.faults = [*dict.fromkeys((*model.faults, *result.faults))]


def read_results(path: Path) -> dict[str, ModelResult]:
    rows = json.loads(path.read_text("utf-8"))["rows"] if path.exists() else []
    return {row["name"]: ModelResult(**row) for row in rows}


def write_results(path: Path, results: dict[str, ModelResult], arguments: argparse.Namespace) -> None:
    content = {"machine": machine(), "threads": arguments.threads, "seconds": arguments.seconds}
    rows = [asdict(results[name]) for name in sorted(results)]
    partial = path.with_suffix(".part")
    partial.write_text(json.dumps({**content, "rows": rows}, indent=1) + "\n", "utf-8")
    os.replace(partial, path)


def show(results: Iterable[ModelResult]) -> None:
    """Print the times relative to the base by class, the slowest models, and what failed."""
    rows = list(results)
    for base, title in (("openvino", "OpenVINO"), ("onnx", "onnxruntime on the original")):
        measured = [row for row in rows if base in row.seconds]
        if measured:
            _show_classes(measured, base, title)
    for row in rows:
        for remark in (*(f"{name}: {note}" for name, note in row.notes.items()), *row.faults):
            print(f"  {row.name}: {remark}")


def _show_classes(rows: list[ModelResult], base: str, title: str) -> None:
    names = [name for name in CONTESTANTS if name != base and any(name in row.seconds for row in rows)]
    print(f"\ntime over that of {title}, geometric mean (maximum)")
    print(f"  {'':14} {'models':>6}  {'  '.join(f'{name:>16}' for name in names)}")
    for label, low, high in (*CLASSES, ("all", 0.0, float("inf"))):
        members = [row for row in rows if low <= row.seconds[base] < high]
        if members:
            cells = [_ratios(members, name, base) for name in names]
            print(f"  {label:14} {len(members):6}  {'  '.join(f'{cell:>16}' for cell in cells)}")
    slowest = sorted((row for row in rows if "engine" in row.seconds), key=lambda row: -ratio(row, "engine", base))
    print(f"  slowest with the engine: {title} in ms, time over it, layers on the engine")
    for row in slowest[:WORST]:
        values = f"{1e3 * row.seconds[base]:9.3f} {ratio(row, 'engine', base):7.2f}"
        print(f"  {row.name:44} {values}  {row.on_engine}")


def ratio(row: ModelResult, name: str, base: str) -> float:
    return row.seconds[name] / row.seconds[base]


def _ratios(rows: Iterable[ModelResult], name: str, base: str) -> str:
    ratios = [ratio(row, name, base) for row in rows if name in row.seconds]
    return f"{geometric_mean(ratios):.2f} ({max(ratios):.1f})" if ratios else "-"


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("folders", nargs="*", type=Path, metavar="FOLDER")
    parser.add_argument("--only", default="", help="models whose file name contains this text")
    parser.add_argument(
        "--contestants", default="interpreter,engine,openvino,onnx", help=f"of {', '.join(CONTESTANTS)}"
    )
    parser.add_argument("--seconds", type=float, default=0.5, help="seconds per contestant and model")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--limit", type=float, default=60.0, help="maximum seconds of a contestant for a model")
    parser.add_argument("--slice", type=float, default=float("inf"), help="seconds after which no models are started")
    parser.add_argument("--result", default="exported", help="name of the JSON file in benchmarks/results")
    parser.add_argument("--show", action="store_true", help="print the results that exist, and measure nothing")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    parser.add_argument("--outputs", type=Path, help=argparse.SUPPRESS)
    return parser.parse_args()


def main() -> None:
    arguments = parse_arguments()
    if arguments.worker:
        work(arguments)
        return
    path = RESULTS / f"{arguments.result}.json"
    results = read_results(path)
    end = time.monotonic() + arguments.slice
    models = [] if arguments.show else find_models(arguments.folders, arguments.only)
    pending = [model for model in models if not is_complete(results.get(model.name), model, arguments)]
    with tempfile.TemporaryDirectory() as folder:
        for batch in (pending[start : start + BATCH] for start in range(0, len(pending), BATCH)):
            if time.monotonic() >= end:
                break
            for result in measure_batch(batch, arguments, Path(folder)):
                merge(results, result)
            write_results(path, results, arguments)
    show(row for row in results.values() if arguments.only in row.name)


def is_complete(row: ModelResult | None, path: Path, arguments: argparse.Namespace) -> bool:
    """Return True if a model has a figure or a remark of each contestant."""
    if row is None:
        return False
    expected: set[Any] = set(arguments.contestants.split(","))
    if not path.with_suffix(".onnx").exists():
        expected.discard("onnx")
    return expected <= {*row.seconds, *row.notes}


if __name__ == "__main__":
    main()
