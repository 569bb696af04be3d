"""The computation of the items of a task in a worker."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import parent_process
from threading import current_thread, main_thread
from time import perf_counter
from typing import TypeAlias

from ir_exec.batch.items import StoredFile, StoredItem
from ir_exec.batch.models import ModelReference, NotHere, compiled_for
from ir_exec.codes import Code
from ir_exec.debug.values.files import write_npz
from ir_exec.errors import EvaluationError, IRError, ResourceError
from ir_exec.model import ModelPort
from ir_exec.runtime import CompiledModel, Session
from ir_exec.runtime.arguments import Inputs
from ir_exec.runtime.state import Snapshot
from ir_exec.types import Array

__all__ = ["Answer", "Item", "ItemOutcome", "StoringItem", "error_text", "evaluate", "fetch"]


@dataclass(frozen=True, slots=True)
class LoadedItem:
    """The arrays of an item of a file, and their digest; or the error of reading them."""

    inputs: Inputs
    digest: str | None = None
    error: IRError | None = None


ItemSource: TypeAlias = Inputs | StoredItem | LoadedItem | Callable[[], Inputs] | str | os.PathLike[str]
"""The arguments of a call of the model, or their source, which the worker reads: an item of a file, the path of an
.npz, or a function without arguments.
"""


@dataclass(frozen=True, slots=True)
class StoringItem:
    """An item with the path of an .npz: the worker writes the outputs there instead of sending them."""

    source: ItemSource
    path: str


Item: TypeAlias = ItemSource | StoringItem
"""An item of a run: its arguments or their source, and optionally the file for its outputs."""


@dataclass(frozen=True, slots=True)
class ItemOutcome:
    """The result of an item: the outputs in their order, or an error.

    Attributes:
        path: The file with the outputs, if the worker wrote them; `arrays` is None then.
    """

    arrays: list[Array] | None
    error: IRError | None
    digest: str | None
    path: str | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """The results of the items of a task, up to the first item with a missing file.

    Attributes:
        state: The state of the session of the items.
        seconds: Their duration.
        size: Bytes of their arrays and outputs.
    """

    outcomes: list[ItemOutcome]
    state: Snapshot | None
    seconds: float
    size: int


def evaluate(
    reference: ModelReference,
    cargo: CompiledModel | bytes | None,
    items: list[Item],
    state: Snapshot | None,
    is_session: bool,
) -> Answer | NotHere:
    """Run the model of the reference on each item: in sequence from a state, or each from the initial one."""
    compiled = compiled_for(reference, cargo)
    if isinstance(compiled, NotHere):
        return compiled
    outcomes: list[ItemOutcome] = []
    size = 0
    start = perf_counter()
    session = compiled.session()
    if state is not None:
        session.restore(state)
    for item in items:
        if not is_session:
            session.reset_state()
        try:
            loaded = _load_item(item, compiled.inputs)
        except FileNotFoundError:
            break
        outcomes.append(outcome := _outcome(session, loaded, item.path if isinstance(item, StoringItem) else None))
        size += _size(loaded.inputs) + _size(outcome.arrays or ())
    return Answer(outcomes, session.snapshot() if is_session else None, perf_counter() - start, size)


def _size(arrays: Inputs | Sequence[Array]) -> int:
    """Return the bytes of values that are arrays."""
    values = arrays.values() if isinstance(arrays, Mapping) else arrays
    return sum(getattr(value, "nbytes", 0) for value in values)


def _outcome(session: Session, loaded: LoadedItem, path: str | None) -> ItemOutcome:
    if loaded.error is not None:
        return ItemOutcome(None, loaded.error, loaded.digest)
    try:
        results = session(loaded.inputs)
        if path is None:
            return ItemOutcome(list(results.to_tuple()), None, loaded.digest)
        with ended_after_cleanup():
            write_npz(path, {str(key): array for key, array in results.items()})
        return ItemOutcome(None, None, loaded.digest, path)
    except IRError as error:
        return ItemOutcome(None, error, loaded.digest)
    except MemoryError as error:
        return ItemOutcome(None, ResourceError(f"out of memory: {error}"), loaded.digest)


@contextmanager
def ended_after_cleanup() -> Iterator[None]:
    """Within the context, SIGTERM raises an exception in a worker process, which removes its temporary file first."""
    if parent_process() is None or current_thread() is not main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    try:
        yield
    except SystemExit:  # the executor would catch it and start the next task
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGTERM)
    finally:
        signal.signal(signal.SIGTERM, before)


def _load_item(item: Item, ports: Sequence[ModelPort]) -> LoadedItem:
    """Return the arrays of an item; FileNotFoundError is left to the caller, any other failure belongs to the item."""
    try:
        if isinstance(item, StoringItem):
            return _load_item(item.source, ports)
        if isinstance(item, LoadedItem):
            return item
        if isinstance(item, (str, os.PathLike)):
            item = StoredItem((StoredFile(os.fspath(item)),))
        if isinstance(item, StoredItem):
            return LoadedItem(*item.load(ports))
        return LoadedItem(item() if callable(item) else item)
    except FileNotFoundError:
        raise
    except IRError as error:
        return LoadedItem({}, error=error)
    except (Exception, SystemExit) as error:
        return LoadedItem(
            {}, error=EvaluationError(f"the item cannot be read: {error_text(error)}", code=Code.unknown_input)
        )


def fetch(item: Item, ports: Sequence[ModelPort]) -> Item:
    """Return an item whose file a worker could not find, with its arrays."""
    if isinstance(item, StoringItem):
        return StoringItem(_fetch(item.source, ports), item.path)
    return _fetch(item, ports)


def _fetch(item: ItemSource, ports: Sequence[ModelPort]) -> LoadedItem:
    try:
        return _load_item(item, ports)
    except FileNotFoundError as error:
        message = f"the item cannot be read: {error_text(error)}"
        return LoadedItem({}, error=EvaluationError(message, code=Code.unknown_input))


def error_text(error: BaseException) -> str:
    """Return the text for a foreign exception in a message."""
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return f"{type(error).__name__}: {reason}"[:500]
