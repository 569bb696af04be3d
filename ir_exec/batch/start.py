"""What a worker process does first. Nothing here imports NumPy: BLAS reads the environment when it is loaded."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from multiprocessing import parent_process
from threading import Thread

__all__ = ["prepare"]

_BLAS_THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")


def _end_with_parent() -> None:
    """A worker whose parent was killed would wait for work for ever, and keep its memory."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def prepare(threads: int, initializer: Callable[[], None] | None) -> None:
    """Ctrl-C goes to every process of a terminal; the one that started the workers alone answers it.

    threads: of BLAS, and of a run that does not say how many it takes. What the environment says already stays.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Thread(target=_end_with_parent, daemon=True).start()
    for name in (*_BLAS_THREADS, "IR_EXEC_THREADS"):
        os.environ.setdefault(name, str(threads))
    if initializer is not None:
        initializer()
