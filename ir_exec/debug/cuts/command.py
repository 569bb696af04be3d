"""A command that is run on a network, and whether it ends as it should not."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Literal, TypeAlias

from ir_exec.codes import Code
from ir_exec.errors import EvaluationError
from ir_exec.model import Model
from ir_exec.types import Array

__all__ = ["Command", "Outcome", "inputs_path"]

Outcome: TypeAlias = int | Literal["timeout"]
"""An exit code, negative for a signal, or that the command did not end in time."""

MODEL, INPUTS = "{model}", "{inputs}"

_SHOWN = 200


def inputs_path(path: str | os.PathLike[str]) -> Path:
    """Where the inputs of an .xml lie: `net.inputs.npz` beside `net.xml`."""
    return Path(path).with_suffix(".inputs.npz")


class Command:
    """A command line; called with a network, it tells whether the command fails on it.

    text: split as a shell splits it, but run without one; `{model}` stands for the path of the .xml, `{inputs}` for an
        .npz with the inputs by name.
    bad_exit: the outcomes that are failures. Without them it is the first that is not 0: a command that finds a fault
        with 1 and ends with 2 where it cannot look does not fail there.
    timeout: seconds; what the command has started is killed with it when they have passed.

    Raises EvaluationError for a command that cannot be started, and for one without `{model}`.
    """

    def __init__(self, text: str, *, bad_exit: Sequence[Outcome] = (), timeout: float = 600.0) -> None:
        try:
            self._parts = shlex.split(text)
        except ValueError as error:
            raise EvaluationError(f"{text!r} is no command: {error}", code=Code.unknown_input) from None
        if not any(MODEL in part for part in self._parts):
            raise EvaluationError(f"the command does not say where {MODEL} goes: {text!r}", code=Code.unknown_input)
        self.text = text
        self.timeout = timeout
        self.takes_inputs = any(INPUTS in part for part in self._parts)
        self.bad = frozenset(bad_exit)
        self.last_line = ""

    def __call__(self, model: Model, inputs: Mapping[str, Array] | None = None) -> bool:
        """Whether it fails on a network that lies in a file, its inputs beside it where it takes them."""
        path = model.graph.path
        if path is None:
            raise EvaluationError("the network is in no file that a command could read", code=Code.unknown_input)
        outcome = self.run(path)
        if not self.bad and outcome == "timeout":
            message = f"the command did not end within {self.timeout:g} s"
            hint = "a longer timeout lets it end; with the bad exit `timeout` that is the failure"
            raise EvaluationError(message, code=Code.bad_value, hint=hint)
        if not self.bad and outcome != 0:
            self.bad = frozenset([outcome])
        return outcome in self.bad

    def run(self, path: str | os.PathLike[str]) -> Outcome:
        """How it ends on the network at this path."""
        named = {MODEL: os.fspath(path), INPUTS: str(inputs_path(path))}
        parts = [part.replace(MODEL, named[MODEL]).replace(INPUTS, named[INPUTS]) for part in self._parts]
        with tempfile.TemporaryFile() as said:
            try:
                # A session of its own, so that what the command starts can be ended with it.
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
    """That of this process, in which programs beside its interpreter are found too: `ir-exec` of an environment that is
    not activated."""
    places = [os.environ.get("PATH", os.defpath), os.path.dirname(sys.executable)]
    return {**os.environ, "PATH": os.pathsep.join(places)}


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End a process that runs, and all that it has started and that did not leave its group."""
    if sys.platform == "win32":
        process.kill()
    else:
        # It was not waited for, so that its number is not another's yet.
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _last_line(said: IO[bytes]) -> str:
    size = said.seek(0, os.SEEK_END)
    said.seek(max(size - 4096, 0))
    lines = said.read().decode("utf-8", "replace").strip().splitlines()
    return lines[-1][:_SHOWN] if lines else ""
