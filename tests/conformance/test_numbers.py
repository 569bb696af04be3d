"""Every case once more, with the numbers replaced by which kernels choose how to work: the answers stay.

The tensors of the tables are small: with the numbers as they are, kernels do not split them, nor take the
ways for many elements.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pytest

import ir_exec
from ir_exec.kernels.gemm.tiles import tile_size
from ir_exec.runtime.threads import RunThreads
from ir_exec.tuning import thresholds
from ir_exec.types import Array, ElementType, TensorType
from tests.conformance.case import Case
from tests.conformance.checks import answer_of, can_be_asked
from tests.conformance.compare import value_faults
from tests.conformance.networks import arrays, missing_operators, networks
from tests.conformance.numbers import NUMBERS, cut, mix, replace_thresholds, without_cuts
from tests.conformance.oracle import Oracle, Refused
from tests.conformance.ours import operator
from tests.conformance.sample import each_part, part
from tests.conformance.test_networks import output_fault

each_part_of_a_table = pytest.mark.parametrize(("family", "is_sampled"), each_part())


@each_part_of_a_table
def test_work_in_the_smallest_pieces_on_any_number_of_threads(family: str, is_sampled: bool, oracle: Oracle) -> None:
    for case in part(family, is_sampled):
        # Large ones would be thousands of blocks.
        numbers = cut(max(2, _size(case, oracle) // 100))
        serial = _check(case, oracle, numbers, threads=1)
        shared = _check(case, oracle, numbers, threads=3)
        assert _bits(serial) == _bits(shared), f"{case}: results depend on the number of threads"


@each_part_of_a_table
def test_all_work_at_once(family: str, is_sampled: bool, oracle: Oracle) -> None:
    for case in part(family, is_sampled):
        _check(case, oracle, without_cuts(), threads=2)


@each_part_of_a_table
def test_any_mixture(family: str, is_sampled: bool, oracle: Oracle) -> None:
    for case in part(family, is_sampled):
        if _size(case, oracle) <= 2000:
            _check(case, oracle, mix(f"{family} {case}"), threads=2)


@pytest.mark.parametrize("name", networks())
def test_networks(name: str) -> None:
    """Weights stay compressed, so that those kernels are run too."""
    path = networks()[name]
    model = ir_exec.read_model(path)
    if missing_operators(model.graph):
        pytest.skip("it has operators that ir_exec does not have")
    inputs, expected = arrays(path, "inputs"), arrays(path, "outputs")
    assert inputs is not None
    assert expected is not None
    results = []
    for numbers, threads in ((without_cuts(), 2), (cut(1000), 1), (cut(1000), 3)):
        with replace_thresholds(numbers):
            result = ir_exec.compile_model(model, weight_mode="keep", threads=threads)(inputs)
        results.append(tuple(result[number] for number in range(len(expected))))
        faults = [output_fault(*pair) for pair in zip(results[-1], expected, strict=True)]
        assert not any(faults), faults
    assert _bits(results[1:2]) == _bits(results[2:]), "results depend on the number of threads"


def _check(case: Case, oracle: Oracle, numbers: Mapping[str, float], threads: int) -> list[tuple[Array, ...]]:
    """All outputs with these numbers, which are the expected ones."""
    with replace_thresholds(numbers), RunThreads(threads), np.errstate(all="ignore"):
        runs = list(_outputs(case))
    for outputs in runs:
        # Where they differ, no neighbor shall have to do with it.
        faults = _faults(case, outputs, _answers(case, oracle))
        faults = faults and _faults(case, outputs, _answers(case, oracle, alone=True))
        changed = {name: number for name, number in numbers.items() if number != NUMBERS[name]}
        assert not faults, "\n".join([str(case), *faults, f"threads={threads}", str(changed)])
    return runs


def _faults(case: Case, outputs: tuple[Array, ...], answers: list[tuple[Array, ...]]) -> list[str]:
    return [
        fault
        for answer in answers
        for fault in value_faults(_as_long(outputs, answer, case), answer, case.rtol, case.atol, case.summed)
    ]


def _answers(case: Case, oracle: Oracle, *, alone: bool = False) -> list[tuple[Array, ...]]:
    answers = [] if case.expected is None else [case.expected]
    if case.oracle != "nobody" and can_be_asked(case):
        answer = answer_of(case, oracle, alone=alone)
        if not isinstance(answer, Refused):  # reported by test_values
            answers.append(answer)
    return answers


def _size(case: Case, oracle: Oracle) -> int:
    return sum(array.size for arrays in (case.inputs, *_answers(case, oracle)[:1]) for array in arrays)


def _outputs(case: Case) -> Iterator[tuple[Array, ...]]:
    """Of `evaluate`, and of the kernels for inputs that are all constants, and that are none."""
    layer = operator(case)
    yield _several(layer.evaluate(*case.inputs))
    if layer.deterministic and not layer.evaluate_context:
        constants = [TensorType.of(array) for array in case.inputs]
        for types in (constants, [TensorType(type.element_type, type.shape) for type in constants]):
            if all(output.shape.is_static for output in _several(layer.infer(*types))):
                yield _several(layer.kernel(*types)(*case.inputs))


def _as_long(actual: tuple[Array, ...], expected: tuple[Array, ...], case: Case) -> tuple[Array, ...]:
    # A kernel of it fills a static number of rows up, see `test_kernels`.
    return (actual[0][: len(expected[0])],) if case.type == "NonMaxSuppression" and case.opset < 5 else actual


def _several(result: Any) -> tuple[Any, ...]:
    return result if isinstance(result, tuple) else (result,)


def _bits(actual: list[tuple[Array, ...]]) -> list[list[object]]:
    return [
        [array.tolist() if ElementType.of(array) is ElementType.string else array.tobytes() for array in outputs]
        for outputs in actual
    ]


def test_numbers_are_replaced_for_a_while() -> None:
    before = dict(vars(thresholds))
    assert tile_size(8, 768, 3072, is_transposed=False) is not None
    with replace_thresholds(cut(2)):
        assert thresholds.CHUNK_ELEMENTS == 2
        assert thresholds.MOST_CHUNKS == 2**40
    with replace_thresholds(without_cuts()):
        assert tile_size(8, 768, 3072, is_transposed=False) is None
    assert vars(thresholds) == before
    assert tile_size(8, 768, 3072, is_transposed=False) is not None
