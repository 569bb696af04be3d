"""Inputs that nobody gave: sizes that fit, by moving the dims on which a layer that refuses depends, and values."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice

import numpy as np

from ir_exec.codes import Code
from ir_exec.debug.probing import Outcome, OutOfProbesError, Prober, Sizes
from ir_exec.errors import EvaluationError, IRError, ResourceError, ShapeError
from ir_exec.model import Model, ModelPort, ShapeLike, as_shape
from ir_exec.runtime.memory import default_budget
from ir_exec.types import BOOLEAN, STRING, Array, ElementType, Shape, element_types

__all__ = [
    "Pattern",
    "draw",
    "drawn_inputs",
    "first_fit",
    "fitting_shapes",
    "pattern_of",
    "repaired",
    "smallest",
    "with_size",
    "without_needless",
]


_RECORDS = element_types("u1 u3 u6 nf4")

_WORDS = ("alpha", "beta", "gamma", "delta")

_GUESSES = ((5, 32), (5, 64), (1, 16), (2, 32), (2, 8), (1, 224), (1, 256), (1, 1), (4, 4))
"""Of an open first dim, and of the open others. Few constants are 5, and from 5 no small step leads to 1, which is
broadcast."""

_MOST_MOVES = 24
"""Of one repair: dims times sizes that are tried."""

_MOST_UNDONE = 6
"""Of dims that were moved along: where there are more they are taken as they are."""

_SMALL = (*range(1, 17), 20, 24, 28, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224)
"""Sizes that are tried for a dim in place of a larger one that fits."""


def first_fit(prober: Prober) -> tuple[Outcome | None, Outcome | None]:
    """Sizes that fit: the declared ones, and guesses for open dims. Where none fit, also why the first do not."""
    open_dims = [dim for dim in range(len(prober.dims)) if not prober.declared(dim).is_static]
    first: Outcome | None = None
    larger = _larger_batch(prober)
    if larger is not None and larger.fits:
        return larger, None
    for guess in _GUESSES if open_dims else _GUESSES[:1]:
        sizes = []
        for dim, place in enumerate(prober.dims):
            declared = prober.declared(dim)
            wanted = guess[0] if place.axis == 0 else guess[1]
            sizes.append(declared.lo if declared.is_static else min(max(wanted, declared.lo), declared.hi))
        outcome = prober(tuple(sizes))
        first = first or outcome
        outcome = repaired(prober, outcome, set(range(len(sizes))) - set(open_dims), None)
        if outcome.fits:
            return outcome, None
    return None, first


def _larger_batch(prober: Prober) -> Outcome | None:
    """The declared sizes of a network whose dims are all known, with another batch than 1, which is broadcast."""
    declared = [prober.declared(dim) for dim in range(len(prober.dims))]
    batch = [dim for dim, place in enumerate(prober.dims) if place.axis == 0 and declared[dim] == 1]
    if not batch or not all(dim.is_static for dim in declared):
        return None
    return prober(tuple([_GUESSES[0][0] if dim in batch else size.lo for dim, size in enumerate(declared)]))


def repaired(
    prober: Prober,
    outcome: Outcome,
    held: set[int],
    delta: int | None,
    base: Sizes | None = None,
    among: set[int] | None = None,
) -> Outcome:
    """The outcome after dims that are not held, and are among these, are moved along as far as that helps."""
    held = set(held)
    if among is not None:
        held |= set(range(len(outcome.sizes))) - among
    while outcome.node is not None:
        better = _one_repair(prober, outcome, held, delta, base)
        if better is None:
            return outcome
        held.update(dim for dim, size in enumerate(better.sizes) if size != outcome.sizes[dim])
        outcome = better
    return outcome


def without_needless(prober: Prober, outcome: Outcome, base: Sizes, start: int) -> Outcome:
    """What fits with as few dims moved as possible: some may have been moved for what others have mended as well."""
    moved = [dim for dim, (new, old) in enumerate(zip(outcome.sizes, base, strict=True)) if new != old and dim != start]
    if outcome.fits and 1 < len(moved) <= _MOST_UNDONE:
        for dim in moved:
            fewer = prober(with_size(outcome.sizes, dim, base[dim]))
            outcome = fewer if fewer.fits else outcome
    return outcome


def _one_repair(
    prober: Prober, outcome: Outcome, held: set[int], delta: int | None, base: Sizes | None
) -> Outcome | None:
    """The outcome of moving one dim, or all that are like those that moved, so that the layer refuses no more."""
    assert outcome.node is not None, "somewhere it stopped"
    gaps = prober.gaps(outcome)
    candidates = [dim for dim in prober.above(outcome.node) if dim not in held]
    alike: list[int] = []
    if base is not None:
        # What belongs together mostly has one size, and stands at the same axis.
        moved = [dim for dim, size in enumerate(outcome.sizes) if size != base[dim]]
        sizes, axes = {base[dim] for dim in moved}, {prober.dims[dim].axis for dim in moved}
        candidates.sort(key=lambda dim: (base[dim] not in sizes, prober.dims[dim].axis not in axes))
        alike = [dim for dim in candidates if base[dim] in sizes and prober.dims[dim].axis in axes]
    for dim, size in islice(_resized(outcome, candidates, gaps, delta, base), _MOST_MOVES):
        better = prober(with_size(outcome.sizes, dim, size))
        if better.place > outcome.place:
            return better
    if delta is not None and len(alike) > 1 and all(outcome.sizes[dim] + delta > 0 for dim in alike):
        # The keys and the values of a layer's past.
        together = prober(tuple([size + delta * (dim in alike) for dim, size in enumerate(outcome.sizes)]))
        return together if together.place > outcome.place else None
    return None


def _resized(
    outcome: Outcome, candidates: Sequence[int], gaps: Sequence[int], delta: int | None, base: Sizes | None
) -> Iterator[tuple[int, int]]:
    """Other sizes for dims: first such that go the same way, then such that close a gap."""
    if delta is not None and base is not None:
        moved = [dim for dim, size in enumerate(outcome.sizes) if size != base[dim]]
        for dim in candidates:
            # In the same ratio: a mask of an eighth of the image.
            ratios = [Fraction(delta * base[dim], base[other]) for other in moved[:1]]
            for change in dict.fromkeys([delta, *(int(ratio) for ratio in ratios if ratio.denominator == 1)]):
                if change and outcome.sizes[dim] + change > 0:
                    yield dim, outcome.sizes[dim] + change
    for dim in candidates:
        for gap in gaps:
            if outcome.sizes[dim] + gap > 0 and (delta is None or abs(gap) == abs(delta)):
                yield dim, outcome.sizes[dim] + gap


def with_size(sizes: Sizes, dim: int, size: int) -> Sizes:
    return (*sizes[:dim], size, *sizes[dim + 1 :])


def smallest(prober: Prober, least: int) -> Sizes | None:
    """Sizes that fit, those of open dims as small as was found from `least` on; None where none were found."""
    declared = [prober.declared(dim) for dim in range(len(prober.dims))]
    held = {dim for dim, size in enumerate(declared) if size.is_static}

    def is_allowed(outcome: Outcome) -> bool:
        return outcome.fits and all(size in allowed for size, allowed in zip(outcome.sizes, declared, strict=True))

    def tries() -> Iterator[Outcome | None]:
        for size in (least, 1):
            sizes = tuple([min(max(one.lo, size), one.hi) for one in declared])
            yield repaired(prober, prober(sizes), held, None)
        yield first_fit(prober)[0]

    best: Outcome | None = None
    try:
        best = next((one for one in tries() if one is not None and is_allowed(one)), None)
        if best is not None:
            for dim in sorted(set(range(len(declared))) - held):
                best = _smaller(prober, best, dim, held, least, is_allowed)
    except OutOfProbesError:
        pass  # what was found is good enough
    return None if best is None else best.sizes


def _smaller(
    prober: Prober, best: Outcome, dim: int, held: set[int], least: int, is_allowed: Callable[[Outcome], bool]
) -> Outcome:
    """What fits with one dim as small as it may be, the dims that are tied to it with it."""
    for size in _SMALL:
        if not least <= size < best.sizes[dim] or size not in prober.declared(dim):
            continue
        alone = prober(with_size(best.sizes, dim, size))
        outcome = repaired(prober, alone, held | {dim}, size - best.sizes[dim], best.sizes)
        if is_allowed(outcome) and all(new <= old for new, old in zip(outcome.sizes, best.sizes, strict=True)):
            return outcome
        if prober.meets_fixed(outcome, best.sizes):
            break
    return best


def drawn_inputs(
    model: Model,
    seed: int,
    shapes: Mapping[str, ShapeLike] | None = None,
    given: Mapping[str, Array] | None = None,
) -> dict[str, Array]:
    """All inputs by name: those that are given, and the others at random; those of one seed are the same everywhere.

    shapes: by name; dims that they and the file leave open have the sizes of `fitting_shapes`.
    Raises EvaluationError for shapes of what is no input, ShapeError for an input of unknown rank without a shape, and
    ResourceError for one that would not fit into memory.
    """
    given = given or {}
    wanted = {name: as_shape(shape) for name, shape in (shapes or {}).items()}
    if unknown := sorted(wanted.keys() - {port.name for port in model.inputs}):
        names = ", ".join(port.name for port in model.inputs)
        raise EvaluationError(f"there is no input {unknown[0]!r}; the inputs are: {names}", code=Code.unknown_input)
    known = {name: Shape(array.shape) for name, array in given.items()}
    wanted |= fitting_shapes(model, wanted | known)
    random = np.random.default_rng(seed)
    return {
        port.name: given[port.name] if port.name in given else draw(port, wanted.get(port.name), random)
        for port in model.inputs
    }


def fitting_shapes(model: Model, shapes: Mapping[str, Shape]) -> dict[str, Shape]:
    """Shapes, by name, for the inputs of which dims are open: small sizes with which inference accepts the network.

    shapes: those that are known, in place of the file's. Where a network takes integers, which are drawn from 0 and 1
    and may be indices, sizes are from 2 on if that fits, else from 1 on. Empty where no dim is open, or where no sizes
    were found: what is wrong then a run tells best.
    """
    ports = model.inputs
    known = [shapes.get(port.name, port.shape) for port in ports]
    if all(shape.is_static for shape in known) or any(shape.rank is None for shape in known):
        return {}
    indices = [port.element_type for port in ports if port.element_type.is_known and not port.element_type.is_float]
    least = 2 if any(kind.bits > 8 for kind in indices) else 1
    try:
        prober = Prober(model, dict(enumerate(known)))
    except IRError:
        return {}
    sizes = smallest(prober, least)
    if sizes is None:
        return {}
    found = prober.given(sizes)
    return {port.name: found[number] for number, port in enumerate(ports) if not known[number].is_static}


_REACHES = (160, 512)
"""Sizes that are looked at, one after the other: two periods of the longest that is seen. The second where the first
are not enough."""

_FAR = (5, 8)
"""Periods from the first sizes, at which it is asked whether they go on."""

_LEFT = 0.3
"""The share of probes that is left for others."""


@dataclass(frozen=True)
class Pattern:
    """The sizes n * period + one of `remainders`, from `least` on; None for all. also: further sizes, below `least`.

    period: 0 where the sizes that fit have none, and `also` has all of them up to `reach`. seen: some that fit.
    """

    period: int
    remainders: tuple[int, ...]
    least: int | None
    also: tuple[int, ...]
    reach: int
    seen: tuple[Outcome, ...]


def pattern_of(prober: Prober, base: Sizes, unit: Sizes, dim: int, every: int, *, ends: bool) -> Pattern | None:
    """The sizes that fit along a direction, where more do than every n-th from the base on.

    unit: by how much every dim moves in one step. every: the number of steps that are known to fit, one after the
    other, and if it `ends`, only up to a limit.
    """
    scan = _Scan(prober, base, unit, dim)
    try:
        return _found(scan, every, ends)
    except OutOfProbesError:
        return None


@dataclass(frozen=True)
class _Scan:
    prober: Prober
    base: Sizes
    unit: Sizes
    dim: int

    def at(self, steps: int) -> Outcome | None:
        """What inference says that many steps from the base; None below size 1."""
        sizes = tuple([size + steps * part for size, part in zip(self.base, self.unit, strict=True)])
        if min(sizes) < 1:
            return None
        if self.prober.left < _LEFT:
            raise OutOfProbesError
        return self.prober(sizes)

    def fits(self, steps: int) -> bool:
        outcome = self.at(steps)
        return outcome is not None and outcome.fits

    def size(self, steps: int) -> int:
        return self.base[self.dim] + steps * self.unit[self.dim]

    def below(self) -> Iterator[int]:
        """The steps down to size 1."""
        steps = -1
        while self.size(steps) >= 1:
            yield steps
            steps -= 1


def _found(scan: _Scan, every: int, ends: bool) -> Pattern | None:
    if scan.unit[scan.dim] < 1:
        return None
    if not ends:
        period = every
        steps = [step for step in range(every) if scan.fits(step)]
        return None if len(steps) < 2 else _pattern(scan, period, steps)
    row: list[bool] = []
    for reach in _REACHES:
        row += [scan.fits(step) for step in range(len(row), reach)]
        period = next((one for one in range(2, reach // 2 + 1) if row[one:] == row[:-one]), 0)
        if period:
            return _pattern(scan, period, [step for step in range(period) if row[step]])
    known = next((step for step in range(0, len(row), every) if not row[step]), len(row))
    if not any(fits for step, fits in enumerate(row) if step >= known or step % every):
        return None
    below = [step for step in scan.below() if scan.fits(step)]
    sizes = sorted(scan.size(step) for step in [*below, *[step for step, fits in enumerate(row) if fits]])
    return Pattern(0, (), None, tuple(sizes), scan.size(len(row) - 1), _seen(scan, range(len(row))))


def _pattern(scan: _Scan, period: int, steps: Sequence[int]) -> Pattern | None:
    """The pattern, where it goes on far from the base as well."""
    others = [step for step in range(period) if step not in steps][:1]
    for times in _FAR:
        for step in (*steps[:4], *steps[-1:], *others):
            if scan.fits(times * period + step) != (step in steps):
                return None
    least, also = None, []
    for step in scan.below():
        is_expected = step % period in steps
        if scan.fits(step) != is_expected and least is None:
            least = next(above for above in range(step + 1, period) if above % period in steps)
        if least is not None and scan.fits(step):
            also.append(scan.size(step))
    length = period * scan.unit[scan.dim]
    remainders = sorted({scan.size(step) % length for step in steps})
    return Pattern(
        period=length,
        remainders=tuple(remainders),
        least=None if least is None else scan.size(least),
        also=tuple(sorted(also)),
        reach=scan.size(2 * period),
        seen=_seen(scan, range(2 * period)),
    )


def _seen(scan: _Scan, steps: Sequence[int]) -> tuple[Outcome, ...]:
    outcomes = map(scan.at, steps)
    return tuple([one for one in outcomes if one is not None and one.fits])


def draw(port: ModelPort, wanted: Shape | None, random: np.random.Generator) -> Array:
    """Random values for an input: floats from the normal distribution, integers of 16 bits and more 0 or 1 (they are
    indices and masks as a rule), narrower ones over their whole range. Dims that are not known are their least size, 1
    or more. Raises ShapeError for an input of unknown rank without a shape, and ResourceError where the array would not
    fit into memory."""
    shape = port.shape if wanted is None else wanted
    if shape.dims is None:
        raise ShapeError(
            f"the rank of input {port.name!r} is not known: say which shape it is to have", code=Code.input_array_shape
        )
    sizes = tuple([max(dim.lo, 0 if dim.is_static else 1) for dim in shape.dims])
    if math.prod(sizes) * 8 > default_budget():
        raise ResourceError(f"input {port.name!r} of shape {list(sizes)} does not fit into memory")
    kind = port.element_type if port.element_type.is_known else ElementType.f32
    if kind in STRING:
        return np.asarray(random.choice(_WORDS, sizes), object)
    if kind in BOOLEAN:
        return random.integers(0, 2, sizes).astype(np.bool_)
    if kind is ElementType.f8e8m0:
        return np.exp2(random.integers(-4, 5, sizes)).astype(kind.dtype)  # it holds powers of two alone
    if kind in _RECORDS:
        return random.integers(0, 2**kind.bits, sizes, np.uint8).view(kind.dtype)
    if kind.is_float:
        return random.standard_normal(sizes).astype(kind.dtype)
    if kind.bits > 8:
        return random.integers(0, 2, sizes).astype(kind.dtype)
    lowest = -(2 ** (kind.bits - 1)) if kind.is_signed else 0
    return random.integers(lowest, lowest + 2**kind.bits, sizes).astype(kind.dtype)
