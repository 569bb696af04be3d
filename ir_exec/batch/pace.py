"""How many items go in a task, and how many may be on their way."""

from __future__ import annotations

from ir_exec.batch.pools import Pool

__all__ = ["Pace"]

_MOST_ITEMS = 100
_MOST_BYTES = 2**20
"""Of the arrays of the items of a task, and of their outputs."""

_QUEUED = 4
"""Tasks of several items that are on their way for each worker."""


class Pace:
    """Finds how many items make a task so long that what a task itself costs does not count, and not longer.

    chunk: so many always; None: one at first, then what the answers allow, at most twice as many as in the last task.
    ahead: how many items may be taken and not given back yet; None: enough to keep the workers busy.
    """

    def __init__(self, pool: Pool, chunk: int | None, ahead: int | None) -> None:
        self._pool = pool
        self._ahead = ahead
        self._is_free = chunk is None and pool.task_seconds > 0
        self._chunk = chunk or 1
        self._waited = 0.0
        self._is_growing = self._is_free

    @property
    def chunk(self) -> int:
        return self._chunk

    @property
    def limit(self) -> int:
        """How many items may be taken and not given back yet."""
        if self._ahead is not None:
            return self._ahead
        if self._pool.in_process and self._pool.workers == 1:
            return self._chunk
        if self._is_free:
            # Until the size is found there are few tasks, which are too small.
            tasks = _QUEUED * self._chunk
            return self._pool.workers * (tasks if self._is_growing else max(self._pool.ahead, tasks))
        return self._pool.workers * self._pool.ahead * self._chunk

    def waited(self, seconds: float) -> None:
        """An item took so long to come: who has to wait for items does not collect many of them."""
        self._waited = (self._waited + seconds) / 2

    def answered(self, items: int, seconds: float, size: int) -> None:
        """A task of so many items took so long in its worker, with so many bytes of arrays."""
        if not self._is_free or items == 0:
            return
        each = max(seconds / items, self._waited, 1e-6)
        most = min(_MOST_ITEMS, self._pool.task_seconds / each, _MOST_BYTES * items / max(size, 1))
        if self._ahead is not None:
            most = min(most, self._ahead / (2 * self._pool.workers))
        self._is_growing = most > 2 * self._chunk
        self._chunk = max(1, int(min(most, 2 * self._chunk)))
