"""Simulation of a model in f16 or bf16: the effect of each layer, of all layers, and the layers to keep in f32."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Literal

import numpy as np

from ir_exec.debug.comparison.metrics import Difference, Settings, Tolerance, difference, tolerance_of
from ir_exec.debug.comparison.report_text import describe_drawn_inputs
from ir_exec.debug.inputs.drawing import drawn_inputs
from ir_exec.debug.reduction.minimizing import MOST_TRIALS, minimize
from ir_exec.debug.traces.walk import Visit, Walker
from ir_exec.debug.values.files import Spill
from ir_exec.errors import IRError
from ir_exec.model import Model, ShapeLike, Source, read_model
from ir_exec.ops.base.registry import canonical
from ir_exec.ops.infrastructure.values import Const
from ir_exec.report.records import Record
from ir_exec.report.text import format_remainder
from ir_exec.runtime.arguments import Inputs
from ir_exec.runtime.calls import bind_calls
from ir_exec.types import Array, ElementType, convert

__all__ = ["PrecisionReport", "RoundedLayer", "lower_precision"]

_LAYERS_SHOWN = 10


class RoundedLayer(Record):
    """A layer whose inputs and outputs are rounded to the shorter type.

    Attributes:
        own: The difference from its result in f32.
        overflows: The number of finite elements that become infinite.
        flushed: The number of nonzero elements that become 0.
        subnormal: The number of elements that lose precision as subnormal numbers of the type.
        saturated: The number of elements of a constant beyond the range of the type.
        elements: The number of elements of all outputs in all `runs`.
        kept: True for a layer to keep in f32.
        note: The reason why the layer could not be judged.
    """

    layer_id: str
    layer_name: str
    path: str
    type: str
    own: Difference | None = None
    overflows: int = 0
    flushed: int = 0
    subnormal: int = 0
    saturated: int = 0
    elements: int = 0
    runs: int = 1
    kept: bool = False
    note: str | None = None

    @property
    def is_damaged(self) -> bool:
        return bool(self.overflows or self.flushed or self.saturated or (self.own and not self.own.is_within))


class PrecisionReport(Record):
    """Effect of a shorter element type on a model.

    Attributes:
        equal: True if all outputs are within the tolerance with every layer in that type.
        keep: The paths of the layers to keep in f32, with their constants, for outputs within the tolerance. None of
            them can be removed, unless the search ended after 400 runs.
        proven: True if a run with these layers in f32 confirmed it.
        outputs: The error of each output with every layer rounded.
        kept_outputs: The error of each output with the layers of `keep` in f32.
        inputs: The shapes of the model's inputs.
        seed: The seed of drawn inputs.
        rounds: The number of runs.
    """

    format: Literal[1] = 1
    model: str
    precision: str
    equal: bool
    keep: tuple[str, ...] = ()
    proven: bool = True
    outputs: Mapping[str, Difference] = {}
    kept_outputs: Mapping[str, Difference] = {}
    layers: tuple[RoundedLayer, ...] = ()
    inputs: Mapping[str, tuple[int, ...]] = {}
    seed: int | None = None
    rounds: int = 0

    def __str__(self) -> str:
        damaged = [layer for layer in self.layers if layer.is_damaged]
        lines = [f"{self.model} in {self.precision}: " + _verdict(self)]
        lines += [f"  keep in f32: {path}" for path in self.keep]
        for layer in damaged[:_LAYERS_SHOWN]:
            lines.append(f"  {layer.path} ({layer.type}): {_damage(layer)}")
        lines += format_remainder(len(damaged), _LAYERS_SHOWN, indent="  ")
        end = f"{self.rounds} runs{describe_drawn_inputs(self.seed, self.inputs)}"
        lines.append(f"{len(self.layers)} layers, {len(damaged)} damaged by rounding; {end}")
        return "\n".join(lines)


def _verdict(report: PrecisionReport) -> str:
    if report.equal:
        return "every output is within the tolerance"
    if not report.proven:
        return "outputs are beyond the tolerance, also with all layers in f32"
    count = len(report.keep)
    layers = f"{count} layers in f32 keep" if count > 1 else f"{count} layer in f32 keeps"
    return f"outputs are beyond the tolerance; {layers} them within it"


def _damage(layer: RoundedLayer) -> str:
    parts = [
        f"{count:,} of {layer.elements:,} {what}"
        for count, what in (
            (layer.saturated, "saturate"),
            (layer.overflows, "overflow"),
            (layer.flushed, "become 0"),
            (layer.subnormal, "become subnormal"),
        )
        if count
    ]
    if layer.own is not None and layer.own.sqnr_db is not None:
        parts.append(f"SQNR {layer.own.sqnr_db:.1f} dB")
    if layer.own is not None and not layer.own.is_within:
        parts.append(f"{layer.own.beyond:.2%} beyond the tolerance")
    return ", ".join(parts)


Place = tuple[tuple[str, ...], str]


def lower_precision(
    model: Model | Source,
    precision: Literal["f16", "bf16"],
    inputs: Inputs | None = None,
    seed: int = 0,
    *,
    shapes: Mapping[str, ShapeLike] | None = None,
    rtol: float | None = None,
    atol: float | None = None,
    threads: int | None = None,
    progress: Callable[[str], None] | None = None,
) -> PrecisionReport:
    """Measure the effect of f16 or bf16 on each layer of a model, and find the layers to keep in f32.

    Inputs and outputs of layers in f32 and f64 are rounded. The sums within a layer remain in f32, as in hardware. The
    outputs may differ by atol + rtol * |f32 output|. Without both, the tolerance is typical of models of this type.

    Raises:
        IRError: What a run raises.
    """
    model = model if isinstance(model, Model) else read_model(model)
    is_drawn = inputs is None
    model, (arrays,), _ = bind_calls(model, drawn_inputs(model, seed, shapes) if inputs is None else inputs)
    settings = Settings(rtol=rtol, atol=atol, threads=threads, progress=progress)
    rounding = RoundedRuns(model, ElementType[precision], arrays, settings)
    report = rounding.report(seed if is_drawn else None)
    rounding.close()
    return report


class RoundedRuns:
    """Runs of a model with some of its layers rounded."""

    def __init__(self, model: Model, short_type: ElementType, arrays: Sequence[Array], settings: Settings) -> None:
        self._model = model
        self._kind = short_type
        self._arrays = list(arrays)
        self._settings = settings
        self._walker = Walker(model, threads=settings.threads)
        self._least = float(2.0**-14 if short_type is ElementType.f16 else 2.0**-126)
        self._layers: dict[Place, RoundedLayer] = {}
        self._weights: dict[Place, list[Place]] = {}
        self._outputs = Spill()
        self.rounds = 0

    def close(self) -> None:
        self._outputs.close()

    def report(self, seed: int | None) -> PrecisionReport:
        for number, array in enumerate(self._walker.run(self._arrays, self._judge)):
            self._outputs.put(number, array)
        self.rounds += 1
        rounded = self._differences(frozenset())
        equal = all(error.is_within for error in rounded.values())
        keep: list[Place] = []
        with_kept_layers = rounded
        if not equal:
            keep = self._minimal_keep()
            with_kept_layers = self._differences(frozenset(keep))
        chosen = set(keep)
        layers = [layer.model_copy(update={"kept": layer_key in chosen}) for layer_key, layer in self._layers.items()]
        return PrecisionReport(
            model=self._model.graph.path or self._model.name,
            precision=str(self._kind),
            equal=equal,
            keep=tuple(self._layers[layer_key].path for layer_key in keep),
            proven=all(error.is_within for error in with_kept_layers.values()),
            outputs=rounded,
            kept_outputs=with_kept_layers,
            layers=tuple(layers),
            inputs={port.name: error.shape for port, error in zip(self._model.inputs, self._arrays, strict=True)},
            seed=seed,
            rounds=self.rounds,
        )

    def _judge(self, visit: Visit) -> None:
        """Record the error of one rounded layer; all other layers continue in f32."""
        node, where = visit.node, visit.where
        if self._settings.progress is not None:
            self._settings.progress(visit.path)
        if not any(_is_wide(array) for array in visit.outputs):
            return
        constants = [value.node.id for value in node.values_in if isinstance(value.node.op, Const)]
        self._weights[where.scope, node.id] = [(where.scope, id) for id in constants]
        own: Difference | None = None
        note = None
        try:
            inputs = [
                self._round_to_short(array, bounded=not isinstance(value.node.op, Const))
                for value, array in zip(node.values_in, visit.inputs, strict=True)
            ]
            outputs = self._walker.again(node, inputs) if visit.inputs and not node.bodies else visit.outputs
        except IRError as error:
            outputs, note = [], error.message
        numbers = {"overflows": 0, "flushed": 0, "subnormal": 0, "saturated": 0, "elements": 0}
        for exact, rounded in zip(visit.outputs, outputs, strict=False):
            if not _is_wide(exact) or exact.shape != rounded.shape:
                continue
            short = self._round_to_short(rounded)
            here = difference(short, exact, _own_tolerance(self._kind, self._settings))
            own = here if own is None or here.beyond > own.beyond else own
            magnitudes = np.abs(exact)
            with np.errstate(all="ignore"):
                lost = int(np.count_nonzero(np.isfinite(exact) & np.isinf(short)))
                numbers["saturated" if isinstance(node.op, Const) else "overflows"] += lost
                numbers["flushed"] += int(np.count_nonzero((exact != 0) & (short == 0)))
                numbers["subnormal"] += int(np.count_nonzero((short != 0) & (magnitudes < self._least)))
            numbers["elements"] += exact.size
        self._remember((where.scope, node.id), visit, own, numbers, note)

    def _remember(
        self, layer_key: Place, visit: Visit, own: Difference | None, numbers: dict[str, int], note: str | None
    ) -> None:
        previous = self._layers.get(layer_key)
        if previous is not None:
            numbers = {name: number + getattr(previous, name) for name, number in numbers.items()}
            if previous.own is not None and (own is None or previous.own.beyond >= own.beyond):
                own = previous.own
        node = visit.node
        self._layers[layer_key] = RoundedLayer(
            layer_id=node.id,
            layer_name=node.name,
            path=visit.path,
            type=node.type,
            own=own,
            runs=1 if previous is None else previous.runs + 1,
            note=note,
            **numbers,
        )

    def _round_to_short(self, array: Array, *, bounded: bool = False) -> Array:
        """Return an array rounded to the shorter type.

        Args:
            bounded: Keep elements beyond the range of the type, as the layer that computes them reports the overflow.
        """
        if not _is_wide(array):
            return array
        rounded = convert(convert(array, self._kind), ElementType.of(array))
        return np.where(np.isinf(rounded), array, rounded) if bounded else rounded

    def _differences(self, keep: Collection[Place]) -> dict[str, Difference]:
        """Return the error of each output with every layer rounded except these and the constants that they read."""
        kept_layers = {*keep, *(source for layer_key in keep for source in self._weights.get(layer_key, ()))}

        def lower(visit: Visit) -> list[Array] | None:
            if (visit.where.scope, visit.node.id) in kept_layers:
                return None
            return [self._round_to_short(array) for array in visit.outputs]

        self.rounds += 1
        arrays = [self._round_to_short(array) for array in self._arrays] if not keep else self._arrays
        outputs = self._walker.run(arrays, lower)
        differences = {}
        for number, (port, array) in enumerate(zip(self._model.outputs, outputs, strict=True)):
            exact = self._outputs.get(number)
            assert exact is not None, "the first run stored all outputs"
            kinds = (ElementType.of(array), self._kind) if ElementType.of(array).is_float else (ElementType.of(array),)
            tolerance = self._settings.user_tolerance
            differences[port.name] = difference(array, exact, tolerance_of(kinds) if tolerance is None else tolerance)
        return differences

    def holds(self, keep: Sequence[Place]) -> bool:
        return all(difference.is_within for difference in self._differences(frozenset(keep)).values())

    def _minimal_keep(self) -> list[Place]:
        """Return a minimal set of layers to keep in f32; all layers if these do not suffice."""
        places = [layer_key for layer_key, layer in self._layers.items() if canonical(layer.type) != "Const"]
        if not self.holds(places):
            return places
        return minimize(
            places, self.holds, importance=lambda layer_key: _harm(self._layers[layer_key]), limit=MOST_TRIALS
        ).items


def _is_wide(array: Array) -> bool:
    return array.dtype in (np.float32, np.float64)


def _own_tolerance(short_type: ElementType, settings: Settings) -> Tolerance:
    """Return the tolerance for rounding the inputs and the outputs of a layer once."""
    if settings.user_tolerance is not None:
        return settings.user_tolerance
    step = 2.0**-10 if short_type is ElementType.f16 else 2.0**-7
    return Tolerance(rtol=2 * step, scale=4 * step)


def _harm(layer: RoundedLayer) -> tuple[int, float, float]:
    own = layer.own
    if own is None:
        return 0, 0.0, 0.0
    noise = -own.sqnr_db if own.sqnr_db is not None else (-1000.0 if not own.max_abs else 1000.0)
    return layer.overflows + layer.saturated, own.beyond, noise
