"""onnxruntime with an ONNX file as a reference. The tensor names of the IR are those of the ONNX file."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from ir_exec.codes import Code
from ir_exec.debug.references.child import Child, ChildCrashed, ChildRefused, Stored, load_stored, store_arrays
from ir_exec.debug.values.entries import Entry, Key
from ir_exec.errors import EvaluationError, IRError
from ir_exec.graph import Node
from ir_exec.hints import install_hint
from ir_exec.ir.storage import temporary_folder
from ir_exec.model import Model, read_model
from ir_exec.types import Array, ElementType

__all__ = ["ONNXReference"]


_MOST_OPINIONS = 10
"""Maximum opinions about wrong layers: each requires a run of the model up to the inputs of the layer."""

_BY_REFERENCE = "computed by onnx.reference because onnxruntime refuses the file:"


class ONNXReference:
    """The ONNX file that an IR file was converted from, run in a child process with all tensors as outputs.

    Args:
        timeout: Seconds for one answer.
        engine: `onnxruntime`, with onnx.reference for a file that it refuses, or `reference` for only onnx.reference.

    Raises:
        EvaluationError: If onnxruntime or onnx is not installed, or if they cannot read the file.
    """

    def __init__(
        self, path: Path, *, timeout: float, engine: Literal["onnxruntime", "reference"] = "onnxruntime"
    ) -> None:
        needed = ("onnx", "onnxruntime") if engine == "onnxruntime" else ("onnx",)
        missing = [name for name in needed if find_spec(name) is None]
        if missing:
            hint = install_hint("onnx")
            raise EvaluationError(f"{' and '.join(missing)} is not installed", code=Code.unknown_input, hint=hint)
        if not path.is_file():
            raise EvaluationError(f"{path} cannot be read: there is no such file", code=Code.unknown_input)
        self.title = str(path)
        self.notes: list[str] = []
        self.rounds = 0
        self.failure: str | None = None
        self.computes_in: ElementType | None = None
        self.is_partial = True
        self.fuses = False
        self._asked = 0
        self._path = path
        self._engine = engine
        if engine == "reference":
            self.notes.append("computed by onnx.reference, not by onnxruntime")
        self._child = Child("onnx_child.py", timeout)
        self._folder = temporary_folder()
        self._stored: dict[str, Stored] = {}
        self._mapped: dict[str, Array] = {}
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
        """The inputs, the initializers, and the outputs of each node."""
        found = [Entry((), name, name, "Parameter", names=(name,)) for name in self._parameters]
        found += [Entry((), name, name, "Initializer", names=(name,)) for name in self._constants]
        places = {name: place for place, name in enumerate(self._outputs)}
        return found + [
            Entry((), name, name, kind, names=(name,), output=name in places, place=places.get(name))
            for name, kind in self._tensors
        ]

    def inputs(self) -> dict[str, Array]:
        return {}

    def lowered(self) -> Model | None:
        try:
            return read_model(self._path).specialised(self._inputs)
        except IRError:
            return None

    def run(self, arrays: Mapping[Key, Array], wanted: Collection[Key], *, goes_on: bool = False) -> None:
        """Run with inputs by key.

        Args:
            goes_on: Ignored, because ONNX has no variables.
        """
        self._inputs = {key[1]: array for key, array in arrays.items()}
        missing = [name for name in self._parameters if name not in self._inputs]
        if missing:
            message = f"{self._path} has the inputs {', '.join(map(repr, missing))} that are missing from the model"
            raise EvaluationError(message, code=Code.unknown_input)
        folder = Path(self._folder.name)
        inputs = dict(zip(self._inputs, store_arrays(list(self._inputs.values()), folder), strict=True))
        names = [name for name, _ in self._tensors if ((), name, 0) in wanted]
        constants = [name for name in self._constants if ((), name, 0) in wanted]
        self._mapped.clear()
        with suppress(OSError):  # Windows does not delete mapped files
            (folder / f"values{self.rounds}.bin").unlink(missing_ok=True)
        self.rounds += 1
        values = str(folder / f"values{self.rounds}.bin")
        request = {"inputs": inputs, "tensors": names, "constants": constants, "values": values}
        try:
            answer = self._child.ask(do="run", path=str(self._path), engine=self._engine, **request)
        except (ChildCrashed, ChildRefused) as error:
            self.failure = f"onnxruntime {'refuses: ' if isinstance(error, ChildRefused) else ''}{error}"
            return
        self._stored = answer["tensors"]
        if "refusal" in answer and not any(note.startswith(_BY_REFERENCE) for note in self.notes):
            self.notes.append(f"{_BY_REFERENCE} {answer['refusal']}")

    def value(self, key: Key, iterations: tuple[int, ...]) -> Array | None:
        if key[1] in self._inputs:
            return self._inputs[key[1]]
        stored = self._stored.get(key[1])
        return None if stored is None else load_stored(stored, self._mapped)

    def opinions(
        self, node: Node, inputs: Sequence[Array], partners: Sequence[str | None]
    ) -> dict[str, list[Array | None]]:
        """The outputs of the node of these tensors by onnx.reference, for the inputs that onnxruntime computes."""
        if not any(partners) or self._asked == _MOST_OPINIONS:
            return {}
        self._asked += 1
        folder = Path(self._folder.name, f"opinion{self._asked}")
        folder.mkdir()
        given = dict(zip(self._inputs, store_arrays(list(self._inputs.values()), folder), strict=True))
        names = [name for name in partners if name]
        try:
            answer = self._child.ask(
                do="opinion", path=str(self._path), inputs=given, tensors=names, values=str(folder / "values.bin")
            )
        except (ChildCrashed, ChildRefused):
            return {}
        found = {name: load_stored(stored) for name, stored in answer["tensors"].items()}
        return {"evaluator": [found.get(name) if name else None for name in partners]}

    def output(self, key: Key) -> Array | None:
        return self.value(key, ())

    def close(self) -> None:
        self._child.close()
        self._folder.cleanup()
