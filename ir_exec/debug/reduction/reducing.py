"""Reduction of a model to the smallest part that still fails, by delta debugging on its layers."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from ir_exec.build.cutting import Cut, Region, below, cut, is_counted, needed_by, region_at, source, with_variables
from ir_exec.check import check_model
from ir_exec.codes import Code
from ir_exec.debug.inputs.roles import draw
from ir_exec.debug.reduction.extracting import Extracted, values_at
from ir_exec.debug.reduction.minimizing import LARGE, MOST_FOLDED, inputs_path, minimize_model
from ir_exec.debug.reduction.model_reducer import ModelReducer, ReductionInterrupted
from ir_exec.debug.traces.walk import Visit, Walker
from ir_exec.debug.values.files import Spill, write_npz
from ir_exec.errors import EvaluationError, IRError
from ir_exec.graph import Node, Value
from ir_exec.ir.storage import temporary_folder
from ir_exec.model import Model, Source, read_model
from ir_exec.ops.infrastructure.values import AssignsVariable, Const
from ir_exec.plan.constant_values import constant_values
from ir_exec.runtime.arguments import Inputs
from ir_exec.runtime.calls import bind_calls
from ir_exec.runtime.compiled import compile_model
from ir_exec.types import Array

__all__ = ["Fails", "Reduced", "ReductionInterrupted", "reduce"]

Fails: TypeAlias = Callable[..., bool]
"""Returns True if a model fails. It is called with the Model and, for a reduction with inputs, its inputs by name."""


@dataclass(frozen=True)
class Reduced(Extracted):
    """The smallest failing model that was found.

    Attributes:
        layers: The number of layers of the smallest model, excluding Parameters, constants and Results.
        before: The number of layers of the complete model, with these exclusions.
        runs: The number of models that were tested.
        inputs: The inputs of the smallest model; None for a reduction without inputs.
        outputs: The outputs of the smallest model, as computed by ir_exec; None for a reduction without inputs.
    """

    layers: int = 0
    before: int = 0
    runs: int = 0


def reduce(
    model: Model | Source,
    fails: Fails,
    inputs: Inputs | None = None,
    *,
    output: str | os.PathLike[str] | None = None,
    limit: int | None = None,
    threads: int | None = None,
    progress: Callable[[str], None] | None = None,
) -> Reduced:
    """Find the smallest part of a model that still fails.

    Layers are removed in halves, quarters and so on, down to single ones. Values that other layers read from them
    become inputs, or constants if they follow from weights. Then outputs are removed, layers replaced by one of their
    inputs, bodies tried alone, and large constants tried as inputs. Models in which `check` finds new errors are not
    tried. The reduction is deterministic if `fails` is.

    Args:
        fails: `fails(model)`, or `fails(model, inputs)` for a reduction with inputs. The inputs of a part are values of
            a run of the complete model. Each part is written and read back; its files are at `model.graph.path` during
            the call. A `Command` is such a function.
        output: An .xml to write.
        limit: Maximum number of calls of `fails`; the reduction then ends with the smallest model so far.
        threads: As for `compile_model`.
        progress: Called with a line after each call.

    Raises:
        EvaluationError: If the complete model does not fail, what `fails` raises, and ReductionInterrupted for a
            KeyboardInterrupt after the first smaller model was found.
    """
    model = model if isinstance(model, Model) else read_model(model)
    arrays: list[Array] | None = None
    if inputs is None:
        model.require_complete()
    else:
        model, (arrays,), _ = bind_calls(model, inputs)
    with temporary_folder() as folder:
        reducer = _Reducer(fails, Path(folder), limit, threads, progress)
        is_interrupted = reducer.run(_State(region_at(model), arrays))
    state = reducer.best
    assert state is not None, "the complete model fails, or an error was raised"
    network = state.region.model
    reduced = Reduced(
        network,
        _by_name(network, state.arrays),
        _outputs(network, state.arrays, threads),
        layers=state.count,
        before=sum(map(is_counted, model.graph.nodes)),
        runs=reducer.runs,
    )
    if output is not None:
        reduced.save(output)
    if is_interrupted:
        raise ReductionInterrupted(reduced)
    return reduced


def _by_name(model: Model, arrays: Sequence[Array] | None) -> dict[str, Array] | None:
    return None if arrays is None else {port.name: array for port, array in zip(model.inputs, arrays, strict=True)}


def _outputs(model: Model, arrays: Sequence[Array] | None, threads: int | None) -> dict[str, Array] | None:
    """Return the outputs; None if the model does not run, which may be the failure."""
    if arrays is None:
        return None
    try:
        results = compile_model(model, precision="file", threads=threads)(list(arrays))
    except IRError:
        return None
    return {port.name: array for port, array in zip(model.outputs, results.to_tuple(), strict=True)}


@dataclass(frozen=True, eq=False)
class _State:
    """A failing model with its inputs."""

    region: Region
    arrays: list[Array] | None

    @property
    def count(self) -> int:
        return sum(map(is_counted, self.region.graph.nodes))

    @property
    def size(self) -> tuple[int, int, int]:
        """Sizes to reduce, the most important first."""
        graph = self.region.graph
        inside = sum(1 for node in graph.all_nodes() if is_counted(node))
        bytes = sum(node.op.size for node in graph.nodes if isinstance(node.op, Const))
        return inside, len(graph.results), bytes


class _ReductionValues:
    """The values of a model as inputs of its parts: from a run, or drawn if the run failed before."""

    def __init__(self, state: _State, threads: int | None) -> None:
        self._spill = Spill()
        self._region = state.region
        self._walker: Walker | None = None
        self._arrays = state.arrays
        try:
            self._walker = Walker(state.region.model, threads=threads)
            if state.arrays is not None:
                self._walker.run(state.arrays, self._keep)
        except IRError:
            pass  # the values computed before the error are kept
        for node, array in zip(state.region.graph.parameters, state.arrays or (), strict=False):
            self._spill.put(node.outputs[0], array)

    def _keep(self, visit: Visit) -> None:
        if not visit.where.scope:
            for value, array in zip(visit.node.outputs, visit.outputs, strict=False):
                if not isinstance(visit.node.op, Const):
                    self._spill.put(value, array)

    def inputs(self, part: Cut) -> list[Array] | None:
        """Return the inputs of a part; None for a reduction without inputs."""
        if self._arrays is None:
            return None
        ports = zip(part.model.inputs, part.inputs, strict=True)
        return [self.fold(value) if _is_const(value) else self._value(value, port) for port, value in ports]

    def _value(self, value: Value, port: Any) -> Array:
        array = self._spill.get(value)
        return draw(port, None, np.random.default_rng(value.number)) if array is None else array

    def fold(self, value: Value) -> Array:
        """Return a value that follows from weights; raises IRError if it cannot be computed."""
        stored = self._spill.get(value)
        if stored is not None:
            return stored
        if self._walker is None:
            raise EvaluationError("the model has unsupported operators", code=Code.failed)
        arrays: dict[Value, Array] = {}
        needed_nodes = needed_by([value.node], ())
        with np.errstate(all="ignore"):
            for node in self._region.graph.nodes:
                if node in needed_nodes:
                    outputs = self._walker.again(node, [arrays[source] for source in node.values_in])
                    arrays |= zip(node.outputs, outputs, strict=False)
        self._spill.put(value, arrays[value])
        return arrays[value]

    def close(self) -> None:
        self._spill.close()


def _is_const(value: Value) -> bool:
    return isinstance(value.node.op, Const)


class _Reducer(ModelReducer[_State]):
    noun = "layer"

    def __init__(
        self,
        fails: Fails,
        folder: Path,
        limit: int | None,
        threads: int | None,
        progress: Callable[[str], None] | None,
    ) -> None:
        super().__init__(limit, progress)
        self._fails = fails
        self._path = folder / "network.xml"
        self._threads = threads

    @property
    def steps(self) -> Sequence[Callable[[_State], None]]:
        return self._fewest_layers, self._fewest_outputs, self._try_bypasses, self._try_bodies

    def write(self, state: _State) -> None:
        for previous in self._path.parent.glob("network.*"):
            # Replacing a file waits for the disk.
            previous.unlink()
        state.region.model.save(self._path)
        inputs = _by_name(state.region.model, state.arrays)
        if inputs is not None:
            write_npz(inputs_path(self._path), inputs)

    def find_errors(self, state: _State) -> frozenset[str]:
        return frozenset(diagnostic.code for diagnostic in check_model(self._path).errors)

    def fails(self, state: _State) -> bool:
        model = read_model(self._path)
        if state.arrays is None:
            return bool(self._fails(model))
        return bool(self._fails(model, _by_name(model, state.arrays)))

    def _fewest_layers(self, state: _State) -> None:
        region = state.region
        layers = [node for node in region.graph.nodes if is_counted(node) and not isinstance(node.op, AssignsVariable)]
        with closing(_ReductionValues(state, self._threads)) as values:

            def holds(layers: Sequence[Node]) -> bool:
                keep = with_variables(region, layers)
                return self._holds(values, lambda: cut(region, keep, constants=_constants(region, keep, values)))

            minimize_model(layers, holds)

    def _fewest_outputs(self, state: _State) -> None:
        region = state.region
        outputs = list(dict.fromkeys(source(node.values_in[0]) for node in region.graph.results))
        with closing(_ReductionValues(state, self._threads)) as values:

            def holds(retained: Sequence[Value]) -> bool:
                return self._holds(values, lambda: cut(region, below(region, retained), retained))

            minimize_model(outputs, holds)

    def _try_bypasses(self, state: _State) -> None:
        """Try to replace the output of each layer by one of its inputs."""
        region = state.region
        replaced: dict[Value, Value] = {}

        def read(value: Value) -> Value:
            value = source(value)
            while value in replaced:
                value = source(replaced[value])
            return value

        def part() -> Cut:
            outputs = [read(node.values_in[0]) for node in region.graph.results]
            outputs = list(dict.fromkeys(value for value in outputs if is_counted(value.node)))
            return cut(region, below(region, outputs, read=read), outputs, replaced=replaced)

        with closing(_ReductionValues(state, self._threads)) as values:
            for node in reversed(region.graph.nodes):
                if not is_counted(node) or len(node.outputs) != 1 or isinstance(node.op, AssignsVariable):
                    continue
                (value,) = node.outputs
                for other in dict.fromkeys(map(source, node.values_in)):
                    if region.type(other) == region.type(value) and region.type(value).element_type.is_known:
                        replaced[value] = other
                        if self._holds(values, part):
                            break
                        del replaced[value]

    def _try_bodies(self, state: _State) -> None:
        """Try bodies as models, with the inputs of their first iterations."""
        holders = state.region.graph.holder_names()
        for node in state.region.graph.nodes:
            for body in node.bodies:
                region = region_at(state.region.model, (holders[node], body.name))
                if self.accepts(partial(self._body_alone, state, region)):
                    return

    def _body_alone(self, state: _State, region: Region) -> _State:
        keep = with_variables(region, filter(is_counted, region.graph.nodes))
        part = cut(region, keep)
        if state.arrays is None:
            return _State(region_at(part.model), None)
        values = values_at(region, state.arrays, part.inputs, threads=self._threads)
        return _State(region_at(part.model), [values[value] for value in part.inputs])

    def reduce_constants(self, state: _State) -> None:
        region = state.region
        outputs = list(dict.fromkeys(source(node.values_in[0]) for node in region.graph.results))
        keep = below(region, outputs)
        large = [node.outputs[0] for node in region.graph.nodes if isinstance(node.op, Const) and node.op.size >= LARGE]
        with closing(_ReductionValues(state, self._threads)) as values:

            def holds(constants: Sequence[Value]) -> bool:
                retained = set(constants)
                opened = [value for value in large if value not in retained]
                return self._holds(values, lambda: cut(region, keep, outputs, opened=opened))

            minimize_model(large, holds, min_items=0)

    def _holds(self, values: _ReductionValues, make_part: Callable[[], Cut]) -> bool:
        """Return True if a part fails, and keep it as the best one so far."""

        def make() -> _State:
            part = make_part()
            return _State(region_at(part.model), values.inputs(part))

        return self.accepts(make)


def _constants(region: Region, keep: set[Node], values: _ReductionValues) -> dict[Value, Array]:
    """Return the values read from other layers that are known from inference or follow from weights."""
    constants: dict[Value, Array] = {}
    constant = constant_values(region.graph)
    for value in {source(source_value) for node in keep for source_value in node.values_in}:
        if value.node in keep or not value.node.values_in:
            continue
        folded = region.known(value)
        if folded is None and value in constant and _bytes(region, value) <= MOST_FOLDED:
            try:
                folded = values.fold(value)
            except IRError:
                continue
        if folded is not None:
            constants[value] = folded
    return constants


def _bytes(region: Region, value: Value) -> int:
    type = region.type(value)
    return int(type.shape.size.lo * max(type.element_type.bits, 8) // 8)
