"""The experiment for the protocol of `benchmarks.measure`: OpenVINO's time per call, by what runs before it.

OpenVINO is measured in a process of its own, in blocks with a pause and a discarded call after blocks of the engine
onnxruntime, in blocks without the pause, and call by call in turns with the engine. Threads of onnxruntime spin after a
call, so the last two are slower although OpenVINO does the same work.

    python -m benchmarks.turns [--only TEXT] [--seconds 2] [--threads 2]
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

sys.path[:0] = [] if __package__ else [str(Path(__file__).resolve().parent.parent)]

import ir_exec
from benchmarks import measure as protocol
from benchmarks.engines import Row, add_openvino, measure_apart, select_networks
from ir_exec.cli.process import keep_freed_memory
from ir_exec.types import Array

FORMS = "own process", "blocks", "blocks, no pause", "in turns"


def measure_forms(name: str, path: Path, inputs: list[Array], seconds: float, threads: int) -> list[float]:
    """Return OpenVINO's seconds per call in each of FORMS."""
    apart = measure_apart(name, path, inputs, seconds, threads).seconds["openvino"]
    engine = ir_exec.compile_model(path, engine="onnxruntime", threads=threads)
    calls: dict[str, Callable[[], object]] = {"engine": lambda: engine(inputs)}
    add_openvino(calls, path, inputs, threads, Row(name, {}, ""))
    results = [apart]
    for pause in (protocol.PAUSE, 0.0):
        before, protocol.PAUSE = protocol.PAUSE, pause
        try:
            times = protocol.measure_blocks(calls, seconds=2 * seconds)
        finally:
            protocol.PAUSE = before
        results.append(statistics.median(times["openvino"]))
    samples = []
    end = time.perf_counter() + 2 * seconds
    while time.perf_counter() < end:
        calls["engine"]()
        start = time.perf_counter()
        calls["openvino"]()
        samples.append(time.perf_counter() - start)
    return [*results, statistics.median(samples)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="models whose name contains this text")
    parser.add_argument("--seconds", type=float, default=2.0, help="seconds per contestant")
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    keep_freed_memory()
    print(f"{'OpenVINO, ms per call':32} {' '.join(f'{form:>17}' for form in FORMS)}")
    for name, path, inputs in select_networks([], arguments.only):
        seconds = measure_forms(name, path, inputs, arguments.seconds, arguments.threads)
        print(f"{name:32} {' '.join(f'{1e3 * value:17.3f}' for value in seconds)}", flush=True)


if __name__ == "__main__":
    main()
