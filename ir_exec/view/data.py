"""The data of a page, the only input of the front end in `page/`. `ir-exec schema view` prints its JSON Schema.

A layer is identified by its key, as in the address of a page: its id, preceded by the keys and names of the enclosing
layers and bodies: `7`, `7/body/3`, `12/then_body/4`. Texts of files are printable and truncated. Empty fields are left
out of the JSON.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from ir_exec.debug.comparison.metrics import Difference
from ir_exec.report.records import Number, Record

__all__ = [
    "BodyView",
    "ChangeView",
    "CodeView",
    "ErrorView",
    "FindingView",
    "GraphView",
    "InputView",
    "LayerView",
    "Link",
    "NetworkView",
    "OutputView",
    "PageView",
    "TimeView",
    "ValuesView",
    "VerdictView",
]


class ValuesView(Record):
    """The values of one output in a run; in bodies, those of the last iteration.

    Attributes:
        min: The minimum of the finite elements.
        max: The maximum of the finite elements.
        mean: The mean of the finite elements.
        std: The standard deviation of the finite elements.
        zeros: The numbers of such elements.
        nans: The numbers of such elements.
        infinities: The numbers of such elements.
        saturated: The number of elements at a limit of the element type, or of a Clamp.
        histogram: Counts between min and max, in bins of equal width.
        first: The first elements.
        runs: The number of runs of the layer.
    """

    shape: tuple[int, ...]
    elements: int
    min: float | None = None
    max: float | None = None
    mean: float | None = None
    std: float | None = None
    zeros: int = 0
    nans: int = 0
    infinities: int = 0
    saturated: int = 0
    histogram: tuple[int, ...] = ()
    first: tuple[Number | str, ...] = ()
    runs: int = 1


class InputView(Record):
    """An input port.

    Attributes:
        layer: The position, in the list of layers, of the layer that it reads; None without an edge.
        port: The position of the output of this layer.
    """

    layer: int | None = None
    port: int = 0
    name: str = ""
    declared: str = ""


class OutputView(Record):
    """An output port.

    Attributes:
        inferred: None if inference failed.
        known: The elements, if inference computes them.
    """

    declared: str = ""
    inferred: str | None = None
    names: tuple[str, ...] = ()
    known: str | None = None
    values: ValuesView | None = None


class FindingView(Record):
    """A finding of `check`.

    Attributes:
        means: A description of its rule.
        layer: The key of its layer, None for the whole file.
    """

    code: str
    rule: str
    severity: Literal["error", "warning", "info"]
    message: str
    hint: str | None = None
    means: str = ""
    layer: str | None = None
    port: str | None = None
    line: int | None = None


class ErrorView(Record):
    """The result of `compare` for a layer: its own error and its carried error."""

    status: str
    own: Difference | None = None
    carried: Difference | None = None
    partner: str | None = None
    note: str | None = None


class TimeView(Record):
    """The result of `profile` for a layer.

    Attributes:
        seconds: The duration of all calls, excluding the layer's bodies.
        calls: The number of its runs.
        bytes: The peak memory of the run while the layer ran.
    """

    seconds: float
    calls: int = 1
    bytes: int | None = None
    note: str | None = None


class ChangeView(Record):
    """The result of `diff` for a layer.

    Attributes:
        lines: `attribute axis: 0 -> 1`.
    """

    kind: Literal["added", "removed", "changed", "consequence"]
    lines: tuple[str, ...] = ()


class CodeView(Record):
    """The line of Python that a layer was exported from.

    Attributes:
        module: The path of the module, empty for the exported module itself.
        module_class: The class of this module.
        code: The text of the line.
    """

    module: str | None = None
    module_class: str | None = None
    file: str | None = None
    line: int | None = None
    function: str | None = None
    code: str | None = None


class LayerView(Record):
    """A layer.

    Attributes:
        code: The line of Python that it was exported from; layers are grouped by its module.
        constant: True if it depends only on constants.
        line: The line in the file.
        source: Its lines in the file.
        port: The name of an input or output of the model, as on the command line, for a Parameter or Result.
    """

    key: str
    name: str
    port: str | None = None
    type: str
    opset: str = ""
    attributes: Mapping[str, str] = {}
    inputs: tuple[InputView, ...] = ()
    outputs: tuple[OutputView, ...] = ()
    bodies: tuple[BodyView, ...] = ()
    constant: bool = False
    unreachable: bool = False
    line: int | None = None
    source: str | None = None
    code: CodeView | None = None
    error: ErrorView | None = None
    time: TimeView | None = None
    change: ChangeView | None = None


class GraphView(Record):
    """Layers in topological order."""

    layers: tuple[LayerView, ...] = ()


class BodyView(Record):
    """A graph inside a layer, by the name of its element: `body`, `then_body`."""

    name: str
    graph: GraphView


class NetworkView(Record):
    """A model.

    Attributes:
        file: As it was given.
        facts: Lines about the whole model, each a label and a text.
        unchecked: True if `check` did not run; the findings are then empty.
    """

    title: str
    file: str = ""
    facts: tuple[tuple[str, str], ...] = ()
    graph: GraphView
    findings: tuple[FindingView, ...] = ()
    unchecked: bool = False


class Link(Record):
    """A layer of the first model, by key, and the corresponding layers of model number `network`."""

    network: int
    layer: str
    others: tuple[str, ...]


class Section(Record):
    """Lines of a report about the whole model, with a heading."""

    heading: str
    lines: tuple[str, ...]


class VerdictView(Record):
    """The first line of a comparison.

    Attributes:
        layer: The key of the faulty layer, at which the page opens; None if the line names none.
        good: True if the line reports no fault.
    """

    text: str
    layer: str | None = None
    good: bool = False


class PageView(Record):
    """A page: one or several models, with reports about the first.

    Attributes:
        made_by: The version of ir_exec.
        colour: The initial colouring of layers.
        arrangement: The arrangement of several models: next to each other, or one at a time.
        folded: True for the compact page of a notebook.
    """

    format: Literal[1]
    made_by: str
    title: str
    colour: Literal["kind", "element type", "error", "time", "memory", "values", "change"] = "kind"
    arrangement: Literal["beside", "one"] = "beside"
    folded: bool = False
    verdict: VerdictView | None = None
    sections: tuple[Section, ...] = ()
    networks: tuple[NetworkView, ...]
    links: tuple[Link, ...] = ()
