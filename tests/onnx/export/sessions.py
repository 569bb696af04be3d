"""Exported models in onnxruntime, for tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import onnx
import onnxruntime

import ir_exec
from ir_exec.onnx.export.files import to_bytes
from ir_exec.onnx.export.lower import Exported, lower_model
from ir_exec.types import Array

__all__ = ["exported_outputs", "node_types", "run", "session"]


def session(content: bytes) -> onnxruntime.InferenceSession:
    """A silent session; the model is checked in full."""
    onnx.checker.check_model(onnx.load_from_string(content), full_check=True)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])


def run(exported: Exported, inputs: Sequence[Array], further: Mapping[str, Array] | None = None) -> list[Array]:
    """The outputs of an exported model, followed by the states among them."""
    feed = {**dict(zip(exported.inputs, inputs, strict=True)), **(further or {})}
    outputs: list[Array] = session(to_bytes(exported)).run(None, feed)
    return outputs


def exported_outputs(model: ir_exec.Model, inputs: Sequence[Array], **options: Any) -> list[Array]:
    """The outputs of onnxruntime for a model."""
    return run(lower_model(model, **options), inputs)


def node_types(exported: Exported) -> list[str]:
    """The operators of the graph itself."""
    return [node.op_type for node in exported.proto.graph.node]
