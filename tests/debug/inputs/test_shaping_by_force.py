"""The report of `shapes` against sizes drawn at random: allowed sizes fit, and sizes that fit are allowed."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from pathlib import Path
from random import Random

import openvino as ov
import pytest

from ir_exec.debug.inputs.input_shapes import Free, SizeFindings
from ir_exec.debug.inputs.probing import Sizes
from tests.debug.inputs.explored import explore_network

ROOT = Path(__file__).parents[3]
FOLDERS = (ROOT.parent / "shared" / "models", ROOT / "tests" / "networks", ROOT / "samples")
PATHS = {path.stem: path for folder in FOLDERS for path in sorted(folder.glob("*.xml")) if path.stem != "broken"}

DRAWN = 16
FAR = 12
"""Steps from sizes that fit, at most."""


def draw_allowed_sizes(findings: SizeFindings, rng: Random) -> Sizes:
    """Sizes that the report allows."""
    assert findings.base is not None
    base = findings.base.sizes
    sizes = list(base)
    for free in findings.free.values():
        least = max(-FAR if free.least is None else free.least, -FAR)
        most = min(FAR if free.most is None else free.most, FAR)
        steps = rng.randint(least, most)
        sizes = [size + steps * part for size, part in zip(sizes, free.along, strict=True)]
    for dim in findings.at_most:
        sizes[dim] = rng.randint(1, max(sizes[dim], 1))
    for dim in findings.at_least:
        sizes[dim] += rng.randint(0, FAR)
    ones = sorted(findings.ones)
    if ones and rng.random() < 0.5:
        sizes[rng.choice(ones)] = 1
    return tuple(sizes) if min(sizes) > 0 else base


def near(findings: SizeFindings, rng: Random) -> Sizes:
    """Sizes that differ in one to three dims from such that fit."""
    sizes = list(draw_allowed_sizes(findings, rng))
    for dim in rng.sample(range(len(sizes)), min(rng.randint(1, 3), len(sizes))):
        sizes[dim] = rng.choice([1, sizes[dim] + 1, max(sizes[dim] - 1, 1), rng.choice(sizes)])
    return tuple(sizes)


def allows(findings: SizeFindings, sizes: Sizes) -> bool:
    """Return True if the report allows these sizes."""
    assert findings.base is not None
    return any(_allows_with(findings, findings.base.sizes, sizes, dict(meant)) for meant in _meant(findings, sizes))


def _meant(findings: SizeFindings, sizes: Sizes) -> Iterator[tuple[tuple[int, int], ...]]:
    """The sizes that the free dims may stand for: where one is 1 and broadcast, that of the dims tied to it."""
    assert findings.base is not None
    base = findings.base.sizes
    choices = []
    for dim in findings.free:
        others = {sizes[dim]}
        if dim in findings.ones and sizes[dim] == 1:
            for tied, parts in findings.directions.tied.items():
                if parts == {dim: 1}:
                    others.add(sizes[tied] - base[tied] + base[dim])
        choices.append([(dim, size) for size in others])
    yield from product(*choices)


def _allows_with(findings: SizeFindings, base: Sizes, sizes: Sizes, meant: dict[int, int]) -> bool:
    for dim, size in enumerate(sizes):
        if size == 1 and dim in findings.ones:
            continue
        if dim in findings.free:
            free = findings.free[dim]
            steps, remainder = divmod(meant[dim] - base[dim], free.along[dim])
            is_below = free.least is not None and steps < free.least
            is_above = free.most is not None and steps > free.most
            if (remainder or is_below or is_above) and not _is_in_pattern(free, meant[dim]):
                return False
        elif dim in findings.directions.tied:
            parts = findings.directions.tied[dim].items()
            expected = base[dim] + sum(slope * (meant[other] - base[other]) for other, slope in parts)
            if (size > expected and dim not in findings.at_least) or (size < expected and dim not in findings.at_most):
                return _is_of_elements(findings, dim)
        elif size != base[dim]:
            return False
    return True


def _is_in_pattern(free: Free, size: int) -> bool:
    pattern = free.pattern
    if pattern is None or size in pattern.also:
        return pattern is not None
    is_low = pattern.least is not None and size < pattern.least
    return pattern.period > 0 and not is_low and size % pattern.period in pattern.remainders


def _is_of_elements(findings: SizeFindings, dim: int) -> bool:
    """Return True if a Reshape ties a dim, as it takes any shape of the same number of elements."""
    node = findings.because[dim].node if dim in findings.because else None
    return node is not None and node.type == "Reshape"


@pytest.mark.broad(keep=6)
@pytest.mark.parametrize("name", sorted(PATHS))
def test_sizes_drawn_at_random(name: str) -> None:
    prober, findings = explore_network(PATHS[name])
    rng = Random(name)
    model = ov.Core().read_model(PATHS[name])
    for _ in range(DRAWN):
        sizes = draw_allowed_sizes(findings, rng)
        assert allows(findings, sizes), sizes
        assert prober(sizes).fits, sizes
        shapes = {number: list(shape) for number, shape in prober.shapes_of(sizes).items()}
        model.reshape({number: ov.PartialShape([dim.lo for dim in shape]) for number, shape in shapes.items()})
    for _ in range(DRAWN):
        sizes = near(findings, rng)
        assert allows(findings, sizes) or not prober(sizes).fits, sizes
