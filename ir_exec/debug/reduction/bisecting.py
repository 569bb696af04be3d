"""Search for the compiler passes that change results compared with the layers of the file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np

from ir_exec.codes import Code
from ir_exec.debug.comparison.metrics import Difference, Settings, difference, same_bits
from ir_exec.debug.reduction.minimizing import minimize
from ir_exec.errors import EvaluationError
from ir_exec.graph import Node
from ir_exec.model import Model, Source, read_model
from ir_exec.plan.pipeline import PASSES
from ir_exec.plan.records import Step
from ir_exec.report.records import Record
from ir_exec.runtime.arguments import Inputs
from ir_exec.runtime.calls import bind_calls
from ir_exec.runtime.compiled import CompiledModel
from ir_exec.types import Array, ElementType

__all__ = ["PassBisection", "PassEffect", "PassLayer", "PassOutput", "bisect_passes"]


class PassOutput(Record):
    """An output of the model.

    Attributes:
        error: The difference from the output with `optimize=False`.
    """

    name: str
    error: Difference


class PassLayer(Record):
    """A step created by a pass.

    Attributes:
        name: The last layer that it computes.
        computes: All layers that it computes.
        own: The difference from these layers for their inputs in a run without passes; None in bodies, and if an input
            of the step is not a value of such a run.
    """

    name: str
    type: str
    computes: tuple[str, ...]
    own: Difference | None = None


class PassEffect(Record):
    """A pass that changes results, or several passes that change results only in combination.

    Attributes:
        outputs: The outputs of a plan with these passes only.
        layers: The steps that they created, the largest errors first.
    """

    passes: tuple[str, ...]
    exactness: Literal["bit-exact", "rounding"]
    outputs: tuple[PassOutput, ...]
    layers: tuple[PassLayer, ...]

    @property
    def is_fault(self) -> bool:
        """True if an output is beyond the tolerance, or if a bit-exact pass changes an output."""
        return self.exactness == "bit-exact" or not all(output.error.is_within for output in self.outputs)


class PassBisection(Record):
    """The passes that change any bit of the outputs of a model, compared with `optimize=False`.

    Attributes:
        outputs: The outputs of the plan with all passes.
        effects: The effects of passes, faults first.
        runs: The number of runs of the model.
    """

    format: Literal[1] = 1
    outputs: tuple[PassOutput, ...]
    effects: tuple[PassEffect, ...]
    runs: int

    @property
    def is_within(self) -> bool:
        """True if no pass is faulty: all differences are rounding."""
        return not any(effect.is_fault for effect in self.effects)


def bisect_passes(
    model: Model | Source,
    inputs: Inputs | None = None,
    *,
    rtol: float | None = None,
    atol: float | None = None,
    threads: int | None = None,
    progress: Callable[[str], None] | None = None,
) -> PassBisection:
    """Find the passes of the compiler that change the outputs of a model.

    Passes are removed in halves, quarters and so on, until a plan with the remaining passes differs from
    `optimize=False` and no single pass can be removed. Then the other passes are searched. The model runs about ten
    times per pass found.

    Args:
        inputs: As for a call of a CompiledModel.
        rtol: Replace the tolerances derived from element types.
        atol: Replace the tolerances derived from element types.
        threads: As for `compile_model`.
        progress: Called with the passes of each run.

    Raises:
        IRError: What reading and running the model raises.
        EvaluationError: If two runs without passes differ.
    """
    model = model if isinstance(model, Model) else read_model(model)
    model, (arrays,), _ = bind_calls(model, inputs)
    search = _PassSearch(model, arrays, Settings(rtol=rtol, atol=atol), threads, progress)
    candidates = [entry.name for entry in PASSES if entry.is_selectable and not entry.is_plain]
    if search.differs([]):
        raise EvaluationError(
            "two runs without passes differ", expected="a model without random operators", code=Code.bad_value
        )
    effects = []
    outputs = search.find_changes(candidates)
    left = candidates
    while search.differs(left):
        culprits = minimize(left, search.differs).items
        effects.append(search.effect(culprits))
        left = [name for name in left if name not in culprits]
    effects.sort(key=lambda effect: not effect.is_fault)
    return PassBisection(outputs=outputs, effects=tuple(effects), runs=search.runs)


class _FusedSteps(NamedTuple):
    """The steps of a plan that compute several layers, by their last layers, and the values to record."""

    steps: dict[Node, Step]
    wanted: frozenset[int]


class _PassSearch:
    def __init__(
        self,
        model: Model,
        arrays: Sequence[Array],
        settings: Settings,
        threads: int | None,
        progress: Callable[[str], None] | None,
    ) -> None:
        self.runs = 0
        self._model = model
        self._arrays = arrays
        self._settings = settings
        self._threads = threads
        self._progress = progress
        self._exactness = {compiler_pass.name: compiler_pass.exactness for compiler_pass in PASSES}
        self._found: dict[frozenset[str], tuple[Array, ...]] = {}
        self._plain = self._run(CompiledModel(model, optimize=False, threads=threads), "no passes")

    def _run(self, compiled: CompiledModel, what: str) -> tuple[Array, ...]:
        self.runs += 1
        if self._progress is not None:
            self._progress(what)
        return compiled(list(self._arrays)).to_tuple()

    def _outputs(self, passes: Sequence[str]) -> tuple[Array, ...]:
        key = frozenset(passes)
        if key not in self._found:
            compiled = CompiledModel(self._model, passes=self._without_others(key), threads=self._threads)
            self._found[key] = self._run(compiled, ", ".join(passes) or "no passes")
        return self._found[key]

    def _without_others(self, passes: frozenset[str]) -> str:
        others = [
            entry.name for entry in PASSES if entry.is_selectable and not entry.is_plain and entry.name not in passes
        ]
        return ",".join(f"-{name}" for name in others)

    def differs(self, passes: Sequence[str]) -> bool:
        """Return True if a bit of an output changes."""
        pairs = zip(self._outputs(passes), self._plain, strict=True)
        return not all(same_bits(ours, plain) for ours, plain in pairs)

    def find_changes(self, passes: Sequence[str]) -> tuple[PassOutput, ...]:
        """Return the differences of the outputs from those without passes."""
        outputs = []
        for port, ours, plain in zip(self._model.outputs, self._outputs(passes), self._plain, strict=True):
            tolerance = self._settings.carried_tolerance([ElementType.of(plain)])
            outputs.append(PassOutput(name=port.name, error=difference(ours, plain, tolerance)))
        return tuple(outputs)

    def effect(self, passes: Sequence[str]) -> PassEffect:
        """Return the effect of these passes."""
        is_exact = all(self._exactness[name] == "bit-exact" for name in passes)
        layers = sorted(self._layers(passes), key=_severity)
        return PassEffect(
            passes=tuple(passes),
            exactness="bit-exact" if is_exact else "rounding",
            outputs=self.find_changes(passes),
            layers=tuple(layers),
        )

    def _layers(self, passes: Sequence[str]) -> Iterator[PassLayer]:
        fused = self._fuse_steps(passes)
        values: dict[int, Array] = {}
        top = frozenset(self._model.graph.nodes)

        def observe(node: Node, inputs: list[Array], outputs: list[Array]) -> None:
            if node in top:
                every = [*zip(node.values_in, inputs, strict=False), *zip(node.outputs, outputs, strict=False)]
                values.update({value.number: array for value, array in every if value.number in fused.wanted})

        compiled = CompiledModel(self._model, optimize=False, threads=self._threads)
        if fused.steps:
            self.runs += 1
            compiled(list(self._arrays), observe=observe)
        names = self._model.graph.node_paths()
        for node, step in fused.steps.items():
            yield PassLayer(
                name=names[node],
                type=node.type,
                computes=tuple(names[member] for member in step.members or (node,)),
                own=self._own(step, values) if node in top else None,
            )

    def _fuse_steps(self, passes: Sequence[str]) -> _FusedSteps:
        steps: dict[Node, Step] = {}

        def watch(step: Step) -> Step:
            if step.made_by in passes:
                steps[step.node] = step
            return step

        chosen = self._without_others(frozenset(passes))
        self._run(CompiledModel(self._model, passes=chosen, threads=self._threads, instrument=watch), ", ".join(passes))
        observed = frozenset(number for step in steps.values() for number in (*step.inputs, *step.outputs))
        return _FusedSteps(steps, observed)

    def _own(self, step: Step, values: Mapping[int, Array]) -> Difference | None:
        """Return the difference of a step from its layers for the same inputs; None without recorded inputs."""
        if not all(number in values for number in (*step.inputs, *step.outputs)):
            return None
        with np.errstate(all="ignore"):
            result = step.evaluate(*[values[number] for number in step.inputs])
        ours = result[0] if isinstance(result, tuple) else result
        plain = values[step.outputs[0]]
        return difference(ours, plain, self._settings.chain_tolerance([ElementType.of(plain)]))


def _severity(layer: PassLayer) -> tuple[bool, float]:
    error = layer.own
    if error is None:
        return True, 0.0
    return error.is_within, error.sqnr_db if isinstance(error.sqnr_db, float) else np.inf
