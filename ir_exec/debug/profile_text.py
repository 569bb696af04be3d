"""A profile in words."""

from __future__ import annotations

from collections.abc import Iterator

from ir_exec.debug.profile_report import LayerProfile, Profile

__all__ = ["bytes_text", "render", "seconds_text", "slowest", "summary", "type_text"]

_MOST_LISTED = 10


def render(report: Profile) -> Iterator[str]:
    """The summary, and the layers that take longest."""
    yield from summary(report)
    yield ""
    for layer in slowest(report)[:_MOST_LISTED]:
        yield f"{layer.share:6.1%}  {seconds_text(layer.seconds):>9}  {layer.path} ({type_text(layer)})"
    if len(report.layers) > _MOST_LISTED:
        yield f"... {len(report.layers) - _MOST_LISTED:,} more"


def summary(report: Profile) -> Iterator[str]:
    """What one run takes, beside what the machine can do."""
    of = f"median of {report.repeat}" if report.repeat > 1 else "one run"
    yield f"one run takes {seconds_text(report.run_seconds)} ({of}, least {seconds_text(report.least_seconds)})"
    both = report.layer_seconds + report.overhead_seconds
    share = report.overhead_seconds / both if both else 0.0
    yield (
        f"layers take {seconds_text(report.layer_seconds)}, what is between them "
        f"{seconds_text(report.overhead_seconds)} ({share:.1%}); "
        f"a run with a clock at every layer {seconds_text(report.timed_seconds)}"
    )
    more = f"; {report.not_run:,} more have constant values or did not run" if report.not_run else ""
    yield f"measured: {report.measured}; {len(report.layers):,} layers ran{more}"
    work = sum(layer.multiply_adds for layer in report.layers)
    moved = sum(layer.bytes_moved for layer in report.layers)
    seconds = report.run_seconds or 1.0
    yield (
        f"work: {work:,} multiply-adds ({2e-9 * work / seconds:.3g} GFLOP/s), "
        f"{bytes_text(moved)} moved ({1e-9 * moved / seconds:.3g} GB/s)"
    )
    machine = report.machine
    yield (
        f"the machine, measured: {machine.gflops:.3g} GFLOP/s (f32 matrix product), {machine.gbytes:.3g} GB/s copied "
        f"in memory, {machine.cache_gbytes:.3g} GB/s in a cache; {machine.threads} thread{'s'[: machine.threads > 1]}"
    )
    if report.peak_layer is not None:
        yield (
            f"memory: {bytes_text(report.peak_memory)} at most, while {report.peak_layer} ran, "
            f"and {bytes_text(report.constants)} of constants"
        )
    if report.openvino is not None:
        found = report.openvino
        times = report.run_seconds / found.run_seconds if found.run_seconds else 0.0
        yield (
            f"OpenVINO {found.version} ({found.device}, {found.hint}) takes {seconds_text(found.run_seconds)} "
            f"({seconds_text(found.counted_seconds)} with its counters): this run takes {times:.3g} times as long"
        )
    if report.seed is not None:
        yield f"inputs drawn with seed {report.seed}"


def slowest(report: Profile) -> list[LayerProfile]:
    """The layers, those that take longest first."""
    return sorted(report.layers, key=lambda layer: -layer.seconds)


def type_text(layer: LayerProfile) -> str:
    """The type of a layer, and how many layers it stands for."""
    return f"{layer.type}, {len(layer.fused)} layers" if layer.fused else layer.type


def seconds_text(seconds: float) -> str:
    """A time in the unit that suits it."""
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if abs(seconds) >= size:
            return f"{seconds / size:.4g} {unit}"
    return f"{seconds * 1e6:.3g} µs"


def bytes_text(size: int) -> str:
    """A size in the unit that suits it."""
    for unit, one in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if size >= one:
            return f"{size / one:.3g} {unit}"
    return f"{size} B"
