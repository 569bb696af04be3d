"""Search for the graph optimizers of onnxruntime that change the outputs of a model."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from ir_exec.codes import Code
from ir_exec.debug.comparison.metrics import Settings, difference
from ir_exec.debug.reduction.bisecting import PassOutput
from ir_exec.debug.reduction.minimizing import bisect_count
from ir_exec.errors import EvaluationError
from ir_exec.report.records import Record
from ir_exec.types import Array, ElementType

__all__ = [
    "MOST_SESSIONS",
    "OptimizerBisection",
    "OptimizerRuntime",
    "ReducedPart",
    "SessionResult",
    "output_differences",
    "search_optimizers",
]

MOST_SESSIONS = 12
"""Maximum sessions of onnxruntime in a search."""

_RULES = (
    "EliminateIdentity",
    "EliminateSlice",
    "UnsqueezeElimination",
    "EliminateDropout",
    "ExpandElimination",
    "CastElimination",
    "CastChainElimination",
    "PreShapeNodeElimination",
    "NoopElimination",
    "DivMulFusion",
    "FuseReluClip",
    "GemmSumFusion",
    "GemmTransposeFusion",
    "NotWhereFusion",
    "ConvAddFusion",
    "ConvMulFusion",
    "ConvBNFusion",
    "Pad_Fusion",
    "MatMul_BatchNormalization_Fusion",
    "LabelEncoderFusion",
    "ClipQuantRewrite",
    "ReluQuantRewrite",
)
"""The rules inside of Level1_RuleBasedTransformer, which the log does not name (onnxruntime 1.32). Names that a release
does not have are ignored by it."""

_HAS_RULES = re.compile(r"Level\d+_RuleBasedTransformer")

_LOGGED = re.compile(r"Applying graph transformer (\S+) on step|GraphTransformer (\S+) modified: (\d)")


@dataclass(frozen=True)
class SessionResult:
    """The result of a session.

    Attributes:
        outputs: By name; None if onnxruntime refuses the model or crashes.
        refusal: The message of the error or crash.
        log: The log of the optimizers, if requested.
    """

    outputs: Mapping[str, Array] | None = None
    refusal: str | None = None
    log: str = ""


class OptimizerRuntime(Protocol):
    """Runs a model with some graph optimizers.

    Attributes:
        title: The name and version of the program.
        operators: The operators of the model.
    """

    title: str
    operators: frozenset[str]

    def run(self, *, is_optimized: bool, disabled: Sequence[str] = (), logs: bool = False) -> SessionResult:
        """Return the outputs.

        Args:
            is_optimized: False for a run without optimizers.
            disabled: The names of optimizers to leave out.
            logs: Request the log.
        """


class ReducedPart(Record):
    """The smallest part of the model whose outputs the optimizers change.

    Attributes:
        nodes: The number of its nodes, excluding Constants.
        before: The number of nodes of the complete model, with this exclusion.
        runs: The number of parts that were tested, each in two sessions.
        operators: The operators of its nodes.
        written: The files.
    """

    nodes: int
    before: int
    runs: int
    operators: tuple[str, ...]
    written: tuple[str, ...]


class OptimizerBisection(Record):
    """The graph optimizers that change the outputs of a model, compared with a run without optimizers.

    Attributes:
        runtime: The name and version of the program.
        verdict: equal: the outputs agree with those without optimizers. different: they differ. refused: the program
            refuses the model with its optimizers only, or crashes.
        refusal: The message of the program for the model with all optimizers.
        outputs: The differences of the outputs with all optimizers; empty for a refused model.
        applied: The optimizers that changed the graph, in the order of their application.
        optimizers: The smallest set that was found without which the outputs agree; empty if there is none.
        is_minimal: False if the limit of sessions ended the search, so that a rule or a smaller set may suffice.
        sessions: The number of sessions.
        reduced: The smallest part that was found, if it was requested.
    """

    format: Literal[1] = 1
    runtime: str
    verdict: Literal["equal", "different", "refused"]
    refusal: str | None = None
    outputs: tuple[PassOutput, ...] = ()
    applied: tuple[str, ...] = ()
    optimizers: tuple[str, ...] = ()
    is_minimal: bool = True
    sessions: int
    reduced: ReducedPart | None = None


def search_optimizers(
    runtime: OptimizerRuntime,
    *,
    rtol: float | None = None,
    atol: float | None = None,
    limit: int = MOST_SESSIONS,
    progress: Callable[[str], None] | None = None,
) -> OptimizerBisection:
    """Find the graph optimizers whose removal makes the outputs agree with those without optimizers.

    Candidates are the optimizers that changed the graph according to the log, and the rules of a transformer of rules.
    They are bisected: the first ones are disabled, as few as suffice.

    Args:
        rtol: Replace the tolerances derived from element types.
        atol: Replace the tolerances derived from element types.
        limit: Maximum number of sessions, at least 2.
        progress: Called with the disabled optimizers before each session.

    Raises:
        EvaluationError: If the program does not run the model without optimizers.
    """
    search = _OptimizerSearch(runtime, Settings(rtol=rtol, atol=atol), limit, progress)
    return search.bisect()


def output_differences(
    outputs: Mapping[str, Array], plain: Mapping[str, Array], settings: Settings
) -> tuple[PassOutput, ...]:
    """Return the differences of outputs from those of a run without optimizers."""
    differences = []
    for name, array in outputs.items():
        tolerance = settings.carried_tolerance([ElementType.of(array), ElementType.of(plain[name])])
        differences.append(PassOutput(name=name, error=difference(array, plain[name], tolerance)))
    return tuple(differences)


class _LimitReachedError(Exception):
    """The limit of sessions."""


@dataclass
class _OptimizerSearch:
    runtime: OptimizerRuntime
    settings: Settings
    limit: int
    progress: Callable[[str], None] | None
    sessions: int = 0
    results: dict[frozenset[str], bool] = field(default_factory=dict)
    plain: Mapping[str, Array] = field(default_factory=dict)

    def bisect(self) -> OptimizerBisection:
        plain = self._run(is_optimized=False)
        if plain.outputs is None:
            message = f"{self.runtime.title} does not run the model without optimizers: {plain.refusal}"
            raise EvaluationError(message, expected="a model that runs without them", code=Code.bad_value)
        self.plain = plain.outputs
        optimized = self._run(is_optimized=True, logs=True)
        outputs = self._differences(optimized.outputs)
        verdict: Literal["equal", "different", "refused"] = "refused" if optimized.outputs is None else "equal"
        if not all(output.error.is_within for output in outputs):
            verdict = "different"
        applied = list_applied(optimized.log)
        culprits, is_minimal = self._find(applied) if verdict != "equal" else ((), True)
        return OptimizerBisection(
            runtime=self.runtime.title,
            verdict=verdict,
            refusal=optimized.refusal,
            outputs=outputs,
            applied=applied,
            optimizers=culprits,
            is_minimal=is_minimal,
            sessions=self.sessions,
        )

    def _run(self, *, is_optimized: bool, disabled: Sequence[str] = (), logs: bool = False) -> SessionResult:
        if self.sessions == self.limit:
            raise _LimitReachedError
        self.sessions += 1
        if self.progress is not None:
            self.progress(f"without {', '.join(disabled)}" if disabled else "all optimizers")
        return self.runtime.run(is_optimized=is_optimized, disabled=disabled, logs=logs)

    def _differences(self, outputs: Mapping[str, Array] | None) -> tuple[PassOutput, ...]:
        return () if outputs is None else output_differences(outputs, self.plain, self.settings)

    def _agrees(self, disabled: Sequence[str]) -> bool:
        """Return True if the outputs agree without some optimizers."""
        key = frozenset(disabled)
        if key not in self.results:
            outputs = self._run(is_optimized=True, disabled=disabled).outputs
            differences = self._differences(outputs)
            self.results[key] = outputs is not None and all(output.error.is_within for output in differences)
        return self.results[key]

    def _find(self, candidates: Sequence[str]) -> tuple[tuple[str, ...], bool]:
        """Return the smallest set of optimizers without which the outputs agree, and True if none of it can remain."""
        culprits: tuple[str, ...] = ()
        try:
            culprits = self._fewest(candidates)
            for name in filter(_HAS_RULES.fullmatch, culprits):
                others = tuple([culprit for culprit in culprits if culprit != name])
                culprits = self._fewest(_order_rules(self.runtime.operators), others) or culprits
        except _LimitReachedError:
            agreeing = [key for key, agrees in self.results.items() if agrees]
            smallest = min(agreeing, key=len, default=frozenset(culprits))
            return tuple([name for name in (*candidates, *_RULES) if name in smallest]), False
        return culprits, True

    def _fewest(self, candidates: Sequence[str], others: tuple[str, ...] = ()) -> tuple[str, ...]:
        """Return the fewest of these optimizers that suffice, with `others`; () if all of them do not suffice.

        The last one of the first ones that suffice is necessary. Alone, it often suffices; else the others of a set
        are searched in the same way.
        """
        necessary = others
        remaining = list(candidates)
        while remaining and not (len(necessary) > len(others) and self._agrees(necessary)):
            count = self._count_first(remaining, necessary)
            if count is None:
                return ()
            necessary = (*necessary, remaining[count - 1])
            remaining = remaining[: count - 1]
        return necessary if self._agrees(necessary) else ()

    def _count_first(self, candidates: Sequence[str], necessary: tuple[str, ...]) -> int | None:
        """Return how many of the first candidates suffice; None if all of them do not suffice."""
        count = bisect_count(lambda count: self._agrees((*necessary, *candidates[:count])), 0, len(candidates))
        return count if self._agrees((*necessary, *candidates[:count])) else None


def _order_rules(operators: frozenset[str]) -> tuple[str, ...]:
    """Return the rules, those first whose names contain an operator of the model."""
    return tuple(sorted(_RULES, key=lambda rule: not any(operator in rule for operator in operators)))


def list_applied(log: str) -> tuple[str, ...]:
    """Return the optimizers that changed the graph, and the one that ran when the log ended."""
    applied: dict[str, None] = {}
    running: str | None = None
    for match in _LOGGED.finditer(log):
        running, ended, modified = match.groups()
        if modified == "1":
            applied[ended] = None
    if running is not None:
        applied[running] = None
    return tuple(applied)
