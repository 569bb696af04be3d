"""Python's collector of cyclic garbage, which has nothing to do while a network is read.

Reading, inferring and checking make many objects that refer to each other and stay. The collector would look through
all of them again and again, and take a tenth of the time.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["paused_collector"]


@contextmanager
def paused_collector() -> Iterator[None]:
    """Inside, nothing is collected; afterwards the collector is on where it was on before.

    Threads may be inside at the same time: the first one out switches the collector on.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
