"""The interface of pools of workers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Self

__all__ = ["Cargo", "Pool", "WorkerLostError", "plain"]


class WorkerLostError(Exception):
    """A worker died before it answered.

    Attributes:
        is_suspect: It may have died of this work.
        is_sure: No other work can be the cause.
    """

    def __init__(self, *, is_suspect: bool, is_sure: bool = True) -> None:
        super().__init__("the worker died")
        self.is_suspect = is_suspect
        self.is_sure = is_sure


@dataclass(frozen=True, eq=False)
class Cargo:
    """A large argument shared by several tasks."""

    content: Any


def plain(arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the arguments with Cargo replaced by its content."""
    return tuple(argument.content if isinstance(argument, Cargo) else argument for argument in arguments)


class Pool(ABC):
    """Accepts functions with arguments, and returns futures.

    Functions receive the content of arguments of the class Cargo.

    Attributes:
        in_process: Arguments and results are not pickled.
        shares_files: Workers read and write the files of this process, at the same paths.
        carriers: Maximum concurrent tasks with the same Cargo.
        ahead: Tasks for each worker that are submitted before their results are awaited; enough to keep it busy.
        task_seconds: Minimum duration of a task that makes its overhead negligible; 0 for tasks without overhead.
        threads: The number of threads of a run in a worker; None for the setting in the worker's environment.
    """

    in_process = False
    shares_files = False
    carriers = 1
    ahead = 4
    task_seconds = 0.01
    threads: int | None = 1

    @property
    @abstractmethod
    def workers(self) -> int:
        """The number of tasks that run concurrently."""

    @abstractmethod
    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """Start the work, or queue it."""

    def find_loss(self, error: BaseException) -> WorkerLostError | None:
        """Return the loss of a worker for the exception of a future, None for an exception of the function."""
        return error if isinstance(error, WorkerLostError) else None

    def require_alive(self) -> None:  # noqa: B027  # most pools need nothing here
        """Raise IRError if no worker can answer."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, error_type: type[BaseException] | None, *_: object) -> None:
        self.close(at_once=error_type is not None)

    def close(self, *, at_once: bool) -> None:  # noqa: B027  # most pools need nothing here
        """Release workers that the pool has started.

        Args:
            at_once: Do not wait for running work.
        """
