"""Accepted sizes with a period: every other size, for example, or the first four of every sixteen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ir_exec.debug.inputs.probing import Outcome, OutOfProbesError, Prober, Sizes

__all__ = ["Pattern", "pattern_of"]

_REACHES = (160, 512)
"""Number of consecutive sizes that are probed, twice the longest period that is detected. The second applies if the
first finds no period."""

_FAR = (5, 8)
"""Distances from the first sizes, in periods, at which the pattern is verified."""

_LEFT = 0.3
"""The share of the probes that is reserved for other dims."""


@dataclass(frozen=True)
class Pattern:
    """The sizes n * period + one of `remainders`, at least `least`, or all of them if `least` is None.

    Attributes:
        period: 0 if the accepted sizes have no period; `also` then has all of them up to `reach`.
        also: Further accepted sizes, below `least`.
        seen: The accepted sizes that were probed.
    """

    period: int
    remainders: tuple[int, ...]
    least: int | None
    also: tuple[int, ...]
    reach: int
    seen: tuple[Outcome, ...]


def pattern_of(prober: Prober, base: Sizes, unit: Sizes, dim: int, every: int, *, ends: bool) -> Pattern | None:
    """The pattern of accepted sizes along a direction; None if only every n-th size after the base is accepted.

    Args:
        unit: The change of each dim in one step.
        every: The interval between steps that are known to be accepted.
        ends: True if these are accepted only up to a limit.
    """
    scan = _Scan(prober, base, unit, dim)
    try:
        return _find_pattern(scan, every, ends)
    except OutOfProbesError:
        return None


@dataclass(frozen=True)
class _Scan:
    prober: Prober
    base: Sizes
    unit: Sizes
    dim: int

    def at(self, steps: int) -> Outcome | None:
        """The outcome of inference at a number of steps from the base; None below size 1."""
        sizes = tuple([size + steps * part for size, part in zip(self.base, self.unit, strict=True)])
        if min(sizes) < 1:
            return None
        if self.prober.remaining_share < _LEFT:
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


def _find_pattern(scan: _Scan, every: int, ends: bool) -> Pattern | None:
    if scan.unit[scan.dim] < 1:
        return None
    if not ends:
        period = every
        steps = [step for step in range(every) if scan.fits(step)]
        return None if len(steps) < 2 else _pattern(scan, period, steps)
    row: list[bool] = []
    for reach in _REACHES:
        row += [scan.fits(step) for step in range(len(row), reach)]
        period = next((length for length in range(2, reach // 2 + 1) if row[length:] == row[:-length]), 0)
        if period:
            return _pattern(scan, period, [step for step in range(period) if row[step]])
    first_refused = next((step for step in range(0, len(row), every) if not row[step]), len(row))
    if not any(fits for step, fits in enumerate(row) if step >= first_refused or step % every):
        return None
    below = [step for step in scan.below() if scan.fits(step)]
    sizes = sorted(scan.size(step) for step in [*below, *[step for step, fits in enumerate(row) if fits]])
    return Pattern(0, (), None, tuple(sizes), scan.size(len(row) - 1), _list_accepted(scan, range(len(row))))


def _pattern(scan: _Scan, period: int, steps: Sequence[int]) -> Pattern | None:
    """The pattern, if it holds far from the base as well."""
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
        seen=_list_accepted(scan, range(2 * period)),
    )


def _list_accepted(scan: _Scan, steps: Sequence[int]) -> tuple[Outcome, ...]:
    outcomes = map(scan.at, steps)
    return tuple([outcome for outcome in outcomes if outcome is not None and outcome.fits])
