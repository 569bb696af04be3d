"""References for comparisons: another model, the files of a run, or arrays by name."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol, runtime_checkable

import numpy as np

from ir_exec.codes import Code
from ir_exec.debug.comparison.metrics import Difference, Settings, difference
from ir_exec.debug.traces.tracing import INDEX, Trace, TracedValue
from ir_exec.debug.traces.walk import Visit, Walker, Where
from ir_exec.debug.values.entries import Entry, Key, class_of_type, entries_of
from ir_exec.debug.values.files import Spill, nearest, read_npy, read_npz
from ir_exec.errors import EvaluationError
from ir_exec.graph import Graph, Node
from ir_exec.model import Model
from ir_exec.ops.infrastructure.values import Const
from ir_exec.runtime import Results
from ir_exec.runtime.precision import Precision
from ir_exec.types import Array, ElementType

__all__ = [
    "Adviser",
    "ArraysReference",
    "IRReference",
    "IterationsReference",
    "Lowered",
    "Reference",
    "ReferenceState",
    "TraceReference",
    "arrays_in",
    "differences",
    "kinds_of",
    "lowered_hint",
]


def lowered_hint(runtime: str) -> str:
    """Return a note for a comparison whose runtime refuses the file of the model."""
    return f"--with {runtime} --lowered runs the model as ir_exec lowers it, not the file itself"


class Reference(Protocol):
    """A source of values for a comparison.

    Attributes:
        title: Its name in reports.
        notes: Facts about its runs for the report.
        rounds: The number of runs.
        runtime: The program that computes its values; None for stored values.
        settings: Settings of the file or of the runtime that change its outputs beyond the tolerance.
        failure: The reason why requested values are missing, None if all are available.
        is_refused: True if the runtime refuses the file: then no value is available.
        is_filtered: True if it has a selection of values, in which outputs may be missing.
        computes_in: The element type of the computation, if coarser than that of its values.
        shares_names: True if its values have the names of the model's: it was made from the same file or model.
        spread: The largest differences between its own answers for the same inputs, by the name of the output.
        stored_calls: The number of calls with stored values; None for a reference that can be called.
    """

    title: str
    runtime: str | None
    notes: list[str]
    settings: list[str]
    rounds: int
    failure: str | None
    is_refused: bool
    is_filtered: bool
    computes_in: ElementType | None
    shares_names: bool
    spread: dict[str, Difference]
    stored_calls: int | None

    def entries(self) -> list[Entry]:
        """All values that may be available."""

    def inputs(self) -> dict[str, Array]:
        """The inputs of its run by name, if available; a comparison with other inputs is meaningless."""

    def run(self, arrays: Mapping[Key, Array], requested: Collection[Key], *, goes_on: bool = False) -> None:
        """Run with inputs by key, and store the requested values in place of those of the previous run.

        Args:
            goes_on: True to keep the variables of the previous run.
        """

    def value(self, key: Key, iterations: tuple[int, ...]) -> Array | None:
        """A value of the last run, None if not available."""

    def output(self, key: Key) -> Array | None:
        """The value of an output of the model. It differs from `value` if probes change the outputs."""

    def close(self) -> None:
        """Release memory, files and processes."""


@runtime_checkable
class Adviser(Protocol):
    """A reference with other ways to compute a layer whose values differ.

    Attributes:
        fuses: True if its values may be from inside a fusion, and differ from those of the layers.
    """

    fuses: bool

    def opinions(
        self, node: Node, inputs: Sequence[Array], partners: Sequence[str | None]
    ) -> dict[str, list[Array | None]]:
        """The outputs of a layer, computed in other ways, by the way or by a name of it for messages.

        Args:
            partners: The names of the outputs of the layer in the reference.
        """


@runtime_checkable
class Lowered(Protocol):
    """A reference in another format that can be lowered to IR, to match its values by structure."""

    def lower_model(self) -> Model | None:
        """Return the model as IR, with the names of its tensors; None if it cannot be lowered."""


class ReferenceState:
    """The attributes of a reference, before its first run."""

    def __init__(self, title: str, *, runtime: str | None = None, rounds: int = 0, is_filtered: bool = False) -> None:
        self.title = title
        self.runtime = runtime
        self.notes: list[str] = []
        self.settings: list[str] = []
        self.rounds = rounds
        self.failure: str | None = None
        self.is_refused = False
        self.is_filtered = is_filtered
        self.computes_in: ElementType | None = None
        self.shares_names = False
        self.spread: dict[str, Difference] = {}
        self.stored_calls: int | None = None

    def widen_spread(self, output: str, change: Difference) -> None:
        """Add a difference between two answers for an output of this name, if it is the largest one so far."""
        widest = self.spread.get(output)
        if widest is None or change.rmse > widest.rmse:
            self.spread[output] = change


class IRReference(ReferenceState):
    """Another model, run by ir_exec."""

    def __init__(
        self,
        model: Model,
        title: str,
        *,
        threads: int | None = None,
        precision: Precision = "f32",
        memory: int = 2**26,
    ) -> None:
        super().__init__(title, runtime="ir_exec", rounds=1)
        self._walker = Walker(model, threads=threads, precision=precision)
        self.model = model
        self._memory = memory
        self._spill = Spill(memory)
        self._constants = dict(_constants(model.graph))
        self._iterations: dict[Where, Sequence[Array]] = {}
        self._numbers: dict[Key, int] = {}

    def entries(self) -> list[Entry]:
        return list(entries_of(self.model))

    def inputs(self) -> dict[str, Array]:
        return {}

    def run(self, arrays: Mapping[Key, Array], requested: Collection[Key], *, goes_on: bool = False) -> None:
        self._spill.close()
        self._spill = Spill(self._memory)
        self._iterations = {}
        computed: dict[Graph, list[int]] = {}

        def keep_whole(graph: Graph, where: Where, values: Sequence[Array]) -> bool:
            if graph not in computed:
                computed[graph] = [
                    value.number for node in graph.nodes if not isinstance(node.op, Const) for value in node.outputs
                ]
            if not self._spill.reserve(sum([values[number].nbytes for number in computed[graph]])):
                return False
            self._iterations[where] = values
            return True

        def keep(visit: Visit) -> None:
            for position, array in enumerate(visit.outputs[: len(visit.node.outputs)]):
                key = (visit.where.scope, visit.node.id, position)
                if key in requested and key not in self._constants:
                    self._spill.put((key, visit.where.iterations), array)

        arguments = []
        for node, port in zip(self.model.graph.parameters, self.model.inputs, strict=True):
            array = arrays.get(((), node.id, 0))
            if array is None:
                raise EvaluationError(
                    f"the reference has an input {port.name!r} that is missing from the model", code=Code.unknown_input
                )
            arguments.append(_cast(array, port.element_type))
        self._walker.run(arguments, keep, on_iteration=keep_whole, goes_on=goes_on)

    def number(self, key: Key) -> int:
        """The number of a value in its body."""
        if not self._numbers:
            self._numbers = dict(_numbers(self.model.graph))
        return self._numbers[key]

    def iteration(self, where: Where) -> Sequence[Array] | None:
        """All values of an iteration by number; None if they are not stored together."""
        return self._iterations.get(where)

    def value(self, key: Key, iterations: tuple[int, ...]) -> Array | None:
        if key in self._constants:
            return self._walker.constant(self._constants[key])
        iteration = self._iterations.get(Where(key[0], iterations))
        if iteration is not None:
            return iteration[self.number(key)]
        return self._spill.get((key, iterations))

    def output(self, key: Key) -> Array | None:
        return self.value(key, ())

    def close(self) -> None:
        self._spill.close()
        self._iterations = {}


def _constants(graph: Graph) -> Iterator[tuple[Key, Node]]:
    for scope, inner in graph.scopes():
        for node in inner.nodes:
            if isinstance(node.op, Const):
                yield (scope, node.id, 0), node


def _numbers(graph: Graph) -> Iterator[tuple[Key, int]]:
    for scope, inner in graph.scopes():
        for node in inner.nodes:
            for value in node.outputs:
                yield (scope, node.id, value.position), value.number


def _cast(array: Array, element_type: ElementType) -> Array:
    """An input converted for a model with other float types."""
    if (
        element_type.is_known
        and element_type.is_float
        and array.dtype != element_type.dtype
        and ElementType.of(array).is_float
    ):
        return array.astype(element_type.dtype)
    return array


class TraceReference(ReferenceState):
    """A trace, in memory or in a folder."""

    def __init__(self, source: Trace | str | os.PathLike[str]) -> None:
        self._trace = source if isinstance(source, Trace) else Trace(source)
        title = "a trace in memory" if self._trace.folder is None else os.fspath(self._trace.folder)
        super().__init__(title, is_filtered=self._trace.index.filtered)
        self.stored_calls = 1
        if not self._trace.index.complete:
            self.notes.append(f"the trace is not complete: {self._trace.index.error}")
        self._values: dict[tuple[Key, tuple[int, ...]], TracedValue] = {}
        self._constants: dict[Key, TracedValue] = {}
        self._entries: dict[Key, Entry] = {}
        for value in self._trace.index.values:
            entry = value.entry()
            self._entries.setdefault(entry.key, entry)
            if entry.is_constant:
                self._constants.setdefault(entry.key, value)
            self._values[entry.key, value.iterations] = value

    def entries(self) -> list[Entry]:
        return list(self._entries.values())

    def inputs(self) -> dict[str, Array]:
        names = self._trace.index.inputs
        values = [
            value for value in self._trace.index.values if class_of_type(value.type).is_parameter and not value.scope
        ]
        if len(values) != len(names):
            return {}
        return {name: self._trace.load(value) for name, value in zip(names, values, strict=True)}

    def run(self, arrays: Mapping[Key, Array], requested: Collection[Key], *, goes_on: bool = False) -> None:
        """Do nothing: the model ran when the trace was written."""

    def value(self, key: Key, iterations: tuple[int, ...]) -> Array | None:
        # The constants of a body are stored once, for the first iteration.
        value = self._constants.get(key) or self._values.get((key, iterations))
        return None if value is None else self._trace.load(value)

    def output(self, key: Key) -> Array | None:
        return self.value(key, ())

    def close(self) -> None:
        """Do nothing: no resources are used."""


class ArraysReference(ReferenceState):
    """Arrays by the names of tensors or layers, from an .npz, a folder of .npy files or a mapping.

    Args:
        outputs: The names of the outputs of the model, with the aliases `out0`, `out1`, ...
        kinds: The element types by name, for types that .npy files do not have.
    """

    def __init__(
        self,
        arrays: Mapping[str, Array | Path],
        title: str,
        outputs: Sequence[str] = (),
        kinds: Mapping[str, str | None] | None = None,
    ) -> None:
        super().__init__(title, is_filtered=True)
        self.stored_calls = 1
        self._arrays = dict(arrays)
        self._outputs = list(outputs)
        self._kinds = kinds or {}

    def entries(self) -> list[Entry]:
        return [Entry((), name, name, "", names=self._names(name)) for name in self._arrays]

    def _names(self, name: str) -> tuple[str, ...]:
        match = None if name in self._outputs else re.fullmatch(r"out(\d{1,6})", name)
        return (name, *(self._outputs[int(match[1]) :][:1] if match else ()))

    def inputs(self) -> dict[str, Array]:
        return {}

    def run(self, arrays: Mapping[Key, Array], requested: Collection[Key], *, goes_on: bool = False) -> None:
        """Do nothing: the values exist already."""

    def value(self, key: Key, iterations: tuple[int, ...]) -> Array | None:
        name = key[1]
        stored = self._arrays[name]
        array = _convert_to_type(
            stored if isinstance(stored, np.ndarray) else read_npy(stored, mapped=True), self._kinds.get(name)
        )
        try:
            ElementType.of(array)
        except ValueError:
            message = f"{self.title} has {array.dtype} elements for {name!r}, a type that no layer computes"
            raise EvaluationError(message, code=Code.unknown_input) from None
        return array

    def output(self, key: Key) -> Array | None:
        return self.value(key, ())

    def close(self) -> None:
        """Do nothing: no resources are used."""


class IterationsReference(ArraysReference):
    """Arrays by the names of tensors or layers for each of several calls.

    Args:
        iterations: The arrays of each call, with the same names.
        outputs: As for ArraysReference.
        kinds: As for ArraysReference.
    """

    def __init__(
        self,
        iterations: Sequence[Mapping[str, Array]],
        title: str,
        outputs: Sequence[str] = (),
        kinds: Mapping[str, str | None] | None = None,
    ) -> None:
        super().__init__(iterations[0], title, outputs, kinds)
        if any(iteration.keys() != iterations[0].keys() for iteration in iterations):
            message = f"the iterations of {title} have different names of arrays"
            raise EvaluationError(message, code=Code.unknown_input)
        self._iterations = list(iterations)
        self._number = 0
        self.stored_calls = len(iterations)

    def run(self, arrays: Mapping[Key, Array], requested: Collection[Key], *, goes_on: bool = False) -> None:
        """Select the values of the next call, or of the first one."""
        self._number = self._number + 1 if goes_on else 0
        self._arrays = dict(self._iterations[self._number])


def arrays_in(path: Path, entries: Sequence[Entry]) -> dict[str, Array | Path]:
    """The arrays of an .npz, or the .npy files of a folder and its subfolders, by name.

    A file is named after its tensor: `encoder/add.npy`, or `encoder_add.npy` if the name is not valid for a file.

    Raises:
        EvaluationError: If there are no arrays.
    """
    if path.suffix == ".npz":
        return dict(read_npz(path))
    if (path / INDEX).exists():
        raise EvaluationError(f"{path} is a trace", expected=".npy files", code=Code.unknown_input)
    plain = {_plain(name): name for entry in entries for name in (entry.path, entry.layer_name, *entry.names)}
    arrays: dict[str, Array | Path] = {}
    names = kinds_of(entries)
    for file in sorted(path.rglob("*.npy")):
        name = file.relative_to(path).with_suffix("").as_posix()
        arrays[name if name in names else plain.get(_plain(name), name)] = file
    if not arrays:
        raise EvaluationError(f"{path} contains neither a trace nor .npy files", code=Code.unknown_input)
    return arrays


def kinds_of(entries: Iterable[Entry]) -> dict[str, str | None]:
    """The element type of every name."""
    return {name: entry.element_type for entry in entries for name in (entry.path, entry.layer_name, *entry.names)}


def _plain(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9]+", "_", name)


def _convert_to_type(array: Array, element_type: str | None) -> Array:
    try:
        return array if element_type is None else nearest(array, ElementType.parse(element_type))
    except ValueError:
        return array


def differences(
    results: Results,
    path: str | os.PathLike[str],
    rtol: float | None = None,
    atol: float | None = None,
    arrays: Mapping[str, Array] | None = None,
) -> dict[str, Difference | None]:
    """Compare each output with the array of its name, or out0, out1, ..., in an .npz or a folder of .npy files.

    The result is None for outputs without an array.

    Args:
        rtol: As for `compare`.
        atol: As for `compare`.
        arrays: The content of the path, if already read.

    Raises:
        EvaluationError: If no output has an array.
    """
    settings = Settings(rtol=rtol, atol=atol)
    names = [str(name) for name in results]  # the mapping also accepts positions
    kinds = {name: str(ElementType.of(array)) for name, array in zip(names, results.to_tuple(), strict=True)}
    kinds |= {f"out{position}": kinds[name] for position, name in enumerate(names)}
    expected = ArraysReference(arrays_in(Path(path), []) if arrays is None else arrays, os.fspath(path), names, kinds)
    keys = {name: entry.key for entry in expected.entries() for name in entry.names}
    errors: dict[str, Difference | None] = {}
    for name, tensor_names, ours in zip(names, results.names(), results.to_tuple(), strict=True):
        key = next((keys[alias] for alias in (name, *sorted(tensor_names)) if alias in keys), None)
        theirs = None if key is None else expected.output(key)
        if theirs is None:
            errors[name] = None
        else:
            tolerance = settings.carried_tolerance([ElementType.of(ours), ElementType.of(theirs)])
            errors[name] = difference(ours, theirs, tolerance)
    if not any(errors.values()):
        raise EvaluationError(f"the model and {os.fspath(path)} have no value in common", code=Code.unknown_input)
    return errors
