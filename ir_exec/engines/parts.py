"""The steps of a partitioned graph: parts on an engine, interpreted parts, and the values passed between them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from ir_exec.build.cutting import Cut, Region, cut
from ir_exec.engines.interface import CompiledPart
from ir_exec.engines.memory import PartMemory
from ir_exec.engines.partition import GraphPart
from ir_exec.errors import EvaluationError, IRError, ResourceError
from ir_exec.graph import Graph, Node, Value
from ir_exec.kernels.limits import Budget, Limits, current_limits
from ir_exec.model import Model
from ir_exec.ops import Op
from ir_exec.plan.compiler import Tier
from ir_exec.plan.records import Context
from ir_exec.runtime.executor import Executor
from ir_exec.types import Array, ElementType

__all__ = ["EnginePart", "Interpreter", "PartStep", "cut_part"]


@dataclass(frozen=True)
class Interpreter:
    """The settings for interpreting parts, equal to those for the whole model."""

    context: Context
    budget: Budget
    ops: Mapping[Node, Op]
    expand_weights: bool
    tier: Tier

    def executor(self, model: Model, graph: Graph) -> Executor:
        """Return an executor of a part of `graph`; its layers keep the operators that replace theirs."""
        ops = dict(self._ops(graph, model.graph))
        return Executor(
            model.graph,
            self.context,
            self.budget,
            expand_weights=self.expand_weights,
            ops=ops,
            tier=self.tier,
        )

    def _ops(self, complete_graph: Graph, part: Graph) -> Iterator[tuple[Node, Op]]:
        by_id = {node.id: node for node in complete_graph.nodes}
        for node in part.nodes:
            original = by_id.get(node.id)
            if original is None or original.type != node.type or original.op is None:
                continue
            # The operators themselves, not copies, because they draw random numbers.
            yield node, self.ops.get(original, original.op)
            for body, cut_body in zip(original.bodies, node.bodies, strict=True):
                yield from self._ops(body.graph, cut_body.graph)


def cut_part(region: Region, part: GraphPart, constants: Mapping[Value, Array], refused: Mapping[Node, str]) -> Cut:
    """Return the part as a separate model.

    Args:
        constants: Values of constant layers that the engine rejects.
    """
    keep = {*part.nodes, *(node for node in part.constants if node not in refused)}
    result = cut(region, keep, part.outputs, constants=constants)
    for node in result.model.graph.all_nodes():
        node.path = region.graph.path
    return result


@dataclass
class PartStep:
    """A part that is interpreted.

    Attributes:
        dying: Values that no later step reads.
        inputs: The values that it reads, in the order of its Parameters.
        outputs: Its results.
    """

    part: GraphPart
    cut: Cut
    graph: Graph
    interpreter: Interpreter
    dying: tuple[Value, ...] = ()

    @property
    def inputs(self) -> tuple[Value, ...]:
        return self.cut.inputs

    @property
    def outputs(self) -> tuple[Value, ...]:
        return self.cut.outputs

    @cached_property
    def executor(self) -> Executor:
        """The executor that interprets the part."""
        return self.interpreter.executor(self.cut.model, self.graph)

    def run(self, arrays: list[Array]) -> list[Array]:
        """Return the outputs of the part."""
        return self.executor.run(arrays)

    def close(self) -> None:
        """Release the resources of the part."""


@dataclass
class EnginePart(PartStep):
    """A part that an engine runs.

    After a failure it is interpreted, which returns the outputs or raises a precise error.

    Attributes:
        failures: Messages of runs that failed on the engine and succeeded in the interpreter, each once.
    """

    compiled: CompiledPart = None  # type: ignore[assignment]  # always given; fields after one with a default need one
    failures: list[str] = field(default_factory=list)

    @cached_property
    def memory(self) -> PartMemory:
        """The memory of the tensors of the part."""
        return PartMemory(self.cut.model)

    def run(self, arrays: Sequence[Array]) -> list[Array]:
        limits = current_limits()
        self.memory.require(arrays, limits, self.interpreter.budget.max_memory)
        try:
            outputs = self._run_compiled(arrays, limits)
            return self._restore_types(outputs) if self.restored_types else outputs
        except ResourceError:
            raise
        except IRError as error:
            return self._interpret(list(arrays), error)

    def _run_compiled(self, arrays: Sequence[Array], limits: Limits) -> list[Array]:
        return self.compiled.run(arrays, limits)

    @cached_property
    def restored_types(self) -> dict[int, ElementType]:
        """The outputs of one byte an element whose types NumPy itself does not have, by position."""
        kinds = [self.cut.model.types[node.values_in[0].number].element_type for node in self.cut.model.graph.results]
        return {
            position: element_type
            for position, element_type in enumerate(kinds)
            if element_type.is_known and element_type.dtype.isbuiltin != 1 and element_type.dtype.itemsize == 1
        }

    def _restore_types(self, arrays: list[Array]) -> list[Array]:
        """Return the outputs with their types: onnxruntime returns the bytes of some floats of 8 bits."""
        for position, element_type in self.restored_types.items():
            if arrays[position].dtype == np.uint8:
                arrays[position] = arrays[position].view(element_type.dtype)
        return arrays

    def _interpret(self, arrays: list[Array], error: IRError) -> list[Array]:
        outputs = super().run(arrays)
        if not isinstance(error, EvaluationError):
            raise error
        name = error.location.layer_name
        failure = error.message if name is None or name in error.message else f"{name}: {error.message}"
        if failure not in self.failures:
            self.failures.append(failure)
        return outputs

    def close(self) -> None:
        self.compiled.close()
