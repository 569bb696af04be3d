"""ONNX files that onnxruntime computes wrongly or refuses because of a graph optimizer, between other nodes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import NodeProto, helper, numpy_helper

from ir_exec.types import Array

Maker = Callable[[str, str, dict[str, Array]], list[NodeProto]]


def divide_and_multiply(x: str, y: str, tensors: dict[str, Array]) -> list[NodeProto]:
    """A product with a folded 1.0 after a Cast to its own type: DivMulFusion and CastElimination leave a missing input.

    Source: issue 32416 of onnxruntime, open for release 1.32.
    """
    tensors |= {"one": np.float32([1]), "unit": np.float32([1])}
    return [
        helper.make_node("Cast", [x], ["cast"], "cast", to=onnx.TensorProto.FLOAT),
        helper.make_node("Div", ["one", "unit"], ["ratio"], "ratio"),
        helper.make_node("Mul", ["cast", "ratio"], [y], "product"),
    ]


def dequantize_and_reshape(x: str, y: str, tensors: dict[str, Array]) -> list[NodeProto]:
    """A Reshape after a DequantizeLinear without zero point: QDQPropagationTransformer makes negative numbers 0.

    Source: issue 27845 of onnxruntime, open for release 1.32.
    """
    tensors |= {
        "hundred": np.float32(100),
        "scale": np.float32(0.01),
        "dims": np.int64([4, 4]),
        "back": np.int64([2, 8]),
    }
    return [
        helper.make_node("Mul", [x, "hundred"], ["large"], "enlarge"),
        helper.make_node("Cast", ["large"], ["narrow"], "narrow", to=onnx.TensorProto.INT8),
        helper.make_node("DequantizeLinear", ["narrow", "scale"], ["wide"], "dequantize"),
        helper.make_node("Reshape", ["wide", "dims"], ["moved"], "reshape"),
        helper.make_node("Reshape", ["moved", "back"], [y], "reshape_back"),
    ]


def normalize_and_expand(x: str, y: str, tensors: dict[str, Array]) -> list[NodeProto]:
    """An RMS normalization whose scale expands the values: SimplifiedLayerNormFusion makes a node that fails.

    Source: issue 8203 of onnx, for release 1.32 of onnxruntime.
    """
    column = np.linspace(0.1, 1, 8, dtype=np.float32).reshape(8, 1)
    tensors |= {"column": column, "two": np.float32(2), "epsilon": np.float32(1e-5)}
    tensors["weight"] = np.linspace(-1, 1, 8, dtype=np.float32)
    return [
        helper.make_node("MatMul", [x, "column"], ["narrow"], "narrow"),
        helper.make_node("Pow", ["narrow", "two"], ["square"], "square"),
        helper.make_node("ReduceMean", ["square"], ["mean"], "mean", axes=[-1]),
        helper.make_node("Add", ["mean", "epsilon"], ["variance"], "variance"),
        helper.make_node("Sqrt", ["variance"], ["deviation"], "deviation"),
        helper.make_node("Div", ["narrow", "deviation"], ["normal"], "normalize"),
        helper.make_node("Mul", ["normal", "weight"], [y], "weigh"),
    ]


FAULTS: dict[str, tuple[Maker, str, list[str]]] = {
    "cast": (divide_and_multiply, "CastElimination", ["Cast", "Div", "Mul"]),
    "dequantize": (dequantize_and_reshape, "QDQPropagationTransformer", ["DequantizeLinear", "Reshape"]),
    "normalize": (
        normalize_and_expand,
        "SimplifiedLayerNormFusion",
        ["Pow", "ReduceMean", "Add", "Sqrt", "Div", "Mul"],
    ),
}
"""The nodes, the optimizer to disable, and the operators of the smallest part."""


def write_fault(maker: Maker, path: Path) -> dict[str, Array]:
    """Write a file with a fault between layers before and after it; return its inputs."""
    rng = np.random.default_rng(0)
    tensors: dict[str, Array] = {}
    nodes = [*layers("before", "x", "middle", tensors, rng), *maker("middle", "end", tensors)]
    nodes += layers("after", "end", "y", tensors, rng)
    graph = helper.make_graph(
        nodes,
        "network",
        [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [2, 8])],
        [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [2, 8])],
        [numpy_helper.from_array(array, name) for name, array in tensors.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    path.write_bytes(model.SerializeToString())
    return {"x": rng.standard_normal((2, 8)).astype(np.float32)}


def layers(name: str, x: str, y: str, tensors: dict[str, Array], rng: np.random.Generator) -> list[NodeProto]:
    """Return five dense layers from one value to another."""
    nodes = []
    for number in range(5):
        end = y if number == 4 else f"{name}{number}"
        tensors[f"{end}_weight"] = (rng.standard_normal((8, 8)) / 3).astype(np.float32)
        tensors[f"{end}_bias"] = rng.standard_normal(8).astype(np.float32)
        nodes += [
            helper.make_node("MatMul", [x, f"{end}_weight"], [f"{end}_product"], f"{end}/product"),
            helper.make_node("Add", [f"{end}_product", f"{end}_bias"], [f"{end}_sum"], f"{end}/sum"),
            helper.make_node("Tanh", [f"{end}_sum"], [end], f"{end}/tanh"),
        ]
        x = end
    return nodes


def run_by_onnxruntime(path: Path, inputs: dict[str, Array], level: str) -> list[Any] | None:
    """Return the outputs; None if onnxruntime refuses the file."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, level)
    options.log_severity_level = 4
    try:
        session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        return list(session.run(None, inputs))
    except Exception:
        # Its exceptions have no common class.
        return None


def has_fault(path: Path, inputs: dict[str, Array]) -> bool:
    """Return True if the installed onnxruntime computes other outputs with its optimizers, or refuses the file."""
    plain, optimized = (run_by_onnxruntime(path, inputs, level) for level in ("ORT_DISABLE_ALL", "ORT_ENABLE_ALL"))
    if plain is None or optimized is None:
        return plain is not None
    return not all(np.allclose(left, right, 1e-3, 1e-4) for left, right in zip(plain, optimized, strict=True))
