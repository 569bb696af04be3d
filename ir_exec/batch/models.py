"""Transport of models to workers: pickled once, compiled once in each worker, and kept there.

Each task carries a `ModelReference`, which is short. A worker without the model opens the file named there; if it
cannot, it answers `NotHere`, and the same task is sent again with the model as its cargo. The weights are a file
mapped by all workers of a machine; they are sent only to machines without such a file.
"""

from __future__ import annotations

import pickle
from collections import OrderedDict
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import Any

from ir_exec.batch.pool import Cargo
from ir_exec.debug.values.files import unwritable
from ir_exec.errors import WeightsError
from ir_exec.ir import Weights
from ir_exec.model import Model
from ir_exec.runtime import CompiledModel
from ir_exec.runtime.compiled import compiled_with

__all__ = ["ModelReference", "NotHere", "Parcel", "compiled_for"]

MOST_KEPT = 4
"""Maximum compiled models of a worker; the least recently used one is dropped first."""


@dataclass(frozen=True, slots=True)
class ModelReference:
    """The data that a worker needs to find a model.

    Attributes:
        digest: sha256 of the pickle at `path`, which contains the model, the options for compiling it, and the location
            of its weights.
        initializer: A function that a process calls before it reads the model.
    """

    digest: str
    path: str
    initializer: Callable[[], None] | None = None


@dataclass(frozen=True, slots=True)
class NotHere:
    """The answer of a worker that cannot find the model.

    Attributes:
        has_weights: True if it can find the weights.
    """

    has_weights: bool


class Parcel:
    """A model ready for transport: a folder with its pickle, and with its weights if they are in no file."""

    def __init__(
        self, model: Model, options: dict[str, Any], folder: Path, initializer: Callable[[], None] | None = None
    ) -> None:
        self._model = _with_weights_file(model, folder / "weights.bin")
        self._options = options
        self._short = pickle.dumps((self._model, options))
        path = folder / "network.pickle"
        _write(path, self._short)
        self.reference = ModelReference(sha256(self._short).hexdigest(), str(path), initializer)
        self._cargo: dict[bool, Cargo] = {}

    def cargo(self, missing: NotHere) -> Cargo:
        """Return the cargo that is missing on the worker with this answer."""
        by_path = missing.has_weights
        if by_path not in self._cargo:
            self._cargo[by_path] = Cargo(self._short if by_path else self._dump_complete())
        return self._cargo[by_path]

    def _dump_complete(self) -> bytes:
        return pickle.dumps((self._model.with_weights_inside(), self._options))


def _with_weights_file(model: Model, path: Path) -> Model:
    weights = model.weights
    if weights is None or weights.path is not None or weights.size == 0:
        return model
    _write(path, weights.slice(0, weights.size))
    model = copy(model)
    model.weights = Weights.open(path, order=weights.order)
    return model


def _write(path: Path, content: bytes | memoryview) -> None:
    """Write a temporary file.

    Raises:
        ResourceError: IR009 on a full disk.
    """
    try:
        path.write_bytes(content)
    except OSError as error:
        raise unwritable(path, error) from None


class _CompiledModels:
    """The models of this process; each is compiled by one thread, while others wait for it."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._compiled: OrderedDict[str, CompiledModel] = OrderedDict()

    def get(self, reference: ModelReference, cargo: bytes | None) -> CompiledModel | NotHere:
        with self._lock:
            compiled: CompiledModel | NotHere | None = self._compiled.get(reference.digest)
            if compiled is None:
                compiled = self._read(reference, cargo)
                if isinstance(compiled, NotHere):
                    return compiled
                self._compiled[reference.digest] = compiled
                while len(self._compiled) > MOST_KEPT:
                    self._compiled.popitem(last=False)
            self._compiled.move_to_end(reference.digest)
            return compiled

    def _read(self, reference: ModelReference, cargo: bytes | None) -> CompiledModel | NotHere:
        content = _content(reference) if cargo is None else cargo
        if content is None:
            return NotHere(has_weights=True)
        if reference.initializer is not None:
            reference.initializer()
        try:
            model, options = pickle.loads(content)
        except WeightsError:
            return NotHere(has_weights=False)
        return compiled_with(model, **options)


def _content(reference: ModelReference) -> bytes | None:
    """Return the pickle from the file, if this process can read the same one."""
    try:
        content = Path(reference.path).read_bytes()
    except OSError:
        return None
    return content if sha256(content).hexdigest() == reference.digest else None


_KEPT = _CompiledModels()


def compiled_for(reference: ModelReference, cargo: CompiledModel | bytes | None) -> CompiledModel | NotHere:
    """Return the compiled model.

    Args:
        cargo: The model itself, if it is not pickled, or the cargo requested by `NotHere`.
    """
    return cargo if isinstance(cargo, CompiledModel) else _KEPT.get(reference, cargo)
