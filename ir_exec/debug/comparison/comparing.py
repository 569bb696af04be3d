"""Layer-by-layer comparison of two runs of a model, with the own and carried error of each layer.

The run of the model is compared with the reference's values. Each value of the run has an anchor: the corresponding
value of the reference or, if the reference has none, the result of the model's layers for the anchors of their inputs.
A layer computed from the anchors of its inputs shows its own error. Its value in the run includes the carried error.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from ir_exec.codes import Code
from ir_exec.debug.comparison.anchors import (
    NOTE,
    SAME,
    Anchor,
    BodyPair,
    LayerFindings,
    Own,
    Place,
    Suspect,
    as_type_of,
    find_contradicted,
    from_undoubted,
    in_doubt,
    is_doubtful,
    maker_of,
)
from ir_exec.debug.comparison.discontinuities import (
    driven_values,
    find_untested_reason,
    jump_of,
    on_steps,
    reached_by_rounding,
)
from ir_exec.debug.comparison.metrics import CallObserver, Settings, Tolerance
from ir_exec.debug.comparison.moved_scales import find_scaled_layer, readers_of_layers
from ir_exec.debug.comparison.pairing.partners import given_by_key, partners_of
from ir_exec.debug.comparison.records import CONTRADICTION, MOST_INCLUDED, ComparedLayer
from ir_exec.debug.comparison.references.reference import Adviser, IRReference, Reference, TraceReference
from ir_exec.debug.comparison.references.repeating import RunSetting
from ir_exec.debug.comparison.report_text import Comparison
from ir_exec.debug.comparison.reporting import FindingsReporter, moves_values
from ir_exec.debug.comparison.rounded import same_storage
from ir_exec.debug.comparison.value_comparer import advice_of, floor_of
from ir_exec.debug.comparison.variation import measure_variation, require_repeatable
from ir_exec.debug.inputs.drawing import Drawn
from ir_exec.debug.precision.partners import FoldedWeights
from ir_exec.debug.traces.walk import Visit, Walker, Where
from ir_exec.debug.values.entries import Entry, Key, entries_of
from ir_exec.errors import EvaluationError, IRError
from ir_exec.graph import Graph, Node, Value
from ir_exec.model import Model
from ir_exec.ops.infrastructure.values import AssignsVariable, Const, Parameter, ReadsVariable
from ir_exec.runtime.precision import as_declared
from ir_exec.types import Array, ElementType

__all__ = ["compare_with"]

_MOST_CALLS = 4
"""Maximum number of calls with newly drawn inputs, to run every branch."""


def compare_with(
    model: Model,
    reference: Reference,
    calls: Sequence[Sequence[Array]],
    settings: Settings,
    *,
    further: Callable[[int], Sequence[Array]] | None = None,
    asked: Mapping[str, str] | None = None,
    repeat: Sequence[RunSetting] = (),
    drawn: Drawn | None = None,
    name: str | None = None,
) -> Comparison:
    """Run a model and its reference with the same inputs, in the order of the model's inputs, and compare every value.

    The caller may pair values by their names, with the model's name first. If the reference fails during its run,
    `notes` reports it and the remaining values have no partner.

    Args:
        calls: The inputs of consecutive calls; in each call, both sides continue from their own variables.
        further: Returns the inputs of a call for its number, used for additional calls while no call has run some
            bodies.
        repeat: The settings of further runs of the reference, to find values that vary between its runs.
        drawn: A record of the drawn inputs of the first call.

    Raises:
        IRError: What a run raises.
        EvaluationError: For `repeat`, if the reference cannot run again or does not have a setting.
    """
    repeatable = require_repeatable(reference, {run.varies for run in repeat if run.varies}) if repeat else None
    ours = list(entries_of(model))
    theirs = reference.entries()
    folded = FoldedWeights(model, ours, reference)
    partners, pairings = partners_of(folded.ours, folded.theirs, reference, asked or {})
    folded.unfold(partners)
    folded.pass_through(partners)
    stored, conversions = same_storage(ours, theirs, partners)
    partners |= stored
    if not any(not entry.is_input and not entry.is_constant for entry in ours if entry.key in partners):
        message = f"{reference.title} has no value in common with the model: no tensor or layer names match"
        hint = "pair an output of the model with one of the reference: --map OURS=THEIRS"
        raise EvaluationError(message, code=Code.unknown_input, hint=hint)
    partner_keys = {partner.key for partner in partners.values()}
    settings = replace(
        settings,
        is_same_engine=isinstance(reference, (IRReference, TraceReference)),
        floor=floor_of(reference, ours, theirs, partners, folded, conversions),
    )
    comparing = _Comparing(model, reference, {entry.key: entry for entry in ours}, partners, settings, folded)
    comparing.require_memory()
    pending = list(calls)
    while pending:
        arrays = pending.pop(0)
        reference.run(given_by_key(model, ours, theirs, partners, arrays), partner_keys, goes_on=comparing.calls > 0)
        comparing.values.quantized = folded.judge(reference)
        comparing.values.settings = replace(comparing.values.settings, computes_in=reference.computes_in)
        comparing.run(arrays)
        if reference.failure is not None:
            break
        if not pending and further is not None and comparing.calls < _MOST_CALLS and comparing.not_run():
            pending.append(further(comparing.calls))
    comparing.compare_bodies_not_run()
    if repeatable is not None and reference.failure is None:
        entries = {entry.key: entry for entry in ours}
        varied = measure_variation(repeatable, repeat, theirs, partners, entries, comparing.values.settings)
        comparing.clear_varying(varied)
    shapes = {port.name: array.shape for port, array in zip(model.inputs, calls[0], strict=True)}
    theirs = [entry for entry in theirs if entry.key not in conversions and entry.key not in folded.other_parts]
    seed = None if drawn is None else drawn.seed
    more = {"seed": seed, "drawn": drawn, "inputs": shapes, "pairings": tuple(pairings)}
    return comparing.report(ours, theirs, name, more)


class _Comparing(FindingsReporter):
    """Visitor of the model's runs."""

    def __init__(
        self,
        model: Model,
        reference: Reference,
        entries: Mapping[Key, Entry],
        partners: dict[Key, Entry],
        settings: Settings,
        folded: FoldedWeights,
    ) -> None:
        self._pairs = partners
        self._readers = readers_of_layers(model.graph)
        self._walker = Walker(model, threads=settings.threads, precision=settings.precision)
        super().__init__(model, reference, entries, partners, settings, folded, is_wide=bool(self._walker.wide.ops))
        self._outputs = {node.values_in[0] for node in model.graph.results}
        self._assigned: dict[str, Array] = {}
        self._kept: dict[str, Array] = {}
        self._frames: list[tuple[Where, dict[int, Anchor]]] = []
        graphs = [model.graph, *(body.graph for node in model.graph.all_nodes() for body in node.bodies)]
        self._driven = frozenset[Value]().union(*map(driven_values, graphs))
        self._constants: dict[tuple[tuple[str, ...], Node], Anchor] = {}
        self._bodies: dict[tuple[str, ...], BodyPair] = {}
        self._fuses = isinstance(reference, Adviser) and reference.fuses

    def require_memory(self) -> None:
        """Raise ResourceError if the run of the model exceeds the memory of the machine."""
        self._walker.require_memory()

    def run(self, arrays: Sequence[Array]) -> None:
        self.calls += 1
        self.values.call = self.calls
        self._frames.clear()
        # In this call, the reference's layers read the values that it assigned in the previous call.
        self._kept, self._assigned = self._assigned, {}
        skip_iteration = self._is_same_iteration if isinstance(self._reference, IRReference) else None
        outputs = self._walker.run(list(arrays), self.visit, on_iteration=skip_iteration, goes_on=self.calls > 1)
        # If the outputs agree, a value may have another meaning in the reference: before a scale that was moved.
        if self._fuses or not self.values.differs(self.calls):
            self._clear_contradicted(arrays, outputs)
        if self.values.settings.on_call is not None:
            self._report_call(self.values.settings.on_call, arrays, outputs)

    def _report_call(self, on_call: CallObserver, arrays: Sequence[Array], outputs: Sequence[Array]) -> None:
        """Pass the inputs and the outputs of both sides to a function, by the names of the model."""
        inputs = {port.name: array for port, array in zip(self._model.inputs, arrays, strict=True)}
        ours = {port.name: array for port, array in zip(self._model.outputs, outputs, strict=True)}
        theirs: dict[str, Array] = {}
        for port, result in zip(self._model.outputs, self._model.graph.results, strict=True):
            value = result.values_in[0]
            partner = self._partners.get(((), value.node.id, value.position))
            array = None if partner is None else self._reference.output(partner.key)
            if array is not None:
                theirs[port.name] = array
        on_call(inputs, ours, theirs)

    def _clear_contradicted(self, arrays: Sequence[Array], outputs: Sequence[Array]) -> None:
        """Clear wrong layers of this call whose values in the reference cannot be those that it has used."""
        suspects = [
            Suspect(self._nodes[layer_key], [self._value(node, Where(), value.position) for value in node.outputs])
            for layer_key, findings in self._found.items()
            if findings.layer.status == "wrong" and findings.layer.call == self.calls and not layer_key[0]
            for node in [self._nodes[layer_key]]
        ]
        ends = [result.values_in[0] for result in self._model.graph.results]
        partners = [self._partners.get(((), value.node.id, value.position)) for value in ends]
        expected = [None if partner is None else self._reference.output(partner.key) for partner in partners]
        theirs = [array for array in expected if array is not None]
        if not suspects or len(theirs) < len(expected):
            return
        differs = self.values.differs(self.calls)
        cleared = find_contradicted(self._walker, arrays, outputs, suspects, theirs, self.values.settings)
        for node, _ in suspects:
            layer_key: Place = ((), node.id)
            findings = self._found[layer_key]
            if not self._fuses:
                # The layer whose value agrees again has the opposite error.
                is_back = bool(cleared) and findings.layer.carried is not None and findings.layer.carried.is_within
                self._compensated |= {layer_key} if node in cleared or is_back else set()
            elif node in cleared:
                note = f"{CONTRADICTION}; {findings.layer.note}" if findings.layer.note else CONTRADICTION
                findings.layer = findings.layer.model_copy(update={"status": "reference", "note": note})
            elif self._fuses and moves_values(node) and layer_key not in self._confirmed and not differs:
                findings.layer = findings.layer.model_copy(update={"status": "skipped", "note": NOTE})

    def visit(self, visit: Visit) -> None:
        node, where = visit.node, visit.where
        if self.values.settings.progress is not None:
            self.values.settings.progress(visit.path)
        frame = self._frame(where)
        anchors = [frame[value.number] for value in node.values_in]
        if isinstance(node.op, AssignsVariable) and anchors[0].is_known and not where.scope:
            self._assigned[node.op.variable_id] = np.array(anchors[0].value(visit.inputs[0]))
        if self._is_known_constant(node, where):
            frame[node.outputs[0].number] = self._constants[where.scope, node]
        elif node.outputs:
            values = [self._value(node, where, position) for position in range(len(node.outputs))]
            if not self._is_same_again(visit, anchors, values):
                layer = self._layer(visit, anchors, values, frame)
                if layer.status == "wrong" and self._pair_with_scale(visit, anchors, values):
                    layer = self._layer(visit, anchors, [None], frame)
                self._remember(layer, visit)
            else:
                frame.update((value.number, SAME) for value in node.outputs)
        for number in visit.dying:
            frame.pop(number, None)

    def _pair_with_scale(self, visit: Visit, anchors: Sequence[Anchor], values: Sequence[Array | None]) -> bool:
        """Pair the value of the reference with a constant scale after the layer instead, if it is the scaled value."""
        node, expected = visit.node, values[0]
        if self._fuses or visit.where.scope or expected is None or len(node.outputs) != 1:
            return False
        own, _, _ = self._own(visit, anchors)
        output = visit.outputs[0] if own is None else own[0]
        scale = find_scaled_layer(self._walker, node, output, expected, self._readers, self._pairs)
        if scale is None:
            return False
        self._pairs[(), scale.id, 0] = self._pairs.pop(((), node.id, 0))
        self._scaled.add(((), scale.id))
        return True

    def _frame(self, where: Where) -> dict[int, Anchor]:
        """Return the anchors of the running graph by value number, and drop those of finished bodies."""
        depth = len(where.iterations)
        del self._frames[depth + 1 :]
        while len(self._frames) <= depth:
            self._frames.append((where, {}))
        if self._frames[depth][0] != where:
            self._frames[depth] = where, {}
        return self._frames[depth][1]

    def _is_known_constant(self, node: Node, where: Where) -> bool:
        """Return True for a constant of a body that has run before, unless its partner may vary between iterations."""
        partner = self._partners.get((where.scope, node.id, 0))
        is_fixed = isinstance(node.op, Const) and (partner is None or partner.is_constant)
        return is_fixed and any(where.iterations) and (where.scope, node) in self._constants

    def compare_bodies_not_run(self) -> None:
        """Compare the constants and attributes of bodies that have not run with those of another file."""
        if not isinstance(self._reference, IRReference):
            return
        self._frames.clear()
        for scope, graph in self._bodies_not_run():
            where = Where(scope, (0,) * (len(scope) // 2))
            for node in graph.nodes:
                partner = self._partners.get((scope, node.id, 0))
                if not isinstance(node.op, Const) or partner is None or not partner.is_constant:
                    continue
                visit = Visit(node, where, [], [self._walker.constant(node)], ())
                layer = self._layer(visit, [], [self._value(node, where, 0)], {})
                if layer.status == "wrong":
                    self._remember(layer, visit)
                    self._found[scope, node.id].runs = 0
                    self._not_run.add((scope, node.id))
        self._add_attributes_not_run(self._reference.model)

    def _is_same_iteration(self, graph: Graph, where: Where, values: Sequence[Array]) -> bool:
        """Return True if an iteration of a body adds no findings about its layers, after counting their runs."""
        assert isinstance(self._reference, IRReference), "only these references store whole iterations"
        if self.values.settings.metrics:
            return False
        body = self._bodies.get(where.scope) or self._body(graph, where.scope, self._reference)
        if body is None:
            return False
        self._bodies[where.scope] = body
        theirs = self._reference.iteration(Where(body.scope, where.iterations))
        if theirs is None or not body.is_same(values, theirs):
            return False
        for node, findings in body.layers:
            findings.ran(node, [values[value.number] for value in node.outputs])
        return True

    def _body(self, graph: Graph, scope: tuple[str, ...], reference: IRReference) -> BodyPair | None:
        """Return a body with its partner; None if a layer is not judged or a value or constant has no partner."""
        layers, partners = [], []
        for node in graph.nodes:
            if isinstance(node.op, Const):
                anchor = self._constants.get((scope, node))
                if anchor is None or not anchor.same:
                    return None
            elif node.outputs:
                findings = self._found.get((scope, node.id))
                if findings is None or findings.layer.status == "unmatched":
                    return None
                layers.append((node, findings))
                partners += [
                    (output.number, self._partners.get((scope, node.id, output.position))) for output in node.outputs
                ]
        keys = [(number, partner.key) for number, partner in partners if partner is not None]
        if len(keys) < len(partners) or len({key[0] for _, key in keys}) != 1:
            return None
        return BodyPair(keys[0][1][0], [(number, reference.number(key)) for number, key in keys], layers)

    def _is_same_again(self, visit: Visit, anchors: Sequence[Anchor], values: Sequence[Array | None]) -> bool:
        """Return True if a further run of a layer equals the reference's and adds no findings, after counting the run.

        Outputs of the model are compared in every call.
        """
        findings = self._found.get((visit.where.scope, visit.node.id))
        if findings is None or findings.layer.status == "unmatched" or self.values.settings.metrics:
            return False
        pairs = zip(visit.outputs, values, strict=False)
        is_same = (
            all(anchor.same for anchor in anchors)
            and self._outputs.isdisjoint(visit.node.outputs)
            and all(expected is not None and self.values.is_same(ours, expected) for ours, expected in pairs)
        )
        if is_same:
            findings.ran(visit.node, visit.outputs)
        return is_same

    def _layer(
        self, visit: Visit, anchors: Sequence[Anchor], values: Sequence[Array | None], frame: dict[int, Anchor]
    ) -> ComparedLayer:
        node, where = visit.node, visit.where
        computed = from_undoubted(partial(self._own, visit), anchors, values, self.values.settings, self._found)
        anchors, (own, inputs, problem) = computed.anchors, computed.own
        includes = tuple(dict.fromkeys(name for anchor in anchors for name in anchor.includes))
        layers = []
        is_read = [value.number not in visit.dying for value in node.outputs]
        for position, (value, ours, expected) in enumerate(zip(node.outputs, visit.outputs, values, strict=False)):
            if any(is_read) and not is_read[position]:
                continue  # no layer reads this output
            entry = self._entries[where.scope, node.id, position]
            own_output = None if own is None else own[position]
            layer, same = self.values.compare_output(visit, entry, ours, expected, own_output, inputs, includes)
            layers.append((position, layer))
            anchor = self._anchor(node, entry, where, ours, expected, own_output, same, includes)
            if not same:
                makes = layer.own is not None and layer.own.max_abs > 0
                anchor.maker = visit.path if makes else maker_of(anchors)
            frame[value.number] = anchor
            if isinstance(node.op, Const) and where.scope:
                self._constants[where.scope, node] = frame[value.number]
        position, layer = max(layers, key=lambda layer: layer[1].severity)
        if problem is not None:
            layer = layer.model_copy(
                update={"note": problem, "status": "failed" if layer.status != "unmatched" else layer.status}
            )
        if layer.status == "wrong" and inputs is not None and own is not None:
            tolerance = Tolerance(layer.own.rtol, layer.own.atol) if layer.own else Tolerance()
            # With the same inputs, ir_exec is on the same side of each step in both files.
            may_step = bool(layer.includes) or not isinstance(self._reference, IRReference)
            # Results of several layers for the reference's inputs have the rounding of all of them.
            noise = self.values.settings.chain_tolerance([ElementType.f32]).rtol if layer.includes else 0.0
            note = self._step_note(node, inputs, own, values, tolerance, noise) if may_step else None
            if note is None and layer.includes:
                # They may also be far from a step that the run is on.
                note = self._step_note(node, visit.inputs, visit.outputs, values, tolerance, noise)
            if note is not None:
                layer = layer.model_copy(update={"status": "step", "note": note})
                self._note_steps(visit, values, tolerance, noise)
            else:
                layer = self._with_advice(layer, visit, inputs, position, own[position], values[position], tolerance)
        elif layer.status == "carried" and layer.own is not None and inputs is not None:
            expected = values[position]
            assert layer.carried is not None, "the status is carried"
            assert expected is not None, "the value was compared"
            jump = jump_of(
                node,
                visit.inputs,
                inputs,
                visit.outputs[position],
                expected,
                layer.carried,
                self.values.settings.carried_tolerance,
                maker_of(anchors),
            )
            if jump is not None:
                self._note_steps(visit, values, Tolerance(layer.carried.rtol, layer.carried.atol))
                layer = layer.model_copy(update={"status": "step", "jump": jump, "note": str(jump)})
        if self._fuses and is_doubtful(layer, computed):
            in_doubt(visit, computed, frame)
        return layer

    def _with_advice(
        self,
        layer: ComparedLayer,
        visit: Visit,
        inputs: Sequence[Array],
        position: int,
        own_output: Array,
        expected: Array | None,
        tolerance: Tolerance,
    ) -> ComparedLayer:
        """Return a wrong layer with the reference's other results for it, which may show a fault of the reference."""
        if visit.where.scope:
            return layer
        partners = [
            self._partners.get((visit.where.scope, visit.node.id, output.position)) for output in visit.node.outputs
        ]
        names = [None if partner is None else partner.layer_name for partner in partners]
        advice = advice_of(
            self._reference,
            visit.node,
            inputs,
            position,
            own_output,
            expected,
            tolerance,
            names,
            is_chain=bool(layer.includes),
        )
        if advice.confirms:
            self._confirmed.add((visit.where.scope, layer.layer_id))
        status = "reference" if advice.is_reference else layer.status
        return layer.model_copy(update={"status": status, "note": advice.note})

    def _step_note(
        self,
        node: Node,
        inputs: Sequence[Array],
        own: Sequence[Array],
        values: Sequence[Array | None],
        tolerance: Tolerance,
        noise: float,
    ) -> str | None:
        """Return a note if a layer differs only on steps and in ties, for the reference's inputs."""
        computes_in = self.values.settings.computes_in
        note = on_steps(node, inputs, own, values, tolerance, computes_in, noise)
        if note is not None:
            return note
        try:
            again = partial(self._walker.again, node)
            return reached_by_rounding(node, again, inputs, own, values, tolerance, computes_in, noise)
        except (IRError, ValueError):
            return None  # the layer does not accept these inputs

    def _note_steps(
        self, visit: Visit, values: Sequence[Array | None], tolerance: Tolerance, noise: float = 0.0
    ) -> None:
        """Record layers whose outputs differ only on steps and in ties, for the model's own inputs as well."""
        computes_in = self.values.settings.computes_in
        if on_steps(visit.node, visit.inputs, visit.outputs, values, tolerance, computes_in, noise) is not None:
            self._on_steps.add((visit.where, visit.node.id, self.calls))

    def _value(self, node: Node, where: Where, position: int) -> Array | None:
        partner = self._partners.get((where.scope, node.id, position))
        return None if partner is None else self._reference.value(partner.key, where.iterations)

    def _own(self, visit: Visit, anchors: Sequence[Anchor]) -> Own:
        """Compute a layer from the anchors of its inputs.

        Returns:
            The outputs, the inputs and an error message; each is None if it does not exist.
        """
        node = visit.node
        # In a body, the values of Parameters and variables are those of an iteration.
        is_from_outside = bool(visit.where.scope) and isinstance(node.op, (Parameter, ReadsVariable))
        own: Own = None, None, None
        if is_from_outside or not all(anchor.is_known for anchor in anchors):
            pass  # nothing is known
        elif isinstance(node.op, ReadsVariable) and self.calls > 1:
            # The reference reads the value that it assigned before. It does not depend on this layer.
            assigned = self._kept.get(node.op.variable_id)
            if assigned is not None:
                declared = self._walker.wide.variables.get(node.op.variable_id, ElementType.of(assigned))
                assigned = as_declared(assigned, declared)
                own = [assigned], [assigned], None
        elif all(anchor.same for anchor in anchors):
            own = visit.outputs, visit.inputs, None
        else:
            pairs = zip(anchors, visit.inputs, strict=True)
            try:
                inputs = [as_type_of(anchor.value(ours), ours) for anchor, ours in pairs]
                own = self._walker.again(node, inputs), inputs, None
            except (IRError, ValueError) as error:
                message = error.message if isinstance(error, IRError) else str(error)
                own = None, None, f"fails on the reference's inputs: {message}"
        return own

    def _anchor(
        self,
        node: Node,
        entry: Entry,
        where: Where,
        ours: Array,
        expected: Array | None,
        own_output: Array | None,
        same: bool,
        includes: tuple[str, ...],
    ) -> Anchor:
        if expected is not None:
            load = partial(self._reference.value, self._partners[entry.key].key, where.iterations)
            return SAME if same else Anchor(load, False)
        is_given = isinstance(node.op, Const) or (isinstance(node.op, Parameter) and not where.scope)
        if is_given or own_output is None:
            return Anchor(lambda: ours, is_given, is_known=is_given)
        chain = (*includes, entry.path)[-MOST_INCLUDED:]
        return Anchor(lambda: own_output, own_output is ours, includes=chain)

    def _remember(self, layer: ComparedLayer, visit: Visit) -> None:
        layer_key = (visit.where.scope, layer.layer_id)
        self._nodes[layer_key] = visit.node
        findings = self._found.get(layer_key)
        if findings is None:
            is_driven = bool(visit.inputs) and not self._driven.isdisjoint(visit.node.outputs)
            untested = find_untested_reason(visit.node, visit.outputs) if is_driven else None
            self._found[layer_key] = LayerFindings(layer, untested)
            return
        findings.ran(visit.node, visit.outputs)
        # The first call that shows a fault of a layer is kept: later calls may differ as a consequence.
        is_first = layer.call == findings.layer.call or layer.severity > findings.layer.severity
        if is_first and layer.rank > findings.layer.rank:
            findings.layer = layer
