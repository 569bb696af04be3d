"""`view`: the page of a network, with what reports, a run and other networks tell of it."""

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
from ir_exec.runtime.specialising import for_calls
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
)
from ir_exec.view.text import shown

__all__ = ["Other", "page_of_reports", "view"]


class Other(NamedTuple):
    """The network that another one is held against. found: what differs, where that is known already."""

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
    diff: Other | str | os.PathLike[str] | None = None,
    beside: Sequence[str | os.PathLike[str]] = (),
    progress: Callable[[str], None] | None = None,
) -> PageView:
    """The page of a network: its layers with their types, values that are known, and everything that `check` finds.

    source: a path, bytes, or a Model; a faulty file is shown as far as it can be read.
    weights: the .bin where it is not beside the .xml.
    inputs: as for a call of a compiled model; the network is run on them, and the page has statistics of every value.
    progress: called with the path of each layer of that run.
    compare, profile: reports of these commands about this network, or the JSON files that hold them; compare takes one
        of quantize-report too, whose colours are the effect of each layer. Of a comparison
        over many inputs each layer shows the item in which it is worst.
    diff: another network; layers that it alone has are shown in the same graph.
    beside: further networks, shown next to this one: IR, ONNX, or an execution graph of OpenVINO.
    Raises the first error of a file in which there is no network, and ParseError for a report of another network.
    """
    if inputs is not None and (model := _partial(source)) is not None:
        source, (inputs,), _ = for_calls(model, inputs)
    opened = open_network(source, weights)
    notes, sections, colour = Notes(), list[Section](), "kind"
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
        colour = "error"
    if diff is not None:
        network, section = _with_changes(opened, notes, diff if isinstance(diff, Other) else Other(os.fspath(diff)))
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
            "title": " | ".join(one.title for one in networks),
            "colour": colour,
            "sections": tuple(sections),
            "networks": tuple(networks),
            "links": tuple(links),
        }
    )


def page_of_reports(reports: Iterable[Report]) -> PageView:
    """A page of findings: the network of each file in which there are some, one at a time."""
    networks = []
    for report in reports:
        path = report.path or "bytes"
        empty = NetworkView(
            title=shown(os.path.basename(path)),
            file=shown(path),
            graph=GraphView(),
            findings=tuple([finding_view(found, None) for found in report.diagnostics]),
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
    """The network of a source of which some layers depend on the inputs of a call; None for all others."""
    try:
        model = source if isinstance(source, Model) else read_model(source) if reader_of(source) is not None else None
    except IRError:
        return None  # its faults are shown
    return model if model is not None and model.is_partial else None


def _run(opened: OpenedFile, notes: Notes, inputs: Inputs, progress: Callable[[str], None] | None) -> Section | None:
    """Run the network and note its values; what a reader should know where that failed."""
    try:
        values_of_run(Model(opened.loaded), inputs, notes.values, progress)
    except EvaluationError as error:
        if error.code == Code.unknown_input:
            raise
        return _failed(error)
    except IRError as error:
        return _failed(error)
    return None


def _failed(error: IRError) -> Section:
    return Section(heading="The run failed", lines=(shown(str(error), 1000), "values are those computed before"))


def _check_same(found: int, listed: int, name: str, opened: OpenedFile) -> None:
    if listed and not found:
        message = f"the report is of another network, {name}: no layer of it is in {opened.title}"
        raise ParseError(shown(message), code=Code.unknown_input)


def _with_changes(opened: OpenedFile, notes: Notes, other: Other) -> tuple[NetworkView, Section]:
    theirs = open_network(other.source, other.weights)
    found = other.found or diff_of(opened, theirs)
    notes.changes, changes = changes_of(found, opened.places, theirs.places)
    network = network_view(opened, notes)
    other_graph = network_view(theirs, Notes(changes=changes)).graph
    graph = Merger(opened, theirs).merged(network.graph, other_graph)
    return network.model_copy(update={"graph": graph}), section_of_diff(found)
