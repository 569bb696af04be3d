"""Traces of all values of a run, on disk or in memory, as mappings that load values on access."""

from __future__ import annotations

import os
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

from pydantic import Field, ValidationError

from ir_exec.codes import Code
from ir_exec.debug.traces.expanding import LEAST_BYTES, ExpandedValues, find_expanded, save_layers
from ir_exec.debug.traces.walk import Visit, Walker
from ir_exec.debug.values.entries import Entry, Key, entries_of
from ir_exec.debug.values.facts import Facts, digest, facts_of
from ir_exec.debug.values.files import damaged_file_error, read_value, unwritable, write_file, write_value
from ir_exec.errors import EvaluationError, IRError, NoSuchKeyError, ResourceError, SourceLine
from ir_exec.graph import Node
from ir_exec.hints import suggested
from ir_exec.ir import default_weights_path
from ir_exec.ir.regular_files import open_regular
from ir_exec.model import Model, Source, read_model
from ir_exec.ops.infrastructure.values import Const
from ir_exec.plan.memory import default_budget
from ir_exec.report.numbers import format_count, pluralize
from ir_exec.report.records import Record, to_json
from ir_exec.runtime.arguments import Inputs, whole_number
from ir_exec.runtime.calls import bind_calls
from ir_exec.runtime.precision import Precision
from ir_exec.types import Array, ElementType

__all__ = ["INDEX", "Trace", "TraceIndex", "TracedValue", "trace"]

INDEX = "index.json"
"""The index of a trace, which is written last."""

_EXPANDING = "expanding.xml"
"""The model of the layers whose values are computed from constants; its .bin is next to it."""

_RESERVE = "index.reserve"
"""A file that reserves disk space for the index, in case the values fill the disk."""

_BYTES_A_VALUE = 1024


class TracedValue(Record):
    """One value: its layer, its type and statistics, and its file.

    Attributes:
        name: `loop/body/layer`, with the position of the output if there are several (`split:1`). `iterations`
            identifies the value of one iteration, with one number for each enclosing body.
        layer_id: The id of the layer.
        layer_name: The name of the layer.
        type: The type of the layer.
        tensor_names: The names of the port.
        fused: The layers fused into this one, from rt_info.
        output: True for an output of the model.
        shape: The dims.
        file: The path relative to the folder; None for a value that is computed from stored constants.
        digest: Equal for values with the same element type, shape and bits.
        source: The line of Python that the layer was exported from.
    """

    name: str
    scope: tuple[str, ...] = ()
    iterations: tuple[int, ...] = ()
    layer_id: str
    layer_name: str
    type: str
    port: int = 0
    ports: int = 1
    tensor_names: tuple[str, ...] = ()
    fused: tuple[str, ...] = ()
    output: bool = False
    element_type: str
    shape: tuple[int, ...]
    file: Annotated[str, Field(pattern=r"^\d{6,}-[\w.\-]*\.npy$")] | None
    digest: str
    facts: Facts
    source: SourceLine | None = None

    def entry(self) -> Entry:
        shape = f"[{','.join(map(str, self.shape))}]"
        return Entry(
            self.scope,
            self.layer_id,
            self.layer_name,
            self.type,
            self.port,
            self.ports,
            self.tensor_names,
            self.fused,
            self.element_type,
            shape,
            self.output,
            source=self.source,
        )


class TraceIndex(Record):
    """`index.json` of a trace.

    Attributes:
        complete: True if the run completed.
        filtered: True if layers or constants were excluded by options.
        error: The error that ended the run.
        inputs: The names of the inputs.
        precision: As for `trace`.
    """

    format: Literal[1] = 1
    model: str
    complete: bool
    filtered: bool = False
    error: str | None = None
    inputs: tuple[str, ...] = ()
    precision: Precision = "f32"
    values: tuple[TracedValue, ...]


class Trace(Mapping[str, Array]):
    """The values that `trace` wrote to a folder, loaded on access, or that it stores in memory.

    Keys are names as in the index (`add`, `split:1`), with iterations in brackets for values of bodies
    (`loop/body/add[0]`). Tensor names are also keys, but are not iterated over.

    Values of layers that expand compressed weights are computed from the constants on access.

    Opening raises EvaluationError for a folder without a valid index; loading raises it for a damaged value.

    Attributes:
        folder: The folder; None for values in memory, which are read-only arrays.
        index: The records of the values.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self._open(Path(folder), _read_index(Path(folder)), {}, None)

    @classmethod
    def _in_memory(cls, index: TraceIndex, arrays: Mapping[str, Array], model: Model) -> Trace:
        """Return a trace of arrays in memory.

        Args:
            arrays: The arrays by the names that their files would have.
        """
        new_trace = cls.__new__(cls)
        new_trace._open(None, index, arrays, model)
        return new_trace

    def _open(self, folder: Path | None, index: TraceIndex, arrays: Mapping[str, Array], model: Model | None) -> None:
        self.folder = folder
        self._model = model
        self.index = index
        self._arrays = arrays
        self._values = {_key(value.name, value.iterations): value for value in self.index.values}
        self._by_tensor: dict[str, TracedValue] = {}
        for value in self.index.values:
            for name in value.tensor_names:
                self._by_tensor.setdefault(_key(name, value.iterations), value)

    def __getitem__(self, key: str) -> Array:
        return self.load(self.value(key))

    def load(self, value: TracedValue) -> Array:
        """Return the array of a value in the index; the name of the value may be ambiguous."""
        if value.file is None:
            return self._expander.compute(value.layer_id, value.port)
        if self.folder is None:
            return self._arrays[value.file]
        return read_value(self.folder / value.file, ElementType.parse(value.element_type), value.shape)

    @cached_property
    def _expander(self) -> ExpandedValues:
        """The values that are computed from constants."""
        model = self._model
        if model is None:
            assert self.folder is not None, "a trace is in a folder or has a model"
            model = read_model(self.folder / _EXPANDING)
        return ExpandedValues(model, self.index.precision, self._load_constant)

    def _load_constant(self, layer_id: str) -> Array:
        return self.load(self._constants[layer_id])

    @cached_property
    def _constants(self) -> dict[str, TracedValue]:
        return {value.layer_id: value for value in self.index.values if not value.scope and value.file is not None}

    def value(self, key: str) -> TracedValue:
        """Return the record of a value in the index; raises KeyError, with similar names, if there is none."""
        record = self._values.get(key) or self._by_tensor.get(key)
        if record is None:
            raise self._missing(key)
        return record

    def _missing(self, key: str) -> NoSuchKeyError:
        hint = suggested(str(key), (*self._values, *self._by_tensor))
        return NoSuchKeyError(f"{key!r} is not in the trace", hint=hint)

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return f"<Trace of {self.index.model!r}: {len(self)} values in {self.folder or 'memory'}>"


def _read_index(folder: Path) -> TraceIndex:
    path = folder / INDEX
    try:
        with open_regular(path) as file:
            return TraceIndex.model_validate_json(file.read())
    except (OSError, ValidationError) as error:
        if isinstance(error, FileNotFoundError) and folder.is_dir():
            error = FileNotFoundError(2, "the folder contains no complete trace")
        text = error if isinstance(error, OSError) else ValueError("not the index of a trace")
        raise damaged_file_error(path, text) from None


def trace(
    model: Model | Source,
    inputs: Inputs | None = None,
    *,
    output: str | os.PathLike[str] | None = None,
    layers: Sequence[str] = (),
    types: Sequence[str] = (),
    constants: bool = True,
    threads: int | None = None,
    precision: Precision = "f32",
    max_memory: int | None = None,
    progress: Callable[[str], None] | None = None,
) -> Trace:
    """Run a model and store every value in memory, or in a folder as soon as it is computed.

    Args:
        inputs: As for a call of a compiled model.
        output: The folder; by default values are stored in memory.
        layers: Glob patterns of names: `encoder.*`, `loop/body/*`. A value is stored if it matches one pattern of each
            argument; no patterns match all.
        types: Glob patterns of types.
        constants: Also store constants.
        threads: As for `compile_model`. Values in f16 and bf16 are computed and stored in f32, unless the precision is
            "file".
        precision: As for `compile_model`.
        max_memory: Maximum bytes of values in memory, by default half of the machine's memory. Constants are not copied
            and do not count.
        progress: Called with each layer's path, in bodies once per iteration.

    Raises:
        IRError: What a run raises.
        ResourceError: If the values exceed `max_memory`, and if the folder cannot be written; its index then lists the
            values written before.
        EvaluationError: For a folder with files other than a trace, and for a pattern without matches.
    """
    model = model if isinstance(model, Model) else read_model(model)
    model, (arrays,), _ = bind_calls(model, inputs)
    walker = Walker(model, threads=threads, precision=precision)
    chosen = _Chosen(layers, types, constants, precision)
    if output is None:
        budget = default_budget() // 2 if max_memory is None else whole_number(max_memory, "max_memory", 0)
        keeper = _Keeper(model, chosen, progress, budget)
        walker.run(arrays, keeper.visit)
        return keeper.trace()
    writer = _Writer(model, chosen, progress, Path(output))
    writer.begin()
    try:
        walker.run(arrays, writer.visit)
    except IRError as error:
        problem = writer.end(str(error))
        raise error.changed(message=f"{error.message}; {writer.describe_remains(problem)}") from error.__cause__
    except BaseException as error:
        writer.end(type(error).__name__)
        raise
    problem = writer.end(None)
    if problem is not None:
        failed = unwritable(Path(output) / INDEX, problem)
        raise failed.changed(message=f"{failed.message}; {writer.describe_remains(problem)}")
    return Trace(output)


class _Chosen(NamedTuple):
    """Selection of the values to store, by glob patterns of names and types.

    Attributes:
        constants: Also store constants.
        precision: The precision of the run.
    """

    layers: Sequence[str]
    types: Sequence[str]
    constants: bool
    precision: Precision

    @property
    def is_filtered(self) -> bool:
        return bool(self.layers or self.types or not self.constants)

    def require_matches(self, entries: Collection[Entry]) -> None:
        """Raise EvaluationError for a pattern that matches no layer."""
        names = {path for entry in entries for path in _paths(entry)}
        kinds = {entry.type for entry in entries}
        for patterns, names_of_layers, what in ((self.layers, names, "layer"), (self.types, kinds, "layer type")):
            for pattern in patterns:
                if not any(fnmatchcase(name, pattern) for name in names_of_layers):
                    hint = suggested(pattern, names_of_layers)
                    raise EvaluationError(f"no {what} matches {pattern!r}", code=Code.unknown_input, hint=hint)

    def has(self, entry: Entry) -> bool:
        if entry.is_constant and not self.constants:
            return False
        named = not self.layers or any(fnmatchcase(path, pattern) for path in _paths(entry) for pattern in self.layers)
        return named and (not self.types or any(fnmatchcase(entry.type, pattern) for pattern in self.types))


class _Recorder(ABC):
    """Visitor of a run that stores the selected values and creates their index."""

    def __init__(self, model: Model, chosen: _Chosen, progress: Callable[[str], None] | None) -> None:
        self._model = model
        self._chosen = chosen
        self._progress = progress
        self._entries: dict[Key, Entry] = {entry.key: entry for entry in entries_of(model)}
        self._written: list[TracedValue] = []
        self._seen: set[tuple[tuple[str, ...], str]] = set()
        chosen.require_matches(self._entries.values())
        self._expanding = find_expanded(model, lambda node: chosen.has(self._entries[(), node.id, 0]))
        self._expanded: dict[Key, Node] = {}

    @abstractmethod
    def _keep(self, file: str, entry: Entry, array: Array) -> None:
        """Store a value under a file name."""

    def visit(self, visit: Visit) -> None:
        node, where = visit.node, visit.where
        if self._progress is not None:
            self._progress(visit.path)
        if isinstance(node.op, Const) and where.scope:
            # Constants of a body are equal in all iterations, and the first visit may be in a later one.
            if (where.scope, node.id) in self._seen:
                return
            self._seen.add((where.scope, node.id))
        for position, array in enumerate(visit.outputs[: len(node.outputs)]):
            entry = self._entries[where.scope, node.id, position]
            if self._chosen.has(entry):
                self._record(entry, where.iterations, array)

    def _record(self, entry: Entry, iterations: tuple[int, ...], array: Array) -> None:
        file: str | None = None
        if entry.key in self._expanding and array.nbytes >= LEAST_BYTES:
            self._expanded[entry.key] = self._expanding[entry.key]
        else:
            file = f"{len(self._written):06}-{_file_name(_key(entry.path, iterations))}.npy"
            self._keep(file, entry, array)
        self._written.append(
            TracedValue(
                name=entry.path,
                scope=entry.scope,
                iterations=iterations,
                layer_id=entry.layer_id,
                layer_name=entry.layer_name,
                type=entry.type,
                port=entry.port,
                ports=entry.ports,
                tensor_names=entry.names,
                fused=entry.fused,
                output=entry.output,
                element_type=str(ElementType.of(array)),
                shape=array.shape,
                file=file,
                digest=digest(array),
                facts=facts_of(array),
                source=entry.source,
            )
        )

    def index(self, error: str | None) -> TraceIndex:
        return TraceIndex(
            model=self._model.name,
            complete=error is None,
            filtered=self._chosen.is_filtered,
            error=error,
            inputs=tuple(port.name for port in self._model.inputs),
            precision=self._chosen.precision,
            values=tuple(self._written),
        )


class _Keeper(_Recorder):
    """Stores values in memory, up to a maximum number of bytes."""

    def __init__(self, model: Model, chosen: _Chosen, progress: Callable[[str], None] | None, max_memory: int) -> None:
        super().__init__(model, chosen, progress)
        self._left = max_memory
        self._arrays: dict[str, Array] = {}

    def _keep(self, file: str, entry: Entry, array: Array) -> None:
        if entry.is_constant and not array.flags.writeable:
            self._arrays[file] = array  # a view of the weights
            return
        self._left -= array.nbytes
        if self._left < 0:
            message = f"the values up to {entry.path!r} exceed max_memory"
            hint = "write values to a folder with output=, or select some with layers= or types="
            raise ResourceError(message, hint=hint)
        # Inputs of the caller and values of variables may be overwritten later.
        copied = array.copy()
        copied.flags.writeable = False
        self._arrays[file] = copied

    def trace(self) -> Trace:
        return Trace._in_memory(self.index(None), self._arrays, self._model)


class _Writer(_Recorder):
    """Writes the values of a run to a folder, and the index at its end."""

    def __init__(self, model: Model, chosen: _Chosen, progress: Callable[[str], None] | None, folder: Path) -> None:
        super().__init__(model, chosen, progress)
        self._folder = folder
        self._reserved = 0

    def begin(self) -> None:
        """Create the folder, and delete the files of an older trace in it."""
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            existing = {path.name for path in self._folder.iterdir()}
            if existing:
                self._clear(existing)
            self._reserve()
        except OSError as error:
            raise unwritable(self._folder, error) from None

    def _clear(self, existing: set[str]) -> None:
        if INDEX in existing:
            old = {value.file for value in Trace(self._folder).index.values if value.file is not None}
        else:
            # A run that was killed leaves values without an index.
            old = {name for name in existing if _VALUE_FILE.fullmatch(name)} if _RESERVE in existing else set()
        own = {INDEX, _RESERVE}
        if own & existing:
            own |= {_EXPANDING, default_weights_path(_EXPANDING)}
        if existing - old - own:
            example = min(existing - old - own)
            raise EvaluationError(
                f"{self._folder} contains",
                actual=repr(example),
                expected="an empty folder",
                reason="a new folder or an older trace",
                code=Code.unknown_input,
            )
        for name in (INDEX, *sorted(existing & (old | own) - {INDEX, _RESERVE}), _RESERVE):
            (self._folder / name).unlink(missing_ok=True)

    def _reserve(self) -> None:
        needed = _BYTES_A_VALUE * (len(self._written) + 2 * len(self._entries) + 16)
        if needed > self._reserved:
            with open(self._folder / _RESERVE, "ab") as file:
                file.write(bytes(needed - self._reserved))
            self._reserved = needed

    def _keep(self, file: str, entry: Entry, array: Array) -> None:
        try:
            self._reserve()
            write_value(self._folder / file, array)
        except OSError as error:
            raise unwritable(self._folder / file, error) from None

    def end(self, error: str | None) -> OSError | None:
        """Write the index, and return the error if that fails."""
        index = self.index(error)
        try:
            with suppress(FileNotFoundError):
                os.remove(self._folder / _RESERVE)
            if self._expanded:
                save_layers(self._model, self._expanded, self._folder / _EXPANDING)
            write_file(self._folder / INDEX, to_json(index).encode())
        except OSError as problem:
            return problem
        except IRError as problem:
            return OSError(problem.message)
        return None

    def describe_remains(self, problem: OSError | None) -> str:
        """Return the number of values in the folder after a failed run, and the state of its index."""
        count = len(self._written)
        values = f"{format_count(count, 'value', ',')} written before {pluralize(count, 'is', 'are')} in {self._folder}"
        if problem is None:
            return f"{values}, listed in {INDEX} as incomplete"
        return f"{values}, without {INDEX}: {problem.strerror or problem}"


_VALUE_FILE = re.compile(r"\d{6,}-[\w.\-]*\.npy")


def _paths(entry: Entry) -> tuple[str, ...]:
    return entry.path, "/".join((*entry.scope, entry.layer_name)), *entry.names


def _key(name: str, iterations: tuple[int, ...]) -> str:
    return f"{name}[{','.join(map(str, iterations))}]" if iterations else name


def _file_name(text: str) -> str:
    return re.sub(r"[^\w.\-]+", "_", text, flags=re.ASCII)[:100]
