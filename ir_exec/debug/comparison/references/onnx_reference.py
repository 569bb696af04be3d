"""onnxruntime as a reference, with an ONNX file or an export of the model: values are matched by tensor names."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

from ir_exec.codes import Code
from ir_exec.debug.comparison.metrics import difference, tolerance_of
from ir_exec.debug.comparison.references.child import (
    Child,
    ChildCrashed,
    ChildRefused,
    Stored,
    load_stored,
    require_provider,
    store_arrays,
)
from ir_exec.debug.comparison.references.expanded_weights import find_expanded_weights
from ir_exec.debug.comparison.references.reference import ReferenceState, lowered_hint
from ir_exec.debug.comparison.references.repeating import RepeatedValue, RunSetting, Vary
from ir_exec.debug.values.entries import Entry, Key
from ir_exec.errors import EvaluationError, IRError, UnsupportedError
from ir_exec.graph import Node, Value
from ir_exec.hints import install_hint
from ir_exec.ir.storage import temporary_folder
from ir_exec.model import Model, read_model
from ir_exec.runtime.precision import Precision
from ir_exec.types import Array, ElementType

__all__ = ["ExportedReference", "ONNXReference"]

_MOST_OPINIONS = 10
"""Maximum opinions about wrong layers: each requires a run of the model up to the inputs of the layer."""

_BY_REFERENCE = "computed by onnx.reference because onnxruntime refuses the file:"

ONNXEngine = Literal["onnxruntime", "only onnxruntime", "reference"]
"""onnxruntime, without optimizations or with onnx.reference for a file that it refuses; onnxruntime with its default
settings; or onnx.reference alone."""

_SETTINGS: tuple[tuple[str, dict[str, Any]], ...] = (
    (
        "its default for products with compressed weights, which rounds activations to 8 bits "
        "(session.qdq_matmulnbits_accuracy_level)",
        {"config": {"session.qdq_matmulnbits_accuracy_level": "1"}},
    ),
    ("its extended graph optimizations", {"level": "ORT_ENABLE_BASIC"}),
    ("its graph optimizations", {"level": "ORT_DISABLE_ALL"}),
)
"""Settings of onnxruntime that change values, and the requests for runs without them; the most specific one first."""


class ONNXReference(ReferenceState):
    """An ONNX file, run in a child process.

    The outputs are those of the file as it is, run with the default settings of onnxruntime. The other values are those
    of a copy with all tensors as outputs, which runs without graph optimizations.

    Args:
        timeout: Seconds for one answer.
        title: Its name in reports, by default the path.
        model: The model that was read from the file, if the comparison is of the file with itself.
        device: CPU, or an execution provider of onnxruntime as for `require_provider`. On other devices than the CPU
            only the outputs are read: with all tensors as outputs, a GPU may run out of memory.

    Raises:
        EvaluationError: If onnxruntime or onnx is not installed, if they cannot read the file, or without the device.
    """

    def __init__(
        self,
        path: Path,
        *,
        timeout: float,
        engine: ONNXEngine = "onnxruntime",
        title: str | None = None,
        model: Model | None = None,
        device: str = "CPU",
    ) -> None:
        needed = ("onnx",) if engine == "reference" else ("onnx", "onnxruntime")
        missing = [name for name in needed if find_spec(name) is None]
        if missing:
            hint = install_hint("onnx")
            raise EvaluationError(f"{' and '.join(missing)} is not installed", code=Code.unknown_input, hint=hint)
        if not path.is_file():
            raise EvaluationError(f"{path} cannot be read: there is no such file", code=Code.unknown_input)
        runtime = "onnx.reference" if engine == "reference" else "onnxruntime"
        super().__init__(str(path) if title is None else title, runtime=runtime, is_filtered=True)
        self.shares_names = model is not None
        self.fuses = False
        self.varied: frozenset[Vary] = frozenset({"threads", "compile"})
        self._runs_as_is = True
        self._asked = 0
        self._path = path
        self._engine = engine
        if engine == "reference":
            self.notes.append("computed by onnx.reference, not by onnxruntime")
        self._child = Child("onnx_child.py", timeout)
        self._folder = temporary_folder()
        self._stored: dict[str, Stored] = {}
        self._plain: dict[str, Stored] = {}
        self._mapped: dict[str, Array] = {}
        self._inputs: dict[str, Array] = {}
        self._providers: list[str] = []
        if device.upper() != "CPU":
            try:
                self._providers, _ = require_provider(self._child, device)
            except EvaluationError:
                self.close()
                raise
            self.title = f"{self.title} on {device}"
            self.runtime = f"{self.runtime} on {device}"
            self._note(f"no intermediate values on {device}: --isolate runs blocks of layers alone")
        try:
            listed = self._child.ask(do="list", path=str(path))
        except (ChildCrashed, ChildRefused) as error:
            self.close()
            raise EvaluationError(f"{path} cannot be read: {error}", code=Code.unknown_input) from None
        self._parameters: list[str] = listed["inputs"]
        self._tensors: list[list[str]] = listed["tensors"]
        self._constants: list[list[str]] = listed["constants"]
        self._outputs: list[str] = listed["outputs"]
        self._has_states: bool = listed["has_states"]
        if model is not None:
            # The elements of a list are inputs and outputs of the model: `name/0`, `name/1`, ...
            self._parameters = [port.name for port in model.inputs]
            names = {name for name, _ in self._tensors}
            elements = [port.name for port in model.outputs if port.name.rpartition("/")[0] in names]
            self._tensors += [[name, ""] for name in elements if name not in names]
            self._outputs += [name for name in elements if name not in self._outputs]

    def entries(self) -> list[Entry]:
        """The inputs, the initializers, and the outputs of each node."""
        listed = [Entry((), name, name, "Parameter", names=(name,)) for name in self._parameters]
        listed += [
            Entry((), name, name, "Initializer", names=(name,), element_type=element_type or None)
            for name, element_type in self._constants
        ]
        places = {name: position for position, name in enumerate(self._outputs)}
        return listed + [
            Entry((), name, name, element_type, names=(name,), output=name in places, place=places.get(name))
            for name, element_type in self._tensors
        ]

    def inputs(self) -> dict[str, Array]:
        return {}

    def lower_model(self) -> Model | None:
        try:
            return read_model(self._path).specialize_for(self._inputs)
        except IRError:
            return None

    def run(self, arrays: Mapping[Key, Array], requested: Collection[Key], *, goes_on: bool = False) -> None:
        """Run with inputs by key.

        Args:
            goes_on: True for a further call, which ONNX files with states do not support.
        """
        self._inputs = {key[1]: array for key, array in arrays.items()}
        missing = [name for name in self._parameters if name not in self._inputs]
        if missing:
            message = f"{self._path} has the inputs {', '.join(map(repr, missing))} that are missing from the model"
            raise EvaluationError(message, code=Code.unknown_input)
        if goes_on and self._has_states:
            raise EvaluationError(
                f"{self._path} has states, which {self.runtime} does not keep between calls",
                expected="one call",
                code=Code.unknown_input,
            )
        folder = Path(self._folder.name)
        inputs = dict(zip(self._inputs, store_arrays(list(self._inputs.values()), folder), strict=True))
        names = [name for name, operator_type in self._tensors if operator_type and ((), name, 0) in requested]
        constants = [name for name, _ in self._constants if ((), name, 0) in requested]
        self._mapped.clear()
        for name in (f"values{self.rounds}.bin", f"values{self.rounds}.bin.outputs"):
            with suppress(OSError):  # Windows does not delete mapped files
                (folder / name).unlink(missing_ok=True)
        self.rounds += 1
        values = str(folder / f"values{self.rounds}.bin")
        request: dict[str, Any] = {"inputs": inputs, "path": str(self._path), "values": values}
        request |= {"providers": self._providers} if self._providers else {}
        try:
            answer = (
                self._child.ask(do="outputs", **request)
                if self._providers
                else self._child.ask(
                    do="run",
                    engine=self._engine,
                    tensors=names,
                    constants=constants,
                    as_is=self._runs_as_is and self._engine != "reference",
                    **request,
                )
            )
        except (ChildCrashed, ChildRefused) as error:
            self.is_refused = isinstance(error, ChildRefused)
            self.failure = f"{self._program} {'refuses ' + self._name + ': ' if self.is_refused else ''}{error}"
            if self.is_refused and self.shares_names and self._runs_as_is:
                self._note(lowered_hint("onnxruntime"))
            return
        self._stored, self._plain = answer["tensors"], answer.get("outputs", {})
        if not self._providers:
            self._note_runs(answer)
            self._find_settings(request)

    @property
    def _program(self) -> str:
        return "onnx.reference" if self._engine == "reference" else "onnxruntime"

    @property
    def _name(self) -> str:
        """The file in messages."""
        return self._path.name

    def _note_runs(self, answer: Mapping[str, Any]) -> None:
        """Add notes about runs that failed."""
        if "refusal" in answer:
            is_title = self.title == self.runtime
            self.runtime = (self.runtime or "").replace("onnxruntime", "onnx.reference")
            self.title = self.runtime if is_title else self.title
            self._note(f"{_BY_REFERENCE} {answer['refusal']}")
        if "unoptimized" in answer:
            self.runtime = "onnxruntime (without optimizations)"
            self._note(f"onnxruntime runs the file only without graph optimizations: {answer['unoptimized']}")
        if "unprobed" in answer:
            self._note(f"onnxruntime refuses its intermediate values as outputs: {answer['unprobed']}")

    def _note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)

    def _find_settings(self, request: Mapping[str, Any]) -> None:
        """Find the setting of onnxruntime that explains outputs that differ without optimizations."""
        if self._is_same(self._plain):
            return
        self._add_spread(self._stored)
        for text, change in _SETTINGS:
            try:
                answer = self._child.ask(do="outputs", **{**request, "values": f"{request['values']}.again"}, **change)
            except (ChildCrashed, ChildRefused):
                continue
            self._add_spread(answer["tensors"])
            if self._is_same(answer["tensors"]):
                self._add_setting(text)
                return

    def _add_spread(self, values: Mapping[str, Stored]) -> None:
        """Add the differences between outputs of the file as it is and those of another run."""
        for name, stored in self._plain.items():
            if name not in values:
                continue
            array, other = load_stored(values[name]), load_stored(stored)
            change = difference(array, other, tolerance_of([ElementType.of(array), ElementType.of(other)]))
            if not change.is_within:
                self.widen_spread(name, change)

    def repeat(self, settings: Sequence[RunSetting], requested: Collection[Key]) -> Iterator[RepeatedValue]:
        names = [name for name, operator_type in self._tensors if operator_type and ((), name, 0) in requested]
        rounds = [[]] if self._providers else [[], names] if self._runs_as_is else [names]
        for tensors in rounds if self._engine != "reference" else ():
            try:
                yield from self._repeat(settings, tensors)
            except (ChildCrashed, ChildRefused) as error:
                what = " with intermediate values" if tensors else ""
                self._note(f"onnxruntime does not repeat its run{what}: {error}")

    def _repeat(self, settings: Sequence[RunSetting], tensors: Sequence[str]) -> Iterator[RepeatedValue]:
        """Yield the outputs, or these tensors, that differ from those of the first run."""
        self.rounds += 1 + len(settings)
        folder = Path(self._folder.name, f"repeat{self.rounds}")
        folder.mkdir()
        inputs = dict(zip(self._inputs, store_arrays(list(self._inputs.values()), folder), strict=True))
        runs = [{"compile": setting.compiles, "threads": setting.threads} for setting in (RunSetting(), *settings)]
        with self._child.patience(len(runs)):
            answer = self._child.ask(
                do="repeat",
                path=str(self._path),
                tensors=list(tensors),
                inputs=inputs,
                values=str(folder / "values.bin"),
                runs=runs,
                **({"providers": self._providers} if self._providers else {}),
            )
        mapped: dict[str, Array] = {}
        first, *others = answer["runs"]
        for number, (setting, values) in enumerate(zip(settings, others, strict=True)):
            for name, stored in values.items():
                arrays = load_stored(first[name], mapped), load_stored(stored, mapped)
                yield RepeatedValue(number, setting, ((), name, 0), *arrays, bool(tensors), self.computes_in)

    def _is_same(self, outputs: Mapping[str, Stored]) -> bool:
        """Return True if outputs are those of the run without optimizations, within the tolerance of many layers."""
        for name, stored in outputs.items():
            if name not in self._stored:
                continue
            array, other = load_stored(stored), load_stored(self._stored[name], self._mapped)
            if not difference(array, other, tolerance_of([ElementType.of(array), ElementType.of(other)])).is_within:
                return False
        return True

    def value(self, key: Key, iterations: tuple[int, ...]) -> Array | None:
        if key[1] in self._inputs:
            return self._inputs[key[1]]
        stored = self._stored.get(key[1])
        return None if stored is None else load_stored(stored, self._mapped)

    def opinions(
        self, node: Node, inputs: Sequence[Array], partners: Sequence[str | None]
    ) -> dict[str, list[Array | None]]:
        """The outputs of the node of these tensors in other ways, for the inputs that onnxruntime computes.

        The ways are onnx.reference, and onnxruntime in f32 for a node that allows activations of fewer bits.
        """
        if not any(partners) or self._asked == _MOST_OPINIONS or self._providers:
            return {}
        self._asked += 1
        folder = Path(self._folder.name, f"opinion{self._asked}")
        folder.mkdir()
        inputs_on_disk = dict(zip(self._inputs, store_arrays(list(self._inputs.values()), folder), strict=True))
        names = [name for name in partners if name]
        try:
            answer = self._child.ask(
                do="opinion",
                path=str(self._path),
                inputs=inputs_on_disk,
                tensors=names,
                values=str(folder / "values.bin"),
            )
        except (ChildCrashed, ChildRefused):
            return {}
        level = answer["accuracy_level"]
        results = {}
        for way, outputs in answer["ways"].items():
            stored = {name.removeprefix(f"{way}:"): location for name, location in outputs.items()}
            if way == "f32" and not self._is_same(stored):
                self._add_setting(f"accuracy_level {level} of {', '.join(map(repr, names))}")
            title = way if way == "evaluator" else f"onnxruntime with accuracy_level 1 instead of {level}"
            results[title] = [load_stored(stored[name]) if name in stored else None for name in partners]
        return results

    def _add_setting(self, text: str) -> None:
        if text not in self.settings:
            self.settings.append(text)

    def output(self, key: Key) -> Array | None:
        """An output of the file as it is; it differs from `value` if graph optimizations change it."""
        stored = self._plain.get(key[1])
        return self.value(key, ()) if stored is None else load_stored(stored, self._mapped)

    def close(self) -> None:
        self._child.close()
        self._folder.cleanup()


class ExportedReference(ONNXReference):
    """MODEL itself lowered to ONNX, with all tensors as outputs, run in a child process.

    Args:
        precision: The precision of 16-bit floats, as for `compile_model`.
        title: Its name in reports.
        device: As for ONNXReference.

    Raises:
        EvaluationError: If onnxruntime or onnx is not installed, or without the device.
        UnsupportedError: If the model has variables, or if ONNX cannot express its layers.
    """

    def __init__(
        self,
        model: Model,
        *,
        timeout: float,
        precision: Precision = "f32",
        title: str = "onnxruntime (exported)",
        device: str = "CPU",
    ) -> None:
        missing = [name for name in ("onnxruntime", "onnx") if find_spec(name) is None]
        if missing:
            hint = install_hint("onnxruntime")
            raise EvaluationError(f"{' and '.join(missing)} is not installed", code=Code.unknown_input, hint=hint)
        from ir_exec.engines.widening import widen_model
        from ir_exec.onnx.export.files import write_exported
        from ir_exec.onnx.export.lower import lower_model

        exported = lower_model(model, functions=False, sources=False)
        if exported.states:
            names = ", ".join(exported.states)
            raise UnsupportedError(
                "the model has the variables", actual=names, expected="none for a comparison with onnxruntime"
            )
        self._exported = temporary_folder()
        path = Path(self._exported.name, "network.onnx")
        # Separate constants are mapped by the child, and not part of the message.
        write_exported(widen_model(exported) if precision == "f32" else exported, path, external_data=True)
        super().__init__(path, timeout=timeout, title=title, device=device)
        self._model = model
        self._keys: dict[Value, Key] = {
            value: ((), value.names[0] if value.names else value.name, 0) for value in model.graph.values
        }
        self.runtime = self.title
        self.shares_names = True
        self._runs_as_is = False

    @property
    def _name(self) -> str:
        return "the export"

    def run(self, arrays: Mapping[Key, Array], requested: Collection[Key], *, goes_on: bool = False) -> None:
        weights = find_expanded_weights(self._model, requested, "onnxruntime", self._keys)
        if weights is not None:
            self._note(weights.note)
            requested = [key for key in requested if key not in weights.keys]
        super().run(arrays, requested, goes_on=goes_on)

    def lower_model(self) -> Model | None:
        # Its tensors have the names of the model's values.
        return None

    def close(self) -> None:
        super().close()
        self._exported.cleanup()
