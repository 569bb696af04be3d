"""Values that depend on the inputs of a model."""

from __future__ import annotations

import numpy as np

from ir_exec import build
from ir_exec.debug.comparison.discontinuities import driven_values


def test_type_and_shape_of_input_are_no_drivers() -> None:
    x = build.parameter("2,8", "f32", name="x")
    constant = build.convert_like(np.int32([1]), x, name="converted")
    sizes = build.shape_of(x, name="sizes")
    network = build.model([build.result(build.add(x, constant, name="sum")), build.result(sizes)])
    names = {value.node.name for value in driven_values(network.graph)}
    assert {"x", "sum"} <= names
    assert not {"converted", "sizes"} & names
