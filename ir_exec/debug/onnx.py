"""An ONNX file as a reference, run by onnxruntime; IR keeps the names of its tensors in the names of its ports."""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Mapping
from importlib.util import find_spec
from pathlib import Path

from ir_exec.codes import Code
from ir_exec.debug.child import Child, ChildCrashed, ChildRefused, Stored, load_stored, store_arrays
from ir_exec.debug.entries import Entry, Key
from ir_exec.errors import EvaluationError
from ir_exec.types import Array, ElementType

__all__ = ["ONNXReference"]


class ONNXReference:
    """The network that an IR file was converted from, its tensors seen all at once; in a child process.

    timeout: seconds that one answer may take. Raises EvaluationError where onnxruntime or onnx is not installed, and
    for a file that they do not read.
    """

    def __init__(self, path: Path, *, timeout: float) -> None:
        missing = [name for name in ("onnx", "onnxruntime") if find_spec(name) is None]
        if missing:
            hint = "pip install 'ir-exec[onnx]' installs it"
            raise EvaluationError(f"{' and '.join(missing)} is not installed", code=Code.unknown_input, hint=hint)
        if not path.is_file():
            raise EvaluationError(f"{path} cannot be read: there is no such file", code=Code.unknown_input)
        self.title = str(path)
        self.notes: list[str] = []
        self.rounds = 0
        self.failure: str | None = None
        self.computes_in: ElementType | None = None
        self.is_partial = True
        self._path = path
        self._child = Child("onnx_child.py", timeout)
        self._folder = tempfile.TemporaryDirectory(prefix="ir-exec-")
        self._stored: dict[str, Stored] = {}
        self._inputs: dict[str, Array] = {}
        try:
            listed = self._child.ask(do="list", path=str(path))
        except (ChildCrashed, ChildRefused) as error:
            self.close()
            raise EvaluationError(f"{path} cannot be read: {error}", code=Code.unknown_input) from None
        self._parameters: list[str] = listed["inputs"]
        self._tensors: list[list[str]] = listed["tensors"]
        self._constants: list[str] = listed["constants"]
        self._outputs: list[str] = listed["outputs"]

    def entries(self) -> list[Entry]:
        """The inputs, the initializers, and what each node gives."""
        found = [Entry((), name, name, "Parameter", names=(name,)) for name in self._parameters]
        found += [Entry((), name, name, "Initializer", names=(name,)) for name in self._constants]
        return found + [
            Entry((), name, name, kind, names=(name,), output=name in self._outputs) for name, kind in self._tensors
        ]

    def inputs(self) -> dict[str, Array]:
        return {}

    def run(self, arrays: Mapping[Key, Array], wanted: Collection[Key], *, goes_on: bool = False) -> None:
        """goes_on: makes no difference, as these networks have no variables."""
        self._inputs = {key[1]: array for key, array in arrays.items()}
        missing = [name for name in self._parameters if name not in self._inputs]
        if missing:
            message = f"{self._path} takes input {', '.join(map(repr, missing))}, which the network has not"
            raise EvaluationError(message, code=Code.unknown_input)
        folder = Path(self._folder.name)
        inputs = dict(zip(self._inputs, store_arrays(list(self._inputs.values()), folder), strict=True))
        names = [name for name, _ in self._tensors if ((), name, 0) in wanted]
        constants = [name for name in self._constants if ((), name, 0) in wanted]
        request = {"inputs": inputs, "tensors": names, "constants": constants, "folder": str(folder)}
        self.rounds += 1
        try:
            answer = self._child.ask(do="run", path=str(self._path), **request)
        except (ChildCrashed, ChildRefused) as error:
            self.failure = f"onnxruntime {'refuses: ' if isinstance(error, ChildRefused) else ''}{error}"
            return
        self._stored = answer["tensors"]

    def value(self, key: Key, iterations: tuple[int, ...]) -> Array | None:
        if key[1] in self._inputs:
            return self._inputs[key[1]]
        stored = self._stored.get(key[1])
        return None if stored is None else load_stored(stored)

    def output(self, key: Key) -> Array | None:
        return self.value(key, ())

    def close(self) -> None:
        self._child.close()
        self._folder.cleanup()
