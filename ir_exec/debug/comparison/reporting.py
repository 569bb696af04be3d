"""Report of a comparison from the findings about its layers: faults, and attributes that differ between files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ir_exec.debug.comparison.anchors import LayerFindings, Place, Takers, unmatched_of
from ir_exec.debug.comparison.judging import decide, elements_not_compared, is_gross, judged_outputs, verdict_of
from ir_exec.debug.comparison.metrics import Settings
from ir_exec.debug.comparison.records import ComparedLayer, LayerFault
from ir_exec.debug.comparison.references.reference import IRReference, Reference
from ir_exec.debug.comparison.report_text import Comparison
from ir_exec.debug.comparison.value_comparer import ValueComparer
from ir_exec.debug.comparison.variation import Variation
from ir_exec.debug.precision.partners import FoldedWeights
from ir_exec.debug.traces.walk import Where
from ir_exec.debug.values.entries import Entry, Key, holder_names
from ir_exec.graph import Graph, Node
from ir_exec.model import Model
from ir_exec.ops.base.registry import canonical
from ir_exec.ops.infrastructure.values import Const, Parameter

__all__ = ["FindingsReporter", "moves_values"]


def _other_attributes(model: Model, reference: Model, partners: Mapping[Key, Entry]) -> dict[Place, tuple[str, ...]]:
    """Return the names of the attributes that both files specify with different values, by layer.

    A layer of another type has the name `type`.
    """
    theirs = dict(_nodes(reference))
    differing = {}
    for (scope, layer_id), node in _nodes(model):
        partner = partners.get((scope, layer_id, 0))
        other = None if partner is None else theirs.get(partner.key[:2])
        if other is None or isinstance(node.op, (Const, Parameter)) or isinstance(other.op, Const):
            continue
        names = ("type",) if canonical(other.type) != canonical(node.type) else tuple(_differing(node, other))
        if names:
            differing[scope, layer_id] = names
    return differing


def _nodes(model: Model) -> Iterator[tuple[Place, Node]]:
    for scope, graph in model.graph.scopes():
        for node in graph.nodes:
            yield (scope, node.id), node


def _differing(node: Node, other: Node) -> Iterator[str]:
    for name, text in node.layer.data.items():
        if name in other.layer.data and _numbers(text) != _numbers(other.layer.data[name]):
            yield name


def _numbers(text: str) -> tuple[float | str, ...]:
    """Return the elements of an attribute, so that `1.0` equals `1`."""
    return tuple([_number(part.strip().lower()) for part in text.split(",")])


def _number(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


COMPENSATED = "other layers compensate the difference: the outputs agree"


def moves_values(node: Node) -> bool:
    """Return True for a layer whose outputs are elements of its inputs, except for a constant."""
    return node.op is not None and node.op.is_data_movement and not isinstance(node.op, Const)


def _fault_of(
    layer_key: Place,
    layer: ComparedLayer,
    node: Node,
    findings: Mapping[Place, LayerFindings],
    takers: Takers,
    settings: Settings,
    *,
    is_confirmed: bool,
    is_compensated: bool,
    is_faulty_weight: bool,
) -> LayerFault:
    """Return the fault of a wrong layer.

    Args:
        findings: All layers of the comparison.
        is_confirmed: True if a second answer of the reference agrees with its first one, and not with the model.
        is_compensated: True if the outputs agree because other layers compensate the difference.
        is_faulty_weight: True for a compressed weight with an error that its format does not explain.
    """
    # Only another file or a second answer shows that a layer that moves values has moved them elsewhere.
    is_blamed = settings.is_same_engine or is_confirmed or not moves_values(node)
    unseen = 0 if is_faulty_weight else _unseen_before(layer_key, node, findings)
    is_certain = is_faulty_weight or (is_blamed and not layer.includes and not unseen)
    own = layer.own
    # The value of the run agrees, so the reference has not computed its own from these inputs.
    is_compensated |= _agrees_again(layer)
    gross = is_faulty_weight
    if own is not None and not is_compensated:
        is_constant = isinstance(node.op, Const)
        gross |= is_gross(own, layer.element_type, settings, is_chain=bool(layer.includes), is_constant=is_constant)
    note = "; ".join(filter(None, (COMPENSATED if is_compensated else None, layer.note)))
    return LayerFault(
        layer_id=layer.layer_id,
        layer_name=layer.layer_name,
        path=layer.path,
        type=layer.type,
        own=own,
        carried=layer.carried,
        call=layer.call,
        includes=layer.includes,
        taken_by=takers(layer_key) if isinstance(node.op, Const) else (),
        is_gross=gross,
        is_certain=is_certain,
        unseen=unseen,
        note=note or None,
        source=layer.source,
    )


def _agrees_again(layer: ComparedLayer) -> bool:
    """Return True if the value of the run agrees with the reference, and its result for the reference's inputs not."""
    if layer.own is None or layer.carried is None or not layer.is_within:
        return False
    return layer.own.problem is not None or layer.own.max_abs > 2 * layer.carried.max_abs


def _unseen_before(layer_key: Place, node: Node, findings: Mapping[Place, LayerFindings]) -> int:
    """Return the number of layers between this one and the nearest values of the reference.

    Constants of integers, such as axes and shapes, belong to the layer that reads them.
    """
    scope, _ = layer_key
    pending, seen = [node], {node}
    while pending:
        for value in pending.pop().values_in:
            source = value.node
            layer_findings = findings.get((scope, source.id))
            is_unseen = layer_findings is not None and layer_findings.layer.status in ("unmatched", "skipped")
            if source in seen or not is_unseen or isinstance(source.op, Parameter):
                continue
            if isinstance(source.op, Const) and not source.op.element_type.is_float:
                continue
            seen.add(source)
            pending.append(source)
    return len(seen) - 1


class FindingsReporter:
    """Findings about the layers of a model, and their report.

    Attributes:
        values: Compares values, with the settings of the call.
        calls: Number of runs so far.
    """

    def __init__(
        self,
        model: Model,
        reference: Reference,
        entries: Mapping[Key, Entry],
        partners: Mapping[Key, Entry],
        settings: Settings,
        folded: FoldedWeights,
        *,
        is_wide: bool,
    ) -> None:
        self._model = model
        self._reference = reference
        self._partners = partners
        self.values = ValueComparer(reference, partners, settings, folded, is_wide=is_wide)
        self._entries = entries
        self.calls = 0
        self._found: dict[Place, LayerFindings] = {}
        self._on_steps: set[tuple[Where, str, int]] = set()
        self._scopes = {"/".join((*entry.scope, entry.layer_name)): entry.scope for entry in entries.values()}
        self._folded = folded
        self._takers = Takers(model.graph)
        self._nodes: dict[Place, Node] = {}
        self._confirmed: set[Place] = set()
        self._compensated: set[Place] = set()
        self._scaled: set[Place] = set()
        self._not_run: set[Place] = set()
        self._variation: Variation | None = None

    def clear_varying(self, variation: Variation) -> None:
        """Clear wrong layers whose values vary between the reference's runs."""
        self._variation = variation
        for findings in self._found.values():
            layer = findings.layer
            varying = variation.find_layer(layer.path)
            if varying is not None and layer.status in ("wrong", "failed"):
                note = "; ".join(filter(None, (varying.text, layer.note)))
                findings.layer = layer.model_copy(update={"status": "reference", "note": note})

    def report(
        self, ours: Sequence[Entry], theirs: Sequence[Entry], name: str | None, more: Mapping[str, Any]
    ) -> Comparison:
        """Return the report with its verdict.

        Args:
            more: Further fields of the report.
        """
        layers = self._with_attributes(self._with_sources())
        wrong = [
            (layer_key, layer) for layer_key, layer in zip(self._found, layers, strict=True) if layer.status == "wrong"
        ]
        inside = {scope[:depth] for (scope, _), _ in wrong for depth in range(1, len(scope), 2)}
        faults = [
            self._fault(layer_key, layer)
            for layer_key, layer in wrong
            if inside.isdisjoint((*layer_key[0], name) for name in holder_names(layer.layer_name, layer.layer_id))
        ]
        faults.sort(key=lambda fault: fault.call)
        outputs = judged_outputs(self._model, self._partners, self.values, self._on_steps, self._reference.spread)
        not_compared = 0 if self.values.settings.nan_equal else elements_not_compared(self._model, outputs, layers)
        fail_on = self.values.settings.fail_on
        verdict = verdict_of(
            outputs, layers, faults, not_compared, self._reference, self._is_on_steps, fail_on, self._variation
        )
        beyond = [
            layer
            for layer in layers
            if layer.status in ("carried", "step", "reference", "wrong") and not layer.is_within
        ]
        computes_in = self._reference.computes_in
        report = Comparison(
            model=name or self._model.name,
            reference=self._reference.title,
            runtime=self._reference.runtime,
            settings=tuple(self._reference.settings),
            verdict=verdict,
            equal=verdict == "equal",
            output_results=tuple(outputs),
            not_compared=not_compared,
            untested=sum(layer.untested is not None for layer in layers) + self.not_run(),
            not_run=self.not_run(),
            first_fault=faults[0] if faults else None,
            faults=tuple(faults),
            first_carried=min(beyond, key=lambda layer: layer.call).path if beyond else None,
            layers=tuple(layers),
            outputs=tuple(entry.path for entry in ours if entry.output),
            unmatched=tuple(
                unmatched_of(
                    [our for our in ours if our.key not in self._folded.parts], theirs, self._partners, self._found
                )
            ),
            notes=tuple(self._reference.notes),
            weights=self.values.rounded.note(),
            quantized=tuple(self.values.quantized.values()),
            ranges=tuple([counter.result() for counter in self.values.ranges.values()]),
            calls=self.calls,
            rounds=self._reference.rounds,
            failure=self._reference.failure,
            computes_in=None if computes_in is None else computes_in.name,
            variation=self._variation,
            **more,
        )
        return decide(report, verdict, fail_on)

    def _with_sources(self) -> list[ComparedLayer]:
        """Return the layers with the lines of Python that they were exported from."""
        sources = {entry.key[:2]: entry.source for entry in self._entries.values() if entry.source is not None}
        layers = ((layer_key, findings.make_layer()) for layer_key, findings in self._found.items())
        return [
            layer.model_copy(update={"source": sources[layer_key]}) if layer_key in sources else layer
            for layer_key, layer in layers
        ]

    def _with_attributes(self, layers: Sequence[ComparedLayer]) -> list[ComparedLayer]:
        """Return the layers with the attributes that differ between two files without an effect on the values."""
        theirs = self._reference.model if isinstance(self._reference, IRReference) else None
        differing = {} if theirs is None else _other_attributes(self._model, theirs, self._partners)
        pairs = zip(self._found, layers, strict=True)
        return [
            layer.model_copy(update={"other_attributes": differing[layer_key]})
            if layer_key in differing
            and layer_key not in self._scaled
            and (layer.status in ("equal", "close") or layer_key in self._not_run)
            else layer
            for layer_key, layer in pairs
        ]

    def _add_attributes_not_run(self, reference: Model) -> None:
        """Add the layers of bodies that have not run with other attributes than in another file."""
        scopes = {scope for scope, _ in self._bodies_not_run()}
        for layer_key in _other_attributes(self._model, reference, self._partners):
            entry = self._entries.get((*layer_key, 0))
            if layer_key[0] not in scopes or entry is None:
                continue
            layer = ComparedLayer(
                layer_id=entry.layer_id,
                layer_name=entry.layer_name,
                path="/".join((*entry.scope, entry.layer_name)),
                type=entry.type,
                partner=self._partners[entry.key].path or None,
                element_type=entry.element_type,
                status="skipped",
                runs=0,
                note="not run",
            )
            self._found[layer_key] = LayerFindings(layer, runs=0)
            self._not_run.add(layer_key)

    def not_run(self) -> int:
        """Return the number of layers in bodies that have not run in any call."""
        scopes = {scope for scope, _ in self._bodies_not_run()}
        return len({(entry.scope, entry.layer_id) for entry in self._entries.values() if entry.scope in scopes})

    def _bodies_not_run(self) -> list[tuple[tuple[str, ...], Graph]]:
        """Return the bodies that have not run in any call, with their scopes."""
        run = {scope for scope, _ in self._found.keys() - self._not_run}
        return [(scope, graph) for scope, graph in self._model.graph.scopes() if scope and scope not in run]

    def _is_on_steps(self, layer: ComparedLayer) -> bool:
        """Return True if a layer differs only on steps and in ties, for the model's inputs and the reference's."""
        scope = self._scopes.get(layer.path, ())
        return (Where(scope, layer.iterations), layer.layer_id, layer.call) in self._on_steps

    def _fault(self, layer_key: tuple[tuple[str, ...], str], layer: ComparedLayer) -> LayerFault:
        weights = [weight for key, weight in self.values.quantized.items() if key[:2] == layer_key]
        return _fault_of(
            layer_key,
            layer,
            self._nodes[layer_key],
            self._found,
            self._takers,
            self.values.settings,
            is_confirmed=layer_key in self._confirmed,
            is_compensated=layer_key in self._compensated,
            is_faulty_weight=self.values.settings.is_same_engine and any(weight.is_fault for weight in weights),
        )
