"""Python's collector of cyclic garbage, which has nothing to do while a network is read.

Reading, inferring and checking make many objects that refer to each other and stay. The collector would look through
all of them again and again, and take a third of the time.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["paused_collector"]

MANY = 10_000
"""Objects from which on they are set aside: a network of some hundred layers has as many."""

MOST_ASIDE = 250_000
"""Objects that are set aside before the collector looks at all there are, some 30 MiB."""


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
            _aside.add_new()
            gc.enable()


class _Aside:
    """The objects that were made while the collector was off, which count as old without having been looked at.

    It would look through them twice before it leaves them alone. Those of networks that are not used any more have to
    be found some time, so it looks at all objects once there are many new ones, a quarter of all, as is its own rule.
    """

    def __init__(self) -> None:
        self._count = 0
        self._most = MOST_ASIDE

    def add_new(self) -> None:
        new = gc.get_count()[0]
        # Objects that the program froze must stay so.
        if new < MANY or gc.get_freeze_count():
            return
        gc.freeze()
        gc.unfreeze()
        self._count += new
        if self._count > self._most:
            gc.collect()
            self._count, self._most = 0, max(MOST_ASIDE, len(gc.get_objects()) // 4)


_aside = _Aside()
