"""Every variant of an operator, forced by its name, gives what `evaluate` gives for the cases of its table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import pytest

from ir_exec.errors import IRError
from ir_exec.kernels.conv.problem import ConvProblem
from ir_exec.kernels.conv.variants import VARIANTS, convolver
from ir_exec.kernels.gemm.panels import PackedMatrix
from ir_exec.ops import Op
from ir_exec.ops.base.variants import KernelVariant, chosen, variants_of
from ir_exec.plan.passes.prepack import PackedMatMul
from ir_exec.runtime.threads import RunThreads
from ir_exec.types import Array, Shape
from tests.conformance.case import Case
from tests.conformance.checks import families, table
from tests.conformance.ours import evaluate, operator, requests

TYPES = {
    "Concat": ["vectors"],
    "Einsum": ["one_product"],
    "Gather": ["take"],
    "LogSoftmax": ["one_chunk"],
    "LogicalNot": ["ufunc"],
    "MatMul": ["product"],
    "MaxPool": ["without_indices"],
    "ScatterElementsUpdate": ["one_element"],
    "ScatterNDUpdate": ["one_tuple"],
    "ScatterUpdate": ["one_slice"],
    "Select": ["where", "chunks"],
    "SoftMax": ["one_chunk"],
}
BINARY = ["Add", "Equal", "Greater", "Maximum", "Multiply", "Subtract"]
"""Some of the operators that derive from Binary."""

CONVOLUTIONS = {"Convolution": 2, "GroupConvolution": 3}


@cache
def cases(*types: str) -> list[tuple[Case, Op, tuple[Array, ...]]]:
    """The cases of these operators that have outputs, with these."""
    prepared = []
    for family in families():
        for case in table(family):
            if case.type in types:
                try:
                    prepared.append((case, operator(case), evaluate(case)))
                except IRError:
                    continue
    return prepared


def same(actual: Any, expected: tuple[Array, ...]) -> Iterator[bool]:
    for output, other in zip(actual if isinstance(actual, tuple) else (actual,), expected, strict=False):
        yield output.dtype == other.dtype and output.shape == other.shape
        # NumPy has no NaN of the types that it does not define itself.
        is_same = output.dtype.kind == "V" and output.tobytes() == other.tobytes()
        yield is_same or np.array_equal(output, other, equal_nan=output.dtype.kind == "f")


@pytest.mark.parametrize("type_name", sorted(TYPES))
def test_variants_give_what_evaluate_gives(type_name: str) -> None:
    assert apply_variants(type_name) == set(TYPES[type_name])


def test_variants_of_binary_operators() -> None:
    assert apply_variants(*BINARY) == {"scalars", "ufunc"}


def apply_variants(*types: str) -> set[str]:
    """The variants that some case has run, with the results of `evaluate`."""
    names: Counter[str] = Counter()
    for case, layer, expected in cases(*types):
        for request in requests(case):
            for variant in variants_of(layer):
                if variant.applies(layer, request):
                    with RunThreads(1), np.errstate(all="ignore"):
                        actual = variant.make(layer, request)(*case.inputs)
                    assert all(same(actual, expected)), (variant.name, case)
                    names[variant.name] += 1
    return set(names)


def test_the_operators_with_variants() -> None:
    registered = {
        name: [variant.name for variant in variants_of(case[0][1])] for name in TYPES if (case := cases(name))
    }
    assert registered == TYPES


@pytest.mark.parametrize("type_name", ["BinaryConvolution", "FakeQuantize", "MatMul"])
def test_kernels_of_constants(type_name: str) -> None:
    count = 0
    for case, layer, expected in cases(type_name):
        kernel = layer.with_constants(dict(enumerate(case.inputs[1:], 1)))
        if kernel is not None:
            with RunThreads(1), np.errstate(all="ignore"):
                actual = kernel(*case.inputs)
            if type_name == "MatMul":
                # BLAS may add up the products of a transposed matrix in another order.
                np.testing.assert_allclose(actual, expected[0], rtol=1e-5, err_msg=str(case))
            else:
                assert all(same(actual, expected)), case
            count += 1
    assert count


def test_panels() -> None:
    count = 0
    for case, layer, expected in cases("MatMul"):
        a, b = case.inputs
        if b.ndim != 2 or b.dtype != np.float32 or not b.size or a.ndim < 1:
            continue
        transposed = vars(layer)["transpose_b"]
        matrix = PackedMatrix(b.T if transposed else b)
        packed = PackedMatMul(layer, Shape(b.shape), matrix)
        with RunThreads(1), np.errstate(all="ignore"):
            before = packed.evaluate(a)
            matrix.pack(np.empty(b.size, np.float32))
            after = packed.evaluate(a)
        np.testing.assert_array_equal(before, after)
        most = np.abs(expected[0], where=np.isfinite(expected[0]), out=np.ones_like(expected[0])).max(initial=1)
        np.testing.assert_allclose(before, expected[0], rtol=1e-5, atol=1e-5 * most, err_msg=str(case))
        count += 1
    assert count


@pytest.mark.parametrize("name", [variant.name for variant in VARIANTS])
def test_algorithms_of_convolutions(name: str) -> None:
    variant = next(variant for variant in VARIANTS if variant.name == name)
    count = 0
    for case, layer, expected in cases(*CONVOLUTIONS):
        data, filters = case.inputs
        axes = layer.sliding(data.shape[2:], filters.shape[CONVOLUTIONS[case.type] :])  # type: ignore[attr-defined]  # they convolve
        grouped = filters if case.type == "GroupConvolution" else filters[np.newaxis]
        touching = tuple([axis.touching()[1] for axis in axes])
        problem = ConvProblem(touching, data.shape[0], *grouped.shape[:3], data.dtype)
        if not variant.applies(problem):
            continue
        with RunThreads(1), np.errstate(all="ignore"):
            actual = convolver(axes, data.shape, grouped.shape, data.dtype, variant=name)(data, grouped)
        assert (actual.dtype, actual.shape) == (expected[0].dtype, expected[0].shape), case
        if actual.dtype.kind in "iu":
            np.testing.assert_array_equal(actual, expected[0], err_msg=str(case))
        else:
            # Each adds up the products in an order of its own.
            wide, right = actual.astype(np.float64), expected[0].astype(np.float64)
            most = np.abs(np.nan_to_num(right)).max(initial=1)
            share = 1e-2 if actual.dtype.itemsize < 4 else 1e-5
            np.testing.assert_allclose(wide, right, rtol=share, atol=share * most, err_msg=str(case))
        count += 1
    assert count


def test_cheapest_applicable_variant_is_taken() -> None:
    case, layer, _ = next(case for case in cases("Select") if len(list(variants_of(case[1]))) == 2)
    request = next(requests(case))
    able = [variant for variant in variants_of(layer) if variant.applies(layer, request)]
    cheapest: KernelVariant = min(able, key=lambda variant: variant.cost)
    assert chosen(layer, request) is cheapest.make(layer, request)
