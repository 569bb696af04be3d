"""Engines that run ONNX, in a child process: `Engine.run` gives their outputs, or a refusal."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, Self

import ml_dtypes
import numpy as np

from ir_exec.types import Array
from tests.conformance.oracle import Oracle, Refused

__all__ = ["WIDER", "Answer", "Engine", "Question"]

WIDER: dict[np.dtype[Any], Any] = {
    np.dtype(ml_dtypes.int4): np.int8,
    np.dtype(ml_dtypes.uint4): np.uint8,
} | {
    np.dtype(dtype): np.float32
    for dtype in (
        ml_dtypes.bfloat16,
        ml_dtypes.float8_e4m3fn,
        ml_dtypes.float8_e5m2,
        ml_dtypes.float8_e8m0fnu,
        ml_dtypes.float4_e2m1fn,
    )
}


class Question(NamedTuple):
    """A serialized model and its inputs by name.

    full_check: let onnx.checker infer types and shapes too. optimize: let onnxruntime rewrite the graph. by: who runs
    it, `onnxruntime`, with ONNX's reference as a substitute, or `openvino`.
    """

    model: bytes
    inputs: Mapping[str, Array]
    full_check: bool = True
    optimize: bool = False
    by: str = "onnxruntime"

    def message(self) -> bytes:
        """The request as the child reads it."""
        inputs = {name: array.astype(WIDER.get(array.dtype, array.dtype)) for name, array in self.inputs.items()}
        return pickle.dumps(
            {
                "model": self.model,
                "inputs": inputs,
                "full_check": self.full_check,
                "optimize": self.optimize,
                "by": self.by,
            }
        )


class Answer(NamedTuple):
    """The outputs of a model, and the engine that computed them: `onnxruntime`, `reference` or `openvino`."""

    engine: str
    outputs: list[Array]


class Engine(Oracle):
    """A child process that runs models. Close it, or use it in a `with` block."""

    def __enter__(self) -> Self:
        return self

    def run(self, questions: Iterable[Question]) -> Iterator[Answer | Refused]:
        """The answers in the order of the questions; the child works ahead of the caller."""
        for verdict, body in self._answers([question.message() for question in questions]):
            yield Answer(*body) if verdict == "answer" else Refused(body)

    def start(self) -> subprocess.Popen[bytes]:
        script = Path(__file__).with_name("engine_child.py")
        self._fresh = True
        # -P: the script's folder must not precede the installed packages.
        self._child = subprocess.Popen(
            [sys.executable, "-P", str(script)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
        )
        return self._child
