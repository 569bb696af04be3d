"""Models next to busy processes, against OpenVINO's CPU plugin under equal conditions.

Continuous integration and shared servers seldom have idle cores. Each model is measured as in `networks`, first without
and then with processes that compute without a pause. The result is the slowdown of each contestant; 2 busy processes on
2 cores leave half of each core, so 2 is the best possible slowdown.

    python -m benchmarks.busy [--only TEXT] [--seconds 2] [--processes 2]
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

sys.path[:0] = [] if __package__ else [str(Path(__file__).resolve().parent.parent)]
# OpenVINO's telemetry forks a process that would take part in the measurement.
sys.modules["openvino_telemetry"] = None  # type: ignore[assignment]  # a module that cannot be imported

from benchmarks.measure import Paired, draw_chart, print_table, write_json
from benchmarks.networks import measure, networks
from ir_exec.cli.process import keep_freed_memory

BUSY = "while True: sum(range(10**5))"


@contextmanager
def busy_processes(count: int) -> Iterator[None]:
    """Processes that compute without a pause until the context ends."""
    processes = [subprocess.Popen([sys.executable, "-c", BUSY]) for _ in range(count)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def slowdown(idle: Paired, busy: Paired) -> Paired:
    """Return the slowdown of a call; the ratio is above 1 if OpenVINO slows down more."""
    ours, theirs = busy.ours / idle.ours, busy.theirs / idle.theirs
    return Paired(idle.name, ours, theirs, theirs / ours)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="models whose name contains this text")
    parser.add_argument("--seconds", type=float, default=2.0, help="seconds per model, measured twice")
    parser.add_argument("--processes", type=int, default=2, help="number of busy processes")
    arguments = parser.parse_args()
    keep_freed_memory()
    rows: list[Paired] = []
    pairs: list[Paired] = []
    for name, path, inputs in networks():
        if arguments.only not in name:
            continue
        idle = measure(name, path, inputs, arguments.seconds)
        if idle is None:
            continue
        with busy_processes(arguments.processes):
            busy = measure(name, path, inputs, arguments.seconds)
        assert busy is not None, "it was measured before"
        pairs.append(busy)
        rows.append(slowdown(idle, busy))
    print("A call next to busy processes:")
    print_table(pairs)
    print("\nSlowdown by the busy processes:")
    print_table(rows, form=lambda times: f"{times:.2f}")
    write_json("busy", pairs, slower=[vars(row) for row in rows])
    draw_chart("busy", pairs, f"Models next to {arguments.processes} busy processes: speed relative to OpenVINO")


if __name__ == "__main__":
    main()
