"""Search for a minimal subset of a sequence that still has a property, such as layers for which a command fails."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Generic, Literal, TypeAlias, TypeVar

import numpy as np

from ir_exec.codes import Code
from ir_exec.errors import EvaluationError
from ir_exec.model import Model
from ir_exec.types import Array

__all__ = [
    "LARGE",
    "MOST_FOLDED",
    "MOST_TRIALS",
    "Command",
    "MinimalSubset",
    "Outcome",
    "SearchEnded",
    "bisect_count",
    "inputs_path",
    "minimize",
    "minimize_model",
    "smallest_count",
]

Outcome: TypeAlias = int | Literal["timeout"]
"""An exit code, negative for a signal, or "timeout" if the command did not end in time."""

MODEL, INPUTS = "{model}", "{inputs}"

_PLACEHOLDER = re.compile(r"\{model\}|\{inputs\}")

_SHOWN = 200


def inputs_path(path: str | os.PathLike[str]) -> Path:
    """Return the path of the inputs of an .xml: `net.inputs.npz` for `net.xml`."""
    return Path(path).with_suffix(".inputs.npz")


class Command:
    """A command line. Calling it with a model returns True if the command fails on the model.

    Args:
        text: The command, split like in a shell but run without one. `{model}` is replaced by the path of the .xml,
            `{inputs}` by the path of an .npz with the inputs by name.
        timeout: Maximum seconds. Then the command is killed with all processes that it started.
        bad_exit: The outcomes that are failures. By default, the first outcome that is not 0 is the only failure: if a
            command exits with 1 for the fault, an exit code of 2 for an unusable model is not a failure.

    Raises:
        EvaluationError: For a command that cannot be started or that lacks `{model}`.
    """

    def __init__(self, text: str, *, bad_exit: Sequence[Outcome] = (), timeout: float = 600.0) -> None:
        try:
            self._parts = shlex.split(text)
        except ValueError as error:
            raise EvaluationError(f"{text!r} is not a valid command: {error}", code=Code.unknown_input) from None
        if not any(MODEL in part for part in self._parts):
            raise EvaluationError(f"the command {text!r} lacks the placeholder {MODEL}", code=Code.unknown_input)
        self.text = text
        self.timeout = timeout
        self.takes_inputs = any(INPUTS in part for part in self._parts)
        self.bad = frozenset(bad_exit)
        self.last_line = ""

    def __call__(self, model: Model, inputs: Mapping[str, Array] | None = None) -> bool:
        """Return True if the command fails on a model, which must be in a file with its inputs next to it."""
        path = model.graph.path
        if path is None:
            raise EvaluationError("the model has no file for the command to read", code=Code.unknown_input)
        return self.fails_on(path)

    def fails_on(self, path: str | os.PathLike[str]) -> bool:
        """Return True if the command fails on the model at a path, with its inputs next to it."""
        outcome = self.run(path)
        if not self.bad and outcome == "timeout":
            message = f"the command did not end within {self.timeout:g} s"
            hint = "increase the timeout, or use the bad exit `timeout` to count this as the failure"
            raise EvaluationError(message, code=Code.bad_value, hint=hint)
        if not self.bad and outcome != 0:
            self.bad = frozenset([outcome])
        return outcome in self.bad

    def run(self, path: str | os.PathLike[str]) -> Outcome:
        """Run the command on the model at this path and return its outcome."""
        # A path of the command line may begin with a hyphen: in this form, it is never an option.
        model = os.path.join(os.curdir, path) if os.fspath(path).startswith("-") else os.fspath(path)
        named = {MODEL: model, INPUTS: os.fspath(inputs_path(model))}
        parts = [_PLACEHOLDER.sub(lambda match: named[match[0]], part) for part in self._parts]
        with tempfile.TemporaryFile() as said:
            try:
                # In a new session, the processes that the command starts can be killed with it.
                process = subprocess.Popen(
                    parts,
                    stdin=subprocess.DEVNULL,
                    stdout=said,
                    stderr=said,
                    start_new_session=True,
                    env=_environment(),
                )
            except (OSError, ValueError) as error:
                reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
                raise EvaluationError(f"cannot start {parts[0]!r}: {reason}", code=Code.unknown_input) from None
            try:
                outcome: Outcome = process.wait(self.timeout)
            except subprocess.TimeoutExpired:
                outcome = "timeout"
            finally:
                if process.returncode is None:
                    _kill(process)
            self.last_line = _last_line(said)
        return outcome


def _environment() -> dict[str, str]:
    """Return the environment of this process, with the folder of its interpreter in PATH.

    A command then finds `ir-exec` in a virtual environment that is not activated.
    """
    places = [os.environ.get("PATH", os.defpath), os.path.dirname(sys.executable)]
    return {**os.environ, "PATH": os.pathsep.join(places)}


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a running process and all processes in its group."""
    if sys.platform == "win32":
        process.kill()
    else:
        # The process has not been waited for, so its id cannot have been reused.
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _last_line(said: IO[bytes]) -> str:
    size = said.seek(0, os.SEEK_END)
    said.seek(max(size - 4096, 0))
    lines = said.read().decode("utf-8", "replace").strip().splitlines()
    return lines[-1][:_SHOWN] if lines else ""


MOST_TRIALS = 400
"""Maximum sets that are tried in a search whose trials are runs of a complete model."""

MOST_FOLDED = 2**26
"""Maximum bytes of a value computed from constants that replaces the layers or nodes of a reduced model."""

LARGE = 2**10
"""Minimum bytes of a constant that is tried as an input of a reduced model."""

Item = TypeVar("Item")


class SearchEnded(Exception):  # noqa: N818  # no error: it ends the search
    """Raised by a predicate to end a search with the smallest subset so far, for example at a time limit."""


@dataclass(frozen=True)
class MinimalSubset(Generic[Item]):
    """The smallest subset that was found.

    Attributes:
        items: Its items, in the order of the sequence.
        is_minimal: True if the predicate is False without any single one of them; False if the search ended early.
        trials: The number of calls of the predicate.
    """

    items: list[Item]
    is_minimal: bool
    trials: int


def minimize(
    items: Sequence[Item],
    holds: Callable[[Sequence[Item]], bool],
    *,
    importance: Callable[[Item], Any] | None = None,
    min_items: int = 1,
    limit: int | None = None,
) -> MinimalSubset[Item]:
    """Return a subset for which a predicate holds, and none of whose items can be removed.

    Chunks of a power of two are removed, from the end of the sequence to its start, and their size is halved until no
    single item can be removed, also for a predicate that is not monotone. This is delta debugging (Zeller and
    Hildebrandt, 2002) without trials of single chunks: for monotone predicates, those are a third to three quarters of
    all trials and find nothing (counted with 20 to 1,000 items, 2 to 8 of them needed).

    Args:
        items: The predicate is expected to hold for all of them. The last ones are removed first.
        holds: It is called once for a subset, and its results are expected not to change. The last subset for which
            it returns True is the result. `SearchEnded` ends the search; other exceptions leave the function.
        importance: Search first for the fewest most important items that suffice, by bisection.
        min_items: The minimum size of subsets that are tried.
        limit: Maximum number of calls of the predicate.
    """
    search = _SubsetSearch(items, holds, min_items, limit)
    try:
        if importance is not None:
            search.keep_most_important(importance)
        search.remove_chunks()
    except SearchEnded:
        return search.result(is_minimal=False)
    return search.result(is_minimal=True)


def minimize_model(items: Sequence[Item], holds: Callable[[Sequence[Item]], bool], *, min_items: int = 1) -> None:
    """Reduce a model by a minimal subset of items; raises SearchEnded at the limit of calls, for further steps."""
    if not minimize(items, holds, min_items=min_items).is_minimal:
        raise SearchEnded


class _SubsetSearch(Generic[Item]):
    def __init__(
        self,
        items: Sequence[Item],
        holds: Callable[[Sequence[Item]], bool],
        min_items: int,
        limit: int | None,
    ) -> None:
        self._items = items
        self._predicate = holds
        self._min_items = min_items
        self._limit = limit
        self._results: dict[bytes, bool] = {}
        self._smallest = np.arange(len(items))

    def result(self, *, is_minimal: bool) -> MinimalSubset[Item]:
        return MinimalSubset(self._select(self._smallest), is_minimal, len(self._results))

    def keep_most_important(self, importance: Callable[[Item], Any]) -> None:
        order = sorted(range(len(self._items)), key=lambda index: importance(self._items[index]), reverse=True)
        bisect_count(lambda count: self._holds(np.sort(order[:count])), 0, len(order))

    def remove_chunks(self) -> None:
        """Remove chunks of half the size in each pass, until a pass with chunks of one item removes none."""
        size = 1 << len(self._items).bit_length()
        while True:
            size = max(size // 2, 1)
            count = len(self._smallest)
            for start in reversed(range(0, count, size)):
                # All that precedes the chunk is still there, as the pass starts at the end.
                self._holds(np.delete(self._smallest, slice(start, start + size)))
            if size == 1 and len(self._smallest) == count:
                return

    def _holds(self, indices: np.ndarray) -> bool:
        """Return True if the predicate holds for a subset, and keep it as the smallest one."""
        if len(indices) < self._min_items:
            return False
        mask = np.zeros(len(self._items), bool)
        mask[indices] = True
        key = np.packbits(mask).tobytes()
        if key not in self._results:
            if len(self._results) == self._limit:
                raise SearchEnded
            self._results[key] = self._predicate(self._select(indices))
        if self._results[key]:
            self._smallest = indices
        return self._results[key]

    def _select(self, indices: np.ndarray) -> list[Item]:
        return [self._items[index] for index in indices]


def smallest_count(holds: Callable[[int], bool], most: int) -> int | None:
    """Return the smallest number from 0 to `most` for which a predicate holds, by doubling and bisection.

    Args:
        holds: A predicate that holds for all larger numbers as well. The last number for which it returns True is the
            result.

    Returns:
        None if the predicate does not hold for `most`.
    """
    low, high = -1, 0
    while not holds(high):
        if high >= most:
            return None
        low, high = high, min(max(2 * high, 1), most)
    return bisect_count(holds, low, high)


def bisect_count(holds: Callable[[int], bool], low: int, high: int) -> int:
    """Return the smallest number for which a predicate holds; it does not hold for `low`, and it holds for `high`."""
    while high - low > 1:
        middle = (low + high) // 2
        if holds(middle):
            high = middle
        else:
            low = middle
    return high
