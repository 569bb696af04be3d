"""Types with and without what is known of their elements."""

from __future__ import annotations

import numpy as np

from ir_exec.types import ElementType, Shape, TensorType


def test_without_values_the_type_is_the_same() -> None:
    known = TensorType.of(np.array([1, 2]))
    found = known.without_values()
    assert known.value is not None
    assert (found.value, found.bounds) == (None, None)
    assert (found.element_type, found.shape) == (known.element_type, known.shape)


def test_a_type_without_values_is_left_as_it_is() -> None:
    unknown = TensorType(ElementType.f32, Shape([2, None]))
    assert unknown.without_values() is unknown
