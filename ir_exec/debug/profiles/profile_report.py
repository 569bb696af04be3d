"""The records of a profile, their text form, and a short measurement of the machine."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from time import perf_counter
from typing import Any, Literal

import numpy as np

from ir_exec.debug.profiles.engine_profile import EngineProfile
from ir_exec.errors import SourceLine
from ir_exec.kernels.gemm.product import matrix_product
from ir_exec.kernels.parallel import for_ranges
from ir_exec.report.csv import csv_text
from ir_exec.report.numbers import format_bytes, format_count, format_seconds
from ir_exec.report.records import Record, TableRecord
from ir_exec.report.text import format_remainder
from ir_exec.runtime.threads import RunThreads
from ir_exec.types import Array

__all__ = [
    "IN_CACHE",
    "GroupProfile",
    "LayerProfile",
    "MachineSpeed",
    "OpenVINOLayer",
    "OpenVINOProfile",
    "Profile",
    "Rates",
    "measure_machine",
    "render",
    "slowest",
    "summary",
    "type_text",
]


IN_CACHE = 2**20
"""Maximum bytes read and written by a layer that are likely to fit a core's cache."""

_MATRIX = 768
_LARGE = 2**26
_PIECE = 2**20


class MachineSpeed(Record):
    """The measured speed of the machine, the best of a few tries.

    Attributes:
        threads: The number of threads, as in a run.
        gflops: 10^9 operations per second of an f32 matrix product, two for each multiply-add.
        gbytes: 10^9 bytes per second, read and written, of copies that exceed all caches.
        cache_gbytes: 10^9 bytes per second of copies within a cache, by one thread.
    """

    threads: int
    gflops: float
    gbytes: float
    cache_gbytes: float

    def least_seconds(self, multiply_adds: int, bytes_moved: int) -> float:
        """The least time for this work on this machine: the longer time of computing and moving data."""
        speed = self.cache_gbytes if bytes_moved <= IN_CACHE else self.gbytes
        return max(2e-9 * multiply_adds / self.gflops, 1e-9 * bytes_moved / speed)


def measure_machine(threads: int) -> MachineSpeed:
    """Measure the machine, which takes about a quarter of a second."""
    matrix = np.full((_MATRIX, _MATRIX), 1.5, np.float32)
    source, target = np.zeros(_LARGE // 2, np.uint8), np.zeros(_LARGE // 2, np.uint8)
    near, nearer = source[: IN_CACHE // 4].copy(), target[: IN_CACHE // 4].copy()
    with RunThreads(threads):
        multiplied = _least(partial(matrix_product, matrix, matrix))
        copied = _least(lambda: _copy(source, target))
        cached = _least(partial(np.copyto, nearer, near))
    gbytes = 2e-9 * source.nbytes / copied
    return MachineSpeed(
        threads=threads,
        gflops=2e-9 * _MATRIX**3 / multiplied,
        gbytes=gbytes,
        # On a busy machine, the short copies may be slower.
        cache_gbytes=max(2e-9 * near.nbytes / cached, gbytes),
    )


def _copy(source: Array, target: Array) -> None:
    def work(start: int, stop: int) -> None:
        target[start:stop] = source[start:stop]

    for_ranges(source.size, _PIECE, work)


def _least(work: Callable[[], object], seconds: float = 0.08, tries: int = 5) -> float:
    """The least time of at least `tries` calls, repeated for a minimum of `seconds`."""
    best, end, count = float("inf"), perf_counter() + seconds, 0
    while count < tries or perf_counter() < end:
        start = perf_counter()
        work()
        best = min(best, perf_counter() - start)
        count += 1
    return best


class Rates(Record):
    """Time and work in one run.

    The time of layers in bodies counts for these, not for the enclosing layer.

    Attributes:
        seconds: The median over all runs.
        share: The fraction of the time of all layers.
        calls: The number of runs of layers.
        bytes_moved: The bytes of the tensors read and written, each element counted once.
        multiply_adds: The multiply-adds of matrix products, convolutions, recurrent cells and attention.
        gflops: 10^9 operations per second, two for a multiply-add.
        gbytes: 10^9 bytes per second.
        of_peak: The least time that this machine needs for the work, relative to the measured time; None without work.
    """

    seconds: float
    share: float
    calls: int
    bytes_moved: int
    multiply_adds: int
    gflops: float
    gbytes: float
    of_peak: float | None


class LayerProfile(Rates):
    """One layer.

    Attributes:
        path: `loop/body/name` for layers of bodies.
        element_type: The element type of the first output in the last call.
        shape: The shape of the first output in the last call.
        with_bodies: The seconds including its bodies.
        memory: The peak bytes of the run while the layer ran.
        fused: The paths of all layers in the fused step, this layer last; `type` is then the type of the fused
            operator.
        openvino: The layer of OpenVINO that computes it; None if there is none, or without OpenVINO.
        source: The line of Python that the layer was exported from.
        fusion: The operator that OpenVINO makes of the layer and others on CPUs, predicted by `ir_exec.fusions`; None
            if it fuses none.
    """

    layer_id: str
    layer_name: str
    path: str
    type: str
    element_type: str | None
    shape: tuple[int, ...] | None
    with_bodies: float
    memory: int
    fused: tuple[str, ...] = ()
    openvino: str | None = None
    source: SourceLine | None = None
    fusion: str | None = None


class GroupProfile(Rates):
    """Layers of a type, of a module, of a line of Python, or with a prefix of their paths.

    Attributes:
        code: The text of the line.
    """

    name: str
    layers: int
    code: str | None = None


class OpenVINOLayer(Record):
    """A layer that OpenVINO executes.

    Attributes:
        kernel: The implementation.
        precision: The element type of the computation.
        seconds: The median of its counter over all runs.
        share: The fraction of the time of all layers.
        layers: The paths of the layers of MODEL that it computes, from OpenVINO's `originalLayersNames`.
        ours: Our seconds for these layers and their bodies.
    """

    name: str
    type: str
    kernel: str
    precision: str
    seconds: float
    share: float
    layers: tuple[str, ...]
    ours: float


class OpenVINOProfile(Record):
    """OpenVINO's run of the same inputs.

    Attributes:
        run_seconds: The median without counters.
        counted_seconds: The median with counters.
        lowered: True if OpenVINO runs IR that ir_exec lowered from a file of another format.
    """

    version: str
    device: str
    hint: str
    run_seconds: float
    counted_seconds: float
    layers: tuple[OpenVINOLayer, ...]
    lowered: bool = False


class Profile(TableRecord):
    """The result of `profile`.

    Attributes:
        measured: A description of the measured model.
        repeat: The number of runs for each median.
        run_seconds: The median time of runs without a timer at every layer.
        least_seconds: The least time of runs without a timer at every layer.
        timed_seconds: The median of runs with the timers.
        layer_seconds: The sum over all layers.
        overhead_seconds: The median time of a run outside layers.
        layers: The layers that ran, in the order of completion.
        by_type: Sums over layers of the same type.
        by_prefix: Sums over layers with the same prefix of paths.
        by_module: Sums over layers that were exported from the same module or from a module in it.
        by_line: Sums over layers that were exported from the same line of Python, `net.py:11`, slowest first.
        not_run: The number of layers that did not run, because their values are constant or depend only on input
            shapes, or because their bodies were not executed.
        peak_memory: The peak bytes of a run, without inputs and constants.
        peak_layer: The path of the layer that ran at the peak.
        constants: Bytes of constants that are kept in memory.
        seed: The seed of the drawn inputs.
        specialised: For an ONNX file that depends on its inputs, the facts by input ("shape [2,3]").
    """

    format: Literal[1] = 1
    model: str
    measured: str
    threads: int
    repeat: int
    run_seconds: float
    least_seconds: float
    timed_seconds: float
    layer_seconds: float
    overhead_seconds: float
    layers: tuple[LayerProfile, ...]
    by_type: tuple[GroupProfile, ...]
    by_prefix: tuple[GroupProfile, ...]
    by_module: tuple[GroupProfile, ...] = ()
    by_line: tuple[GroupProfile, ...] = ()
    not_run: int
    peak_memory: int
    peak_layer: str | None
    constants: int
    machine: MachineSpeed
    openvino: OpenVINOProfile | None = None
    engine: EngineProfile | None = None
    seed: int | None = None
    specialised: dict[str, str] | None = None

    def to_rows(self) -> list[dict[str, Any]]:
        """A flat row for each layer, as written by `--format csv`."""
        rows = [layer.model_dump() for layer in self.layers]
        for row in rows:
            row["fused"] = " ".join(row["fused"])
            row["shape"] = None if row["shape"] is None else str(list(row["shape"]))
        for row, layer in zip(rows, self.layers, strict=True):
            row["source"] = None if layer.source is None else str(layer.source)
        return rows

    def to_csv(self) -> str:
        """The rows as CSV with a header."""
        leading = ("layer_id", "path", "type", "element_type", "shape")
        return csv_text(self.to_rows(), (*leading, *LayerProfile.model_fields))

    def __str__(self) -> str:
        """The summary and the slowest layers, as text."""
        return "\n".join(render(self))


_MOST_LISTED = 10


def render(report: Profile) -> Iterator[str]:
    """Yield the summary and the slowest layers."""
    yield from summary(report)
    yield ""
    for layer in slowest(report)[:_MOST_LISTED]:
        yield f"{layer.share:6.1%}  {format_seconds(layer.seconds):>9}  {layer.path} ({type_text(layer)})"
    yield from format_remainder(len(report.layers), _MOST_LISTED)


def summary(report: Profile) -> Iterator[str]:
    """Yield the time and work of one run, and the speed of the machine."""
    of = f"median of {report.repeat}" if report.repeat > 1 else "one run"
    yield f"one run takes {format_seconds(report.run_seconds)} ({of}, least {format_seconds(report.least_seconds)})"
    if report.specialised is not None:
        yield f"specialized to {', '.join(f'{name}: {what}' for name, what in report.specialised.items())}"
    both = report.layer_seconds + report.overhead_seconds
    share = report.overhead_seconds / both if both else 0.0
    yield (
        f"layers take {format_seconds(report.layer_seconds)}, overhead "
        f"{format_seconds(report.overhead_seconds)} ({share:.1%}); "
        f"a run with a timer at every layer takes {format_seconds(report.timed_seconds)}"
    )
    more = f"; {report.not_run:,} more have constant values or did not run" if report.not_run else ""
    yield f"measured: {report.measured}; {len(report.layers):,} layers ran{more}"
    work = sum(layer.multiply_adds for layer in report.layers)
    moved = sum(layer.bytes_moved for layer in report.layers)
    seconds = report.run_seconds or 1.0
    yield (
        f"work: {work:,} multiply-adds ({2e-9 * work / seconds:.3g} GFLOP/s), "
        f"{format_bytes(moved)} moved ({1e-9 * moved / seconds:.3g} GB/s)"
    )
    machine = report.machine
    yield (
        f"machine, measured: {machine.gflops:.3g} GFLOP/s (f32 matrix product), {machine.gbytes:.3g} GB/s copied "
        f"in memory, {machine.cache_gbytes:.3g} GB/s in a cache; {format_count(machine.threads, 'thread')}"
    )
    if report.peak_layer is not None:
        yield (
            f"memory: peak {format_bytes(report.peak_memory)} while {report.peak_layer} ran, "
            f"plus {format_bytes(report.constants)} of constants"
        )
    if report.openvino is not None:
        openvino = report.openvino
        speedup = openvino.run_seconds / report.run_seconds if report.run_seconds else 0.0
        lowered = ", lowered by ir_exec" if openvino.lowered else ""
        yield (
            f"OpenVINO {openvino.version} ({openvino.device}, {openvino.hint}{lowered}) takes "
            f"{format_seconds(openvino.run_seconds)} ({format_seconds(openvino.counted_seconds)} with its counters); "
            f"speedup over OpenVINO: {speedup:.3g}x"
        )
    if report.seed is not None:
        yield f"inputs drawn with seed {report.seed}"


def slowest(report: Profile) -> list[LayerProfile]:
    """The layers, slowest first."""
    return sorted(report.layers, key=lambda layer: -layer.seconds)


def type_text(layer: LayerProfile) -> str:
    """The type of a layer, and the number of fused layers."""
    return f"{layer.type}, {len(layer.fused)} layers" if layer.fused else layer.type
