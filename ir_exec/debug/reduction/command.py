"""Commands that run on the file of a model, and their outcomes."""

from __future__ import annotations

import os
import re
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
