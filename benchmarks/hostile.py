"""Time for damaged and hostile files. Compares with nothing; exits with 1 if one is too slow.

Markup that never closes is read at two sizes: time may grow with the size, not with its square.

    python -m benchmarks.hostile [--files 300] [--mebibytes 2]

With --hours, cases of all subjects of `tests.fuzz` run for this time instead, with other seeds than those of the tests,
in processes with a limit of memory. A case that is a fault, ends its process or does not end in a minute is printed.

    python -m benchmarks.hostile --hours 1 [--subjects wav npz] [--seed 1000]
"""

from __future__ import annotations

import argparse
import queue
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path
from random import Random
from time import monotonic, process_time, time

sys.path[:0] = [] if __package__ else [str(Path(__file__).resolve().parent.parent)]

from ir_exec import check_model
from tests.fuzz.frame import all_subjects

ROOT = Path(__file__).resolve().parent.parent
NETWORKS = ROOT / "tests" / "networks"

OPENINGS = ("<!--", "<![CDATA[", "<?x ", "<", "<a ", "<!", "&", "<a>", "<net>", "<!DOCTYPE net [")

GROWTH = 6.0
"""Maximum slowdown for four times the size. Four is linear, sixteen quadratic."""

SECONDS = 3.0
"""Maximum seconds for a file of a few kilobytes; typical are some hundredths."""

NOISE = 0.05
"""Minimum seconds for comparing growth."""

CASES = 200
"""Cases of a process that fuzzes a subject."""

LONGEST_CASE = 60.0
"""Maximum seconds of a case; typical are some hundredths."""

GIBIBYTES = 4.0
"""Memory of a process that fuzzes, with the mapped libraries."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=300, help="number of damaged files")
    parser.add_argument("--mebibytes", type=float, default=2.0, help="size of the larger files with open markup")
    parser.add_argument("--hours", type=float, help="fuzz all subjects for this time")
    parser.add_argument("--subjects", nargs="*", metavar="NAME", help="with --hours: only these subjects")
    parser.add_argument("--seed", type=int, help="with --hours: first seed; default: from the clock")
    options = parser.parse_args()
    if options.hours is not None:
        first = int(time()) * 1000 if options.seed is None else options.seed
        return _fuzz(options.subjects or list(all_subjects()), first, options.hours * 3600)
    slow = 0
    for opening in OPENINGS:
        size = int(options.mebibytes * 2**20)
        small, large = (_seconds(("<net>" + opening * (part // len(opening))).encode()) for part in (size // 4, size))
        too_slow = large > NOISE and large > GROWTH * small
        slow += too_slow
        print(f"{opening!r:20} {small:8.3f} s {large:8.3f} s {large / small:6.1f}x{'  TOO SLOW' * too_slow}")
    times = sorted(_seconds(raw, weights) for raw, weights in _damaged_models(options.files))
    slow += sum(time > SECONDS for time in times)
    print(f"{len(times)} damaged files: median {times[len(times) // 2]:.3f} s, slowest {times[-1]:.3f} s")
    return 1 if slow else 0


def _fuzz(names: Sequence[str], first: int, seconds: float) -> int:
    """Fuzz the subjects in turn until the time has passed; print the faults, and the number of cases of each."""
    start = monotonic()
    seeds = dict.fromkeys(names, first)
    faults = 0
    for number in count():
        if monotonic() - start >= seconds:
            break
        name = names[number % len(names)]
        seeds[name], new_faults = _fuzz_chunk(name, seeds[name])
        faults += new_faults
    for name, seed in seeds.items():
        print(f"{name:20} {seed - first:8,} cases")
    print(f"{faults} faults, first seed {first}")
    return 1 if faults else 0


def _fuzz_chunk(name: str, seed: int) -> tuple[int, int]:
    """Run the cases from a seed in a process.

    Returns:
        The seed after the last case, and the number of faults.
    """
    options = ["--seed", str(seed), "--cases", str(CASES), "--gibibytes", str(GIBIBYTES), "--progress"]
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.fuzz", name, *options],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="backslashreplace",
    )
    lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
    threading.Thread(target=_forward, args=(process, lines), daemon=True).start()
    last, faults = seed - 1, 0
    try:
        while (line := lines.get(timeout=LONGEST_CASE)) is not None:
            if line.startswith(f"{name} ") and line.split()[1].isdecimal():
                last = int(line.split()[1])
                continue
            faults += line.startswith("fault: ")
            if line != "0 faults\n":
                print(line, end="", flush=True)
    except queue.Empty:
        faults += 1
        print(f"fault: {name} --seed {last} --cases 1 does not end in {LONGEST_CASE:g} s", flush=True)
        process.kill()
    if process.wait() not in (0, 1, -9):
        faults += 1
        print(f"fault: {name} --seed {last} --cases 1 ends the process with {process.returncode}", flush=True)
    return max(last, seed) + 1, faults


def _forward(process: subprocess.Popen[str], lines: queue.SimpleQueue[str | None]) -> None:
    """Forward the lines of a process, and None at the end."""
    assert process.stdout is not None
    for line in process.stdout:
        lines.put(line)
    lines.put(None)


def _seconds(raw: bytes, weights: bytes = b"") -> float:
    start = process_time()
    check_model(raw, weights=weights)
    return process_time() - start


def _damaged_models(count: int) -> Iterator[tuple[bytes, bytes]]:
    """Yield copies of small models with some bytes changed; every second copy has only digits changed."""
    paths = [path for path in sorted(NETWORKS.glob("*.xml")) if path.stat().st_size < 50_000]
    random = Random(count)
    for number in range(count):
        path = random.choice(paths)
        raw = bytearray(path.read_bytes())
        digits = [position for position, byte in enumerate(raw) if chr(byte).isdigit()]
        for _ in range(random.randint(1, 8)):
            if number % 2:
                raw[random.choice(digits)] = random.choice(b"0179-")
            else:
                raw[random.randrange(len(raw))] = random.randrange(256)
        yield bytes(raw), path.with_suffix(".bin").read_bytes()


if __name__ == "__main__":
    sys.exit(main())
