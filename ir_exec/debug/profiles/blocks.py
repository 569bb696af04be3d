"""Timing of several contestants in one process, in blocks of calls.

Threads of onnxruntime and OpenVINO spin for some milliseconds after a call, and occupy cores meanwhile. Call by call in
turns, each contestant would be measured with the threads of the previous one. Therefore each block of calls of a
contestant starts with a pause and a call that is not counted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import sleep
from typing import TypeVar

__all__ = ["CALLS", "PAUSE", "measure_in_blocks"]

PAUSE = 0.03
"""Seconds before a block: several times as long as the threads of an engine spin."""

CALLS = 10
"""Maximum calls of a block: the blocks of all contestants alternate, because the speed of a machine varies."""

Measured = TypeVar("Measured")


def measure_in_blocks(contestants: Sequence[Callable[[], Measured]], count: int) -> list[list[Measured]]:
    """Call each contestant `count` times, and return what the calls of each returned.

    The results of the calls at the beginning of blocks are dropped.
    """
    results: list[list[Measured]] = [[] for _ in contestants]
    for start in range(0, count, CALLS):
        for contestant, measured in zip(contestants, results, strict=True):
            sleep(PAUSE)
            contestant()
            measured += [contestant() for _ in range(min(CALLS, count - start))]
    return results
