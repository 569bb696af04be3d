"""Run each layer of a model by itself on a device, with its inputs from a run by ir_exec."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ir_exec.build.cutting import source
from ir_exec.codes import Code
from ir_exec.debug.comparison.known import as_type_of
from ir_exec.debug.comparison.metrics import Difference, Settings
from ir_exec.debug.device.asking import Asker, PartQuestion
from ir_exec.debug.device.parts import IsolatedPart, LeftOut, parts_of, scopes_of
from ir_exec.debug.device.records import PartStatus, RunPart
from ir_exec.debug.device.verdicts import PartCase, judge_again
from ir_exec.debug.traces.walk import Visit, Walker, Where
from ir_exec.errors import EvaluationError, IRError
from ir_exec.graph import Node, Value
from ir_exec.model import Model
from ir_exec.ops.infrastructure.values import Const
from ir_exec.runtime.precision import as_declared
from ir_exec.types import Array

__all__ = ["BATCH_BYTES", "BATCH_PARTS", "Isolator"]

BATCH_PARTS = 64
"""Maximum parts in a batch. Compiling a model takes at least 20 ms on a CPU, and seconds on a GPU."""

BATCH_BYTES = 2**28
"""Maximum bytes of inputs, expected outputs and weights in a batch; a single part may be larger."""


@dataclass
class _Pending:
    """A part whose layers are being run, with the values of its inputs and outputs computed up to here."""

    part: IsolatedPart
    where: Where
    left: set[Node]
    given: dict[Value, Array] = field(default_factory=dict)
    made: dict[Value, Array] = field(default_factory=dict)

    @property
    def size(self) -> int:
        return sum(array.nbytes for array in (*self.given.values(), *self.made.values()))


class Isolator:
    """Runner of a model, and of each of its parts on a device.

    Args:
        settings: The precision and the tolerances.
        block: As for `parts_of`.

    Raises:
        EvaluationError: If no layer is in a block.
    """

    def __init__(self, model: Model, asker: Asker, settings: Settings, block: str | None = None) -> None:
        self._asker = asker
        self._settings = settings
        self._walker = Walker(model, threads=settings.threads, precision=settings.precision)
        self._starts: dict[tuple[tuple[str, ...], Node], IsolatedPart] = {}
        self._order: list[IsolatedPart] = []
        self._left: list[LeftOut] = []
        for scope in scopes_of(model):
            parts, left = parts_of(scope, block)
            self._order += parts
            self._left += left
            self._starts |= {(scope.region.scope, node): part for part in parts for node in part.nodes}
        if block is not None and all(part.is_single for part in self._order):
            names = ", ".join(part.name for part in self._order[:3])
            message = f"no layer has a name that begins with {block!r}; the first layers are: {names}"
            raise EvaluationError(message, code=Code.unknown_input)
        self._pending: dict[IsolatedPart, _Pending] = {}
        self._batch: list[tuple[IsolatedPart, PartCase]] = []
        self._size = 0
        self._found: dict[IsolatedPart, RunPart] = {}

    def run(self, calls: Sequence[Sequence[Array]]) -> list[RunPart]:
        """Run all calls, and each part with its inputs in the last call.

        Raises:
            IRError: The errors of a run.
        """
        for number, arrays in enumerate(calls):
            is_last = number == len(calls) - 1
            self._walker.run(list(arrays), self._visit if is_last else None, goes_on=number > 0)
        self._flush()
        parts = [
            self._found.get(part) or _run_part(part, "not run", note="the body did not run") for part in self._order
        ]
        return parts + [
            RunPart(
                name=left.path,
                layers=(left.path,),
                layer_ids=(left.node.id,),
                types=(left.node.type,),
                status="left out",
                note=left.reason,
            )
            for left in self._left
        ]

    def _visit(self, visit: Visit) -> None:
        if self._settings.progress is not None:
            self._settings.progress(visit.path)
        part = self._starts.get((visit.where.scope, visit.node))
        if part is None or part in self._found:
            return
        pending = self._pending.get(part)
        if pending is None:
            pending = self._pending[part] = _Pending(part, visit.where, set(part.nodes))
        if pending.where != visit.where or visit.node not in pending.left:
            return
        pending.left.discard(visit.node)
        for value, array in zip(visit.node.values_in, visit.inputs, strict=True):
            if value.node not in part.inside and value not in part.scope.constant:
                pending.given[source(value)] = array
        pending.made |= {
            value: array
            for value, array in zip(visit.node.outputs, visit.outputs, strict=False)
            if value in part.outputs
        }
        if not pending.left:
            del self._pending[part]
            self._add(pending, visit)

    def _add(self, pending: _Pending, visit: Visit) -> None:
        """Add a part to the batch, or record the reason why it is left out."""
        part = pending.part
        try:
            network = part.network()
            ports = zip(network.inputs, network.model.inputs, strict=True)
            inputs = [as_declared(pending.given[value], port.element_type) for value, port in ports]
            case = self._case(pending, visit, PartQuestion(network.model, inputs))
        except IRError as error:
            self._found[part] = _run_part(part, "left out", note=f"cannot be extracted: {error.message}")
            return
        self._found[part] = _run_part(part, "not run")
        self._batch.append((part, case))
        constants = (node.op for node in network.model.graph.nodes)
        self._size += pending.size + sum(op.size for op in constants if isinstance(op, Const))
        if len(self._batch) >= BATCH_PARTS or self._size >= BATCH_BYTES:
            self._flush()

    def _case(self, pending: _Pending, visit: Visit, question: PartQuestion) -> PartCase:
        """The part with its expected outputs for the inputs of the device, rounded to 16-bit floats if declared so."""
        part = pending.part
        network = part.network()
        rounded = dict(zip(network.inputs, question.inputs, strict=True))
        is_same = all(pending.given[value].dtype == array.dtype for value, array in rounded.items())
        if len(part.nodes) > 1:
            if is_same:
                return PartCase(question, [pending.made[value] for value in network.outputs])
            walker = Walker(network.model, threads=self._settings.threads, precision=self._settings.precision)
            return PartCase(question, walker.run(list(question.inputs)))
        positions = [value.position for value in network.outputs]
        if is_same:
            expected = [pending.made[value] for value in network.outputs]
            return PartCase(question, expected, visit.node, visit.inputs, positions)
        arrays = [
            as_type_of(rounded[source(value)], array) if source(value) in rounded else array
            for value, array in zip(visit.node.values_in, visit.inputs, strict=True)
        ]
        outputs = self._walker.again(visit.node, arrays)
        return PartCase(question, [outputs[position] for position in positions], visit.node, arrays, positions)

    def _flush(self) -> None:
        batch, self._batch, self._size = self._batch, [], 0
        answers = self._asker.ask_all([case.question for _, case in batch])
        for (part, case), answer in zip(batch, answers, strict=True):
            judgement = judge_again(case, answer, self._asker, self._settings)
            self._found[part] = _run_part(part, judgement.status, judgement.error, judgement.note)
            part.forget()


def _run_part(
    part: IsolatedPart, status: PartStatus, error: Difference | None = None, note: str | None = None
) -> RunPart:
    scope = part.scope.region.scope
    return RunPart(
        name=part.name,
        kind="layer" if part.is_single else "block",
        layers=tuple("/".join((*scope, node.name)) for node in part.nodes),
        layer_ids=tuple(node.id for node in part.nodes),
        types=tuple(node.type for node in part.nodes),
        status=status,
        error=error,
        note=note,
    )
