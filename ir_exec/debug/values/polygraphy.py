"""JSON files of Polygraphy: `--save-outputs` (the outputs of runners) and `--save-inputs` (the inputs of iterations).

An array is the base64 text of an .npy. In files of early releases it may be Latin-1, or an .npz with one array.
No size in a file is trusted: the bytes of the text are compared with the memory of the machine before it is parsed, and
each array before it is allocated. Source: https://github.com/NVIDIA/TensorRT/tree/main/tools/Polygraphy,
`polygraphy/json` and `polygraphy/comparator/struct.py`.
"""

from __future__ import annotations

import json
import os
from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from io import BytesIO
from typing import IO, Any

import numpy as np

from ir_exec.codes import Code
from ir_exec.debug.values.files import as_damaged_file, decode_npy, storable, unwritable
from ir_exec.errors import EvaluationError, ResourceError
from ir_exec.ir.regular_files import open_regular
from ir_exec.ir.storage import replacing
from ir_exec.plan.memory import default_budget
from ir_exec.types import Array

__all__ = ["RecordedCalls", "Runs", "read_feeds", "read_runs", "write_feeds", "write_runs"]

_CLASS = "polygraphy_class"
_LAZY = ("LazyArray", "LazyNumpyArray")

_COPIES = 4
"""Memory for reading, in units of the size of the file: the bytes, the text, its strings, and the arrays."""

Runs = dict[str, list[dict[str, Array]]]
"""The outputs of each iteration by name, for each runner."""


def read_runs(path: str | os.PathLike[str]) -> Runs:
    """Return the outputs of the runners of a file of `polygraphy run --save-outputs`.

    Raises:
        EvaluationError: IR001 if there is no such file, IR705 if it cannot be read or has other content.
        ResourceError: If the file exceeds the memory of the machine.
    """
    content = _read_json(path)
    if isinstance(content, list):
        message = f"{os.fspath(path)} contains inputs, expected outputs of polygraphy run --save-outputs"
        raise EvaluationError(message, code=Code.unknown_input, hint="pass the file as inputs")
    if isinstance(content, Mapping) and "ids" in content:
        message = f"{os.fspath(path)} contains tokens, expected outputs of polygraphy run --save-outputs"
        raise EvaluationError(message, code=Code.unknown_input, hint="name the folder of the language model as MODEL")
    with as_damaged_file(path):
        if not isinstance(content, Mapping) or not isinstance(content.get("lst"), list):
            raise ValueError("the content is not a file of polygraphy run --save-outputs")
        runs: Runs = {}
        for entry in content["lst"]:
            if not (isinstance(entry, list) and len(entry) == 2 and isinstance(entry[1], list)):
                raise ValueError("a runner is not a name with iterations")
            runs[str(entry[0])] = [_read_arrays(_outputs_of(iteration)) for iteration in entry[1]]
        runs = {runner: iterations for runner, iterations in runs.items() if iterations}
        if not runs:
            raise ValueError("no runner has an iteration")
        return runs


def read_feeds(path: str | os.PathLike[str]) -> list[dict[str, Array]]:
    """Return the inputs of each iteration of a file of `polygraphy run --save-inputs`.

    Raises:
        EvaluationError: IR001 if there is no such file, IR705 if it cannot be read or has other content.
        ResourceError: If the file exceeds the memory of the machine.
    """
    content = _read_json(path)
    with as_damaged_file(path):
        if not isinstance(content, list) or not content:
            raise ValueError("the content is not a file of polygraphy run --save-inputs")
        return [_read_arrays(feed) for feed in content]


def write_runs(path: str | os.PathLike[str], runs: Mapping[str, Sequence[Mapping[str, Array]]]) -> None:
    """Write the outputs of runners as `polygraphy run --save-outputs` does.

    Raises:
        ResourceError: IR009 if that fails.
    """

    def describe(runner: str, outputs: Mapping[str, Array]) -> dict[str, Any]:
        arrays = {name: {"values": _describe(array), _CLASS: _LAZY[0]} for name, array in outputs.items()}
        return {"outputs": arrays, "runtime": None, "runner_name": runner, _CLASS: "IterationResult"}

    results = [[runner, [describe(runner, outputs) for outputs in iterations]] for runner, iterations in runs.items()]
    _write_json(path, {"lst": results, _CLASS: "RunResults"})


def write_feeds(path: str | os.PathLike[str], feeds: Sequence[Mapping[str, Array]]) -> None:
    """Write the inputs of iterations as `polygraphy run --save-inputs` does.

    Raises:
        ResourceError: IR009 if that fails.
    """
    _write_json(path, [{name: _describe(array) for name, array in feed.items()} for feed in feeds])


def _write_json(path: str | os.PathLike[str], content: object) -> None:
    try:
        with replacing(path) as file:
            file.write(json.dumps(content, indent=1).encode("utf-8", "backslashreplace") + b"\n")
    except OSError as error:
        raise unwritable(path, error) from None


def _describe(array: Array) -> dict[str, str]:
    file = BytesIO()
    np.lib.format.write_array(file, storable(array), allow_pickle=False)
    return {"array": b64encode(file.getvalue()).decode("ascii"), _CLASS: "ndarray"}


def _read_json(path: str | os.PathLike[str]) -> Any:
    with as_damaged_file(path), open_regular(path) as file:
        _require_memory(path, file)
        try:
            return json.loads(file.read())
        except RecursionError:
            raise ValueError("the JSON is nested too deeply") from None


def _require_memory(path: str | os.PathLike[str], file: IO[bytes]) -> None:
    size, budget = os.fstat(file.fileno()).st_size, default_budget()
    if _COPIES * size > budget:
        raise ResourceError(
            f"reading {os.fspath(path)} takes",
            actual=f"{_COPIES * size:,}",
            detail="bytes",
            expected=f"at most {budget:,}",
        )


def _outputs_of(iteration: Any) -> Any:
    if not isinstance(iteration, Mapping) or "outputs" not in iteration:
        raise ValueError("an iteration has no outputs")
    return iteration["outputs"]


def _read_arrays(arrays: Any) -> dict[str, Array]:
    if not isinstance(arrays, Mapping) or not arrays:
        raise ValueError("an iteration has no arrays")
    return {name: _read_array(name, array) for name, array in arrays.items() if name != _CLASS}


def _read_array(name: str, content: Any) -> Array:
    while isinstance(content, Mapping) and "values" in content:
        content = content["values"]
    if isinstance(content, Mapping) and content.get(_CLASS) == "Tensor":
        raise ValueError(f"{name!r} is a tensor of PyTorch, expected an array of NumPy")
    text = content.get("array") if isinstance(content, Mapping) else None
    if not isinstance(text, str):
        raise ValueError(f"{name!r} is not an array")
    try:
        stored = b64decode(text, validate=True)
    except ValueError:
        stored = text.encode("latin-1")  # early releases
    return decode_npy(stored)


class RecordedCalls:
    """The inputs and outputs of the calls of a comparison; an instance is the argument `on_call` of `compare`."""

    def __init__(self) -> None:
        self._inputs: list[dict[str, Array]] = []
        self._ours: list[dict[str, Array]] = []
        self._theirs: list[dict[str, Array]] = []

    def __call__(self, inputs: Mapping[str, Array], ours: Mapping[str, Array], theirs: Mapping[str, Array]) -> None:
        """Store copies of the arrays of a call."""
        for calls, arrays in ((self._inputs, inputs), (self._ours, ours), (self._theirs, theirs)):
            calls.append({name: np.array(array) for name, array in arrays.items()})

    def write_inputs(self, path: str | os.PathLike[str]) -> None:
        """Write the inputs of all calls with `write_feeds`."""
        write_feeds(path, self._inputs)

    def write_outputs(self, path: str | os.PathLike[str], reference: str) -> None:
        """Write the outputs of the reference and of ir_exec with `write_runs`.

        Args:
            reference: The name of the reference as a runner.
        """
        theirs = {reference: self._theirs} if any(self._theirs) else {}
        write_runs(path, {**theirs, "ir_exec": self._ours})
