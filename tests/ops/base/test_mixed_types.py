"""Inputs of another element type than the data they go into."""

from __future__ import annotations

import numpy as np
import pytest

from ir_exec.codes import Code
from ir_exec.errors import ElementTypeError
from ir_exec.types import Array, TensorType
from tests.helpers.operators import bounds_of, inferred, make
from tests.helpers.values import ints, typed

ONE = (ints(1), ints(2), ints(1))
TWO = ints(7, 8, kind="i32")


@pytest.mark.parametrize(("data", "updates"), [("string", "f32"), ("f32", "string"), ("string", "i64")])
def test_strings_and_numbers_do_not_mix(data: str, updates: str) -> None:
    slice_of_one = [TensorType.of(number) for number in ONE]
    with pytest.raises(ElementTypeError, match=f"updates is {updates}, expected {data} as data is") as error:
        make("SliceScatter", 15).infer(typed("3", data), typed("1", updates), *slice_of_one)
    assert error.value.code == Code.element_types_differ
    types = (typed("2", data), typed("2", "i64"), typed("2,2", "i64"), typed("", updates))
    with pytest.raises(ElementTypeError, match=f"default_value is {updates}, expected {data} as values is"):
        make("SparseFillEmptyRows", 16).infer(*types)


def test_an_unknown_type_may_be_any() -> None:
    slice_of_one = [TensorType.of(number) for number in ONE]
    (output,) = inferred(make("SliceScatter", 15), typed("3", "dynamic"), typed("1", "string"), *slice_of_one)
    assert not output.element_type.is_known


@pytest.mark.parametrize(
    ("lower", "upper", "expected"),
    [(ints(3), ints(5), ([7, 3], [7, 5])), (ints(3), ints(2**63 - 1), None), (ints(2**32), ints(2**32 + 5), None)],
)
def test_bounds_that_do_not_fit_are_not_converted(
    lower: Array, upper: Array, expected: tuple[list[int], list[int]] | None
) -> None:
    slice_of_one = [(number, number) for number in ONE]
    found = bounds_of(make("SliceScatter", 15), (TWO, TWO), (lower, upper), *slice_of_one)
    assert (found and tuple(bound.tolist() for bound in found)) == expected
    assert found is None or found[0].dtype == np.int32
