"""Search for the size that a layer requires: two numbers that differ at the layer must become equal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ir_exec.debug.inputs.probing import Outcome, Prober, Sizes
from ir_exec.graph import Node
from ir_exec.infer import Types

__all__ = ["grown", "met"]

_LARGEST = 2**17
"""Maximum size that is tried."""

_IDLE = 8
"""Maximum consecutive doublings without progress."""


def met(prober: Prober, outcome: Outcome, candidates: Sequence[int]) -> Outcome | None:
    """The outcome of another size of one dim that makes the numbers equal at the layer that fails.

    A convolution computes 99 frames from 1000 samples, for example, but a table of positions has 50 rows. The number of
    frames grows with the samples, therefore sizes are doubled or halved until 50 is bracketed, and then bisected.
    """
    node = outcome.node
    if node is None or _gap(node, outcome.types) in (None, 0):
        return None
    for dim in candidates:
        match = _search(prober, outcome, dim, node)
        if match is not None:
            return match
    return None


def _search(prober: Prober, outcome: Outcome, dim: int, node: Node) -> Outcome | None:
    first = _gap(node, outcome.types)
    assert first is not None, "the caller passes layers with a gap only"
    start = outcome.sizes[dim]
    for factor in (2, -2):
        near, size = start, start
        gap = first
        while True:
            size = size * 2 if factor > 0 else size // 2
            if not 1 <= size <= _LARGEST:
                break
            tried = prober(_with_size(outcome.sizes, dim, size))
            if tried.place > outcome.place:
                return tried
            new = _gap(node, tried.types) if tried.node is node else None
            if new is None or new == gap or (abs(new) > abs(first) and new * first > 0):
                break
            if new * first < 0:
                return _between(prober, outcome, dim, node, near, size, first)
            near, gap = size, new
    return None


def _between(prober: Prober, outcome: Outcome, dim: int, node: Node, near: int, far: int, sign: int) -> Outcome | None:
    """The outcome between two sizes whose gaps have opposite signs."""
    while abs(far - near) > 1:
        middle = (near + far) // 2
        tried = prober(_with_size(outcome.sizes, dim, middle))
        if tried.place > outcome.place:
            return tried
        gap = _gap(node, tried.types) if tried.node is node else None
        if gap is None:
            return None
        near, far = (middle, far) if gap * sign > 0 else (near, middle)
    return None


def grown(prober: Prober, outcome: Outcome, candidates: Sequence[int]) -> Outcome | None:
    """The outcome of larger sizes that the layer that fails accepts: two times, four times as large and so on.

    The dims of one input grow together first, then each alone; dims that may be a batch are last. They grow as long as
    inference progresses, as in a stack of convolutions that shorten audio.
    """
    inputs = dict.fromkeys(prober.dims[dim].input for dim in candidates)
    groups = [
        [dim for dim in candidates if prober.dims[dim].input == number and prober.dims[dim].axis > 0]
        for number in inputs
    ]
    alone = [[dim] for dim in sorted(candidates, key=lambda dim: prober.dims[dim].axis == 0)]
    for group in [*[group for group in groups if len(group) > 1], *alone]:
        best, idle = outcome, 0
        for sizes in _double_sizes(outcome.sizes, group):
            tried = prober(sizes)
            if tried.place < best.place or idle >= _IDLE:
                break
            idle = 0 if tried.place > best.place else idle + 1
            best = tried if tried.place > best.place else best
            if best.fits:
                break
        if best is not outcome:
            return best
    return None


def _double_sizes(sizes: Sizes, group: Sequence[int]) -> Iterator[Sizes]:
    factor = 2
    while max(sizes[dim] for dim in group) * factor <= _LARGEST:
        yield tuple([size * factor if dim in group else size for dim, size in enumerate(sizes)])
        factor *= 2


def _with_size(sizes: Sizes, dim: int, size: int) -> Sizes:
    return (*sizes[:dim], size, *sizes[dim + 1 :])


def _gap(node: Node, types: Types) -> int | None:
    """The difference of the first two sizes that the layer requires to be equal; None if they are unknown."""
    if node.op is None:
        return None
    pairs = node.op.equal_sizes(*(types[value.number] for value in node.values_in))
    try:
        return next((first - second for first, second in pairs if first != second), 0)
    except (IndexError, ValueError):
        return None
