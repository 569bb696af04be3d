"""What reports of other commands tell of the layers of a network, and of the network as a whole."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from ir_exec.codes import Code
from ir_exec.debug import Comparison
from ir_exec.debug.metrics import Difference
from ir_exec.debug.profile_report import Profile
from ir_exec.debug.profile_text import slowest, summary
from ir_exec.debug.text import counts, details, verdict
from ir_exec.errors import ParseError
from ir_exec.graph import Node
from ir_exec.view.data import ErrorView, Section, TimeView
from ir_exec.view.keys import Places
from ir_exec.view.text import shown

__all__ = [
    "comparison_of",
    "errors_of",
    "profile_of",
    "section_of_comparison",
    "section_of_profile",
    "times_of",
]

_MOST_LINES = 60
_LONGEST = 8

AnyReport = TypeVar("AnyReport", bound=BaseModel)


def comparison_of(report: Comparison | str | os.PathLike[str]) -> Comparison:
    """The report of `compare`, as an object or from its JSON file; ParseError where it is none."""
    return report if isinstance(report, Comparison) else _read(report, Comparison, "compare")


def profile_of(report: Profile | str | os.PathLike[str]) -> Profile:
    """The report of `profile`, as an object or from its JSON file; ParseError where it is none."""
    return report if isinstance(report, Profile) else _read(report, Profile, "profile")


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


def times_of(report: Profile, places: Places) -> dict[Node, TimeView]:
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


def section_of_profile(report: Profile) -> Section:
    """How long a run takes, and the layers that take longest."""
    lines = [*summary(report), ""]
    lines += [
        f"{layer.share:6.1%}  {layer.seconds * 1e3:9.4f} ms  {layer.path}" for layer in slowest(report)[:_LONGEST]
    ]
    return Section(heading="Time", lines=tuple([shown(line) for line in lines]))
