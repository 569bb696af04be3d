"""BinaryConvolution: shapes and attributes."""

from __future__ import annotations

from typing import Any

import pytest

from ir_exec.errors import InvalidAttributeError, ShapeError, raise_error
from ir_exec.ops.convolution.binary import BinaryConvolution
from ir_exec.types import TensorType
from tests.helpers.indexing import typed


def refused(operator: Any, *types: TensorType) -> tuple[str, str]:
    with pytest.raises(ShapeError) as error:
        operator.infer(*types)
    return error.value.code, error.value.message


def test_binary_convolution_refuses() -> None:
    attributes = {"mode": "xnor-popcount", "pad_value": "0"}
    operator = BinaryConvolution.parse(attributes, raise_error)
    assert operator is not None
    found = refused(operator, typed("f32", "1,2,4"), typed("u1", "3,2,1,1"))
    assert found == ("IR501", "data has rank 3 ([1,2,4]), expected 4")
    for wrong in ({"mode": "and"}, {"pad_value": "x"}):
        with pytest.raises(InvalidAttributeError) as error:
            BinaryConvolution.parse(attributes | wrong, raise_error)
        assert error.value.code == "IR302"
    with pytest.raises(InvalidAttributeError) as error:
        BinaryConvolution.parse({"mode": "xnor-popcount"}, raise_error)
    assert error.value.code == "IR301"
