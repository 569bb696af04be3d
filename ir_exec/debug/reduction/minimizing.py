"""Search for a minimal subset of a sequence for which a predicate holds, such as the layers that still fail."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np

__all__ = ["MOST_TRIALS", "MinimalSubset", "SearchEnded", "minimize", "smallest_count"]

MOST_TRIALS = 400
"""Maximum sets that are tried in a search whose trials are runs of a complete model."""

Item = TypeVar("Item")


class SearchEnded(Exception):  # noqa: N818  # no error: it ends the search
    """Raised by a predicate to end a search with the smallest subset so far, for example at a time limit."""


@dataclass(frozen=True)
class MinimalSubset(Generic[Item]):
    """The smallest subset that was found.

    Attributes:
        items: Its items, in the order of the sequence.
        is_minimal: True if the predicate is False without any single one of them; False if the search ended early.
        trials: The number of calls of the predicate.
    """

    items: list[Item]
    is_minimal: bool
    trials: int


def minimize(
    items: Sequence[Item],
    holds: Callable[[Sequence[Item]], bool],
    *,
    importance: Callable[[Item], Any] | None = None,
    min_items: int = 1,
    limit: int | None = None,
) -> MinimalSubset[Item]:
    """Return a subset for which a predicate holds, and none of whose items can be removed.

    Chunks of a power of two are removed, from the end of the sequence to its start, and their size is halved until no
    single item can be removed, also for a predicate that is not monotone. This is delta debugging (Zeller and
    Hildebrandt, 2002) without trials of single chunks: for monotone predicates, those are a third to three quarters of
    all trials and find nothing (counted with 20 to 1,000 items, 2 to 8 of them needed).

    Args:
        items: The predicate is expected to hold for all of them. The last ones are removed first.
        holds: It is called once for a subset, and its results are expected not to change. The last subset for which
            it returns True is the result. `SearchEnded` ends the search; other exceptions leave the function.
        importance: Search first for the fewest most important items that suffice, by bisection.
        min_items: The minimum size of subsets that are tried.
        limit: Maximum number of calls of the predicate.
    """
    search = _SubsetSearch(items, holds, min_items, limit)
    try:
        if importance is not None:
            search.keep_most_important(importance)
        search.remove_chunks()
    except SearchEnded:
        return search.result(is_minimal=False)
    return search.result(is_minimal=True)


class _SubsetSearch(Generic[Item]):
    def __init__(
        self,
        items: Sequence[Item],
        holds: Callable[[Sequence[Item]], bool],
        min_items: int,
        limit: int | None,
    ) -> None:
        self._items = items
        self._predicate = holds
        self._min_items = min_items
        self._limit = limit
        self._results: dict[bytes, bool] = {}
        self._smallest = np.arange(len(items))

    def result(self, *, is_minimal: bool) -> MinimalSubset[Item]:
        return MinimalSubset(self._select(self._smallest), is_minimal, len(self._results))

    def keep_most_important(self, importance: Callable[[Item], Any]) -> None:
        order = sorted(range(len(self._items)), key=lambda index: importance(self._items[index]), reverse=True)
        _bisect(lambda count: self._holds(np.sort(order[:count])), 0, len(order))

    def remove_chunks(self) -> None:
        """Remove chunks of half the size in each pass, until a pass with chunks of one item removes none."""
        size = 1 << len(self._items).bit_length()
        while True:
            size = max(size // 2, 1)
            count = len(self._smallest)
            for start in reversed(range(0, count, size)):
                # All that precedes the chunk is still there, as the pass starts at the end.
                self._holds(np.delete(self._smallest, slice(start, start + size)))
            if size == 1 and len(self._smallest) == count:
                return

    def _holds(self, indices: np.ndarray) -> bool:
        """Return True if the predicate holds for a subset, and keep it as the smallest one."""
        if len(indices) < self._min_items:
            return False
        mask = np.zeros(len(self._items), bool)
        mask[indices] = True
        key = np.packbits(mask).tobytes()
        if key not in self._results:
            if len(self._results) == self._limit:
                raise SearchEnded
            self._results[key] = self._predicate(self._select(indices))
        if self._results[key]:
            self._smallest = indices
        return self._results[key]

    def _select(self, indices: np.ndarray) -> list[Item]:
        return [self._items[index] for index in indices]


def smallest_count(holds: Callable[[int], bool], most: int) -> int | None:
    """Return the smallest number from 0 to `most` for which a predicate holds, by doubling and bisection.

    Args:
        holds: A predicate that holds for all larger numbers as well. The last number for which it returns True is the
            result.

    Returns:
        None if the predicate does not hold for `most`.
    """
    low, high = -1, 0
    while not holds(high):
        if high >= most:
            return None
        low, high = high, min(max(2 * high, 1), most)
    return _bisect(holds, low, high)


def _bisect(holds: Callable[[int], bool], low: int, high: int) -> int:
    """Return the smallest number for which a predicate holds; it does not hold for `low`, and it holds for `high`."""
    while high - low > 1:
        middle = (low + high) // 2
        if holds(middle):
            high = middle
        else:
            low = middle
    return high
