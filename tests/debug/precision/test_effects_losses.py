"""The loss of outputs: divergences of logits and probabilities, and noise of other values."""

from __future__ import annotations

import numpy as np
import pytest

from ir_exec import build
from ir_exec.debug.precision.effects import LossKind, OutputLosses, kinds_of_outputs
from ir_exec.errors import EvaluationError
from tests.helpers.facts import coded, naming

LOGITS = np.array([[0.0, 1.0, 2.0], [3.0, 0.0, 0.0]], np.float32)
OTHER = np.array([[2.0, 1.0, 0.0], [3.0, 0.0, 0.5]], np.float32)


def softmax(array: np.ndarray) -> np.ndarray:
    exponentials = np.exp(array.astype(np.float64))
    return exponentials / exponentials.sum(-1, keepdims=True)


def divergence(plain: np.ndarray, actual: np.ndarray) -> float:
    p, q = softmax(plain), softmax(actual)
    return float((p * np.log(p / q)).sum(-1).mean())


@pytest.mark.parametrize("loss_kind", ["logits", "probabilities"])
def test_distributions(loss_kind: LossKind) -> None:
    outputs = [logits if loss_kind == "logits" else softmax(logits).astype(np.float32) for logits in (LOGITS, OTHER)]
    loss = OutputLosses(["y"], [loss_kind], [[outputs[0]]]).of([[outputs[1]]])
    assert loss.kl == pytest.approx(divergence(LOGITS, OTHER), rel=1e-4)
    assert (loss.loss, loss.top1_changes, loss.output) == (loss.kl, 0.5, "y")


def test_values() -> None:
    plain, changed = np.full(100, 10, np.float32), np.full(100, 11, np.float32)
    loss = OutputLosses(["y"], ["values"], [[plain], [plain]]).of([[changed], [plain]])
    assert loss.loss == pytest.approx(0.005)
    assert loss.sqnr_db == pytest.approx(10 * np.log10(200))
    assert (loss.kl, loss.top1_changes) == (None, None)
    same = OutputLosses(["y"], ["values"], [[plain]]).of([[plain]])
    assert (same.loss, same.sqnr_db) == (0, None)


def test_nan_is_an_infinite_loss() -> None:
    plain = np.ones(3, np.float32)
    loss = OutputLosses(["y"], ["values"], [[plain]]).of([[np.array([1, np.nan, 1], np.float32)]])
    assert loss.loss == np.inf or loss.loss == "inf"


def test_another_shape_is_an_error() -> None:
    losses = OutputLosses(["y"], ["values"], [[np.ones((2, 3), np.float32)]])
    with pytest.raises(EvaluationError, match=naming("y", "[2, 3]", "[2, 4]"), check=coded("IR705")):
        losses.of([[np.ones((2, 4), np.float32)]])


@pytest.mark.parametrize("output", [np.ones((0, 3), np.float32), np.array(["text"], object)])
def test_no_numbers_are_an_error(output: np.ndarray) -> None:
    with pytest.raises(EvaluationError, match=naming("y"), check=coded("IR705")):
        OutputLosses(["y"], ["values"], [[output]]).of([[output]])
    numbers = np.ones(3, np.float32)
    loss = OutputLosses(["y", "z"], ["values"] * 2, [[output, numbers]]).of([[output, 2 * numbers]])
    assert (loss.loss, loss.output) == (1, "z")


def test_classification_of_outputs() -> None:
    x = build.parameter([2, 5], "f32", name="x")
    results = [
        build.result(build.softmax(x, axis=1), name="shares"),
        build.result(build.reshape(build.log_softmax(x, axis=1), [5, 2], special_zero=False), name="logs"),
        build.result(build.relu(x), name="my_logits"),
        build.result(build.tanh(x), name="y"),
    ]
    assert kinds_of_outputs(build.model(results)) == ["probabilities", "probabilities", "logits", "values"]
