"""Time for damaged and hostile files. Compares with nothing; exits with 1 if one is too slow.

Markup that never closes is read at two sizes: time may grow with the size, not with its square.

    python -m benchmarks.hostile [--files 300] [--mebibytes 2]
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random
from time import process_time

sys.path[:0] = [] if __package__ else [str(Path(__file__).resolve().parent.parent)]

from ir_exec import check_model

NETWORKS = Path(__file__).resolve().parent.parent / "tests" / "networks"

OPENINGS = ("<!--", "<![CDATA[", "<?x ", "<", "<a ", "<!", "&", "<a>", "<net>", "<!DOCTYPE net [")

GROWTH = 6.0
"""Maximum slowdown for four times the size. Four is linear, sixteen quadratic."""

SECONDS = 3.0
"""Maximum seconds for a file of a few kilobytes; typical are some hundredths."""

NOISE = 0.05
"""Minimum seconds for comparing growth."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=300, help="number of damaged files")
    parser.add_argument("--mebibytes", type=float, default=2.0, help="size of the larger files with open markup")
    options = parser.parse_args()
    slow = 0
    for opening in OPENINGS:
        size = int(options.mebibytes * 2**20)
        small, large = (_seconds(("<net>" + opening * (part // len(opening))).encode()) for part in (size // 4, size))
        too_slow = large > NOISE and large > GROWTH * small
        slow += too_slow
        print(f"{opening!r:20} {small:8.3f} s {large:8.3f} s {large / small:6.1f}x{'  TOO SLOW' * too_slow}")
    times = sorted(_seconds(raw, weights) for raw, weights in _damaged(options.files))
    slow += sum(one > SECONDS for one in times)
    print(f"{len(times)} damaged files: median {times[len(times) // 2]:.3f} s, slowest {times[-1]:.3f} s")
    return 1 if slow else 0


def _seconds(raw: bytes, weights: bytes = b"") -> float:
    start = process_time()
    check_model(raw, weights=weights)
    return process_time() - start


def _damaged(count: int) -> Iterator[tuple[bytes, bytes]]:
    """Yield copies of small models with some bytes changed; every second copy has only digits changed."""
    paths = [path for path in sorted(NETWORKS.glob("*.xml")) if path.stat().st_size < 50_000]
    random = Random(count)
    for number in range(count):
        path = random.choice(paths)
        raw = bytearray(path.read_bytes())
        digits = [place for place, byte in enumerate(raw) if chr(byte).isdigit()]
        for _ in range(random.randint(1, 8)):
            if number % 2:
                raw[random.choice(digits)] = random.choice(b"0179-")
            else:
                raw[random.randrange(len(raw))] = random.randrange(256)
        yield bytes(raw), path.with_suffix(".bin").read_bytes()


if __name__ == "__main__":
    sys.exit(main())
