"""Search for graph optimizers, with a substitute for the runtime, in which optimizers are faulty."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import pytest

from ir_exec import EvaluationError
from ir_exec.debug.reduction.optimizers import MOST_SESSIONS, SessionResult, search_optimizers
from tests.helpers.facts import coded

RULES = "Level1_RuleBasedTransformer"
NAMES = tuple([f"Fusion{number}" for number in range(9)])


@dataclass
class FaultyRuntime:
    """A runtime whose outputs are wrong depending on the optimizers that are not disabled."""

    is_faulty: Callable[[frozenset[str]], bool]
    applied: Sequence[str] = NAMES
    refuses: bool = False
    log_end: str = ""
    title: str = "runtime 1"
    operators: frozenset[str] = frozenset()
    sessions: list[tuple[str, ...]] = field(default_factory=list)

    def run(self, *, is_optimized: bool, disabled: Sequence[str] = (), logs: bool = False) -> SessionResult:
        self.sessions.append(tuple(disabled))
        lines = [
            f"Applying graph transformer {name} on step 1.\nGraphTransformer {name} modified: 1"
            for name in self.applied
        ]
        lines += ["Applying graph transformer Other on step 1.", "GraphTransformer Other modified: 0", self.log_end]
        log = "\n".join(lines) if logs else ""
        is_wrong = is_optimized and self.is_faulty(frozenset(disabled))
        if is_wrong and self.refuses:
            return SessionResult(refusal="invalid graph", log=log)
        return SessionResult({"y": np.float32([1, 2, 3 + is_wrong])}, log=log)


def without(*names: str) -> Callable[[frozenset[str]], bool]:
    """Return True unless all of these are disabled."""
    return lambda disabled: not disabled.issuperset(names)


@pytest.mark.parametrize("refuses", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_one_faulty_optimizer(name: str, refuses: bool) -> None:
    runtime = FaultyRuntime(without(name), refuses=refuses)
    report = search_optimizers(runtime)
    assert (report.optimizers, report.is_minimal) == ((name,), True)
    assert report.verdict == ("refused" if refuses else "different")
    assert report.applied == NAMES
    assert report.sessions == len(runtime.sessions) <= 8
    assert [output.error.max_abs for output in report.outputs] == ([] if refuses else [1])


@pytest.mark.parametrize(("left", "right"), [(0, 8), (3, 4), (7, 8)])
def test_two_optimizers_that_are_both_faulty(left: int, right: int) -> None:
    names = NAMES[left], NAMES[right]
    report = search_optimizers(FaultyRuntime(without(*names)))
    assert set(report.optimizers) == set(names)
    assert report.is_minimal
    assert report.sessions <= MOST_SESSIONS


def test_two_optimizers_that_are_faulty_together() -> None:
    """The removal of either one is enough."""
    report = search_optimizers(FaultyRuntime(lambda disabled: disabled.isdisjoint({"Fusion2", "Fusion6"})))
    assert report.optimizers == ("Fusion2",)


@pytest.mark.parametrize("rule", ["EliminateIdentity", "DivMulFusion", "ReluQuantRewrite"])
def test_rule_of_a_transformer(rule: str) -> None:
    runtime = FaultyRuntime(lambda disabled: disabled.isdisjoint({RULES, rule}), applied=(RULES, "A", "B"))
    report = search_optimizers(runtime)
    assert (report.optimizers, report.is_minimal) == ((rule,), True)
    assert report.sessions <= MOST_SESSIONS


def test_rules_of_the_model_are_tried_first() -> None:
    runtime = FaultyRuntime(lambda disabled: disabled.isdisjoint({RULES, "ReluQuantRewrite"}), applied=(RULES,))
    sessions = search_optimizers(runtime).sessions
    runtime.operators = frozenset({"Relu", "QuantizeLinear"})
    assert search_optimizers(runtime).sessions <= sessions


def test_rule_that_is_not_known() -> None:
    report = search_optimizers(FaultyRuntime(lambda disabled: RULES not in disabled, applied=("A", RULES)))
    assert report.optimizers == (RULES,)


def test_limit_of_sessions() -> None:
    runtime = FaultyRuntime(without("Fusion7"))
    report = search_optimizers(runtime, limit=4)
    assert report.sessions == len(runtime.sessions) == 4
    assert not report.is_minimal
    assert set(report.optimizers) in (set(), set(NAMES[:8]))


def test_optimizers_that_are_not_in_the_log() -> None:
    report = search_optimizers(FaultyRuntime(lambda disabled: True))
    assert (report.verdict, report.optimizers) == ("different", ())
    assert report.sessions <= MOST_SESSIONS


def test_optimizer_that_runs_when_the_log_ends() -> None:
    runtime = FaultyRuntime(without("Crash"), refuses=True, log_end="Applying graph transformer Crash on step 2.")
    report = search_optimizers(runtime)
    assert report.optimizers == ("Crash",)
    assert report.applied == (*NAMES, "Crash")


def test_equal_outputs() -> None:
    report = search_optimizers(FaultyRuntime(lambda disabled: False))
    assert (report.verdict, report.optimizers, report.sessions) == ("equal", (), 2)


def test_tolerance() -> None:
    assert search_optimizers(FaultyRuntime(without("Fusion1")), atol=1.5).verdict == "equal"


def test_model_that_does_not_run_without_optimizers() -> None:
    class Refusing(FaultyRuntime):
        def run(self, *, is_optimized: bool, disabled: Sequence[str] = (), logs: bool = False) -> SessionResult:
            return SessionResult(refusal="no kernel")

    with pytest.raises(EvaluationError) as error:
        search_optimizers(Refusing(lambda disabled: False))
    assert coded("IR704")(error.value)
