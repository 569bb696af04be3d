"""One ONNX operator with attributes and inputs: as a file, run by ir_exec, and as onnxruntime or ONNX's reference run it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

import ir_exec
from ir_exec.types import Array

__all__ = ["LEFT_OUT", "Case", "close", "expected", "found", "rows"]

LEFT_OUT: Any = object()
"""Among the alternatives of an attribute: the node does not have it."""


@dataclass(frozen=True, eq=False)
class Case:
    """A row of a table.

    inputs: one array a port, None for one that is left out. constants: the positions of those that are initializers.
    outputs: how many the node names. is_dynamic: whether it can be run with dims that the file does not say.
    by_reference: why ONNX's reference answers and not onnxruntime, which comes first otherwise.
    """

    type: str
    opset: int
    inputs: tuple[Array | None, ...]
    attributes: Mapping[str, Any] = field(default_factory=dict)
    constants: frozenset[int] = frozenset()
    outputs: int = 1
    domain: str = ""
    is_dynamic: bool = True
    by_reference: str = ""
    rtol: float = 1e-5
    atol: float = 1e-6

    def __str__(self) -> str:
        shapes = [f"{one.dtype}{list(one.shape)}".replace(" ", "") if one is not None else "-" for one in self.inputs]
        attributes = [f"{name}={value}".replace(" ", "") for name, value in self.attributes.items()]
        return " ".join([f"{self.type}-{self.opset}", *shapes, *attributes])

    @property
    def feeds(self) -> dict[str, Array]:
        given = enumerate(self.inputs)
        return {f"x{at}": one for at, one in given if one is not None and at not in self.constants}

    def model(self, *, is_static: bool) -> onnx.ModelProto:
        """The file: a graph of this node alone, whose inputs have the dims of the arrays, or unknown ones."""
        names = [f"x{at}" if one is not None else "" for at, one in enumerate(self.inputs)]
        results = [f"y{at}" for at in range(self.outputs)]
        node = helper.make_node(self.type, names, results, domain=self.domain, **self.attributes)
        inputs = [
            helper.make_tensor_value_info(
                name, helper.np_dtype_to_tensor_dtype(one.dtype), one.shape if is_static else [None] * one.ndim
            )
            for name, one in self.feeds.items()
        ]
        outputs = [onnx.ValueInfoProto(name=name) for name in results]
        weights = [numpy_helper.from_array(self.inputs[at], f"x{at}") for at in sorted(self.constants)]
        graph = helper.make_graph([node], "g", inputs, outputs, weights)
        domains = [helper.make_opsetid("", self.opset)]
        domains += [helper.make_opsetid(self.domain, 1)] if self.domain else []
        return helper.make_model(graph, opset_imports=domains, ir_version=10)


def rows(
    type: str,
    opsets: tuple[int, ...],
    *inputs: tuple[Array | None, ...],
    constants: tuple[int, ...] = (),
    outputs: int = 1,
    domain: str = "",
    is_dynamic: bool = True,
    by_reference: str = "",
    rtol: float = 1e-5,
    atol: float = 1e-6,
    where: Callable[..., bool] | None = None,
    **attributes: list[Any],
) -> Iterator[Case]:
    """Every version with every tuple of inputs and every choice of attributes, `where` that holds of the attributes."""
    for opset, arrays, chosen in product(opsets, inputs, product(*attributes.values())):
        named = {
            name: value for name, value in zip(attributes, chosen, strict=True) if value is not LEFT_OUT
        }
        if where is None or where(**named):
            held = frozenset(at for at in constants if at < len(arrays) and arrays[at] is not None)
            yield Case(type, opset, arrays, named, held, outputs, domain, is_dynamic, by_reference, rtol, atol)


def expected(case: Case) -> list[Array] | None:
    """The outputs; None where nobody runs it."""
    model = case.model(is_static=True)
    if not case.by_reference:
        answer = _onnxruntime(model, case)
        if answer is not None:
            return answer
    return _reference(model, case)


def _onnxruntime(model: onnx.ModelProto, case: Case) -> list[Array] | None:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    # Rewriters have faults of their own: what counts is the operator.
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    try:
        session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        return list(session.run(None, case.feeds))
    except Exception:  # of many kinds, and all of them say that it does not run this
        return None


def _reference(model: onnx.ModelProto, case: Case) -> list[Array] | None:
    try:
        with np.errstate(all="ignore"):
            return [np.asarray(one) for one in ReferenceEvaluator(model).run(None, case.feeds)]
    except Exception:  # as above
        return None


def found(case: Case, *, is_static: bool) -> list[Array]:
    """The outputs as ir_exec computes them from the bytes of the file."""
    result = ir_exec.compile_model(case.model(is_static=is_static).SerializeToString())(case.feeds)
    return [result[f"y{at}"] for at in range(case.outputs)]


def close(ours: Array, theirs: Array, case: Case) -> None:
    assert ours.shape == theirs.shape
    assert ours.dtype == theirs.dtype
    if ours.dtype.kind in "iub":
        np.testing.assert_array_equal(ours, theirs)
    elif ours.dtype.kind in "OU":
        assert ours.astype(str).tolist() == theirs.astype(str).tolist()
    else:
        short = ours.dtype.itemsize < 4
        rtol, atol = (max(case.rtol, 2e-2), max(case.atol, 2e-2)) if short else (case.rtol, case.atol)
        np.testing.assert_allclose(ours.astype("f8"), theirs.astype("f8"), rtol=rtol, atol=atol)
