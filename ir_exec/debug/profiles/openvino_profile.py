"""OpenVINO's run of a model for a profile, with its counters joined to our layers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from statistics import median
from typing import Any

from ir_exec.codes import Code
from ir_exec.debug.comparison.references.child import Child, ChildCrashed, ChildRefused, store_arrays
from ir_exec.debug.comparison.references.devices import require_device, require_openvino
from ir_exec.debug.comparison.references.openvino import original_layers, what_to_run
from ir_exec.debug.profiles.profile_report import OpenVINOLayer, OpenVINOProfile
from ir_exec.errors import EvaluationError
from ir_exec.ir.storage import temporary_folder
from ir_exec.model import Model
from ir_exec.types import Array

__all__ = ["profile_openvino"]


def profile_openvino(
    model: Model,
    arrays: Sequence[Array],
    ours: Mapping[str, float],
    *,
    repeat: int,
    device: str,
    hint: str,
    timeout: float,
    threads: int | None,
) -> OpenVINOProfile:
    """Run OpenVINO with the same inputs in a child process.

    Args:
        ours: The seconds of each of our layers outside bodies, including its bodies, by name.

    Raises:
        EvaluationError: If OpenVINO is not installed, refuses the model, crashes, or does not answer in time.
    """
    require_openvino()
    with (
        temporary_folder() as folder,
        closing(Child("openvino_child.py", timeout)) as child,
    ):
        request = what_to_run(model, Path(folder), device, hint, threads)
        if device != "CPU":
            require_device(child, device)
        try:
            answer = child.ask(do="profile", repeat=repeat, inputs=store_arrays(arrays, Path(folder)), **request)
        except (ChildRefused, ChildCrashed) as error:
            told = f"refuses: {error}" if isinstance(error, ChildRefused) else str(error)
            raise EvaluationError(f"OpenVINO {told}", code=Code.failed) from None
    return OpenVINOProfile(
        version=answer["version"].split("-")[0],
        device=device,
        hint=hint,
        run_seconds=median(answer["plain"]),
        counted_seconds=median(answer["counted"]),
        layers=_layers(model, answer["layers"], ours, repeat),
        lowered=model.lowered_from is not None,
    )


def _layers(
    model: Model, timings: Sequence[Mapping[str, Any]], ours: Mapping[str, float], repeat: int
) -> tuple[OpenVINOLayer, ...]:
    names = {node.name for node in model.graph.nodes}
    # A run without the layer counts as 0 seconds.
    seconds = [median([*layer["seconds"], *[0.0] * (repeat - len(layer["seconds"]))]) for layer in timings]
    total = sum(seconds) or 1.0
    layers = []
    for layer, duration in zip(timings, seconds, strict=True):
        originals = original_layers(layer["originals"], names)
        layers.append(
            OpenVINOLayer(
                name=layer["name"],
                type=layer["type"],
                kernel=layer["kernel"],
                precision=layer["precision"],
                seconds=duration,
                share=duration / total,
                layers=originals,
                ours=sum(ours.get(name, 0.0) for name in originals),
            )
        )
    return tuple(layers)
