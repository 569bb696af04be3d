"""The work of Python, counted instead of timed."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

__all__ = ["steps_of"]


class _TooManyStepsError(Exception):
    pass


def steps_of(call: Callable[[], object], limit: int) -> int:
    """Return the number of lines of Python that `call` runs, calls and returns included. Fails above `limit`.

    The work of NumPy and other extensions within a line is not counted.
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
