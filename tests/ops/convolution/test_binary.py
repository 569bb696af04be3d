"""BinaryConvolution: shapes and attributes."""

from __future__ import annotations

import pytest

from ir_exec.errors import InvalidAttributeError, raise_error
from ir_exec.ops.convolution.binary import BinaryConvolution
from ir_exec.types import Shape
from tests.helpers.facts import fault_with
from tests.helpers.operators import inference_error
from tests.helpers.values import make_type


def test_binary_convolution_refuses() -> None:
    attributes = {"mode": "xnor-popcount", "pad_value": "0"}
    operator = BinaryConvolution.parse(attributes, raise_error)
    assert operator is not None
    failure = inference_error(operator, make_type("1,2,4"), make_type("3,2,1,1", "u1"))
    assert failure == ("IR501", fault_with("data", "[1,2,4]", actual=3, expected=4))
    for wrong in ({"mode": "and"}, {"pad_value": "x"}):
        with pytest.raises(InvalidAttributeError) as error:
            BinaryConvolution.parse(attributes | wrong, raise_error)
        assert error.value.code == "IR302"
    with pytest.raises(InvalidAttributeError) as error:
        BinaryConvolution.parse({"mode": "xnor-popcount"}, raise_error)
    assert error.value.code == "IR301"


def test_one_rank_may_be_unknown() -> None:
    operator = BinaryConvolution.parse({"mode": "xnor-popcount", "pad_value": "0"}, raise_error)
    assert operator is not None
    data, filters, unknown = make_type("1,2,4,4"), make_type("3,2,1,1", "u1"), Shape.unknown()
    assert str(operator.infer(data, filters.with_shape(unknown))) == "f32[1,?,1..4,1..4]"
    assert str(operator.infer(data.with_shape(unknown), filters)) == "f32[?,3,1..,1..]"
