"""The threads of a run: as many as the caller says, else the environment, else the cores of this process."""

from __future__ import annotations

import os
from collections.abc import Callable
from math import ceil

from ir_exec.errors import EvaluationError
from ir_exec.kernels.blas import CLAIM, Claim
from ir_exec.kernels.parallel import THREADS
from ir_exec.runtime.arguments import whole_number

__all__ = ["VARIABLE", "RunThreads", "available_cores", "chosen_threads"]

VARIABLE = "IR_EXEC_THREADS"


class RunThreads:
    """`with RunThreads(count):` operators may use so many threads, and BLAS one, until the run in it ends."""

    __slots__ = ("_around", "_claim", "_count")

    def __init__(self, count: int) -> None:
        self._count = count
        self._claim = Claim()

    def __enter__(self) -> None:
        self._around = THREADS.set(self._count), CLAIM.set(self._claim)

    def __exit__(self, *_: object) -> None:
        self._claim.release()
        THREADS.reset(self._around[0])
        CLAIM.reset(self._around[1])


def chosen_threads(threads: int | None = None) -> int:
    """The caller's number, or IR_EXEC_THREADS, or the cores available to this process.

    Raises EvaluationError IR704 for a number below 1 and for text that is no number.
    """
    if threads is not None:
        return whole_number(threads, "threads", 1)
    text = os.environ.get(VARIABLE, "").strip()
    if not text:
        return available_cores()
    try:
        number = int(text)
    except ValueError:
        raise EvaluationError(f"{VARIABLE} is {text!r}, expected a whole number") from None
    return whole_number(number, VARIABLE, 1)


def available_cores(root: str | os.PathLike[str] = "/") -> int:
    """The cores that this process may run on, within the limits of its control groups."""
    if hasattr(os, "process_cpu_count"):
        cores = os.process_cpu_count() or 1
    elif hasattr(os, "sched_getaffinity"):
        cores = len(os.sched_getaffinity(0))
    else:
        cores = os.cpu_count() or 1
    return max(1, min([cores, *_quotas(os.fspath(root))]))


def _quotas(root: str) -> list[int]:
    """The limits of the control groups of this process and of their parents, in cores rounded up."""
    try:
        lines = _read(root, "proc/self/cgroup").splitlines()
    except OSError:
        return []
    found = []
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if not controllers:
            found += _limits(os.path.join(root, "sys/fs/cgroup"), path, _unified_quota)
        elif "cpu" in controllers.split(","):
            found += _limits(os.path.join(root, "sys/fs/cgroup/cpu"), path, _legacy_quota)
    return found


def _limits(mount: str, path: str, read: Callable[[str], tuple[int, int]]) -> list[int]:
    found = []
    parts = path.strip("/").split("/")
    # A container may see its own group as the root, while the path is still that of the host.
    for depth in range(len(parts), -1, -1):
        try:
            quota, period = read(os.path.join(mount, *parts[:depth]))
        except (OSError, ValueError):
            continue
        if quota > 0 and period > 0:
            found.append(ceil(quota / period))
    return found


def _unified_quota(group: str) -> tuple[int, int]:
    quota, period = _read(group, "cpu.max").split()
    return (-1 if quota == "max" else int(quota)), int(period)


def _legacy_quota(group: str) -> tuple[int, int]:
    return int(_read(group, "cpu.cfs_quota_us")), int(_read(group, "cpu.cfs_period_us"))


def _read(folder: str, name: str) -> str:
    # Importing pathlib takes longer than all of this.
    with open(os.path.join(folder, name), encoding="utf-8") as file:
        return file.read()
