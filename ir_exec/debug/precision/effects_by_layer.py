"""The effect of quantizing each layer by itself, and a minimal set of layers to keep at a higher precision.

The plain model runs with one weight of the quantized model at a time, and then with all of these weights except the
kept ones.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import prod
from time import monotonic

import numpy as np

from ir_exec.build.compress import PlainWeightConstant, plain_weights
from ir_exec.build.weight_formats import FORMATS, encode
from ir_exec.codes import Code
from ir_exec.debug.comparison.pairing.ends import require_same_ports
from ir_exec.debug.comparison.pairing.partners import partners_of
from ir_exec.debug.comparison.references.reference import IRReference
from ir_exec.debug.inputs.drawing import drawn_inputs
from ir_exec.debug.precision.activations import RangeCounter, activation_powers
from ir_exec.debug.precision.effects import LayerEffect, OutputLoss, OutputLosses, QuantizationReport, kinds_of_outputs
from ir_exec.debug.precision.partners import FoldedWeights
from ir_exec.debug.precision.weights import QuantizedWeight
from ir_exec.debug.reduction.minimizing import MOST_TRIALS, SearchEnded, minimize
from ir_exec.debug.traces.walk import Visit, Walker
from ir_exec.debug.values.entries import Entry, Key, entries_of
from ir_exec.debug.values.facts import as_numbers
from ir_exec.errors import EvaluationError, GraphError
from ir_exec.graph import Node
from ir_exec.graph.compressed import CompressedWeight, find_compressed_weights
from ir_exec.graph.decoding import decode_weight
from ir_exec.model import Model, ShapeLike, Source, read_model
from ir_exec.ops.infrastructure.values import Const
from ir_exec.runtime.arguments import Inputs
from ir_exec.runtime.calls import bind_calls
from ir_exec.types import Array, ElementType, convert

__all__ = ["quantization_report"]

Change = Callable[[Array], Array]


def quantization_report(
    quantized: Model | Source,
    plain: Model | Source,
    calls: Sequence[Inputs] | None = None,
    seed: int = 0,
    *,
    shapes: Mapping[str, ShapeLike] | None = None,
    max_loss: float | None = None,
    keep_bits: int = 8,
    seconds: float | None = None,
    progress: Callable[[str], None] | None = None,
) -> QuantizationReport:
    """Return the effect of quantization of each layer of a model on its outputs.

    Args:
        quantized: A model with compressed weights, or with FakeQuantize layers.
        plain: The model before quantization.
        calls: The inputs of each call. The default is one call with inputs drawn from `seed`, with `shapes`.
        max_loss: The maximum loss of the outputs: the report then lists the layers to keep at a higher precision. A
            loss is the mean Kullback-Leibler divergence of logits and probabilities in nats; for other outputs, it is
            the power of the noise relative to the power of the output.
        keep_bits: The bits of kept weights, 8 or 16. Kept values are not quantized.
        seconds: The time limit after which no further layer is run by itself, and the search for a
            smaller set ends.
        progress: Called with a description of the current action. KeyboardInterrupt ends the runs like `seconds`.

    Raises:
        GraphError: If no layer is quantized.
        EvaluationError: If `plain` is another model, and the errors of runs.
    """
    start = monotonic()
    model = quantized if isinstance(quantized, Model) else read_model(quantized)
    other = plain if isinstance(plain, Model) else read_model(plain)
    if keep_bits not in (8, 16):
        raise EvaluationError("keep_bits is", actual=keep_bits, expected="8 or 16")
    require_same_ports(model, other, "the quantized model", "the model before quantization")
    is_drawn = not calls
    all_inputs = list(calls) if calls else [drawn_inputs(other, seed, shapes)]
    model, rows, _ = bind_calls(model, *all_inputs)
    other, _, _ = bind_calls(other, *all_inputs)
    units = _units(model, other, all_inputs)
    study = _Study(model, other, rows, all_inputs, units, progress)
    deadline = None if seconds is None else start + seconds
    effects = study.effects(deadline)
    total = study.quantized_loss()
    keep, loss_with_kept, is_minimal = None, None, False
    if max_loss is not None and float(total.loss) > max_loss and not study.is_stopped:
        keep, loss_with_kept, is_minimal = study.minimal_keep(effects, max_loss, keep_bits, deadline)
    extra = {unit.effect.path: unit.extra_bytes(keep_bits) for unit in units}
    names = {unit.effect.path: unit.keep_as(keep_bits) for unit in units}
    sources = {entry.layer_id: entry.source for entry in entries_of(model) if not entry.scope}
    layers = [
        effect.model_copy(
            update={
                "kept": keep is not None and effect.path in keep,
                "keep_as": names[effect.path],
                "extra_bytes": extra[effect.path],
                "source": next((source for id in effect.layer_ids if (source := sources.get(id)) is not None), None),
            }
        )
        for effect in sorted(effects, key=lambda effect: effect.rank, reverse=True)
    ]
    stored = sum(layer.bytes for layer in layers)
    return QuantizationReport(
        model=model.graph.path or model.name,
        reference=other.graph.path or other.name,
        metric="noise" if total.kl is None else "kl",
        total=total,
        layers=tuple(layers),
        complete=all(layer.effect is not None for layer in layers),
        max_loss=max_loss,
        keep_bits=keep_bits,
        keep=None if keep is None else tuple(layer.path for layer in layers if layer.path in keep),
        kept=loss_with_kept,
        minimal=is_minimal,
        bytes=stored,
        plain_bytes=sum(layer.plain_bytes for layer in layers),
        kept_bytes=None if keep is None else stored + sum(extra[path] for path in keep),
        ranges=tuple([counter.result() for unit in units for counter in unit.counters]),
        inputs={port.name: array.shape for port, array in zip(model.inputs, rows[0], strict=True)},
        calls=len(rows),
        seed=seed if is_drawn else None,
        runs=study.runs,
        seconds=monotonic() - start,
    )


@dataclass
class _Unit:
    """A quantized layer: the place of its value in the plain model, and the change by quantization."""

    effect: LayerEffect
    place: tuple[tuple[str, ...], str]
    change: Change
    plain: PlainWeightConstant | None = None
    counters: tuple[RangeCounter, ...] = ()
    elements: int = 0

    def in_bits(self, bits: int) -> Change | None:
        """Return the change of its value by more bits; None for no change."""
        if self.effect.kind == "values":
            return None
        return partial(_shorten_weight, bits=self._bits(bits), axes=None if self.plain is None else self.plain.axes)

    def extra_bytes(self, bits: int) -> int:
        """The additional bytes for more bits."""
        if self.effect.kind == "values":
            return 0
        elements, bits = self.elements, self._bits(bits)
        wide = elements * bits // 8
        if bits == 8 and self.plain is not None:
            # Each channel has an f16 scale and a zero point of 8 bits.
            wide += 3 * (elements // prod(self.plain.shape[axis] for axis in self.plain.axes))
        return max(wide - self.effect.bytes, 0)

    def keep_as(self, bits: int) -> str:
        """The format if kept at a higher precision."""
        return "float" if self.effect.kind == "values" else {8: "int8", 16: "f16"}[self._bits(bits)]

    def _bits(self, bits: int) -> int:
        """The increased number of bits: 16 if the codes have 8 bits."""
        return 16 if self.effect.bytes >= self.elements else bits


def _shorten_weight(array: Array, bits: int, axes: tuple[int, ...] | None) -> Array:
    """A weight in 16 bits, or in 8 bits with a scale for each channel."""
    numbers = convert(array, ElementType.f32)
    with np.errstate(over="ignore"):
        if bits == 16:
            return convert(convert(convert(numbers, ElementType.f16), ElementType.f32), ElementType.of(array))
    levels = encode(numbers, (array.ndim - 1,) if axes is None else axes, FORMATS["int8_asym"]).expand()
    return convert(levels, ElementType.of(array))


def _units(model: Model, plain: Model, calls: Sequence[Inputs]) -> list[_Unit]:
    """The compressed weights, and the FakeQuantize layers over values that are missing from the plain model."""
    ours, reference = list(entries_of(model)), IRReference(plain, "the plain model")
    folded = FoldedWeights(model, ours, reference)
    partners, _ = partners_of(folded.ours, folded.theirs, reference, {})
    folded.unfold(partners)
    folded.pass_through(partners)
    judged = folded.judge(reference)
    chains = {
        ((), value.node.id, value.position): judged_weight
        for value, judged_weight in find_compressed_weights(model.graph).items()
    }
    weights = {weight.node.id: weight for weight in plain_weights(plain)}
    powers = activation_powers(plain, calls)
    units = [
        _weight_unit(model, chains[key], judged_weight, partners[key], weights.get(partners[key].layer_id), powers)
        for key, judged_weight in judged.items()
        if key in chains and judged_weight.side == "model" and judged_weight.error.problem is None
    ]
    units += _value_units(model, ours, partners, folded.passed)
    if units:
        return units
    is_quantized = bool(chains) or any(entry.is_quantization for entry in ours)
    if not is_quantized:
        hint = "pass the quantized model first, and the plain model with --with"
        raise GraphError(f"{model.name!r} has no compressed weights and no FakeQuantize layers", hint=hint)
    message = f"no quantized weight of {model.name!r} has a partner in {plain.name!r}"
    hint = "pass the model before quantization with --with"
    raise EvaluationError(message, code=Code.unknown_input, hint=hint)


def _weight_unit(
    model: Model,
    weight: CompressedWeight,
    compared: QuantizedWeight,
    partner: Entry,
    plain: PlainWeightConstant | None,
    powers: Mapping[str, Array],
) -> _Unit:
    assert model.weights is not None
    array = decode_weight(weight, model.weights)
    readers = tuple([node.name for node in model.graph.nodes if weight.value in node.values_in])
    effect = LayerEffect(
        path=compared.path,
        layer_ids=compared.layer_ids,
        layers=readers,
        format=compared.format,
        group_size=compared.group_size,
        weight_sqnr_db=compared.error.sqnr_db,
        bytes=compared.bytes,
        plain_bytes=compared.partner_bytes,
        estimate=_estimate(compared, plain, powers),
    )
    return _Unit(
        effect, (partner.scope, partner.layer_id), partial(_replace_with, weight=array), plain, elements=array.size
    )


def _replace_with(array: Array, weight: Array) -> Array:
    return convert(weight, ElementType.of(array))


def _estimate(weight: QuantizedWeight, plain: PlainWeightConstant | None, powers: Mapping[str, Array]) -> float | None:
    """The noise of a weight relative to its power, multiplied by the spread of activations over channels."""
    if weight.error.sqnr_db is None:
        return 0.0
    ratio = float(10 ** (-float(weight.error.sqnr_db) / 10))
    power = None if plain is None else powers.get(plain.name)
    if power is None or not power.size or not power.mean():
        return ratio
    return ratio * float(np.sqrt((power**2).mean()) / power.mean())


def _value_units(
    model: Model, ours: Sequence[Entry], partners: Mapping[Key, Entry], passed: Collection[Key]
) -> Iterator[_Unit]:
    """Yield a unit for each value that a FakeQuantize with constant limits quantizes."""
    nodes = {node.id: node for node in model.graph.nodes}
    seen: dict[Key, None] = {}
    for entry in ours:
        if entry.key not in passed or entry.scope:
            continue
        partner, node = partners[entry.key], nodes[entry.layer_id]
        limits = [_limit(value.node, model) for value in node.values_in[1:]]
        if partner.key in seen or any(limit is None for limit in limits) or partner.port:
            continue
        seen[partner.key] = None
        levels = int(vars(node.op)["levels"])
        counter = RangeCounter(entry.path, entry.layer_id, levels)
        constants = [limit for limit in limits if limit is not None]
        effect = LayerEffect(
            path=entry.path,
            layer_ids=(entry.layer_id,),
            kind="values",
            layers=tuple([reader.name for reader in model.graph.nodes if node.outputs[0] in reader.values_in]),
            format=f"{levels} levels",
        )
        yield _Unit(
            effect,
            (partner.scope, partner.layer_id),
            partial(_quantized_values, node=node, limits=constants, counter=counter),
            counters=(counter,),
        )


def _limit(node: Node, model: Model) -> Array | None:
    return node.op.evaluate(weights=model.weights) if isinstance(node.op, Const) and model.weights else None


def _quantized_values(array: Array, node: Node, limits: Sequence[Array], counter: RangeCounter) -> Array:
    assert node.op is not None
    quantized = np.asarray(node.op.evaluate(array, *[convert(limit, ElementType.of(array)) for limit in limits]))
    counter.add([array, *limits], quantized)
    return quantized


class _Study:
    """Runs of the plain model with changes of some values."""

    def __init__(
        self,
        model: Model,
        plain: Model,
        rows: Sequence[Sequence[Array]],
        calls: Sequence[Inputs],
        units: Sequence[_Unit],
        progress: Callable[[str], None] | None,
    ) -> None:
        self._model = model
        self._rows = rows
        self._units = units
        self._progress = progress or (lambda step: None)
        self._walker = Walker(plain, precision="f32")
        plain, self._calls, _ = bind_calls(plain, *calls)
        self.runs = 0
        self.is_stopped = False
        outputs = self._run({})
        self._losses = OutputLosses([port.name for port in plain.outputs], kinds_of_outputs(plain), outputs)

    def _run(self, changes: Mapping[tuple[tuple[str, ...], str], Sequence[Change]]) -> list[list[Array]]:
        def visit(visit: Visit) -> list[Array] | None:
            layer_changes = changes.get((visit.where.scope, visit.node.id))
            if layer_changes is None:
                return None
            first, *others = visit.outputs
            for change in layer_changes:
                first = change(first)
            return [first, *others]

        self.runs += len(self._calls)
        return [[np.array(output) for output in self._walker.run(list(row), visit)] for row in self._calls]

    def _loss(self, changes: Sequence[tuple[_Unit, Change]]) -> OutputLoss:
        by_place: dict[tuple[tuple[str, ...], str], list[Change]] = {}
        for unit, change in changes:
            by_place.setdefault(unit.place, []).append(change)
        return self._losses.of(self._run(by_place))

    def _estimate_values(self) -> None:
        """Set the estimated noise of all units of values, in one run."""
        by_place: dict[tuple[tuple[str, ...], str], list[_Unit]] = {}
        for unit in self._units:
            if unit.effect.kind == "values":
                by_place.setdefault(unit.place, []).append(unit)

        def visit(visit: Visit) -> None:
            for unit in by_place.get((visit.where.scope, visit.node.id), ()):
                values = as_numbers(visit.outputs[0])
                noise = np.square(as_numbers(unit.change(visit.outputs[0])) - values).sum()
                power = np.square(values).sum()
                ratio = float(noise / power) if power else 0.0
                unit.effect = unit.effect.model_copy(update={"estimate": ratio})

        if by_place:
            self.runs += 1
            self._walker.run(list(self._calls[0]), visit)

    def quantized_loss(self) -> OutputLoss:
        """The loss of the quantized model itself."""
        self._progress("the quantized model")
        walker = Walker(self._model, precision="f32")
        self.runs += len(self._rows)
        return self._losses.of([[np.array(output) for output in walker.run(list(row))] for row in self._rows])

    def effects(self, deadline: float | None) -> list[LayerEffect]:
        """The effect of each layer by itself, sorted by estimate, greatest first."""
        results = []
        self._estimate_values()
        ordered = sorted(self._units, key=lambda unit: float(unit.effect.estimate or 0.0), reverse=True)
        for position, unit in enumerate(ordered):
            effect = None
            if position == 0 or not self._is_late(deadline):
                self._progress(unit.effect.path)
                effect = self._unless_stopped(partial(self._loss, [(unit, unit.change)]))
            results.append(unit.effect.model_copy(update={"effect": effect}))
        return results

    def minimal_keep(
        self, effects: Sequence[LayerEffect], max_loss: float, bits: int, deadline: float | None
    ) -> tuple[set[str] | None, OutputLoss | None, bool]:
        """The paths of layers to keep at a higher precision, the loss, and True if none of them can be left out.

        The paths are None if all layers together are not sufficient.
        """
        ranks = {effect.path: effect.rank for effect in effects}
        order = sorted(ranks, key=ranks.__getitem__, reverse=True)
        units = {unit.effect.path: unit for unit in self._units}

        def loss(kept_paths: Collection[str]) -> OutputLoss:
            self._progress(f"{len(kept_paths):,} layers kept in {bits} bits")
            quantized = [(units[path], units[path].change) for path in order if path not in kept_paths]
            shortened = [(units[path], units[path].in_bits(bits)) for path in order if path in kept_paths]
            return self._loss([*quantized, *((unit, change) for unit, change in shortened if change is not None)])

        best = loss(order)
        if float(best.loss) > max_loss:
            return None, None, False

        def holds(kept_paths: Collection[str]) -> bool:
            nonlocal best
            less = None if self._is_late(deadline) else self._unless_stopped(partial(loss, kept_paths))
            if less is None:
                raise SearchEnded
            is_sufficient = float(less.loss) <= max_loss
            best = less if is_sufficient else best
            return is_sufficient

        keep = minimize(order, holds, importance=ranks.__getitem__, limit=MOST_TRIALS)
        return set(keep.items), best, keep.is_minimal

    def _is_late(self, deadline: float | None) -> bool:
        return self.is_stopped or (deadline is not None and monotonic() > deadline)

    def _unless_stopped(self, run: Callable[[], OutputLoss]) -> OutputLoss | None:
        """The loss of a run; None if it is interrupted, which also prevents further runs of this kind."""
        try:
            return run()
        except KeyboardInterrupt:
            self.is_stopped = True
            return None
