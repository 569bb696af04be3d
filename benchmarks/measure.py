"""Shared code of the benchmarks: timing in blocks, tables, geometric means, JSON files and charts.

On a busy machine, a run one second later may take twice as long, so contestants are measured in short blocks, one after
another, and the result is the median over rounds of blocks. Before each block there is a pause and a discarded call:
threads of onnxruntime and OpenVINO spin for milliseconds after a call, and would slow down the next contestant.
`benchmarks.turns` shows the effect.
"""

from __future__ import annotations

import gc
import json
import math
import os
import platform
import statistics
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from xml.sax.saxutils import escape

import numpy as np

from ir_exec.types import Array

__all__ = [
    "Paired",
    "draw_chart",
    "format_size",
    "geometric_mean",
    "machine",
    "measure_blocks",
    "measure_pair",
    "print_table",
    "read_arrays",
    "write_json",
]

RESULTS = Path(__file__).parent / "results"
LARGE_WEIGHTS = 50_000_000
"""Bytes of weights that separate large from small models."""
SHORTEST = 2e-3
"""Minimum seconds of a sample: shorter calls are repeated within it."""
PAUSE = 0.03
"""Seconds before each block, until the threads of the contestant before it sleep."""
BLOCK = 0.1
"""Maximum seconds of a block, but a block has at least one sample."""


@dataclass(frozen=True)
class Paired:
    """Two contestants in one task. ours, theirs: median seconds per call; ratio: the speedup of ours over theirs."""

    name: str
    ours: float
    theirs: float
    ratio: float


def measure_pair(
    name: str,
    ours: Callable[[], object],
    theirs: Callable[[], object],
    *,
    seconds: float,
    least: int = 7,
    clock: Callable[[], float] = time.perf_counter,
) -> Paired:
    """Time two calls in blocks for about this many seconds, each in at least `least` blocks, by this clock."""
    contestants = {"ours": ours, "theirs": theirs}
    times = measure_blocks(contestants, seconds=seconds, least=least, clock=clock)
    ratio = statistics.median(theirs / max(ours, 1e-9) for ours, theirs in zip(*times.values(), strict=True))
    return Paired(name, statistics.median(times["ours"]), statistics.median(times["theirs"]), ratio)


def measure_blocks(
    contestants: Mapping[str, Callable[[], object]],
    *,
    seconds: float,
    least: int = 7,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, list[float]]:
    """Time contestants in blocks of calls, one contestant after another, for about this many seconds in total.

    Each block starts with a pause and a discarded call.

    Args:
        contestants: The calls, by name.
        seconds: Seconds for all contestants. The blocks become shorter if `least` of them do not fit.
        least: Minimum number of blocks of each contestant.
        clock: The clock, wall time by default.

    Returns:
        The seconds per call of each block, as the median of the samples in the block, by contestant. Entry `i` of all
        contestants comes from the same round.
    """
    repeats = {name: _repeats(call) for name, call in contestants.items()}
    block = min(BLOCK, seconds / (least * len(contestants)))
    times: dict[str, list[float]] = {name: [] for name in contestants}
    gc.collect()
    gc.disable()
    try:
        end = time.perf_counter() + seconds
        for rounds in range(2**31):
            if rounds >= least and time.perf_counter() >= end:
                break
            for name, call in contestants.items():
                times[name].append(_time_block(call, repeats[name], block, clock))
    finally:
        gc.enable()
    return times


def _time_block(call: Callable[[], object], repeats: int, block: float, clock: Callable[[], float]) -> float:
    """Return the median of the samples of a block of this many seconds, in seconds per call."""
    time.sleep(PAUSE)
    call()
    samples = []
    end = time.perf_counter() + block
    while not samples or time.perf_counter() < end:
        samples.append(_time(call, repeats, clock))
    return statistics.median(samples)


def _repeats(call: Callable[[], object]) -> int:
    call()
    once = min(_time(call, 1) for _ in range(3))
    return max(1, math.ceil(SHORTEST / max(once, 1e-7)))


def _time(call: Callable[[], object], count: int, clock: Callable[[], float] = time.perf_counter) -> float:
    start = clock()
    for _ in range(count):
        call()
    return (clock() - start) / count


def geometric_mean(values: Iterable[float]) -> float:
    return statistics.geometric_mean(list(values))


def machine() -> dict[str, object]:
    """Return the processor, the system, the versions and the day of the figures."""
    names = ("numpy", "openvino", "onnxruntime")
    return {
        "processor": _processor(),
        "vectors": _vectors(),
        "blas": _blas(),
        "date": time.strftime("%Y-%m-%d"),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "versions": {name: version for name in names if (version := _version(name))},
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()


def _vectors() -> str:
    """Return the widest vector instructions that NumPy uses here."""
    from numpy._core._multiarray_umath import __cpu_features__ as features

    widest = (("AVX512_SKX", "AVX-512"), ("AVX2", "AVX2"), ("SVE", "SVE"), ("NEON", "NEON"))
    return next((name for feature, name in widest if features.get(feature)), "unknown")


def _blas() -> str:
    """Return the kernels that NumPy's BLAS uses here; environment variables can select slower ones."""
    from threadpoolctl import threadpool_info

    cores = [
        info["architecture"] for info in threadpool_info() if info["user_api"] == "blas" and "architecture" in info
    ]
    return cores[0] if cores else "unknown"


def _version(package: str) -> str | None:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(package)
    except PackageNotFoundError:
        return None


def print_table(
    rows: Sequence[Paired],
    *,
    ours: str = "ir_exec",
    theirs: str = "OpenVINO",
    form: Callable[[float], str] | None = None,
) -> None:
    """Print the times of both, as durations or in the given form, the ratios and their geometric mean."""
    form = form or _duration
    width = max([len(row.name) for row in rows] + [len("geometric mean")])
    print(f"{'':{width}}  {ours:>10}  {theirs:>10}  ratio")
    for row in rows:
        print(f"{row.name:{width}}  {form(row.ours):>10}  {form(row.theirs):>10}  {row.ratio:5.2f}")
    mean = geometric_mean(row.ratio for row in rows)
    print(f"{'geometric mean':{width}}  {'':10}  {'':10}  {mean:5.2f}")


def _duration(seconds: float) -> str:
    for unit, factor in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= factor:
            return f"{seconds / factor:.2f} {unit}"
    return f"{seconds * 1e6:.1f} us"


def format_size(size: float) -> str:
    """Return a number of bytes as readable text."""
    return f"{size / 2**20:.1f} MiB" if size >= 2**20 else f"{size / 2**10:.0f} KiB"


def read_arrays(path: Path) -> list[Array]:
    """Return the arrays `in0`, `in1`, ... of an .npz file in order."""
    with np.load(path, allow_pickle=False) as stored:
        return [stored[f"in{i}"] for i in range(len(stored.files))]


def write_json(name: str, rows: Sequence[Paired], **further: object) -> Path:
    """Write the figures to `results/<name>.json`."""
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.json"
    mean = geometric_mean(row.ratio for row in rows)
    content = {"machine": machine(), **further, "geometric_mean": mean, "rows": [asdict(row) for row in rows]}
    path.write_text(json.dumps(content, indent=1) + "\n")
    return path


def draw_chart(name: str, rows: Sequence[Paired], title: str, *, theirs: str = "OpenVINO") -> Path:
    """Draw the ratios as bars on a logarithmic scale to `results/<name>.svg`: right of the line is faster."""
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.svg"
    path.write_text(_chart(rows, title, theirs))
    return path


def _chart(rows: Sequence[Paired], title: str, theirs: str) -> str:
    step, left, wide, top = 18, 380, 420, 48
    low = min(-1.0, math.log2(min(row.ratio for row in rows)))
    high = max(1.0, math.log2(max(row.ratio for row in rows)))

    def x_of_ratio(ratio: float) -> float:
        return left + wide * (math.log2(ratio) - low) / (high - low)

    height = top + step * len(rows) + 34
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {left + wide + 70} {height}" '
        'font-family="sans-serif" font-size="11">',
        '<rect width="100%" height="100%" fill="white"/>',
        f'<text x="10" y="20" font-size="14" font-weight="bold">{escape(title)}</text>',
    ]
    for power in range(math.ceil(low), math.floor(high) + 1):
        x = x_of_ratio(2.0**power)
        dark = "#333" if power == 0 else "#ddd"
        parts.append(f'<line x1="{x:.1f}" y1="{top - 8}" x2="{x:.1f}" y2="{height - 24}" stroke="{dark}"/>')
        label = f"{2.0**power:g}"
        parts.append(f'<text x="{x:.1f}" y="{height - 10}" text-anchor="middle" fill="#333">{label}</text>')
    unity = x_of_ratio(1.0)
    for number, row in enumerate(rows):
        y, x = top + step * number, x_of_ratio(row.ratio)
        color = "#2a7f62" if row.ratio >= 1 else "#b5532a"
        parts.append(f'<text x="{left - 6}" y="{y + 11}" text-anchor="end" fill="#333">{escape(row.name)}</text>')
        parts.append(
            f'<rect x="{min(unity, x):.1f}" y="{y + 2}" width="{max(abs(x - unity), 0.5):.1f}" height="{step - 5}" '
            f'fill="{color}"><title>{row.ratio:.2f}x over {escape(theirs)}</title></rect>'
        )
        parts.append(f'<text x="{max(unity, x) + 4:.1f}" y="{y + 11}" fill="#333">{row.ratio:.2f}</text>')
    parts.append("</svg>\n")
    return "\n".join(parts)
