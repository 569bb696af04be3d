"""Search for the input sizes that a model accepts, by inference with other sizes.

Starting from accepted sizes, each dim is changed by a step. If a layer fails, the dims that it depends on are changed
as well until no layer fails. The result is a direction: dims that change together are tied to each other. The
directions are solved for the smallest set of free dims, which yields formulas for the tied dims. Further probes along
the direction of each free dim find its step and its limits.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import isqrt, lcm

from ir_exec.debug.inputs.probing import Outcome, OutOfProbesError, Pattern, Prober, Sizes, pattern_of
from ir_exec.debug.inputs.sizes import first_fit, repair_sizes, with_size, without_needless

__all__ = ["Directions", "Free", "SizeFindings", "explore"]

_STEPS = (1, 2, 4, 8, 16, 32, 64, 3, 6, 12, 24, 48, 5, 10, 20, 40, 7, 14, 28, 56, 9, 11, 13)
"""Steps, in families that double: the first accepted step divides all others of its family."""

_LARGEST = 2**17
"""Maximum size that is tried: a dim that accepts it counts as unlimited."""

_MOST_SPREADS = 40
"""Maximum steps of the search for a size that no other dim has."""


@dataclass(frozen=True)
class Free:
    """A dim that is independent of other dims.

    Attributes:
        along: The change of each dim in one step.
        least: The limits in steps, None if unlimited.
        most: The limits in steps, None if unlimited.
        refused: The outcomes beyond the limits, and between two steps.
        pattern: The accepted sizes, if there are more than the steps.
    """

    dim: int
    along: Sizes
    least: int | None
    most: int | None
    refused: tuple[Outcome, ...]
    pattern: Pattern | None = None


@dataclass(frozen=True)
class Directions:
    """The `free` dims, and each tied dim as base + sum of coefficient * (free dim - its base)."""

    free: tuple[int, ...]
    tied: dict[int, dict[int, Fraction]]


@dataclass
class SizeFindings:
    """The findings of an exploration.

    Attributes:
        base: The outcome of accepted sizes, None if none were found.
        refusal: The outcome of the first sizes in this case.
        fixed: The outcome of another size, for each dim with only one accepted size.
        ones: The dims that may be 1 without a change of other dims, if the other fields do not imply this.
        at_most: The tied dims that may also be smaller than the dims that they are tied to.
        at_least: The tied dims that may also be larger than the dims that they are tied to.
        because: The outcomes that tie dims.
        has_directions: True if the number of probes was sufficient for the directions of all dims.
        complete: True if the number of probes was sufficient.
    """

    base: Outcome | None = None
    refusal: Outcome | None = None
    directions: Directions = field(default_factory=lambda: Directions((), {}))
    free: dict[int, Free] = field(default_factory=dict)
    fixed: dict[int, Outcome] = field(default_factory=dict)
    ones: set[int] = field(default_factory=set)
    at_most: set[int] = field(default_factory=set)
    at_least: set[int] = field(default_factory=set)
    because: dict[int, Outcome] = field(default_factory=dict)
    has_directions: bool = False
    complete: bool = True


def explore(prober: Prober) -> SizeFindings:
    """Explore all dims, within the limit of probes."""
    findings = SizeFindings()
    try:
        _explore(prober, findings)
    except OutOfProbesError:
        findings.complete = False
    return findings


def _explore(prober: Prober, findings: SizeFindings) -> None:
    findings.base, findings.refusal = first_fit(prober)
    if findings.base is None:
        return
    prober.keep(findings.base)
    moves = _all_moves(prober, findings, findings.base.sizes)
    findings.base, stuck = _spread(prober, findings.base, findings.directions, moves)
    prober.keep(findings.base)
    if stuck:
        # Sizes that were equal, or 1, hid their ties.
        moves = _all_moves(prober, findings, findings.base.sizes)
    base = findings.base.sizes
    for outcomes in (findings.fixed, findings.because):
        for dim in outcomes:
            anew = prober(with_size(base, dim, base[dim] + 1))
            outcomes[dim] = outcomes[dim] if anew.fits else anew
    findings.at_least = set(_roomy(prober, findings.directions, moves, base))
    findings.because |= {dim: prober(with_size(base, dim, base[dim] - 1)) for dim in findings.at_least}
    findings.has_directions = True
    for dim in findings.directions.free:
        findings.free[dim] = _limits(prober, base, dim, findings.directions, moves[dim])
    findings.ones.update(_ones(prober, findings, base))
    for dim, free in findings.free.items():
        findings.free[dim] = _with_pattern(prober, base, free, findings.directions)


def _all_moves(prober: Prober, findings: SizeFindings, base: Sizes) -> dict[int, Sizes]:
    """Change each dim, and record the directions, the outcomes that tie dims, and the fixed dims."""
    moves: dict[int, Sizes] = {}
    findings.fixed.clear()
    findings.because.clear()
    last: set[int] = set()
    try:
        for dim in range(len(base)):
            moved, refused = _move_dim(prober, base, dim)
            if moved is not None:
                moves[dim] = tuple([new - old for new, old in zip(moved, base, strict=True)])
                if refused is not None:
                    findings.because[dim] = refused
            elif refused is not None:
                findings.fixed[dim] = refused
        findings.at_most = set(_find_bounded(prober, moves, base))
        together = [dim for move in moves.values() if len(_moving(move)) > 1 for dim in _moving(move)]
        last = {dim for dim in together if base[dim] > 1 and prober(with_size(base, dim, 1)).fits} | findings.at_most
    finally:
        findings.directions = solved_directions(moves, len(base), last)
        findings.at_most &= findings.directions.tied.keys()
    for dim in findings.directions.free:
        # A bound also changes alone, but the dim that it limits changes with it.
        moves[dim] = next((move for move in moves.values() if move[dim] and len(_moving(move)) > 1), moves.get(dim, ()))
    return moves


def _moving(move: Sizes) -> list[int]:
    return [dim for dim, part in enumerate(move) if part]


def _find_bounded(prober: Prober, moves: dict[int, Sizes], base: Sizes) -> Iterator[int]:
    """The dims that another dim must follow when they grow but not when they shrink: indices into data."""
    for dim, move in moves.items():
        others = [other for other in _moving(move) if other != dim]
        if len(others) == 1 and move[dim] == move[others[0]] == 1 and base[dim] > 2:
            (other,) = others
            goes_alone = _moving(moves.get(other, ())) == [other]
            smaller = [prober(with_size(base, index, base[index] - 1)).fits for index in (dim, other)]
            if goes_alone and smaller == [True, False]:
                yield dim


def _roomy(prober: Prober, directions: Directions, moves: dict[int, Sizes], base: Sizes) -> Iterator[int]:
    """The tied dims that may be larger alone, but not smaller: data that indices and updates refer to."""
    for dim, parts in directions.tied.items():
        if _moving(moves.get(dim, ())) == [dim] and list(parts.values()) == [1] and base[dim] > 2:
            fits = [prober(with_size(base, dim, base[dim] + step)).fits for step in (1, -1)]
            if fits == [True, False]:
                yield dim


def _spread(
    prober: Prober, base: Outcome, directions: Directions, moves: dict[int, Sizes]
) -> tuple[Outcome, list[int]]:
    """Accepted sizes with a distinct size for each free dim, and the free dims without one.

    Distinct sizes avoid ambiguous messages. A free dim has none if it cannot change independently of the others after
    all.
    """
    free = set(directions.free)
    used_sizes = prober.of_constants() | {1, 2, 3, 4}
    used_sizes |= {size for dim, size in enumerate(base.sizes) if dim not in free | directions.tied.keys()}
    stuck = []
    for dim in directions.free:
        step = abs(moves[dim][dim])
        if step > 1 and prober.declared_dim(dim).is_static:
            # The divisor of one dim may depend on another dim: the sizes of the file are the safest then.
            continue
        along = _direction(directions, dim, step, len(base.sizes))
        sizes = _distinctive(base.sizes, along, dim, used_sizes)
        outcome = next((outcome_fitting for outcome_fitting in map(prober, sizes) if outcome_fitting.fits), None)
        if outcome is None and base.sizes[dim] in used_sizes:
            stuck.append(dim)
        base = outcome or base
        used_sizes |= {base.sizes[outcome_fitting] for outcome_fitting, part in enumerate(along) if part}
    return base, stuck


def _distinctive(base: Sizes, along: Sizes, dim: int, used_sizes: set[int]) -> Iterator[Sizes]:
    """A few nearby sizes along a direction that give a dim a size not yet taken; primes first."""
    moving = _moving(along)

    def is_fresh(sizes: Sizes) -> bool:
        return sizes[dim] not in used_sizes and all(sizes[index] > 1 for index in moving)

    fresh = [sizes for steps in range(_MOST_SPREADS) if is_fresh(sizes := sizes_at(base, along, steps))]
    fresh.sort(key=lambda sizes: not _is_prime(sizes[dim]))
    yield from fresh[:2]
    yield from [sizes for sizes in fresh[2:] if not _is_prime(sizes[dim])][:2]
    yield from [sizes for steps in (1, 2) if is_fresh(sizes := sizes_at(base, along, -steps))]


def _is_prime(number: int) -> bool:
    return number > 1 and all(number % part for part in range(2, isqrt(number) + 1))


def _ones(prober: Prober, findings: SizeFindings, base: Sizes) -> Iterator[int]:
    """The dims that are broadcast if their size is 1."""
    tied_to = {part for parts in findings.directions.tied.values() for part in parts}
    for dim, size in enumerate(base):
        free = findings.free.get(dim)
        if (
            free is not None
            and dim not in tied_to
            and (free.least is None or base[dim] + free.least * free.along[dim] < 2)
        ):
            continue
        if size > 1 and prober(with_size(base, dim, 1)).fits:
            yield dim


def _move_dim(prober: Prober, base: Sizes, dim: int) -> tuple[Sizes | None, Outcome | None]:
    """Accepted sizes after the least step of a dim, and the refusal when this dim changes alone."""
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
        # If the same layer fails as before, only the same dims can help.
        among = None if first.place > farthest else helpers
        farthest = max(farthest, first.place)
        outcome = repair_sizes(prober, first, {dim}, size - base[dim], base, among)
        if outcome.fits:
            return without_needless(prober, outcome, base, dim).sizes, alone
        helpers |= {index for index, size in enumerate(outcome.sizes) if size != first.sizes[index]}
        if prober.meets_fixed(outcome, base):
            break
    return odd, alone


def _goes_on(prober: Prober, base: Sizes, dim: int, delta: int) -> bool:
    """Return True if a step can be repeated, unlike a step to a size that happens to be broadcast."""
    others = [base[dim] + times * delta for times in (2, -1) if base[dim] + times * delta > 0]
    return abs(delta) == 1 or any(prober(with_size(base, dim, size)).fits for size in others)


def _first_refusal(prober: Prober, base: Sizes, dim: int) -> Outcome | None:
    """The refusal of the next larger size of a dim, None if it is accepted."""
    outcome = prober(with_size(base, dim, base[dim] + 1))
    return None if outcome.fits else outcome


def _sizes_near(size: int) -> Iterator[int]:
    """Other sizes of a dim, in the order of `_STEPS`. A size of 1 is left out because it is broadcast."""
    for step in _STEPS:
        yield size + step
        if size - step > 1:
            yield size - step


def solved_directions(moves: dict[int, Sizes], count: int, last: Collection[int] = ()) -> Directions:
    """The directions, solved for the smallest set of free dims.

    Dims that other dims change least often become free first.

    Args:
        last: Dims that become free only if necessary, because they may also be 1 or smaller.
    """
    followers = {dim for start, move in moves.items() for dim, part in enumerate(move) if part and dim != start}
    # A dim that must follow another dim is tied to it, even if it may change alone as well: a Reshape accepts any batch
    # of its input, for example, but the result is meaningless.
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
    """The step and the limits of a free dim, together with the dims tied to it."""
    whole_step = _whole_step(directions, dim)
    refused: list[Outcome] = []
    steps = [step for step in _STEPS if step % whole_step == 0] or [whole_step]
    proven_step = abs(move[dim])
    for step in dict.fromkeys([*sorted(step for step in steps if step < proven_step), proven_step]):
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
    """The free dim, with the pattern of sizes near the base if not all sizes between its limits are accepted."""
    whole_step = _whole_step(directions, free.dim)
    unit = _direction(directions, free.dim, whole_step, len(base))
    every = abs(free.along[free.dim]) // whole_step
    ends = free.most is not None
    if every == 1 and not ends and free.least is None:
        return free
    pattern = pattern_of(prober, base, unit, free.dim, every, ends=ends)
    if pattern is None or not pattern.period:
        return replace(free, pattern=pattern)
    along = _direction(directions, free.dim, pattern.period, len(base))
    walk = _Walk(prober, base, along, free.dim)
    (least, below), (most, above) = walk.limit(-1), walk.limit(1)
    refused = dict.fromkeys([*free.refused[:1], *(refusal for refusal in (below, above) if refusal is not None)])
    return Free(free.dim, along, least, most, tuple(refused), pattern)


def _slopes(directions: Directions, dim: int) -> dict[int, Fraction]:
    """The change of each dim for a change of 1 in a free dim."""
    return {dim: Fraction(1)} | {other: parts[dim] for other, parts in directions.tied.items() if dim in parts}


def _whole_step(directions: Directions, dim: int) -> int:
    """The least step of a free dim that changes all other dims by whole numbers."""
    return lcm(*[slope.denominator for slope in _slopes(directions, dim).values()])


def _direction(directions: Directions, dim: int, step: int, count: int) -> Sizes:
    slopes = _slopes(directions, dim)
    return tuple([int(slopes.get(other, Fraction(0)) * step) for other in range(count)])


def sizes_at(base: Sizes, along: Sizes, steps: int) -> Sizes:
    return tuple([size + steps * part for size, part in zip(base, along, strict=True)])


@dataclass(frozen=True)
class _Walk:
    """Steps along a direction, starting at accepted sizes."""

    prober: Prober
    base: Sizes
    along: Sizes
    dim: int

    def limit(self, sign: int) -> tuple[int | None, Outcome | None]:
        """The last accepted number of steps, and the refusal of the next; None for both if unlimited."""
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
        """The number of steps to the size 1 or to the maximum size."""
        if sign > 0:
            room = [(_LARGEST - size) // part for size, part in zip(self.base, self.along, strict=True) if part > 0]
            room += [(size - 1) // -part for size, part in zip(self.base, self.along, strict=True) if part < 0]
        else:
            room = [(size - 1) // part for size, part in zip(self.base, self.along, strict=True) if part > 0]
        return max(min(room, default=0), 1) if sign > 0 else max(min(room, default=0), 0)
