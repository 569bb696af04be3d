"""OpenVINO's answers, from a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ir_exec.types import Array

__all__ = ["OpenVINO", "Refused"]


class Refused(Exception):  # noqa: N818  # an answer
    """OpenVINO refuses the network or the inputs, or has crashed."""


class OpenVINO:
    """A process that answers until it crashes; the next question starts another."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None

    def run(self, path: Path, inputs: Sequence[Array], *, is_compiled: bool = False) -> list[Array]:
        """The outputs of the network in a file.

        is_compiled: the file holds a model as the CPU plugin caches it, internal operators included.
        """
        request = {"xml": str(path), "inputs": [_request(array) for array in inputs], "compiled": is_compiled}
        return [_array(value) for value in self._ask(request)["outputs"]]

    def save(self, path: Path, to: Path) -> None:
        """Write the network of a file as IR, as OpenVINO reads it."""
        self._ask({"xml": str(path), "to": str(to)})

    def _ask(self, request: dict[str, Any]) -> dict[str, Any]:
        if self._process is None:
            command = [sys.executable, "-P", str(Path(__file__).parent / "worker.py")]
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
            )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except OSError:
            line = ""
        if not line:
            self.close()
            raise Refused("OpenVINO has crashed")
        answer: dict[str, Any] = json.loads(line)
        if "refused" in answer:
            raise Refused(answer["refused"])
        return answer

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            assert self._process.stdin is not None
            assert self._process.stdout is not None
            self._process.kill()
            self._process.wait()
            self._process.stdin.close()
            self._process.stdout.close()
            self._process = None


def _request(array: Array) -> dict[str, Any]:
    is_text = array.dtype.kind in "OUT"
    return {"dtype": "string" if is_text else str(array.dtype), "shape": array.shape, "data": array.ravel().tolist()}


def _array(value: dict[str, Any]) -> Array:
    if value["dtype"] == "string":
        texts = np.empty(len(value["data"]), object)
        texts[:] = value["data"]
        return texts.reshape(value["shape"])
    return np.array(value["data"], value["dtype"]).reshape(value["shape"])
