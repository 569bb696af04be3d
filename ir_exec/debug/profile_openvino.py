"""OpenVINO's own counters for the layers of a network, joined to ours."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from statistics import median
from typing import Any

from ir_exec.codes import Code
from ir_exec.debug.child import Child, ChildCrashed, ChildRefused, store_arrays
from ir_exec.debug.openvino import require_openvino, what_to_run
from ir_exec.debug.profile_report import OpenVINOLayer, OpenVINOProfile
from ir_exec.errors import EvaluationError
from ir_exec.model import Model
from ir_exec.types import Array

__all__ = ["original_layers", "profile_openvino"]


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
    """OpenVINO's run of the same inputs, in a process of its own.

    ours: the seconds of each of our layers outside of bodies, by name, those of its bodies included. Raises
    EvaluationError where OpenVINO is not installed, refuses the network, crashes, or does not answer in time.
    """
    require_openvino()
    with (
        tempfile.TemporaryDirectory(prefix="ir-exec-") as folder,
        closing(Child("openvino_child.py", timeout)) as child,
    ):
        request = what_to_run(model, Path(folder), device, hint, threads)
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
    )


def _layers(
    model: Model, found: Sequence[Mapping[str, Any]], ours: Mapping[str, float], repeat: int
) -> tuple[OpenVINOLayer, ...]:
    names = {node.name for node in model.graph.nodes}
    # What ran in some of the runs alone took no time in the others.
    seconds = [median([*layer["seconds"], *[0.0] * (repeat - len(layer["seconds"]))]) for layer in found]
    total = sum(seconds) or 1.0
    layers = []
    for layer, taken in zip(found, seconds, strict=True):
        originals = original_layers(layer["originals"], names)
        layers.append(
            OpenVINOLayer(
                name=layer["name"],
                type=layer["type"],
                kernel=layer["kernel"],
                precision=layer["precision"],
                seconds=taken,
                share=taken / total,
                layers=originals,
                ours=sum(ours.get(name, 0.0) for name in originals),
            )
        )
    return tuple(layers)


def original_layers(text: str, names: set[str]) -> tuple[str, ...]:
    """The names in `originalLayersNames`, which stand between commas and may hold commas themselves.

    Those that the network does not have, for OpenVINO made them up, are left out.
    """
    parts = text.split(",")
    found: dict[str, None] = {}
    start = 0
    while start < len(parts):
        for stop in range(len(parts), start, -1):
            if (name := ",".join(parts[start:stop])) in names:
                found[name] = None
                start = stop - 1
                break
        start += 1
    return tuple(found)
