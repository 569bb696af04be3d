"""Whole networks beside other busy processes, against OpenVINO's CPU plugin in the same conditions.

Continuous integration and shared servers seldom have idle cores. Each network is measured as `networks` measures it,
first on the machine as it is and then beside processes that compute without a pause. What counts is by how much each
contestant slows down: 2 busy processes on 2 cores leave half of each, so that 2 is what nobody can beat.

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
    """Processes that compute without a pause, ended with the context."""
    processes = [subprocess.Popen([sys.executable, "-c", BUSY]) for _ in range(count)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def slowed(idle: Paired, busy: Paired) -> Paired:
    """How many times as long a call takes beside the others; the ratio is above 1 where OpenVINO slows down more."""
    ours, theirs = busy.ours / idle.ours, busy.theirs / idle.theirs
    return Paired(idle.name, ours, theirs, theirs / ours)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="networks whose name holds this text")
    parser.add_argument("--seconds", type=float, default=2.0, help="how long each network is measured, twice")
    parser.add_argument("--processes", type=int, default=2, help="how many busy processes run beside")
    arguments = parser.parse_args()
    keep_freed_memory()
    rows: list[Paired] = []
    found: list[Paired] = []
    for name, path, inputs in networks():
        if arguments.only not in name:
            continue
        idle = measure(name, path, inputs, arguments.seconds)
        if idle is None:
            continue
        with busy_processes(arguments.processes):
            busy = measure(name, path, inputs, arguments.seconds)
        assert busy is not None, "it was measured before"
        found.append(busy)
        rows.append(slowed(idle, busy))
    print("A call beside busy processes:")
    print_table(found)
    print("\nTimes as long as without them:")
    print_table(rows, form=lambda times: f"{times:.2f}")
    write_json("busy", found, slower=[vars(row) for row in rows])
    draw_chart("busy", found, f"Networks beside {arguments.processes} busy processes: speed relative to OpenVINO")


if __name__ == "__main__":
    main()
