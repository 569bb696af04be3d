"""What a page shows: all that the front end in `page/` knows. `ir-exec schema view` prints its JSON Schema.

A layer is named by its key, as in the address of a page: its id, after the keys and names of what is around it:
`7`, `7/body/3`, `12/then_body/4`. Texts of files are printable and cut. What is empty is left out of the JSON.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from ir_exec.debug.comparison.metrics import Difference
from ir_exec.debug.values.facts import Number, Record

__all__ = [
    "BodyView",
    "ChangeView",
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
]


class ValuesView(Record):
    """The values of one output in a run, those of the last iteration in bodies.

    min, max, mean, std: of the finite elements. zeros, nans, infinities, saturated: how many elements are these;
    saturated are those at an end of the range of the element type, or of a clamping layer. histogram: counts between
    min and max, in steps of equal width. first: the first elements. runs: how often the layer ran.
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
    """An input port: `layer` is the position in the list of layers of what it reads, None without an edge; `port` the
    position of the output there."""

    layer: int | None = None
    port: int = 0
    name: str = ""
    declared: str = ""


class OutputView(Record):
    """An output port. inferred: None where nothing could be inferred. known: elements known before a run."""

    declared: str = ""
    inferred: str | None = None
    names: tuple[str, ...] = ()
    known: str | None = None
    values: ValuesView | None = None


class FindingView(Record):
    """A finding of `check`, with what its rule means; layer: the key of its layer, None for the whole file."""

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
    """What `compare` tells of a layer: the error that it makes by itself, and the one carried to it."""

    status: str
    own: Difference | None = None
    carried: Difference | None = None
    partner: str | None = None
    note: str | None = None


class TimeView(Record):
    """What `profile` tells of a layer: seconds in its own computation, all calls together and its bodies left out.

    calls: how often it ran. bytes: the most that the run held while it ran.
    """

    seconds: float
    calls: int = 1
    bytes: int | None = None
    note: str | None = None


class ChangeView(Record):
    """What `diff` tells of a layer; lines: `attribute axis: 0 -> 1`."""

    kind: Literal["added", "removed", "changed", "consequence"]
    lines: tuple[str, ...] = ()


class LayerView(Record):
    """A layer. constant: it is computed from constants alone. line: in the file. source: its lines there."""

    key: str
    name: str
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
    error: ErrorView | None = None
    time: TimeView | None = None
    change: ChangeView | None = None


class GraphView(Record):
    """Layers in the order of computation."""

    layers: tuple[LayerView, ...] = ()


class BodyView(Record):
    """A graph inside a layer, by the name of its element: `body`, `then_body`."""

    name: str
    graph: GraphView


class NetworkView(Record):
    """A network. file: as it was given. facts: lines about the whole, label and text. unchecked: whether no findings
    mean that nobody looked for any."""

    title: str
    file: str = ""
    facts: tuple[tuple[str, str], ...] = ()
    graph: GraphView
    findings: tuple[FindingView, ...] = ()
    unchecked: bool = False


class Link(Record):
    """A layer of the first network, by its key, and those that stand for it in network number `network`."""

    network: int
    layer: str
    others: tuple[str, ...]


class Section(Record):
    """Lines of a report about the whole network, under a heading."""

    heading: str
    lines: tuple[str, ...]


class PageView(Record):
    """A page: one network, or several, with what reports tell of the first.

    made_by: the version of ir_exec. colour: what the layers are coloured by at first. arrangement: whether several
    networks are shown side by side, or one at a time.
    """

    format: Literal[1]
    made_by: str
    title: str
    colour: Literal["kind", "element type", "error", "time", "memory", "values", "change"] = "kind"
    arrangement: Literal["beside", "one"] = "beside"
    folded: bool = False
    sections: tuple[Section, ...] = ()
    networks: tuple[NetworkView, ...]
    links: tuple[Link, ...] = ()
