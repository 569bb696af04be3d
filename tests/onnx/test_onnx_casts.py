"""Casts of f64 to narrow floats round to f32 first, as in onnxruntime and OpenVINO."""

from __future__ import annotations

import numpy as np
import pytest

from tests.onnx.runtime import assert_as_onnxruntime, node

BETWEEN = [1 + 2**-11 + 2**-40, 65519.9999999, 1 + 2**-11 - 2**-40, 2**-25 * (1 + 2**-30), 2.0**-25, 1e300]
"""Numbers of f16 whose first two round differently if they are rounded once."""


@pytest.mark.parametrize("data_type", [10, 16])
def test_a_cast_of_f64(data_type: int) -> None:
    with np.errstate(over="ignore"):
        assert_as_onnxruntime(node("Cast", np.array(BETWEEN), to=data_type), rtol=0, atol=0)
