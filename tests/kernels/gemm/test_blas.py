"""The limit of BLAS to one thread: set once it is needed, and taken back by the last run that holds it."""

from __future__ import annotations

import multiprocessing
import threading
from collections.abc import Callable, Iterator

import numpy as np
import pytest
from threadpoolctl import ThreadpoolController, threadpool_limits

from ir_exec.kernels.gemm import blas
from ir_exec.kernels.gemm.blas import CLAIM, BlasThreadLimit, blas_is_single_threaded


def threads_of_blas() -> set[int]:
    return {library["num_threads"] for library in ThreadpoolController().select(user_api="blas").info()}


@pytest.fixture(autouse=True)
def three_threads() -> Iterator[None]:
    """BLAS has a number of threads that nothing else gives it."""
    with threadpool_limits(3, user_api="blas"):
        if threads_of_blas() != {3}:
            pytest.skip("threadpoolctl knows no BLAS here")
        yield


@pytest.fixture
def claims() -> Iterator[Callable[[], BlasThreadLimit]]:
    limits: list[BlasThreadLimit] = []

    def make() -> BlasThreadLimit:
        limits.append(BlasThreadLimit())
        return limits[-1]

    yield make
    for claim in limits:
        claim.release()


def test_blas_has_one_thread_during_claim(claims: Callable[[], BlasThreadLimit]) -> None:
    claim = claims()
    assert threads_of_blas() == {3}, "a claim that nobody needs changes nothing"
    assert claim.hold()
    assert claim.hold()
    assert threads_of_blas() == {1}
    claim.release()
    assert threads_of_blas() == {3}


def test_the_last_of_several_claims_gives_the_threads_back(claims: Callable[[], BlasThreadLimit]) -> None:
    first, second = claims(), claims()
    first.hold()
    second.hold()
    first.release()
    first.release()
    assert threads_of_blas() == {1}
    second.release()
    assert threads_of_blas() == {3}


def test_claim_may_end_on_another_thread(claims: Callable[[], BlasThreadLimit]) -> None:
    first, second = claims(), claims()
    first.hold()
    begun, ended = threading.Event(), threading.Event()

    def other() -> None:
        second.hold()
        begun.set()
        ended.wait(30)
        second.release()

    thread = threading.Thread(target=other)
    thread.start()
    begun.wait(30)
    first.release()
    assert threads_of_blas() == {1}
    ended.set()
    thread.join()
    assert threads_of_blas() == {3}


def test_released_claim_cannot_be_held(claims: Callable[[], BlasThreadLimit]) -> None:
    claim = claims()
    claim.release()
    assert not claim.hold()
    assert threads_of_blas() == {3}


def test_blas_is_single_threaded_in_a_run_only(claims: Callable[[], BlasThreadLimit]) -> None:
    assert not blas_is_single_threaded()
    token = CLAIM.set(claims())
    try:
        assert blas_is_single_threaded()
    finally:
        CLAIM.reset(token)


def test_unlimited_blas_keeps_its_threads(
    monkeypatch: pytest.MonkeyPatch, claims: Callable[[], BlasThreadLimit]
) -> None:
    claim = claims()
    with monkeypatch.context() as patch:
        patch.setattr(blas, "blas_libraries", lambda: ())
        patch.setattr(blas, "LIMIT", blas.ThreadCounts())
        assert not claim.hold()
        claim.release()
    assert threads_of_blas() == {3}


def test_limit_of_blas_includes_settings_of_other_threads(
    claims: Callable[[], BlasThreadLimit],
) -> None:
    observed: list[tuple[bool, set[int]]] = []

    def other() -> None:
        claim = claims()
        observed.append((claim.hold(), threads_of_blas()))
        claim.release()

    thread = threading.Thread(target=other)
    thread.start()
    thread.join(30)
    ((is_held, numbers),) = observed
    assert is_held == (numbers == {1})
    assert threads_of_blas() == {3}


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="there is no fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_fork_of_running_process_restores_blas_threads(claims: Callable[[], BlasThreadLimit]) -> None:
    claims().hold()
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=lambda: sender.send((threads_of_blas(), float(np.ones((9, 9)).sum()))))
    process.start()
    actual = receiver.recv() if receiver.poll(60) else None
    process.join(60)
    assert actual == ({3}, 81.0)
    assert threads_of_blas() == {1}
