"""`view`: the page of a model, with reports, the values of a run, and other models."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from ir_exec import __version__
from ir_exec.check import Report
from ir_exec.codes import Code
from ir_exec.debug import NetworkDiff
from ir_exec.debug.profiles.profile_report import Profile
from ir_exec.errors import EvaluationError, IRError, ParseError
from ir_exec.model import Model, Source, WeightsSource, read_model
from ir_exec.readers import reader_of
from ir_exec.runtime.arguments import Inputs
from ir_exec.runtime.calls import bind_calls
from ir_exec.view.changes import Merger, changes_of, diff_of, section_of_diff
from ir_exec.view.data import GraphView, Link, NetworkView, PageView, Section
from ir_exec.view.foreign import links_between, network_beside
from ir_exec.view.networks import Notes, OpenedFile, finding_view, network_view, open_network
from ir_exec.view.reports import (
    AnyComparison,
    comparison_of,
    errors_of,
    layers_in,
    profile_of,
    section_of_comparison,
    section_of_profile,
    times_of,
    values_of_run,
    verdict_of,
)
from ir_exec.view.text import printable

__all__ = ["Other", "page_of_reports", "view"]


class Other(NamedTuple):
    """The other model of a diff.

    Attributes:
        found: The differences, if known.
    """

    source: Source
    weights: WeightsSource | None = None
    found: NetworkDiff | None = None


def view(
    source: Model | Source,
    *,
    weights: WeightsSource | None = None,
    inputs: Inputs | None = None,
    compare: AnyComparison | str | os.PathLike[str] | None = None,
    profile: Profile | str | os.PathLike[str] | None = None,
    diff: Other | Source | None = None,
    beside: Sequence[str | os.PathLike[str]] = (),
    progress: Callable[[str], None] | None = None,
) -> PageView:
    """Return the page of a model: its layers with their types, computed values, and all findings of `check`.

    Args:
        source: A path, bytes, a Model, or a model in memory as for `read_model`. A faulty file is shown as far as it
            can be read.
        weights: The .bin, if it is not next to the .xml.
        inputs: As for a call of a compiled model. The model is run with these, and the page has statistics of every
            value.
        compare: Reports of `compare` about this model, or their JSON files, also of quantize-report; the colours then
            show the effect of each layer. For a comparison of many inputs, each layer shows its worst item.
        profile: Reports of `profile` about this model, or their JSON files.
        diff: Another model. Layers that are only in this model are added to the graph.
        beside: Further models, shown next to this one: IR, ONNX, or an execution graph of OpenVINO.
        progress: Called with the path of each layer of this run.

    Raises:
        IRError: The first error of a file that cannot be read.
        ParseError: For a report about another model.
    """
    if inputs is not None and (model := _partial(source)) is not None:
        source, (inputs,), _ = bind_calls(model, inputs)
    opened = open_network(source, weights)
    notes, sections, colour, verdict = Notes(), list[Section](), "kind", None
    if inputs is not None:
        section = _run(opened, notes, inputs, progress)
        sections += [section] if section else []
        colour = "values"
    if profile is not None:
        timed = profile_of(profile)
        notes.times = times_of(timed, opened.places)
        _check_same(len(notes.times), len(timed.layers), timed.model, opened)
        sections.append(section_of_profile(timed))
        colour = "time"
    if compare is not None:
        compared = comparison_of(compare)
        notes.errors = errors_of(compared, opened.places)
        _check_same(len(notes.errors), layers_in(compared), compared.model, opened)
        sections.append(section_of_comparison(compared))
        verdict = verdict_of(compared, opened.places)
    if diff is not None:
        network, section = _with_changes(opened, notes, diff if isinstance(diff, Other) else Other(diff))
        sections.append(section)
        colour = "change"
    else:
        network = network_view(opened, notes)
    networks, links = [network], list[Link]()
    for index, path in enumerate(beside, start=1):
        other, made_of = network_beside(path)
        networks.append(other)
        links += links_between(network, other, made_of, index)
    return PageView.model_validate(
        {
            "format": 1,
            "made_by": __version__,
            "title": " | ".join(network.title for network in networks),
            "colour": "error" if notes.errors else colour,
            "verdict": verdict,
            "sections": tuple(sections),
            "networks": tuple(networks),
            "links": tuple(links),
        }
    )


def page_of_reports(reports: Iterable[Report]) -> PageView:
    """The page of findings: the model of each file with findings, shown one at a time."""
    networks = []
    for report in reports:
        path = report.path or "bytes"
        empty = NetworkView(
            title=printable(os.path.basename(path)),
            file=printable(path),
            graph=GraphView(),
            findings=tuple([finding_view(diagnostic, None) for diagnostic in report.diagnostics]),
        )
        try:
            if not report.diagnostics or report.path is None:
                networks.append(empty)
            else:
                networks.append(network_view(open_network(report.path), report=report))
        except IRError:
            networks.append(empty)
    title = networks[0].title if len(networks) == 1 else f"{len(networks)} files"
    return PageView(format=1, made_by=__version__, title=title, arrangement="one", networks=tuple(networks))


def _partial(source: Model | Source) -> Model | None:
    """The model of a source if some of its layers depend on the inputs of a call; otherwise None."""
    try:
        model = source if isinstance(source, Model) else read_model(source) if reader_of(source) is not None else None
    except IRError:
        return None  # the page shows its faults
    return model if model is not None and model.is_partial else None


def _run(opened: OpenedFile, notes: Notes, inputs: Inputs, progress: Callable[[str], None] | None) -> Section | None:
    """Run the model and record its values. Return a section about the error if the run fails."""
    try:
        values_of_run(Model(opened.loaded), inputs, notes.values, progress)
    except EvaluationError as error:
        if error.code == Code.unknown_input:
            raise
        return _failure_section(error)
    except IRError as error:
        return _failure_section(error)
    return None


def _failure_section(error: IRError) -> Section:
    return Section(
        heading="The run failed",
        lines=(printable(str(error), 1000), "the page shows the values computed before the error"),
    )


def _check_same(matched: int, listed: int, name: str, opened: OpenedFile) -> None:
    if listed and not matched:
        message = f"the report is about another model, {name}: none of its layers is in {opened.title}"
        raise ParseError(printable(message), code=Code.unknown_input)


def _with_changes(opened: OpenedFile, notes: Notes, other: Other) -> tuple[NetworkView, Section]:
    theirs = open_network(other.source, other.weights)
    differences = other.found or diff_of(opened, theirs)
    notes.changes, changes = changes_of(differences, opened.places, theirs.places)
    network = network_view(opened, notes)
    other_graph = network_view(theirs, Notes(changes=changes)).graph
    graph = Merger(opened, theirs).merge(network.graph, other_graph)
    return network.model_copy(update={"graph": graph}), section_of_diff(differences)
