"""How much work Python does, counted instead of timed."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

__all__ = ["steps_of"]


class _TooManyStepsError(Exception):
    pass


def steps_of(call: Callable[[], object], limit: int) -> int:
    """How many lines of Python `call` runs, calls and returns included. Fails where there are more than `limit`.

    What NumPy and other extensions do within a line counts for nothing.
    """
    steps = 0

    def count(frame: FrameType, event: str, _: object) -> Any:
        nonlocal steps
        steps += 1
        if steps > limit:
            raise _TooManyStepsError
        return count

    before = sys.gettrace()
    sys.settrace(count)
    try:
        call()
    except _TooManyStepsError:
        raise AssertionError(f"more than {limit} steps") from None
    finally:
        sys.settrace(before)
    return steps
