"""The number of threads of a run, and that it makes no difference to its results."""

from __future__ import annotations

import numpy as np
import pytest
from threadpoolctl import ThreadpoolController

import ir_exec
from ir_exec.errors import EvaluationError
from ir_exec.kernels.parallel import THREADS
from ir_exec.runtime.threads import chosen_threads
from ir_exec.tuning.machine import machine
from tests.conformance.build import IRFile, build
from tests.conformance.case import Case
from tests.helpers.facts import fault_with, mentions


def test_the_caller_the_environment_the_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("IR_EXEC_THREADS", raising=False)
    assert chosen_threads() == machine().cores
    monkeypatch.setenv("IR_EXEC_THREADS", " 3 ")
    assert chosen_threads() == 3
    assert chosen_threads(2) == 2


@pytest.mark.parametrize(
    ("threads", "text", "fault"),
    [
        (0, None, fault_with("threads", actual=0, expected="1 or more")),
        (None, "-1", fault_with("IR_EXEC_THREADS", actual=-1, expected="1 or more")),
        (None, "many", fault_with("IR_EXEC_THREADS", actual="'many'", expected=mentions())),
    ],
)
def test_numbers_that_make_no_sense(
    monkeypatch: pytest.MonkeyPatch, threads: int | None, text: str | None, fault: fault_with
) -> None:
    monkeypatch.setenv("IR_EXEC_THREADS", text or "1")
    with pytest.raises(EvaluationError) as caught:
        chosen_threads(threads)
    assert (caught.value, caught.value.code) == (fault, "IR704")


def test_run_has_threads_of_its_network() -> None:
    generator = np.random.default_rng(0)
    data = generator.normal(size=(300, 1000)).astype(np.float32)
    indices = generator.integers(0, 1000, (300, 1000))
    file = build(Case("GatherElements", 6, (data, indices), {"axis": 1}))
    expected = np.take_along_axis(data, indices, 1)
    seen = []
    for threads in (1, 2, 3):
        compiled = ir_exec.compile_model(file.xml, weights=file.weights, threads=threads)
        outputs = compiled(list(file.inputs), observe=lambda *_: seen.append(THREADS.get()))
        assert np.array_equal(outputs[0], expected)
        assert THREADS.get() == 1
    assert seen == [1, 2, 3]


def threads_of_blas() -> set[int]:
    return {library["num_threads"] for library in ThreadpoolController().select(user_api="blas").info()}


def product(size: int) -> IRFile:
    a, b = np.random.default_rng(0).normal(size=(2, size, size)).astype(np.float32)
    return build(Case("MatMul", 1, (a, b), {}))


def test_blas_works_on_one_thread_while_a_network_runs() -> None:
    file = product(300)
    expected = file.inputs[0].astype(np.float64) @ file.inputs[1]
    before = threads_of_blas()
    seen = []
    compiled = ir_exec.compile_model(file.xml, weights=file.weights, threads=2)
    outputs = compiled(list(file.inputs), observe=lambda *_: seen.append(threads_of_blas()))
    assert np.allclose(outputs[0], expected, rtol=1e-4, atol=1e-3)
    assert all(numbers <= {1} for numbers in seen)
    assert threads_of_blas() == before


def test_blas_has_its_threads_again_after_an_exception() -> None:
    file = product(300)
    before = threads_of_blas()

    def fail(*_: object) -> None:
        raise RuntimeError("the observer fails")

    compiled = ir_exec.compile_model(file.xml, weights=file.weights)
    with pytest.raises(RuntimeError):
        compiled(list(file.inputs), observe=fail)
    assert threads_of_blas() == before


def test_results_are_equal_on_any_number_of_threads() -> None:
    file = product(700)
    outputs = [
        ir_exec.compile_model(file.xml, weights=file.weights, threads=threads)(list(file.inputs))[0]
        for threads in (1, 2, 5)
    ]
    assert np.array_equal(outputs[0], outputs[1])
    assert np.array_equal(outputs[0], outputs[2])
