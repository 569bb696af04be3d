"""The profile of a compiled model of OpenVINO in memory, by its own performance counters."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from statistics import median
from time import perf_counter, sleep
from typing import Any

import numpy as np

from ir_exec.codes import Code
from ir_exec.debug.profiles.engine_profile import PAUSE
from ir_exec.debug.profiles.profile_report import OpenVINOProfile
from ir_exec.debug.profiles.recording import join_timings
from ir_exec.errors import EvaluationError
from ir_exec.model import Model
from ir_exec.types import Array

__all__ = ["profile_compiled"]


def profile_compiled(
    compiled: Any, model: Model, arrays: Sequence[Array], ours: Mapping[str, float], *, repeat: int
) -> OpenVINOProfile:
    """Run an `openvino.CompiledModel` with performance counters, in this process.

    Args:
        compiled: Compiled from the same model.
        arrays: The inputs in the order of the model.
        ours: As for `profile_openvino`.

    Raises:
        EvaluationError: If it has no counters, has other inputs, or fails.
    """
    openvino = sys.modules["openvino"]
    originals: dict[str, str] = {}
    precisions: dict[str, str] = {}
    layers: dict[str, dict[str, Any]] = {}
    plain: list[float] = []
    try:
        for operator in compiled.get_runtime_model().get_ordered_ops():
            info = {name: str(getattr(value, "value", value)) for name, value in operator.get_rt_info().items()}
            originals[operator.get_friendly_name()] = info.get("originalLayersNames", "")
            precisions[operator.get_friendly_name()] = info.get("runtimePrecision", "")
        if str(compiled.get_property("PERF_COUNT")).upper() not in ("YES", "TRUE"):
            raise ValueError("it has no performance counters")
        infer = compiled.create_infer_request()
        positions = _positions_of_inputs(compiled, model)
        for position, array in zip(positions, arrays, strict=True):
            infer.set_input_tensor(position, openvino.Tensor(np.ascontiguousarray(array)))
        sleep(PAUSE)
        for number in range(repeat + 1):
            infer.reset_state()
            start = perf_counter()
            infer.infer()
            plain.append(perf_counter() - start)
            for timing in infer.get_profiling_info() if number else ():
                if str(timing.status).endswith("EXECUTED"):
                    entry = {"type": timing.node_type, "kernel": timing.exec_type, "seconds": []}
                    seconds = timing.real_time.total_seconds()
                    layers.setdefault(timing.node_name, entry)["seconds"].append(seconds)
        device = ",".join(compiled.get_property("EXECUTION_DEVICES"))
        performance_hint = str(compiled.get_property("PERFORMANCE_HINT")).rpartition(".")[2].lower()
    except (RuntimeError, TypeError, ValueError) as error:
        # Errors of OpenVINO, also of a compiled model without counters.
        hint = 'compile with performance counters: compile_model(model, "CPU", {"PERF_COUNT": True})'
        raise EvaluationError(
            f"OpenVINO cannot profile the compiled model: {error}", code=Code.failed, hint=hint
        ) from None
    timings = [
        {**layer, "name": name, "originals": originals.get(name, ""), "precision": precisions.get(name, "")}
        for name, layer in layers.items()
    ]
    return OpenVINOProfile(
        version=openvino.__version__.split("-")[0],
        device=device,
        hint=performance_hint,
        run_seconds=median(plain[1:]),
        counted_seconds=median(plain[1:]),
        layers=join_timings(model, timings, ours, repeat),
    )


def _positions_of_inputs(compiled: Any, model: Model) -> list[int]:
    """Return the position in a compiled model of each input of a model: by name, or else the same positions."""
    names = [port.get_names() for port in compiled.inputs]
    if len(names) != len(model.inputs):
        raise ValueError(f"it has {len(names)} inputs, expected {len(model.inputs)}")
    by_name = [
        next((index for index, theirs in enumerate(names) if theirs & {port.name, *port.names}), None)
        for port in model.inputs
    ]
    positions = [position for position in by_name if position is not None]
    return positions if len(set(positions)) == len(names) else list(range(len(names)))
