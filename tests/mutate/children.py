"""Work done in a forked child, with limits."""

from __future__ import annotations

import contextlib
import enum
import os
import pickle
import resource
import signal
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeVar

import hypothesis  # noqa: F401  # what follows is imported for the children
import lxml.etree  # noqa: F401
import ml_dtypes  # noqa: F401
import numpy
import numpy.lib.stride_tricks  # noqa: F401
import pydantic  # noqa: F401

__all__ = ["Ended", "Limits", "be_in", "in_child"]

MEMORY: Final = 6 * 2**30
"""Memory of a child that it may write to, in bytes: a wrong size must not take the machine's."""

WALL: Final = 12.0
"""The factor of wall clock over processor time for a child."""

T = TypeVar("T")


@dataclass(frozen=True)
class Limits:
    """Seconds of processor time."""

    seconds: float


class Ended(enum.Enum):
    """The end of a child without a result."""

    LATE = "time is up"
    DIED = "the process died"


def in_child(work: Callable[[], T], limits: Limits, path: Path) -> T | Ended:
    """Return the result of `work` in a child. path: a file for the result, absent otherwise.

    Processes that the child started are ended with it.
    """
    path.unlink(missing_ok=True)
    child = os.fork()
    if child == 0:
        _be_the_child(work, limits, path)
    status = _wait(child, limits.seconds * WALL)
    if path.exists():
        result: T = pickle.loads(path.read_bytes())
        return result
    late = status is None or (os.WIFSIGNALED(status) and os.WTERMSIG(status) in (signal.SIGXCPU, signal.SIGKILL))
    return Ended.LATE if late else Ended.DIED


def be_in(root: Path, output: Path) -> None:
    """Be a process of the copy at `root`: modules of ir_exec or tests outside of it are not imported."""
    quiet = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)
    os.chdir(root)
    for name in [name for name in sys.modules if name.partition(".")[0] in ("ir_exec", "tests")]:
        if not name.startswith("tests.mutate") and name != "tests":
            del sys.modules[name]
    sys.path[0:1] = [str(root)]
    sys.modules["tests"].__path__ = [str(root / "tests")]
    os.environ["PYTHONPATH"] = str(root)
    # A change of the same length in the same second looks like the source that was compiled before.
    sys.dont_write_bytecode = True
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"


def _be_the_child(work: Callable[[], object], limits: Limits, path: Path) -> None:
    try:
        os.setpgid(0, 0)
        resource.setrlimit(resource.RLIMIT_CPU, (int(limits.seconds) + 1, int(limits.seconds) + 5))
        resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
        result = pickle.dumps(work())
        path.with_suffix(".part").write_bytes(result)
        path.with_suffix(".part").rename(path)
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
        os._exit(1)
    os._exit(0)


def _wait(child: int, seconds: float) -> int | None:
    """The status of the child; None where it had to be ended. What it started is ended too."""
    end = time.monotonic() + seconds
    status = None
    while status is None and time.monotonic() < end:
        ended, code = os.waitpid(child, os.WNOHANG)
        if ended:
            status = code
        else:
            time.sleep(0.02)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child, signal.SIGKILL)
    if status is None:
        os.waitpid(child, 0)
    return status
