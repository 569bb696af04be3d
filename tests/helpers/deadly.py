"""Items that kill their workers, and others that report where they are read. Workers import this module."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["Counted", "Deadly", "DeadlyOnce", "Wrong", "end", "own_pid"]

Arrays = list[np.ndarray[Any, Any]]


class Deadly:
    """An item that its worker dies of."""

    def __call__(self) -> Arrays:
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError("nobody survives that")


@dataclass
class DeadlyOnce:
    """An item that the first worker dies of, which leaves a file as its mark."""

    mark: str
    value: float

    def __call__(self) -> Arrays:
        try:
            os.close(os.open(self.mark, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return [np.full((1, 4), self.value, np.float32)]
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError("nobody survives that")


@dataclass
class Wrong:
    """An item that cannot be read."""

    message: str

    def __call__(self) -> Arrays:
        raise RuntimeError(self.message)


@dataclass
class Counted:
    """An item of a session; with a mark, the first worker dies of it."""

    name: str
    index: int
    mark: str | None

    def __call__(self) -> Arrays:
        if self.mark is not None:
            DeadlyOnce(self.mark, 0)()
        return [np.full(1, self.index, np.float32)]


def end() -> None:
    """The exit of a worker that cannot even begin."""
    os._exit(3)


def own_pid() -> Arrays:
    """The number of the process, as an array."""
    return [np.array([os.getpid()], np.float32)]
