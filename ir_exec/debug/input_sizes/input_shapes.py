"""Which input sizes a network takes, found by inferring it with few other sizes.

From sizes that fit, every dim is moved a step. Where a layer refuses, the dims that it depends on are moved along until
no layer does: so the dims that are tied to each other come to light, as directions in which sizes may go together.
Solved for the fewest dims these directions are the formulas of the others; along the direction of each free dim a few
more probes find its step and its limits.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import isqrt, lcm

from ir_exec.debug.draw.patterns import Pattern, pattern_of
from ir_exec.debug.draw.sizes import first_fit, repaired, with_size, without_needless
from ir_exec.debug.input_sizes.probing import Outcome, OutOfProbesError, Prober, Sizes

__all__ = ["Directions", "Free", "SizeFindings", "explore"]

_STEPS = (1, 2, 4, 8, 16, 32, 64, 3, 6, 12, 24, 48, 5, 10, 20, 40, 7, 14, 28, 56, 9, 11, 13)
"""In families that double: the first that fits divides all others of its family."""

_LARGEST = 2**17
"""Sizes beyond are not tried: what takes these takes any."""

_MOST_SPREADS = 40
"""Of steps in which a size is searched that no other dim has."""


@dataclass(frozen=True)
class Free:
    """A dim that others do not determine.

    along: by how much every dim moves in one step. least, most: steps that still fit, None without a limit.
    refused: the outcomes behind the limits, and between two steps. pattern: the sizes that fit where they are more.
    """

    dim: int
    along: Sizes
    least: int | None
    most: int | None
    refused: tuple[Outcome, ...]
    pattern: Pattern | None = None


@dataclass(frozen=True)
class Directions:
    """How the dims may move: `free` dims, and each tied dim as base + sum of coefficient * (free dim - its base)."""

    free: tuple[int, ...]
    tied: dict[int, dict[int, Fraction]]


@dataclass
class SizeFindings:
    """What is known so far. fixed: the outcome of another size than the only one. because: the outcomes that tie dims.
    ones: the dims that may be 1 while all others stay as they are, where that does not follow from the rest.
    at_most, at_least: the tied dims that may also be smaller, or larger, than those that they are tied to.
    complete: whether there were probes enough."""

    base: Outcome | None = None
    refusal: Outcome | None = None
    directions: Directions = field(default_factory=lambda: Directions((), {}))
    free: dict[int, Free] = field(default_factory=dict)
    fixed: dict[int, Outcome] = field(default_factory=dict)
    ones: set[int] = field(default_factory=set)
    at_most: set[int] = field(default_factory=set)
    at_least: set[int] = field(default_factory=set)
    because: dict[int, Outcome] = field(default_factory=dict)
    complete: bool = True


def explore(prober: Prober) -> SizeFindings:
    """Everything about the dims that the probes allow to find."""
    found = SizeFindings()
    try:
        _explore(prober, found)
    except OutOfProbesError:
        found.complete = False
    return found


def _explore(prober: Prober, found: SizeFindings) -> None:
    found.base, found.refusal = first_fit(prober)
    if found.base is None:
        return
    prober.keep(found.base)
    moves = _all_moves(prober, found, found.base.sizes)
    found.base, stuck = _spread(prober, found.base, found.directions, moves)
    prober.keep(found.base)
    if stuck:
        # Sizes that were equal, or 1, hid what ties them.
        moves = _all_moves(prober, found, found.base.sizes)
    base = found.base.sizes
    for outcomes in (found.fixed, found.because):
        for dim in outcomes:
            anew = prober(with_size(base, dim, base[dim] + 1))
            outcomes[dim] = outcomes[dim] if anew.fits else anew
    found.at_least = set(_roomy(prober, found.directions, moves, base))
    found.because |= {dim: prober(with_size(base, dim, base[dim] - 1)) for dim in found.at_least}
    for dim in found.directions.free:
        found.free[dim] = _limits(prober, base, dim, found.directions, moves[dim])
    found.ones.update(_ones(prober, found, base))
    for dim, free in found.free.items():
        found.free[dim] = _with_pattern(prober, base, free, found.directions)


def _all_moves(prober: Prober, found: SizeFindings, base: Sizes) -> dict[int, Sizes]:
    """Moves each dim, and fills in the directions, what ties dims, and the dims that cannot move."""
    moves: dict[int, Sizes] = {}
    found.fixed.clear()
    found.because.clear()
    last: set[int] = set()
    try:
        for dim in range(len(base)):
            moved, refused = _moved(prober, base, dim)
            if moved is not None:
                moves[dim] = tuple([new - old for new, old in zip(moved, base, strict=True)])
                if refused is not None:
                    found.because[dim] = refused
            elif refused is not None:
                found.fixed[dim] = refused
        found.at_most = set(_bounded(prober, moves, base))
        together = [dim for move in moves.values() if len(_moving(move)) > 1 for dim in _moving(move)]
        last = {dim for dim in together if base[dim] > 1 and prober(with_size(base, dim, 1)).fits} | found.at_most
    finally:
        found.directions = solved_directions(moves, len(base), last)
        found.at_most &= found.directions.tied.keys()
    for dim in found.directions.free:
        # A bound moves alone, and what it bounds along with it.
        moves[dim] = next((move for move in moves.values() if move[dim] and len(_moving(move)) > 1), moves.get(dim, ()))
    return moves


def _moving(move: Sizes) -> list[int]:
    return [dim for dim, part in enumerate(move) if part]


def _bounded(prober: Prober, moves: dict[int, Sizes], base: Sizes) -> Iterator[int]:
    """The dims that another has to follow when they grow and not when they shrink: indices into data."""
    for dim, move in moves.items():
        others = [other for other in _moving(move) if other != dim]
        if len(others) == 1 and move[dim] == move[others[0]] == 1 and base[dim] > 2:
            (other,) = others
            goes_alone = _moving(moves.get(other, ())) == [other]
            smaller = [prober(with_size(base, one, base[one] - 1)).fits for one in (dim, other)]
            if goes_alone and smaller == [True, False]:
                yield dim


def _roomy(prober: Prober, directions: Directions, moves: dict[int, Sizes], base: Sizes) -> Iterator[int]:
    """The tied dims that may be larger alone, and no smaller: data with room for indices that updates go with."""
    for dim, parts in directions.tied.items():
        if _moving(moves.get(dim, ())) == [dim] and list(parts.values()) == [1] and base[dim] > 2:
            fits = [prober(with_size(base, dim, base[dim] + step)).fits for step in (1, -1)]
            if fits == [True, False]:
                yield dim


def _spread(
    prober: Prober, base: Outcome, directions: Directions, moves: dict[int, Sizes]
) -> tuple[Outcome, list[int]]:
    """Sizes in which every free dim has a size of its own, so that no message takes one for another; and the free dims
    that have none, for what they could do alone they cannot beside the others."""
    free = set(directions.free)
    taken = prober.of_constants() | {1, 2, 3, 4}
    taken |= {size for dim, size in enumerate(base.sizes) if dim not in free | directions.tied.keys()}
    stuck = []
    for dim in directions.free:
        step = abs(moves[dim][dim])
        if step > 1 and prober.declared(dim).is_static:
            # What one has to divide by may follow from another: of such sizes the file's are the best.
            continue
        along = _direction(directions, dim, step, len(base.sizes))
        sizes = _distinctive(base.sizes, along, dim, taken)
        outcome = next((one for one in map(prober, sizes) if one.fits), None)
        if outcome is None and base.sizes[dim] in taken:
            stuck.append(dim)
        base = outcome or base
        taken |= {base.sizes[one] for one, part in enumerate(along) if part}
    return base, stuck


def _distinctive(base: Sizes, along: Sizes, dim: int, taken: set[int]) -> Iterator[Sizes]:
    """A few sizes near these along a direction in which a dim has a size that none of these is; primes first."""
    moving = _moving(along)

    def is_fresh(sizes: Sizes) -> bool:
        return sizes[dim] not in taken and all(sizes[one] > 1 for one in moving)

    fresh = [sizes for steps in range(_MOST_SPREADS) if is_fresh(sizes := sizes_at(base, along, steps))]
    fresh.sort(key=lambda sizes: not _is_prime(sizes[dim]))
    yield from fresh[:2]
    yield from [sizes for sizes in fresh[2:] if not _is_prime(sizes[dim])][:2]
    yield from [sizes for steps in (1, 2) if is_fresh(sizes := sizes_at(base, along, -steps))]


def _is_prime(number: int) -> bool:
    return number > 1 and all(number % part for part in range(2, isqrt(number) + 1))


def _ones(prober: Prober, found: SizeFindings, base: Sizes) -> Iterator[int]:
    """The dims that are broadcast where they are 1."""
    tied_to = {one for parts in found.directions.tied.values() for one in parts}
    for dim, size in enumerate(base):
        free = found.free.get(dim)
        if (
            free is not None
            and dim not in tied_to
            and (free.least is None or base[dim] + free.least * free.along[dim] < 2)
        ):
            continue
        if size > 1 and prober(with_size(base, dim, 1)).fits:
            yield dim


def _moved(prober: Prober, base: Sizes, dim: int) -> tuple[Sizes | None, Outcome | None]:
    """Sizes that fit with another one for this dim, by the least step; and what refuses when it goes alone."""
    alone = _first_refusal(prober, base, dim)
    odd: Sizes | None = None
    if alone is None or not prober.meets_fixed(alone, base):
        for size in _sizes_near(base[dim]):
            outcome = prober(with_size(base, dim, size))
            if outcome.fits and _goes_on(prober, base, dim, size - base[dim]):
                return outcome.sizes, alone
            odd = odd or (outcome.sizes if outcome.fits else None)
    helpers: set[int] = set()
    farthest = -1
    for size in _sizes_near(base[dim]):
        first = prober(with_size(base, dim, size))
        # The same layer as before can be helped by the same dims alone.
        among = None if first.place > farthest else helpers
        farthest = max(farthest, first.place)
        outcome = repaired(prober, first, {dim}, size - base[dim], base, among)
        if outcome.fits:
            return without_needless(prober, outcome, base, dim).sizes, alone
        helpers |= {one for one, size in enumerate(outcome.sizes) if size != first.sizes[one]}
        if prober.meets_fixed(outcome, base):
            break
    return odd, alone


def _goes_on(prober: Prober, base: Sizes, dim: int, delta: int) -> bool:
    """Whether a step fits that is no single one, as that to a size is at which something is broadcast."""
    others = [base[dim] + times * delta for times in (2, -1) if base[dim] + times * delta > 0]
    return abs(delta) == 1 or any(prober(with_size(base, dim, size)).fits for size in others)


def _first_refusal(prober: Prober, base: Sizes, dim: int) -> Outcome | None:
    """What refuses the next larger size of a dim, None where nothing does."""
    outcome = prober(with_size(base, dim, base[dim] + 1))
    return None if outcome.fits else outcome


def _sizes_near(size: int) -> Iterator[int]:
    """Other sizes of a dim, in the order of `_STEPS`, without 1, which is broadcast."""
    for step in _STEPS:
        yield size + step
        if size - step > 1:
            yield size - step


def solved_directions(moves: dict[int, Sizes], count: int, last: Collection[int] = ()) -> Directions:
    """The directions solved for as few dims as there are, those that others move least often. `last` are dims that
    rather follow others, for they may also be 1 or smaller."""
    followers = {dim for start, move in moves.items() for dim, part in enumerate(move) if part and dim != start}
    # What has to go along with another dim is tied to it, though it may go alone as well: a Reshape that takes any
    # batch of its input makes no sense of it.
    alone = {dim for dim in followers & moves.keys() if sum(map(bool, moves[dim])) == 1}
    moves = {dim: move for dim, move in moves.items() if dim not in alone}
    dims = [dim for dim in range(count) if any(move[dim] for move in moves.values())]
    followed = {dim: sum(bool(move[dim]) for start, move in moves.items() if start != dim) for dim in dims}
    order = sorted(dims, key=lambda dim: (dim in last, dim not in moves, followed[dim], dim))
    rows = [[Fraction(move[dim]) for dim in order] for move in moves.values()]
    free: list[int] = []
    for column in range(len(order)):
        top = len(free)
        pivot = next((row for row in rows[top:] if row[column]), None)
        if pivot is None:
            continue
        rows.remove(pivot)
        pivot = [value / pivot[column] for value in pivot]
        rows = [
            [value - row[column] * part for value, part in zip(row, pivot, strict=True)] if row[column] else row
            for row in rows
        ]
        rows.insert(top, pivot)
        free.append(column)
    solved = [order[column] for column in free]
    tied = {
        order[column]: {
            dim: row[column]
            for dim, row in sorted(zip(solved, rows, strict=False), key=lambda pair: pair[0])
            if row[column]
        }
        for column in range(len(order))
        if column not in free
    }
    return Directions(tuple(sorted(solved)), tied)


def _limits(prober: Prober, base: Sizes, dim: int, directions: Directions, move: Sizes) -> Free:
    """The step of a free dim and how far it may go, the tied dims with it."""
    whole = _whole(directions, dim)
    refused: list[Outcome] = []
    steps = [step for step in _STEPS if step % whole == 0] or [whole]
    known = abs(move[dim])
    for step in dict.fromkeys([*sorted(one for one in steps if one < known), known]):
        along = _direction(directions, dim, step, len(base))
        tries = [sizes_at(base, along, steps) for steps in (1, -1)]
        outcomes = [prober(sizes) for sizes in tries if min(sizes) >= 1]
        if any(outcome.fits for outcome in outcomes):
            break
        refused = outcomes[:1]
    walk = _Walk(prober, base, along, dim)
    least, below = walk.limit(-1)
    most, above = walk.limit(1)
    outcomes = [*refused, *([below] if below is not None else []), *([above] if above is not None else [])]
    return Free(dim, along, least, most, tuple(outcomes))


def _with_pattern(prober: Prober, base: Sizes, free: Free, directions: Directions) -> Free:
    """The same with all sizes near the base looked at, where not every one from a limit to the other fits."""
    whole = _whole(directions, free.dim)
    unit = _direction(directions, free.dim, whole, len(base))
    every = abs(free.along[free.dim]) // whole
    ends = free.most is not None
    if every == 1 and not ends and free.least is None:
        return free
    pattern = pattern_of(prober, base, unit, free.dim, every, ends=ends)
    if pattern is None or not pattern.period:
        return replace(free, pattern=pattern)
    along = _direction(directions, free.dim, pattern.period, len(base))
    walk = _Walk(prober, base, along, free.dim)
    (least, below), (most, above) = walk.limit(-1), walk.limit(1)
    refused = dict.fromkeys([*free.refused[:1], *(one for one in (below, above) if one is not None)])
    return Free(free.dim, along, least, most, tuple(refused), pattern)


def _slopes(directions: Directions, dim: int) -> dict[int, Fraction]:
    """How far each dim moves with a free one."""
    return {dim: Fraction(1)} | {other: parts[dim] for other, parts in directions.tied.items() if dim in parts}


def _whole(directions: Directions, dim: int) -> int:
    """The least step of a free dim with which all others move by whole numbers."""
    return lcm(*[slope.denominator for slope in _slopes(directions, dim).values()])


def _direction(directions: Directions, dim: int, step: int, count: int) -> Sizes:
    slopes = _slopes(directions, dim)
    return tuple([int(slopes.get(other, Fraction(0)) * step) for other in range(count)])


def sizes_at(base: Sizes, along: Sizes, steps: int) -> Sizes:
    return tuple([size + steps * part for size, part in zip(base, along, strict=True)])


@dataclass(frozen=True)
class _Walk:
    """Steps along a direction, away from sizes that fit."""

    prober: Prober
    base: Sizes
    along: Sizes
    dim: int

    def limit(self, sign: int) -> tuple[int | None, Outcome | None]:
        """The last number of steps that fits, and what refuses the next; None for steps where nothing does."""
        fits, reach = 0, 1
        end = self._end(sign)
        while True:
            count = min(reach, end)
            outcome = self._try(sign * count)
            if not outcome.fits:
                break
            fits = count
            if count == end:
                return (None, None) if sign > 0 else (-end, None)
            reach *= 2
        while count - fits > 1:
            middle = (fits + count) // 2
            tried = self._try(sign * middle)
            if tried.fits:
                fits = middle
            else:
                count, outcome = middle, tried
        return sign * fits, outcome

    def _try(self, steps: int) -> Outcome:
        return self.prober(sizes_at(self.base, self.along, steps))

    def _end(self, sign: int) -> int:
        """The number of steps behind which a size is below 1, or larger than anybody asks for."""
        if sign > 0:
            room = [(_LARGEST - size) // part for size, part in zip(self.base, self.along, strict=True) if part > 0]
            room += [(size - 1) // -part for size, part in zip(self.base, self.along, strict=True) if part < 0]
        else:
            room = [(size - 1) // part for size, part in zip(self.base, self.along, strict=True) if part > 0]
        return max(min(room, default=0), 1) if sign > 0 else max(min(room, default=0), 0)
