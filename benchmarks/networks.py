"""The interpreter against OpenVINO's CPU plugin: warm, in blocks in one process, or from a cold start.

The models are those of `../shared/models` (or of `tests/networks` without that folder), an encoder of
BERT-base's size on 128 tokens, ResNet-50, MobileNet-v2 and an LSTM, which are built here. Outputs are compared before
anything is timed.

    python -m benchmarks.networks [--only TEXT] [--seconds 2] [--encoder-seconds 10]
    python -m benchmarks.networks --cold [--only TEXT] [--runs 7]
    python -m benchmarks.networks --fp16 [--only TEXT] [--seconds 2]
    python -m benchmarks.networks --rewrites [--only TEXT] [--seconds 2]

--fp16 compares FP16 with FP32 files of equal models, both run by ir_exec; --rewrites compares rewritten plans with
plain ones, in processor time on one thread.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

sys.path[:0] = [] if __package__ else [str(Path(__file__).resolve().parent.parent)]
# OpenVINO's telemetry forks a process that would take part in the measurement.
sys.modules["openvino_telemetry"] = None  # type: ignore[assignment]  # a module that cannot be imported

import openvino as ov

import ir_exec
from benchmarks.built import BUILT, write
from benchmarks.cold import measure_cold
from benchmarks.decoder import measure_decoder
from benchmarks.encoder import write_encoder
from benchmarks.fp16 import measure_fp16
from benchmarks.measure import Paired, draw_chart, measure_pair, print_table, read_arrays, write_json
from benchmarks.rewrites import measure_rewrites
from ir_exec.cli.process import keep_freed_memory
from ir_exec.types import Array

ROOT = Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared" / "models"
DECODERS = "gpt2_with_past", "llama_with_past"
PRECISE = {"INFERENCE_PRECISION_HINT": "f32", "DYNAMIC_QUANTIZATION_GROUP_SIZE": "0"}
TOLERANCE = 1e-3
"""Tolerance, relative to the largest absolute value of an output."""


FOLDER = Path(tempfile.gettempdir()) / "ir_exec-benchmarks"
"""Folder for models that are built here."""


def networks() -> Iterator[tuple[str, Path, list[Array]]]:
    """Yield name, file and inputs of every model."""
    FOLDER.mkdir(exist_ok=True)
    encoder = FOLDER / "encoder.xml"
    if not encoder.exists():
        write_encoder(encoder)
    random = np.random.default_rng(0)
    yield "encoder 1 x 128", encoder, [random.integers(0, 30_000, (1, 128)), np.ones((1, 128), np.int64)]
    for name in BUILT:
        yield name, *write(name, FOLDER)
    for path in sorted((SHARED if SHARED.exists() else ROOT / "tests" / "networks").glob("*.xml")):
        yield path.stem, path, read_arrays(path.with_suffix(".inputs.npz"))


def compare(name: str, ours: Any, theirs: Any) -> None:
    """End the benchmark if the outputs differ."""
    for index in range(len(ours)):
        expected = np.asarray(theirs[index])
        difference = np.abs(np.subtract(ours[index], expected, dtype=np.float64)).max(initial=0)
        if difference > TOLERANCE * np.abs(expected).max(initial=0):
            raise SystemExit(f"{name}: output {index} differs by {difference}")


def measure(name: str, path: Path, inputs: list[Array], seconds: float) -> Paired | None:
    try:
        ours = ir_exec.compile_model(path)
    except ir_exec.UnsupportedError as error:
        print(f"{name}: left out, {error.message}")
        return None
    request = ov.Core().compile_model(path, "CPU", PRECISE).create_infer_request()
    run_ours, run_theirs = without_state(ours, inputs), without_state_in_openvino(request, inputs)
    compare(name, run_ours(), run_theirs())
    return measure_pair(name, run_ours, run_theirs, seconds=seconds)


def without_state(compiled: Any, inputs: list[Array]) -> Callable[[], Any]:
    """Return a call that starts with empty states: a cache that grows from call to call does not fit repeated masks."""

    def run() -> Any:
        compiled.reset_state()
        return compiled(inputs)

    return run if len(compiled.state) else lambda: compiled(inputs)


def without_state_in_openvino(request: Any, inputs: list[Array]) -> Callable[[], Any]:
    """Return a call of an infer request that starts with empty states."""

    def run() -> Any:
        request.reset_state()
        return request.infer(inputs)

    return run if request.query_state() else lambda: request.infer(inputs)


def cold(only: str, runs: int) -> None:
    rows = [measure_cold(name, path, inputs, runs=runs) for name, path, inputs in networks() if only in name]
    print_table(rows)
    write_json("cold", rows)
    draw_chart("cold", rows, "From process start to the first output: speed relative to OpenVINO")


def fp16(only: str, seconds: float) -> None:
    measurements = [
        measure_fp16(name, path, inputs, FOLDER, seconds) for name, path, inputs in networks() if only in name
    ]
    rows = [row for row in measurements if row]
    print_table(rows, ours="FP16", theirs="FP32")
    write_json("fp16", rows)


def rewrites(only: str, seconds: float) -> None:
    measurements = [measure_rewrites(name, path, inputs, seconds) for name, path, inputs in networks() if only in name]
    print_table([row for row in measurements if row], ours="rewritten", theirs="plain")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="models whose name contains this text")
    parser.add_argument("--seconds", type=float, default=2.0, help="seconds per model")
    parser.add_argument("--encoder-seconds", type=float, default=10.0, help="seconds for the encoder")
    parser.add_argument("--cold", action="store_true", help="measure from process start to the first output")
    parser.add_argument("--fp16", action="store_true", help="FP16 files against FP32 files of equal models")
    parser.add_argument("--rewrites", action="store_true", help="rewritten plans against plain ones")
    parser.add_argument("--runs", type=int, default=7, help="number of processes per library, with --cold")
    arguments = parser.parse_args()
    if arguments.cold:
        cold(arguments.only, arguments.runs)
        return
    keep_freed_memory()
    if arguments.fp16:
        fp16(arguments.only, arguments.seconds)
        return
    if arguments.rewrites:
        rewrites(arguments.only, arguments.seconds)
        return
    rows = []
    for name, path, inputs in networks():
        if arguments.only in name:
            seconds = arguments.encoder_seconds if name.startswith("encoder") else arguments.seconds
            row = measure(name, path, inputs, seconds)
            rows += [row] if row else []
        if name in DECODERS and arguments.only in name:
            rows.append(measure_decoder(path, PRECISE, arguments.seconds))
    print_table(rows)
    write_json("networks", rows)
    draw_chart("networks", rows, "Models, warm: speed relative to OpenVINO's CPU plugin")


if __name__ == "__main__":
    main()
