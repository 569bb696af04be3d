"""Comparison of single nodes in onnxruntime, or else in ONNX's reference, and in ir_exec."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from ir_exec import IRError, compile_model, read_model
from ir_exec.types import Array

__all__ = ["LEFT_OUT", "Node", "assert_as_onnxruntime", "model_of_node", "node", "rows"]

LEFT_OUT: Any = object()
"""Among the alternatives of an attribute: the node does not have it."""


class Node(NamedTuple):
    """A node of one operator: its inputs by position (None: left out), and its attributes.

    constants: the positions of inputs that are initializers. outputs: how many are compared.
    """

    type: str
    opset: int
    domain: str
    inputs: Sequence[Array | None]
    attributes: Mapping[str, Any]
    constants: frozenset[int]
    outputs: int

    def __str__(self) -> str:
        shapes = ",".join("-" if input is None else f"{input.dtype}{list(input.shape)}" for input in self.inputs)
        told = ",".join(f"{name}={value}" for name, value in self.attributes.items())
        return f"{self.type}-{self.opset}({shapes};{told})".replace(" ", "")


def node(
    type: str,
    *inputs: Any,
    opset: int = 17,
    domain: str = "",
    constants: Sequence[int] = (),
    outputs: int = 1,
    **attributes: Any,
) -> Node:
    arrays = [None if input is None else np.asarray(input) for input in inputs]
    return Node(type, opset, domain, arrays, attributes, frozenset(constants), outputs)


def model_of_node(case: Node, *, dynamic: bool) -> onnx.ModelProto:
    """Return the model of a node, whose inputs are constants or, by `dynamic`, have unknown dims."""
    names = ["" if array is None else f"x{position}" for position, array in enumerate(case.inputs)]
    outputs = [f"y{position}" for position in range(case.outputs)]
    operator = helper.make_node(case.type, names, outputs, domain=case.domain, **case.attributes)
    declared, stored = [], []
    for position, array in enumerate(case.inputs):
        if array is None:
            continue
        if position in case.constants:
            stored.append(numpy_helper.from_array(array, names[position]))
            continue
        data_type = helper.np_dtype_to_tensor_dtype(array.dtype)
        shape = [f"d{position}_{axis}" for axis in range(array.ndim)] if dynamic else array.shape
        declared.append(helper.make_tensor_value_info(names[position], data_type, shape))
    ends = [helper.make_empty_tensor_value_info(name) for name in outputs]
    graph = helper.make_graph([operator], "g", declared, ends, stored)
    imports = [helper.make_opsetid("", case.opset if not case.domain else 17)]
    imports += [helper.make_opsetid(case.domain, case.opset)] if case.domain else []
    return helper.make_model(graph, opset_imports=imports, ir_version=9)


def rows(
    type: str,
    opsets: Sequence[int],
    *inputs: Sequence[Array | None],
    constants: Sequence[int] = (),
    outputs: int = 1,
    where: Callable[..., bool] | None = None,
    **attributes: Sequence[Any],
) -> Iterator[Node]:
    """Every version with every tuple of inputs and every choice of attributes, `where` that holds of the attributes."""
    for opset, arrays, chosen in product(opsets, inputs, product(*attributes.values())):
        named = {name: value for name, value in zip(attributes, chosen, strict=True) if value is not LEFT_OUT}
        if where is None or where(**named):
            positions = [at for at in constants if at < len(arrays) and arrays[at] is not None]
            yield node(type, *arrays, opset=opset, constants=positions, outputs=outputs, **named)


def _expected(proto: onnx.ModelProto, feed: dict[str, Array]) -> list[Array] | None:
    """The outputs; None if no engine runs it."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    # Rewriters have faults as well: the operator counts.
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    try:
        session = onnxruntime.InferenceSession(proto.SerializeToString(), options, providers=["CPUExecutionProvider"])
        return list(session.run(None, feed))
    except Exception:  # of many classes, all for operators that it does not run
        pass
    try:
        with np.errstate(all="ignore"):
            return [np.asarray(output) for output in ReferenceEvaluator(proto).run(None, feed)]
    except Exception:  # as above
        return None


def assert_as_onnxruntime(case: Node, *, rtol: float = 1e-4, atol: float = 1e-5, dynamic: bool = False) -> None:
    """The outputs are those of onnxruntime, also where the dims of the inputs are not declared.

    Where it has no kernel for the types, ONNX's reference answers; what neither of them runs is refused.
    """
    proto = model_of_node(case, dynamic=False)
    feed = {f"x{i}": array for i, array in enumerate(case.inputs) if array is not None and i not in case.constants}
    expected = _expected(proto, feed)
    if expected is None:
        with pytest.raises(IRError):
            compile_model(proto.SerializeToString())(feed)
        return
    for open_dims in (False, True) if dynamic else (False,):
        network = read_model(model_of_node(case, dynamic=open_dims).SerializeToString())
        outputs = list(compile_model(network)(feed).values())
        for ours, theirs in zip(outputs, expected, strict=True):
            if theirs.dtype.kind not in "biuf":
                assert ours.tolist() == theirs.tolist()
                continue
            assert ours.dtype == theirs.dtype
            assert ours.shape == theirs.shape
            short = ours.dtype == np.float16
            np.testing.assert_allclose(ours, theirs, rtol=2e-3 if short else rtol, atol=2e-3 if short else atol)
