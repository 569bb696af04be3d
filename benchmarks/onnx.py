"""ONNX files: reading and converting against our reader of IR files, OpenVINO's reader and onnx's shape inference, and
running against ONNX's ReferenceEvaluator and onnxruntime.

The files are those of `tests/networks/onnx`; reading of IR is measured on their conversions.

    python -m benchmarks.onnx [--only TEXT] [--seconds 2]
    python -m benchmarks.onnx FILE.onnx... [--seconds 2] [--threads 1]

Named files are run, with the inputs of FILE.inputs.npz or random ones: against OpenVINO, and against our run of
OpenVINO's conversion of each to IR.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

# A script's folder precedes the package with an equal name.
sys.path[:1] = [str(Path(__file__).resolve().parent.parent)] if not __package__ else sys.path[:1]
# OpenVINO's telemetry forks a process that would take part in the measurement.
sys.modules["openvino_telemetry"] = None  # type: ignore[assignment]  # a module that cannot be imported

import numpy as np
import onnx
import onnxruntime
import openvino as ov
from onnx.reference import ReferenceEvaluator

import ir_exec
from benchmarks.limits import stored_networks
from benchmarks.measure import Paired, measure_pair, print_table, write_json
from benchmarks.networks import PRECISE

FOLDER = Path(__file__).resolve().parent.parent / "tests" / "networks" / "onnx"


def infer_onnx(path: Path) -> None:
    onnx.shape_inference.infer_shapes(onnx.load(path), data_prop=True)


def readers(path: Path, converted: Path) -> dict[str, Callable[[], object]]:
    calls: dict[str, Callable[[], object]] = {
        "our reader of IR": partial(ir_exec.read_model, converted),
        "onnx.shape_inference": partial(infer_onnx, path),
    }
    read = partial(ov.Core().read_model, path)
    try:
        read()
    except RuntimeError:  # it does not support every operator
        return calls
    return {**calls, "OpenVINO": read}


def runners(path: Path, feeds: dict[str, Any]) -> dict[str, Callable[[], object]]:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    calls: dict[str, Callable[[], object]] = {"onnxruntime": partial(session.run, None, feeds)}
    model = onnx.load(path)
    try:
        evaluator = ReferenceEvaluator(model)
        evaluator.run(None, feeds)
    except Exception:  # several types: it has no operators of com.microsoft
        return calls
    return {"ReferenceEvaluator": partial(evaluator.run, None, feeds), **calls}


def run_named(paths: list[str], seconds: float, threads: int | None) -> None:
    """Compare runs of these files with OpenVINO, and with our runs of its conversions, on this many threads."""
    chosen = {} if threads is None else {"INFERENCE_NUM_THREADS": threads}
    compiled = partial(ir_exec.compile_model, threads=threads)
    tables: dict[str, list[Paired]] = {"OpenVINO": [], "our run of OpenVINO's IR": []}
    with tempfile.TemporaryDirectory() as folder:
        for name, path, feeds in stored_networks(paths):
            ours = compiled(path)
            converted = Path(folder) / f"{name}.xml"
            ov.save_model(ov.convert_model(path), converted, compress_to_fp16=False)
            theirs = ov.compile_model(converted, "CPU", PRECISE | chosen)
            for rows, call in zip(tables.values(), (theirs, compiled(converted)), strict=True):
                rows.append(measure_pair(name, partial(ours, feeds), partial(call, feeds), seconds=seconds))
    for title, rows in tables.items():
        print(f"\nrunning, against {title}")
        print_table(rows, theirs=title)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("paths", nargs="*", metavar="FILE.onnx", help="ONNX files to run")
    parser.add_argument("--threads", type=int, help="threads of both libraries, for named files")
    parser.add_argument("--only", default="", help="models whose name contains this text")
    parser.add_argument("--seconds", type=float, default=2.0, help="seconds per measurement")
    options = parser.parse_args()
    if options.paths:
        run_named(options.paths, options.seconds, options.threads)
        return
    tables: dict[str, list[Paired]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for path in sorted(file for file in FOLDER.glob("*.onnx") if options.only in file.stem):
            model = ir_exec.read_model(path)
            converted = Path(folder) / f"{path.stem}.xml"
            model.save(converted)
            with np.load(path.with_suffix(".inputs.npz")) as stored:
                feeds = {port.name: stored[f"input{at}"] for at, port in enumerate(model.inputs)}
            for name, call in readers(path, converted).items():
                row = measure_pair(path.stem, partial(ir_exec.read_model, path), call, seconds=options.seconds)
                tables.setdefault(f"reading, against {name}", []).append(row)
            compiled = ir_exec.compile_model(path)
            for name, call in runners(path, feeds).items():
                row = measure_pair(path.stem, partial(compiled, feeds), call, seconds=options.seconds)
                tables.setdefault(f"running, against {name}", []).append(row)
    for title, rows in tables.items():
        print(f"\n{title}")
        print_table(rows, theirs=title.rpartition("against ")[2])
    first, *others = tables
    write_json(
        "onnx", tables[first], task=first, others={title: [vars(row) for row in tables[title]] for title in others}
    )


if __name__ == "__main__":
    main()
