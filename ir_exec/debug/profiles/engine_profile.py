"""Profile of a run on another engine: the times of the engine, joined to our layers by name.

Several contestants in one process are timed in blocks of calls. Threads of onnxruntime and OpenVINO spin for some
milliseconds after a call, and occupy cores meanwhile. Call by call in turns, each contestant would be measured with the
threads of the previous one. Therefore each block of calls of a contestant starts with a pause and a call that is not
counted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from statistics import median
from time import perf_counter, sleep
from typing import Any, TypeVar

from ir_exec.engines.compiled import EngineModel
from ir_exec.engines.registry import AUTO
from ir_exec.engines.report import PartitionReport
from ir_exec.model import Model
from ir_exec.report.records import Record
from ir_exec.types import Array

__all__ = ["CALLS", "PAUSE", "EngineLayer", "EngineProfile", "measure_in_blocks", "profile_engine"]

PAUSE = 0.03
"""Seconds before a block: several times as long as the threads of an engine spin."""

CALLS = 10
"""Maximum calls of a block: the blocks of all contestants alternate, because the speed of a machine varies."""

Measured = TypeVar("Measured")


def measure_in_blocks(contestants: Sequence[Callable[[], Measured]], count: int) -> list[list[Measured]]:
    """Call each contestant `count` times, and return what the calls of each returned.

    The results of the calls at the beginning of blocks are dropped.
    """
    results: list[list[Measured]] = [[] for _ in contestants]
    for start in range(0, count, CALLS):
        for contestant, measured in zip(contestants, results, strict=True):
            sleep(PAUSE)
            contestant()
            measured += [contestant() for _ in range(min(CALLS, count - start))]
    return results


class EngineLayer(Record):
    """The work of the engine for one of our layers.

    Attributes:
        name: Our layer; "" for layers that the engine added.
        kernels: The kernels of the engine.
        seconds: The duration of one run, by the engine's counters.
        share: The fraction of the time of all layers.
        ours: Our seconds for the layer and its bodies.
    """

    name: str
    kernels: tuple[str, ...]
    seconds: float
    share: float
    ours: float


class EngineProfile(Record):
    """Runs of the engine with the same inputs.

    Attributes:
        first_seconds: The duration of the first run.
        run_seconds: The median of the other runs without counters.
        timed_seconds: The median of the runs with counters.
        partition: The layers that the engine runs, and the reasons for the others.
    """

    engine: str
    compile_seconds: float
    first_seconds: float
    run_seconds: float
    timed_seconds: float
    partition: PartitionReport
    layers: tuple[EngineLayer, ...]


def profile_engine(
    model: Model,
    arrays: Sequence[Array],
    ours: Mapping[str, float],
    *,
    repeat: int,
    tell: Callable[[str], None],
    how: Mapping[str, Any],
) -> EngineProfile:
    """Profile the engine with one compiled model, whose counters are stopped before the runs without them.

    Args:
        ours: Our seconds by layer name.
        how: The arguments of an EngineModel.
    """
    tell("compiling for the engine")
    options = {**(how.get("options") or {}), "profile": True}
    engine = "onnxruntime" if how["engine"] == AUTO else how["engine"]
    start = perf_counter()
    with EngineModel(model, **{**how, "engine": engine, "options": options}) as compiled:
        compile_seconds = perf_counter() - start
        first = _seconds(compiled, arrays)
        tell("running with the engine's counters")
        (timed,) = measure_in_blocks([partial(_seconds, compiled, arrays)], repeat)
        times = compiled.engine_times()
        tell("running without counters")
        (runs,) = measure_in_blocks([partial(_seconds, compiled, arrays)], repeat)
        partition = compiled.partition
    seconds: dict[str, float] = {}
    kernels: dict[str, list[str]] = {}
    for time in times:
        seconds[time.layer] = seconds.get(time.layer, 0.0) + time.seconds
        kernels.setdefault(time.layer, []).append(time.kind)
    total = sum(seconds.values()) or 1.0
    layers = [
        EngineLayer(
            name=name,
            kernels=tuple(dict.fromkeys(kernels[name])),
            seconds=spent,
            share=spent / total,
            ours=ours.get(name, 0.0),
        )
        for name, spent in seconds.items()
    ]
    return EngineProfile(
        engine=compiled.engine,
        compile_seconds=compile_seconds,
        first_seconds=first,
        run_seconds=median(runs),
        timed_seconds=median(timed),
        partition=partition,
        layers=tuple(sorted(layers, key=lambda layer: -layer.seconds)),
    )


def _seconds(compiled: EngineModel, arrays: Sequence[Array]) -> float:
    compiled.reset_state()
    start = perf_counter()
    compiled(list(arrays))
    return perf_counter() - start
