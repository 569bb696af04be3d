"""What reports of other commands tell of the layers of a network, and of the network as a whole."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from ir_exec.codes import Code
from ir_exec.debug import Comparison
from ir_exec.debug.metrics import Difference
from ir_exec.debug.text import counts, details, verdict
from ir_exec.errors import ParseError
from ir_exec.graph import Node
from ir_exec.view.data import ErrorView, Section, TimeView
from ir_exec.view.keys import Places
from ir_exec.view.text import shown

__all__ = [
    "ProfileLike",
    "comparison_of",
    "errors_of",
    "profile_of",
    "section_of_comparison",
    "section_of_profile",
    "times_of",
]

_MOST_LINES = 60

AnyReport = TypeVar("AnyReport", bound=BaseModel)


class TimedLayer(BaseModel):
    """What a page takes from the profile of a layer."""

    model_config = ConfigDict(extra="ignore")

    layer_id: str
    path: str
    seconds: float
    calls: int = 1
    memory: int | None = None
    gflops: float | None = None
    of_peak: float | None = None
    openvino: str | None = None


class ProfileLike(BaseModel):
    """What a page takes from the report of `profile`."""

    model_config = ConfigDict(extra="ignore")

    model: str
    measured: str = ""
    repeat: int = 1
    run_seconds: float
    layer_seconds: float | None = None
    peak_memory: int | None = None
    layers: tuple[TimedLayer, ...]


def comparison_of(report: Comparison | str | os.PathLike[str]) -> Comparison:
    """The report of `compare`, as an object or from its JSON file; ParseError where it is none."""
    return report if isinstance(report, Comparison) else _read(report, Comparison, "compare")


def profile_of(report: BaseModel | str | os.PathLike[str]) -> ProfileLike:
    """The report of `profile`, as an object or from its JSON file; ParseError where it is none."""
    if isinstance(report, BaseModel):
        return ProfileLike.model_validate(report.model_dump())
    return _read(report, ProfileLike, "profile")


def _read(path: str | os.PathLike[str], form: type[AnyReport], command: str) -> AnyReport:
    try:
        return form.model_validate_json(Path(path).read_bytes())
    except OSError as error:
        message = f"{os.fspath(path)} cannot be read: {error.strerror or error}"
        raise ParseError(message, code=Code.unreadable_path) from None
    except ValidationError as error:
        where = ".".join(str(part) for part in error.errors()[0]["loc"])
        message = f"{os.fspath(path)} is no report of `ir-exec {command} --format json`: {where or 'no JSON'}"
        raise ParseError(message, code=Code.unknown_input) from None


def errors_of(report: Comparison, places: Places) -> dict[Node, ErrorView]:
    """For each layer the errors that the comparison found."""
    found: dict[Node, ErrorView] = {}
    for layer in report.layers:
        node = places.of_path(layer.path, layer.layer_id)
        if node is not None:
            found[node] = ErrorView(
                status=layer.status,
                own=_without_texts(layer.own),
                carried=_without_texts(layer.carried),
                partner=None if layer.partner is None else shown(layer.partner),
                note=None if layer.note is None else shown(layer.note, 1000),
            )
    return found


def _without_texts(found: Difference | None) -> Difference | None:
    """The difference; texts of files in it printable and cut."""
    if found is None:
        return None
    changes: dict[str, Any] = {
        name: shown(text) for name in ("ours", "reference", "problem") if isinstance(text := getattr(found, name), str)
    }
    return found.model_copy(update=changes) if changes else found


def times_of(report: ProfileLike, places: Places) -> dict[Node, TimeView]:
    """For each layer the time that the profile found."""
    found: dict[Node, TimeView] = {}
    for layer in report.layers:
        node = places.of_path(layer.path, layer.layer_id)
        if node is None:
            continue
        notes = []
        if layer.gflops:
            notes.append(f"{layer.gflops:.3g} GFLOP/s")
        if layer.of_peak:
            notes.append(f"{layer.of_peak:.0%} of what this machine can do")
        if layer.openvino:
            notes.append(f"in OpenVINO {shown(layer.openvino)}")
        found[node] = TimeView(
            seconds=layer.seconds, calls=layer.calls, bytes=layer.memory, note=", ".join(notes) or None
        )
    return found


def section_of_comparison(report: Comparison) -> Section:
    """The verdict, what explains it, and the counts."""
    lines = [verdict(report), *details(report), counts(report)]
    heading = f"{shown(report.model)} against {shown(report.reference)}"
    return Section(heading=heading, lines=tuple([shown(line, 1000) for line in lines[:_MOST_LINES]]))


def section_of_profile(report: ProfileLike) -> Section:
    """How long a run takes, and the layers that take longest."""
    longest = sorted(report.layers, key=lambda layer: -layer.seconds)[:8]
    total = report.layer_seconds or sum(layer.seconds for layer in report.layers) or 1.0
    lines = [f"a run takes {report.run_seconds * 1e3:,.3g} ms, the median of {report.repeat}"]
    if report.peak_memory is not None:
        lines.append(f"it holds at most {report.peak_memory:,} bytes")
    lines += [f"{layer.seconds / total:6.1%}  {layer.seconds * 1e3:9.4f} ms  {layer.path}" for layer in longest]
    return Section(heading="Time", lines=tuple([shown(line) for line in lines]))
