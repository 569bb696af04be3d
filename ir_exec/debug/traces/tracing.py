"""Every value of a run, on disk or in memory, as a mapping that reads a value when it is asked for."""

from __future__ import annotations

import os
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

from pydantic import Field, ValidationError

from ir_exec.codes import Code
from ir_exec.debug.traces.walk import Visit, Walker
from ir_exec.debug.values.entries import Entry, Key, by_key, entries_of
from ir_exec.debug.values.facts import Facts, Record, digest, facts_of
from ir_exec.debug.values.files import damaged, read_value, unwritable, write_file, write_value
from ir_exec.errors import EvaluationError, IRError, NoSuchKeyError, ResourceError
from ir_exec.hints import suggested
from ir_exec.model import Model, PartialModel, Source, read_model
from ir_exec.ops.infrastructure.values import Const
from ir_exec.plan.memory import default_budget
from ir_exec.runtime.arguments import Inputs, whole_number
from ir_exec.runtime.precision import Precision
from ir_exec.runtime.specialising import for_calls
from ir_exec.types import Array, ElementType

__all__ = ["INDEX", "Trace", "TraceIndex", "TracedValue", "trace"]

INDEX = "index.json"
"""The file that makes a folder a trace; it is written last."""

_RESERVE = "index.reserve"
"""Room on the disk for the index, should the values fill the rest."""

_BYTES_A_VALUE = 1024


class TracedValue(Record):
    """One value: where it was computed, what it is, and the file that holds it.

    name: `loop/body/layer`, with the position of the output where there are several (`split:1`); the value of one
    iteration is `name` with its `iterations`, one for each body around the layer. layer_id, layer_name, type: of the
    layer. tensor_names: those of the port. shape: the dims. file: relative to the folder. digest: equal for values of
    the same element type, shape and bits. fused: the layers that this one was made of, as rt_info says. output: whether
    it is an output of the network.
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
    file: Annotated[str, Field(pattern=r"^\d{6,}-[\w.\-]*\.npy$")]
    digest: str
    facts: Facts

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
        )


class TraceIndex(Record):
    """`index.json` of a trace. complete: whether the run came to its end; error: why it did not.

    filtered: whether layers were left out because they were not asked for. inputs: the names of the inputs.
    """

    format: Literal[1] = 1
    model: str
    complete: bool
    filtered: bool = False
    error: str | None = None
    inputs: tuple[str, ...] = ()
    values: tuple[TracedValue, ...]


class Trace(Mapping[str, Array]):
    """The values in a folder that `trace` wrote, loaded when they are asked for, or those that it keeps in memory.

    folder: None for values in memory, which are read-only arrays. index: what is known of each value.
    Keys are names as in the index (`add`, `split:1`), with iterations in brackets for values of bodies
    (`loop/body/add[0]`); tensor names are keys as well, and do not show up when iterating.
    Opening raises EvaluationError for a folder without an index, or with a damaged one; loading for a damaged value.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self._open(Path(folder), _read_index(Path(folder)), {})

    @classmethod
    def _in_memory(cls, index: TraceIndex, arrays: Mapping[str, Array]) -> Trace:
        """arrays: by the names that their files would have."""
        made = cls.__new__(cls)
        made._open(None, index, arrays)
        return made

    def _open(self, folder: Path | None, index: TraceIndex, arrays: Mapping[str, Array]) -> None:
        self.folder = folder
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
        """The array of a value of the index, also of one whose name is another's as well."""
        if self.folder is None:
            return self._arrays[value.file]
        return read_value(self.folder / value.file, ElementType.parse(value.element_type), value.shape)

    def value(self, key: str) -> TracedValue:
        """What the index says of a value; a KeyError, with names that are like it, where there is none."""
        found = self._values.get(key) or self._by_tensor.get(key)
        if found is None:
            raise self._missing(key)
        return found

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
        return TraceIndex.model_validate_json(path.read_bytes())
    except (OSError, ValidationError) as error:
        if isinstance(error, FileNotFoundError) and folder.is_dir():
            error = FileNotFoundError(2, "the folder holds no whole trace")
        text = error if isinstance(error, OSError) else ValueError("it is no index of a trace")
        raise damaged(path, text) from None


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
    """Run a network and keep every value: in memory, or in a folder, where it is written as it is computed.

    inputs: as for a call of a compiled model. output: the folder.
    layers, types: glob patterns of names (`encoder.*`, `loop/body/*`) and
        of types; a value is written where it matches one of each, and where none is given.
    constants: whether those are written too. threads, precision: as for `compile_model`: values are what a run
        computes, f32 for the f16 and bf16 of the file unless the precision is "file".
    max_memory: the most bytes that values in memory may take, half of the machine's memory unless it is given;
        constants stay where they are.
    progress: called with each layer's path, in bodies once an iteration.
    Raises what a run raises; ResourceError for more values than `max_memory` holds, and for a folder that cannot be
    written to, whose index tells what was written before; EvaluationError for a folder that holds something other than
    a trace, and for patterns that nothing matches.
    """
    model = model if isinstance(model, Model) else read_model(model)
    if isinstance(model, PartialModel):
        model, (inputs,), _ = for_calls(model, inputs)
    walker = Walker(model, threads=threads, precision=precision)
    chosen = _Chosen(layers, types, constants)
    if output is None:
        budget = default_budget() // 2 if max_memory is None else whole_number(max_memory, "max_memory", 0)
        kept = _Keeper(model, chosen, progress, budget)
        walker.run(inputs, kept.visit)
        return kept.trace()
    writer = _Writer(model, chosen, progress, Path(output))
    writer.begin()
    try:
        walker.run(inputs, writer.visit)
    except BaseException as error:
        writer.end(str(error) if isinstance(error, IRError) else type(error).__name__)
        raise
    writer.end(None)
    return Trace(output)


class _Chosen(NamedTuple):
    """Which values are kept: glob patterns of names and of types, and whether constants are."""

    layers: Sequence[str]
    types: Sequence[str]
    constants: bool

    @property
    def is_filtered(self) -> bool:
        return bool(self.layers or self.types or not self.constants)

    def require_matches(self, entries: Collection[Entry]) -> None:
        """Raise EvaluationError for patterns that no layer matches."""
        names = {path for entry in entries for path in _paths(entry)}
        kinds = {entry.type for entry in entries}
        for patterns, known, what in ((self.layers, names, "layer"), (self.types, kinds, "type of layer")):
            for pattern in patterns:
                if not any(fnmatchcase(name, pattern) for name in known):
                    hint = suggested(pattern, known)
                    raise EvaluationError(f"no {what} matches {pattern!r}", code=Code.unknown_input, hint=hint)

    def has(self, entry: Entry) -> bool:
        if entry.is_constant and not self.constants:
            return False
        named = not self.layers or any(fnmatchcase(path, pattern) for path in _paths(entry) for pattern in self.layers)
        return named and (not self.types or any(fnmatchcase(entry.type, pattern) for pattern in self.types))


class _Recorder(ABC):
    """Looks at every value of a run, and makes the index of those that are kept."""

    def __init__(self, model: Model, chosen: _Chosen, progress: Callable[[str], None] | None) -> None:
        self._model = model
        self._chosen = chosen
        self._progress = progress
        self._entries: dict[Key, Entry] = by_key(entries_of(model))
        self._written: list[TracedValue] = []
        self._seen: set[tuple[tuple[str, ...], str]] = set()
        chosen.require_matches(self._entries.values())

    @abstractmethod
    def _keep(self, file: str, entry: Entry, array: Array) -> None:
        """Keep a value under the name of a file."""

    def visit(self, visit: Visit) -> None:
        node, where = visit.node, visit.where
        if self._progress is not None:
            self._progress(visit.path)
        if isinstance(node.op, Const) and where.scope:
            # The constants of a body are the same in each iteration; its first one may be a late one of a loop.
            if (where.scope, node.id) in self._seen:
                return
            self._seen.add((where.scope, node.id))
        for position, array in enumerate(visit.outputs[: len(node.outputs)]):
            entry = self._entries[where.scope, node.id, position]
            if self._chosen.has(entry):
                self._record(entry, where.iterations, array)

    def _record(self, entry: Entry, iterations: tuple[int, ...], array: Array) -> None:
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
            )
        )

    def index(self, error: str | None) -> TraceIndex:
        return TraceIndex(
            model=self._model.name,
            complete=error is None,
            filtered=self._chosen.is_filtered,
            error=error,
            inputs=tuple(port.name for port in self._model.inputs),
            values=tuple(self._written),
        )


class _Keeper(_Recorder):
    """Keeps values in memory, up to a number of bytes."""

    def __init__(self, model: Model, chosen: _Chosen, progress: Callable[[str], None] | None, max_memory: int) -> None:
        super().__init__(model, chosen, progress)
        self._left = max_memory
        self._arrays: dict[str, Array] = {}

    def _keep(self, file: str, entry: Entry, array: Array) -> None:
        if entry.is_constant and not array.flags.writeable:
            self._arrays[file] = array  # it stays in the weights
            return
        self._left -= array.nbytes
        if self._left < 0:
            message = f"the values up to {entry.path!r} take more memory than max_memory allows"
            hint = "output= writes them to a folder, layers= and types= choose some"
            raise ResourceError(message, hint=hint)
        # What the caller gave, and what variables hold, may be written over.
        copied = array.copy()
        copied.flags.writeable = False
        self._arrays[file] = copied

    def trace(self) -> Trace:
        return Trace._in_memory(self.index(None), self._arrays)


class _Writer(_Recorder):
    """Writes values of a run into a folder, and the index when it ends."""

    def __init__(self, model: Model, chosen: _Chosen, progress: Callable[[str], None] | None, folder: Path) -> None:
        super().__init__(model, chosen, progress)
        self._folder = folder
        self._reserved = 0

    def begin(self) -> None:
        """Make the folder ready: what an older trace wrote there goes."""
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            held = {path.name for path in self._folder.iterdir()}
            if held:
                self._clear(held)
            self._reserve()
        except OSError as error:
            raise unwritable(self._folder, error) from None

    def _clear(self, held: set[str]) -> None:
        if INDEX in held:
            old = {value.file for value in Trace(self._folder).index.values}
        else:
            # A run that was killed leaves values and no index.
            old = {name for name in held if _VALUE_FILE.fullmatch(name)} if _RESERVE in held else set()
        if held - old - {INDEX, _RESERVE}:
            example = min(held - old - {INDEX, _RESERVE})
            message = f"{self._folder} holds other files than a trace ({example}): name an empty or a new folder"
            raise EvaluationError(message, code=Code.unknown_input)
        for name in (INDEX, *sorted(held & old), _RESERVE):
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

    def end(self, error: str | None) -> None:
        """Write the index; where even that cannot be done, say so unless something else has gone wrong before."""
        index = self.index(error)
        try:
            with suppress(FileNotFoundError):
                os.remove(self._folder / _RESERVE)
            write_file(self._folder / INDEX, index.model_dump_json(indent=1).encode())
        except OSError as problem:
            if error is None:
                raise unwritable(self._folder / INDEX, problem) from None


_VALUE_FILE = re.compile(r"\d{6,}-[\w.\-]*\.npy")


def _paths(entry: Entry) -> tuple[str, ...]:
    return entry.path, "/".join((*entry.scope, entry.layer_name)), *entry.names


def _key(name: str, iterations: tuple[int, ...]) -> str:
    return f"{name}[{','.join(map(str, iterations))}]" if iterations else name


def _file_name(text: str) -> str:
    return re.sub(r"[^\w.\-]+", "_", text, flags=re.ASCII)[:100]
