"""The setup of a worker process. This module must not import NumPy: BLAS reads the environment when it is loaded."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from multiprocessing import parent_process
from threading import Thread

__all__ = ["prepare"]

_BLAS_THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")


def _end_with_parent() -> None:
    """End the process with its parent; otherwise a worker of a killed parent would wait for work forever."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def prepare(threads: int, initializer: Callable[[], None] | None) -> None:
    """Set up a worker process. It ignores Ctrl-C, which goes to every process of a terminal: its parent handles it.

    Existing settings of the environment are kept.

    Args:
        threads: The number of threads of BLAS, and of runs without an explicit number.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Thread(target=_end_with_parent, daemon=True).start()
    for name in (*_BLAS_THREADS, "IR_EXEC_THREADS"):
        os.environ.setdefault(name, str(threads))
    if initializer is not None:
        initializer()
