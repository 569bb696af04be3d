"""Reduction of an ONNX file to the smallest ONNX file that still fails, by delta debugging on its nodes."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ir_exec.codes import Code
from ir_exec.debug.inputs.roles import draw
from ir_exec.debug.reduction.minimizing import (
    LARGE,
    MOST_FOLDED,
    inputs_path,
    minimize_model,
)
from ir_exec.debug.reduction.model_reducer import ModelReducer, ReductionInterrupted
from ir_exec.debug.reduction.onnx_extracting import ExtractedOnnx, OnnxValues
from ir_exec.debug.values.files import Spill, write_npz
from ir_exec.errors import EvaluationError, IRError
from ir_exec.ir.storage import temporary_folder
from ir_exec.model import Model, ModelPort
from ir_exec.onnx.editing.attributes import tensor_of
from ir_exec.onnx.editing.checking import find_errors, infer_types
from ir_exec.onnx.editing.cutting import OnnxPart, PartGraph, make_part
from ir_exec.onnx.editing.inlining import count_nodes, inline_calls
from ir_exec.onnx.editing.scopes import GraphScope, model_scope, rename_inputs
from ir_exec.onnx.editing.sources import OnnxSource, data_span
from ir_exec.onnx.editing.storage import write_edited
from ir_exec.onnx.editing.types import declared_types
from ir_exec.onnx.reading.files import read_message
from ir_exec.onnx.reading.tensors import tensor_type_of
from ir_exec.runtime.compiled import compile_model
from ir_exec.types import Array

if TYPE_CHECKING:
    from onnx import ModelProto, NodeProto

__all__ = ["ReducedOnnx", "reduce_onnx"]


@dataclass(frozen=True)
class ReducedOnnx(ExtractedOnnx):
    """The smallest failing ONNX model that was found; `inputs` and `outputs` are None for a reduction without inputs.

    Attributes:
        nodes: The number of nodes of the smallest model, excluding Constants.
        before: The number of nodes of the complete model, with this exclusion.
        runs: The number of models that were tested.
    """

    nodes: int = 0
    before: int = 0
    runs: int = 0


def reduce_onnx(
    source: OnnxSource,
    fails: Callable[[str], bool],
    inputs: Mapping[str, Array] | None = None,
    *,
    limit: int | None = None,
    progress: Callable[[str], None] | None = None,
) -> ReducedOnnx:
    """Find the smallest part of an ONNX file that still fails.

    Nodes are removed in halves, quarters and so on, down to single ones. Values that other nodes read from them become
    inputs, or initializers if they follow from constants. Then outputs are removed, nodes replaced by one of their
    inputs, bodies tried alone, calls replaced by the nodes of their functions, and large initializers tried as inputs.
    Nodes that remain are those of the file. Models in which `check` finds new errors are not tried.

    Args:
        fails: Called with the path of an .onnx, as `Command.fails_on`; an .npz with its inputs is next to it.
        inputs: Inputs of the complete model by name. Inputs of a part are values of a run of the complete model in
            ir_exec, or random if it cannot compute them.
        limit: Maximum number of calls of `fails`.
        progress: Called with a line after each call.

    Raises:
        EvaluationError: If the complete model does not fail, and what `fails` raises.
        ReductionInterrupted: For Ctrl-C after the first smaller model was found.
    """
    with temporary_folder() as folder:
        proto = source.proto
        names = tuple([declared.name for declared in proto.graph.input])
        part = OnnxPart(proto, names, tuple([declared.name for declared in proto.graph.output]))
        reducer = _OnnxReducer(source, fails, Path(folder), limit, progress)
        is_interrupted = reducer.run(_OnnxState(part, None if inputs is None else dict(inputs)))
    state = reducer.best
    assert state is not None, "the complete model fails, or an error was raised"
    outputs = None if state.arrays is None else _run(source, state.part.proto, state.arrays)
    reduced = ReducedOnnx(
        source, state.part, state.arrays, outputs, state.count, _count(proto.graph.node), reducer.runs
    )
    if is_interrupted:
        raise ReductionInterrupted(reduced)
    return reduced


def _count(nodes: Any) -> int:
    return sum(node.op_type != "Constant" for node in nodes)


def _tensor_bytes(tensor: Any) -> int:
    span = data_span(tensor)
    return int(tensor.ByteSize()) if span is None else span.size


@dataclass(frozen=True, eq=False)
class _OnnxState:
    """A failing model with its inputs."""

    part: OnnxPart
    arrays: dict[str, Array] | None

    @property
    def count(self) -> int:
        return _count(self.part.proto.graph.node)

    @property
    def size(self) -> tuple[int, int, int]:
        """Sizes to reduce, the most important first."""
        graph = self.part.proto.graph
        return count_nodes(self.part.proto), len(graph.output), sum(map(_tensor_bytes, graph.initializer))


def _read(source: OnnxSource, proto: ModelProto) -> Model | None:
    """Return the lowered model; None if ir_exec cannot run it."""
    try:
        return read_message(source.readable_proto(proto), source.folder, source.path)
    except IRError:
        return None


def _run(source: OnnxSource, proto: ModelProto, arrays: Mapping[str, Array]) -> dict[str, Array] | None:
    """Return the outputs as computed by ir_exec; None if the model does not run, which may be the failure."""
    model = _read(source, proto)
    try:
        if model is None:
            return None
        results = compile_model(model, precision="file")(dict(arrays))
    except IRError:
        return None
    names = [declared.name for declared in proto.graph.output]
    return dict(zip(names, results.to_tuple(), strict=True)) if len(results.to_tuple()) == len(names) else None


class _PartValues:
    """The values of a model as inputs of its parts: from a run, or random ones."""

    def __init__(self, source: OnnxSource, state: _OnnxState, scope: GraphScope) -> None:
        self.graph = PartGraph(state.part.proto, scope)
        self._source = source
        self._arrays = state.arrays
        self._spill = Spill()
        self._types: dict[str, Any] = {}
        model = None if state.arrays is None else _read(source, state.part.proto)
        if model is not None:
            with suppress(IRError):
                OnnxValues(model, dict(state.arrays or {}), state.part.proto).record(self._spill)

    def find(self, name: str) -> Array | None:
        """Return a computed value, None if ir_exec cannot compute it."""
        return self._arrays[name] if self._arrays is not None and name in self._arrays else self._spill.get(name)

    def close(self) -> None:
        self._spill.close()

    def inputs(self, part: OnnxPart) -> dict[str, Array] | None:
        """Return the inputs of a part; None for a reduction without inputs."""
        if self._arrays is None:
            return None
        initialized = {tensor.name for tensor in part.proto.graph.initializer}
        declared = [declared for declared in part.proto.graph.input if declared.name not in initialized]
        arrays: dict[str, Array] = {}
        for position, port in enumerate(declared):
            array = self.find(port.name)
            arrays[port.name] = _draw(port, position) if array is None else array
        return arrays

    def type_text(self, name: str) -> bytes | None:
        """Return the serialized type of a value; None if it is unknown."""
        if not self._types:
            inferred = infer_types(self._source, self.graph.proto)
            self._types = {**inferred, **declared_types(self.graph.proto)}
        declared = self._types.get(name)
        return None if declared is None else declared.SerializeToString()


def _draw(declared: Any, position: int) -> Array:
    tensor_type = tensor_type_of(declared.type)
    port = ModelPort(declared.name, frozenset([declared.name]), tensor_type.element_type, tensor_type.shape)
    return draw(port, None, np.random.default_rng(position))


class _OnnxReducer(ModelReducer[_OnnxState]):
    noun = "node"

    def __init__(
        self,
        source: OnnxSource,
        fails: Callable[[str], bool],
        folder: Path,
        limit: int | None,
        progress: Callable[[str], None] | None,
    ) -> None:
        super().__init__(limit, progress)
        self._source = source
        self._fails = fails
        self._path = folder / "network.onnx"

    @property
    def steps(self) -> Sequence[Callable[[_OnnxState], None]]:
        return self._fewest_nodes, self._fewest_outputs, self._try_bypasses, self._try_bodies, self._try_calls

    def write(self, state: _OnnxState) -> None:
        for previous in self._path.parent.glob("network.*"):
            previous.unlink()
        write_edited(self._source, state.part.proto, self._path, external_data="pack")
        if state.arrays is not None:
            write_npz(inputs_path(self._path), state.arrays)

    def find_errors(self, state: _OnnxState) -> frozenset[str]:
        return frozenset(finding.code for finding in find_errors(self._source, state.part.proto))

    def fails(self, state: _OnnxState) -> bool:
        return self._fails(os.fspath(self._path))

    def _fewest_nodes(self, state: _OnnxState) -> None:
        with closing(_PartValues(self._source, state, model_scope(state.part.proto))) as values:
            nodes = [node for node in values.graph.own_nodes if node.op_type != "Constant"]
            minimize_model(nodes, lambda subset: self._holds(values, lambda: self._part_of(values, subset)))

    def _part_of(self, values: _PartValues, nodes: Sequence[NodeProto]) -> OnnxPart:
        """Return the model of some nodes, whose outputs are the values that other nodes and the graph read."""
        graph = values.graph
        selected = {id(node) for node in nodes}
        read_inside = {name for node in nodes for name in graph.needed[id(node)]}
        read_outside = {
            name for node in graph.nodes if id(node) not in selected for name in graph.needed[id(node)]
        } | graph.scope.output_names.keys()
        outputs = [name for node in nodes for name in node.output if name]
        ends = [name for name in outputs if name in read_outside or name not in read_inside]
        produced = set(outputs)
        folded = {}
        tensors = dict(graph.initializers())
        for name in sorted(read_inside & graph.constant - produced):
            array = None if name in tensors or name not in graph.producers else values.find(name)
            if array is not None and array.nbytes <= MOST_FOLDED:
                folded[name] = tensor_of(name, array)
        return make_part(graph, nodes, ends, folded=folded, infer=self._inference(graph.proto))

    def _inference(self, proto: ModelProto) -> Callable[[], Mapping[str, Any]]:
        return lambda: infer_types(self._source, proto)

    def _fewest_outputs(self, state: _OnnxState) -> None:
        with closing(_PartValues(self._source, state, model_scope(state.part.proto))) as values:
            graph = values.graph
            outputs = [name for name in graph.scope.output_names if name in graph.producers]

            def part(retained: Sequence[str]) -> OnnxPart:
                return make_part(graph, graph.needed_nodes(retained), retained, infer=self._inference(graph.proto))

            if len(outputs) > 1:
                minimize_model(outputs, lambda retained: self._holds(values, lambda: part(retained)))

    def _try_bypasses(self, state: _OnnxState) -> None:
        """Try to replace the output of each node by one of its inputs of the same type."""
        with closing(_PartValues(self._source, state, model_scope(state.part.proto))) as values:
            for node in reversed(list(state.part.proto.graph.node)):
                type_text = values.type_text(node.output[0]) if len(node.output) == 1 else None
                if node.op_type == "Constant" or type_text is None:
                    continue
                for name in filter(None, dict.fromkeys(node.input)):
                    is_candidate = values.type_text(name) == type_text
                    if is_candidate and self._holds(values, partial(self._bypass, node.output[0], name)):
                        break

    def _bypass(self, output: str, name: str) -> OnnxPart:
        """Return the smallest model so far without the node of a value, whose readers read another value."""
        assert self.best is not None
        proto = type(self.best.part.proto)()
        proto.CopyFrom(self.best.part.proto)
        outputs = [declared.name for declared in proto.graph.output]
        if not any(output in node.output for node in proto.graph.node):
            raise EvaluationError(f"{output!r} is not computed any more", code=Code.bad_value)
        for node in proto.graph.node:
            rename_inputs(node, output, name)
        graph = PartGraph(proto, model_scope(proto))
        ends = list(dict.fromkeys(name if end == output else end for end in outputs))
        ends = [end for end in ends if end in graph.producers and end != output]
        if not ends:
            raise EvaluationError("no output remains", code=Code.bad_value)
        return make_part(graph, graph.needed_nodes(ends), ends, infer=self._inference(proto))

    def _try_bodies(self, state: _OnnxState) -> None:
        """Try bodies as models, with the inputs of their first iterations."""
        scope = model_scope(state.part.proto)
        for node in scope.nodes:
            for _, body in scope.body_scopes(node):
                with closing(_PartValues(self._source, state, body)) as values:
                    nodes = [inner for inner in body.nodes if inner.op_type != "Constant"]
                    if nodes and self._holds(values, partial(self._part_of, values, nodes)):
                        return

    def _try_calls(self, state: _OnnxState) -> None:
        """Try the nodes of functions instead of their calls, if fewer of them suffice."""
        proto = state.part.proto
        if not proto.functions:
            return
        inlined = inline_calls(proto)
        if inlined.graph == proto.graph:
            return
        part = replace(state.part, proto=inlined)
        if self.accepts(lambda: _OnnxState(part, state.arrays)):
            try:
                self._fewest_nodes(self.best or state)
            finally:
                if self.best is not None and self.best.size >= state.size:
                    self.best = state

    def reduce_constants(self, state: _OnnxState) -> None:
        with closing(_PartValues(self._source, state, model_scope(state.part.proto))) as values:
            graph = values.graph
            outputs = [name for name in graph.scope.output_names if name in graph.producers]
            large = [name for name, tensor in graph.initializers() if _tensor_bytes(tensor) >= LARGE]
            nodes = graph.needed_nodes(outputs)

            def part(retained: Sequence[str]) -> OnnxPart:
                opened = [name for name in large if name not in set(retained)]
                return make_part(graph, nodes, outputs, starts=opened, infer=self._inference(graph.proto))

            minimize_model(large, lambda retained: self._holds(values, lambda: part(retained)), min_items=0)

    def _holds(self, values: _PartValues, make_part: Callable[[], OnnxPart]) -> bool:
        """Return True if a part fails, and keep it as the best one so far."""

        def make() -> _OnnxState:
            part = make_part()
            return _OnnxState(part, values.inputs(part))

        return self.accepts(make)
