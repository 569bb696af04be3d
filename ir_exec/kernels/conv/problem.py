"""The description of a convolution for its algorithms: sizes, windows, and chunks of work."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from ir_exec.kernels.gemm.sharing import share_products
from ir_exec.kernels.parallel import Worker
from ir_exec.kernels.precision import accumulator
from ir_exec.kernels.windows import Covered, SlidingAxis, covered_part, placed_blocks
from ir_exec.types import Array

__all__ = ["ConvPart", "ConvProblem", "ConvRun", "share_parts"]

ConvRun: TypeAlias = Callable[[Array, Array], Array]
"""The result [batch, groups, outputs, windows] of data [batch, groups, channels, spatial...] and filters [groups,
outputs, channels, kernel...], both of the type of the sums."""


class ConvPart(NamedTuple):
    """Windows of some images that are convolved at a time.

    Attributes:
        slices: The position of the windows in the result [batch, groups, outputs, windows].
        axes: The windows themselves.
        covered: The covered elements, see `covered_part`.
    """

    slices: tuple[slice, ...]
    axes: tuple[SlidingAxis, ...]
    covered: Covered

    @property
    def images(self) -> tuple[slice, ...]:
        return self.slices[:2]


@dataclass(frozen=True)
class ConvProblem:
    """Windows on every spatial axis, of groups with numbers of channels and outputs.

    Attributes:
        dtype: The dtype of the data.
    """

    axes: tuple[SlidingAxis, ...]
    batch: int
    groups: int
    outputs: int
    channels: int
    dtype: np.dtype[Any]

    @cached_property
    def counts(self) -> list[int]:
        return [axis.count for axis in self.axes]

    @cached_property
    def windows(self) -> int:
        """The windows of one image."""
        return prod(self.counts)

    @cached_property
    def column(self) -> int:
        """The elements of a window over the channels of a group."""
        return self.channels * prod([axis.kernel for axis in self.axes])

    @property
    def shape(self) -> tuple[int, int, int, int]:
        return self.batch, self.groups, self.outputs, self.windows

    @property
    def multiplications(self) -> int:
        return prod(self.shape) * self.column

    @property
    def is_pointwise(self) -> bool:
        """Return True if the windows are the elements."""
        return all(axis.is_plain for axis in self.axes)

    @property
    def is_depthwise(self) -> bool:
        """Return True if each channel is convolved separately."""
        return self.channels == 1 and not self.is_pointwise

    @property
    def accumulator(self) -> np.dtype[Any]:
        """The type of the sums."""
        return np.dtype(accumulator(self.dtype))

    def parts(self, sizes: Sequence[int], pairs: int) -> Iterator[ConvPart]:
        """Chunks of windows on each axis, for a number of pairs of an image and a group, at least one."""
        for block, slices, _ in placed_blocks((self.batch, self.groups), self.counts, sizes, pairs):
            axes = tuple([axis.part(windows) for axis, windows in zip(self.axes, block, strict=True)])
            yield ConvPart(slices, axes, covered_part(axes))


def share_parts(count: int, make: Callable[[], Worker], nanoseconds: float) -> None:
    """Process the chunks 0 to count - 1; threads share them if there are several."""
    if count == 1:
        make()(0)
    else:
        share_products(count, make, nanoseconds=nanoseconds)
