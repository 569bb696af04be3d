"""Extraction of the part of a model between some of its values, with the values at the cut."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ir_exec.build.cutting import Cut, Region, cut, is_counted, needed_by, region_at, source, with_variables
from ir_exec.codes import Code
from ir_exec.debug.traces.walk import Visit, Walker, Where
from ir_exec.debug.values.entries import Entry, entries_of, find
from ir_exec.debug.values.files import write_npz
from ir_exec.errors import EvaluationError, IRError, NotKnownError, UnsupportedError
from ir_exec.graph import Node, Value
from ir_exec.model import Loaded, Model, Source, WeightsSource, load, read_model
from ir_exec.ops.infrastructure.values import AssignsVariable, Const, ReadsVariable
from ir_exec.plan.constant_values import constant_values
from ir_exec.runtime.arguments import Inputs
from ir_exec.runtime.calls import bind_calls
from ir_exec.types import Array

__all__ = ["Extracted", "extract", "read_for_cut", "values_at"]


@dataclass(frozen=True)
class Extracted:
    """A model that was extracted from another one.

    Attributes:
        inputs: The values of its inputs by name; None without inputs of the complete model.
        outputs: The values of its outputs by name; None without inputs of the complete model.
    """

    model: Model
    inputs: dict[str, Array] | None = None
    outputs: dict[str, Array] | None = None

    def save(self, path: str | os.PathLike[str]) -> list[Path]:
        """Write `cut.xml`, `cut.bin`, and with values `cut.inputs.npz` and `cut.outputs.npz`.

        Returns:
            The paths.

        Raises:
            IRError: If a file cannot be written.
        """
        target = Path(path)
        self.model.save(target)
        written = [target, target.with_suffix(".bin")]
        for part, arrays in (("inputs", self.inputs), ("outputs", self.outputs)):
            if arrays is not None:
                written.append(target.with_suffix(f".{part}.npz"))
                write_npz(written[-1], arrays)
        return written


class PartlyReadModel(Model):
    """A model without the nodes of the file that IR cannot express: its parts that do not need them can be extracted.

    Args:
        refusal: The error that names the nodes.
    """

    def __init__(self, loaded: Loaded, refusal: IRError) -> None:
        super().__init__(loaded)
        self._refusal = refusal

    def require_complete(self) -> None:
        raise self._refusal


def read_for_cut(source: Source, weights: WeightsSource | None = None) -> Model:
    """Read a model as `read_model` does; without the nodes that IR cannot express if there are others.

    Raises:
        IRError: The errors of `read_model`.
    """
    try:
        return read_model(source, weights)
    except NotKnownError:
        raise
    except UnsupportedError as error:
        faults: list[IRError] = []
        loaded = load(source, weights, report=faults.append)
        is_readable = all(isinstance(fault, UnsupportedError) for fault in faults if fault.severity == "error")
        if loaded is None or not loaded.left_out or not is_readable:
            raise
        return PartlyReadModel(loaded, error)


def extract(
    model: Model | Source,
    inputs: Inputs | None = None,
    *,
    from_: str | Iterable[str] = (),
    to: str | Iterable[str] = (),
    iteration: int | Sequence[int] = 0,
    output: str | os.PathLike[str] | None = None,
    threads: int | None = None,
) -> Extracted:
    """Extract the layers between some values of a model as a model.

    The part consists of the layers that depend on `from_` (or on a variable that these change) and that `to` depends
    on. Other values that they read become inputs. Values that follow from weights remain, and values known from
    inference become constants. A variable remains if it is read and assigned within the part. Nodes of an ONNX file
    that IR cannot express may be outside a part with an end, if no values are computed.

    Args:
        inputs: Inputs of the complete model, to compute the values at the cut.
        from_: Names of the tensors or layers at the start of the part, `split:1` for one of several outputs,
            `loop/body/name` inside bodies, all in the same body. Their values become inputs. Without `from_`, the part
            contains everything that `to` depends on.
        to: Names in the same form of the end of the part. Without `to`, it contains everything between `from_` and the
            outputs.
        iteration: The iteration of the body for these values; for nested bodies one number each, the outermost first.
        output: An .xml to write, as by `Extracted.save`.
        threads: As for `compile_model`.

    Raises:
        EvaluationError: IR705 for names that do not exist or without layers between them, and what a run raises.
        UnsupportedError: If the part needs nodes that IR cannot express.
    """
    model = model if isinstance(model, Model) else read_for_cut(model)
    if inputs is not None:
        if isinstance(model, PartlyReadModel):
            model.require_complete()
        model, (inputs,), _ = bind_calls(model, inputs)
    starts, ends = (
        list(dict.fromkeys([endpoints] if isinstance(endpoints, str) else endpoints)) for endpoints in (from_, to)
    )
    if not starts and not ends:
        raise EvaluationError(
            "the cut has neither a start nor an end", expected="at least one", code=Code.unknown_input
        )
    if not ends:
        # Which outputs depend on a node that was left out is unknown.
        model.require_complete()
    try:
        region, values_of = _find_values(model, [*starts, *ends])
        begin = list(dict.fromkeys(value for name in starts for value in values_of[name]))
        end = list(dict.fromkeys(value for name in ends for value in values_of[name]))
        part = _between(region, begin, end, {value: name for name, values in values_of.items() for value in values})
    except EvaluationError:
        # A name may be that of a node that was left out, and a path may lead through one.
        model.require_complete()
        raise
    if any(value.node.id in model.stand_ins and value not in begin for value in part.inputs):
        model.require_complete()
    values = None
    if inputs is not None:
        values = values_at(region, inputs, [*part.inputs, *part.outputs], iteration, threads=threads)
    extracted = with_values(part, values)
    if output is not None:
        extracted.save(output)
    return extracted


def with_values(part: Cut, values: Mapping[Value, Array] | None) -> Extracted:
    """Return an extracted part with the values at the cut by name."""
    if values is None:
        return Extracted(part.model)
    inputs = {port.name: values[value] for port, value in zip(part.model.inputs, part.inputs, strict=True)}
    outputs = {port.name: values[value] for port, value in zip(part.model.outputs, part.outputs, strict=True)}
    return Extracted(part.model, inputs, outputs)


def _find_values(model: Model, names: Sequence[str]) -> tuple[Region, dict[str, list[Value]]]:
    """Return the region with all names, and the values of each name; the name of a layer means all its outputs."""
    entries = list(entries_of(model))
    chosen = {name: _meant(entries, name) for name in names}
    scopes = {entry.scope: name for name, matches in chosen.items() for entry in matches}
    if len(scopes) > 1:
        first, other = list(scopes.values())[:2]
        raise EvaluationError(
            f"{first!r} and {other!r} are in different bodies",
            expected="values of the same body",
            code=Code.unknown_input,
        )
    region = region_at(model, next(iter(scopes)))
    nodes = {node.id: node for node in region.graph.nodes}
    return region, {
        name: [nodes[entry.layer_id].outputs[entry.port] for entry in matches] for name, matches in chosen.items()
    }


def _meant(entries: Sequence[Entry], name: str) -> list[Entry]:
    match = find(entries, name)
    if match.ports == 1 or name in match.names or name == match.path:
        return [match]
    return [entry for entry in entries if (entry.scope, entry.layer_id) == (match.scope, match.layer_id)]


def _between(region: Region, starts: Sequence[Value], ends: Sequence[Value], names: Mapping[Value, str]) -> Cut:
    """Cut a region between values.

    Args:
        names: The names of the values that the caller used.
    """
    stops = set(starts)
    behind = _dependent(region, stops, ())
    if not ends:
        results = [node.values_in[0] for node in region.graph.results]
        ends = [value for value in map(source, results) if value.node in behind and value not in stops]
        if not ends:
            raise EvaluationError(f"no output depends on {names[starts[0]]!r}", code=Code.unknown_input)
    targets = [source(value) for value in ends]
    if both := [names[value] for value in ends if source(value) in stops]:
        raise EvaluationError(f"{both[0]!r} is both start and end of the cut", code=Code.unknown_input)
    keep, needed = _select_layers(region, stops, targets)
    for asked, target in zip(ends, targets, strict=True):
        if target.node not in keep and (stops or isinstance(target.node.op, Const)):
            what = f"{names.get(asked, asked.name)!r} does not depend on " + _list_values(starts, names)
            raise EvaluationError(what, code=Code.unknown_input)
    read = {source(value) for node in keep for value in node.values_in}
    for start in starts:
        if start not in read:
            what = f"{_list_values(ends, names)} does not depend on {names[start]!r}"
            raise EvaluationError(what, code=Code.unknown_input)
    constant = constant_values(region.graph)
    keep |= {node for node in needed if _is_among(constant, node) and not set(node.outputs) & stops}
    constants = {}
    for value in {source(value) for node in keep for value in node.values_in} - stops:
        array = None if value.node in keep or not value.node.values_in else region.known(value)
        if array is not None:
            constants[value] = array
    return cut(region, keep, list(dict.fromkeys(targets)), constants=constants, opened=stops)


def _list_values(values: Sequence[Value], names: Mapping[Value, str]) -> str:
    return " or ".join(repr(names.get(value, value.name)) for value in values[:3])


def _is_among(constant: set[Value], node: Node) -> bool:
    """Return True for a layer that computes values from weights only; Consts remain with the layers that read them."""
    return bool(node.values_in) and bool(node.outputs) and constant.issuperset(node.outputs)


def _select_layers(region: Region, stops: set[Value], targets: Sequence[Value]) -> tuple[set[Node], set[Node]]:
    """Return the layers to keep and all layers that the targets need.

    Variables that are read and assigned within the part remain variables.
    """
    nodes = region.graph.nodes
    assigns = {node.op.variable_id: node for node in nodes if isinstance(node.op, AssignsVariable)}
    variables: dict[str, Node] = {}
    while True:
        sinks = [value.node for value in targets] + [assigns[name] for name in variables]
        needed = needed_by(sinks, stops)
        behind = _dependent(region, stops, variables.values()) if stops else set(nodes)
        more = {
            node.op.variable_id: node
            for node in needed
            if isinstance(node.op, ReadsVariable)
            and node.op.variable_id not in variables
            and assigns.get(node.op.variable_id) in behind
        }
        if not more:
            break
        variables |= more
    keep = {node for node in needed & behind if is_counted(node)}
    others = {node for node in keep if isinstance(node.op, ReadsVariable) and node.op.variable_id not in variables}
    return with_variables(region, keep - others), needed


def _dependent(region: Region, starts: set[Value], also: Iterable[Node]) -> set[Node]:
    """Return the layers that depend on one of the values, and the layers `also` with their dependents."""
    dependent = set(also)
    for node in region.graph.nodes:
        if any(value in starts or value.node in dependent for value in map(source, node.values_in)):
            dependent.add(node)
    return dependent


class _Enough(BaseException):
    """Ends a run when all values are computed; not an Exception, which a layer could handle."""


def values_at(
    region: Region,
    inputs: Inputs,
    requested: Sequence[Value],
    iteration: int | Sequence[int] = 0,
    *,
    threads: int | None = None,
) -> dict[Value, Array]:
    """Return these values from a run of the complete model, in one iteration of their body.

    Raises:
        IRError: What a run raises.
        EvaluationError: If the body runs fewer iterations.
    """
    depth = len(region.scope) // 2
    asked = (iteration,) if isinstance(iteration, int) else tuple(iteration)
    if len(asked) > max(depth, 1) or min(asked, default=0) < 0:
        times, bodies = (
            ",".join(map(str, asked)),
            f"{depth} bodies" if depth > 1 else "one body" if depth else "no body",
        )
        raise EvaluationError(
            "iteration is",
            actual=times,
            detail=f"for a part in {bodies}",
            expected="one non-negative number per body",
            code=Code.unknown_input,
        )
    where = Where(region.scope, ((0,) * depth + asked)[-depth:] if depth else ())
    left = dict.fromkeys(value for value in requested)
    arrays: dict[Value, Array] = {}

    def keep(visit: Visit) -> None:
        if visit.where != where:
            return
        for value, array in zip(visit.node.outputs, visit.outputs, strict=False):
            if value in left:
                arrays[value] = array.copy()
                del left[value]
        if not left:
            raise _Enough

    try:
        Walker(region.model, threads=threads).run(inputs, keep)
    except _Enough:
        return arrays
    times = ",".join(map(str, where.iterations))
    raise EvaluationError(f"{'/'.join(region.scope)} has no iteration {times} with these inputs", code=Code.bad_value)
