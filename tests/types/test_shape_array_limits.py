"""Sizes that no array can have."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from ir_exec.errors import EvaluationError, ResourceError, array_limit_error, internal_error
from ir_exec.types import MOST_AXES, require_array_size


@pytest.mark.parametrize("sizes", [(), (0,), (1,) * MOST_AXES, (2**40, 2**22), (0, 2**62)])
def test_shapes_of_arrays(sizes: tuple[int, ...]) -> None:
    require_array_size(sizes)


@pytest.mark.parametrize(
    ("sizes", "itemsize"),
    [((1,) * (MOST_AXES + 1), 1), ((2**63,), 1), ((2**62,), 4), ((2**40, 2**40), 1), ((0, 2**40, 2**40), 1)],
)
def test_shapes_of_no_array(sizes: tuple[int, ...], itemsize: int) -> None:
    """NumPy refuses the same, also for empty arrays."""
    with pytest.raises(ResourceError):
        require_array_size(sizes, itemsize)
    with pytest.raises((ValueError, MemoryError)):
        np.empty(sizes, f"V{itemsize}")


LIMITS: dict[str, Callable[[], object]] = {
    "axes": lambda: np.zeros((1,) * 65),
    "a new axis": lambda: np.zeros((1,) * 64)[None],
    "an outer product": lambda: np.add.outer(np.zeros((1,) * 64), np.zeros(1)),
    "bytes": lambda: np.zeros((2**40, 2**40)),
    "bytes of an empty array": lambda: np.zeros((0, 2**40, 2**40)),
    "a size": lambda: np.empty(2**63),
    "a range": lambda: np.arange(0, 1e30),
    "a long range": lambda: np.arange(2**62),
    "a view": lambda: np.broadcast_to(np.zeros(1), (2**40, 2**40)),
    "a tile": lambda: np.tile(np.zeros((1,) * 64), (1,) * 65),
    "an index": lambda: np.unravel_index(0, (2**40, 2**40)),
    "an element": lambda: np.array(2**63, np.int64),
    "an element of 32 bits": lambda: np.array([2**40], np.int32),
    "a sum": lambda: np.zeros(1, np.int32) + 2**40,
    "a Python range": lambda: len(range(2**63)),
    "a Python string": lambda: bytes(2**63),
}


@pytest.mark.parametrize("name", LIMITS)
def test_exceptions_of_limits_are_resource_errors(name: str) -> None:
    with pytest.raises((ValueError, IndexError, OverflowError, MemoryError)) as caught:
        LIMITS[name]()
    assert isinstance(array_limit_error(caught.value), ResourceError)
    assert isinstance(internal_error(caught.value), ResourceError)  # type: ignore[arg-type]  # no BaseException


def test_other_exceptions_are_faults() -> None:
    for error in (ValueError("x"), IndexError("list index out of range"), TypeError("array is too big")):
        assert array_limit_error(error) is None
        assert internal_error(error).code == "IR999"
    assert isinstance(array_limit_error(MemoryError()), ResourceError)
    assert not isinstance(internal_error(KeyError("x")), EvaluationError)
