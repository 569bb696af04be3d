"""Sizes of dynamic dims that a model accepts: typical sizes, then changes of the dims that a failing layer reads."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import islice

from ir_exec.debug.inputs.probing import Outcome, OutOfProbesError, Prober, Sizes
from ir_exec.errors import IRError
from ir_exec.graph import Node
from ir_exec.infer import Types
from ir_exec.model import Model, ModelPort
from ir_exec.types import Shape

__all__ = ["first_fit", "fitting_shapes", "repair_sizes", "with_size", "without_needless"]

_ROWS, _LENGTH, _SIDE, _COLORS = 2, 8, 32, 3
"""Sizes of dynamic dims, if the model accepts them: of the first axis, of other axes, of images, and their channels."""


_LISTS = re.compile(r"(^|_)(ids|indices|tokens)\d*$", re.IGNORECASE)
"""Names of vectors whose length is independent of the number of rows."""


def _usual_sizes(ports: Sequence[ModelPort], shapes: Sequence[Shape]) -> list[int]:
    """Typical sizes of all dims. A mask of an image has the size of the image; a matrix of features has many rows."""
    usual = [_usual(port, shape) for port, shape in zip(ports, shapes, strict=True)]
    matrices = [
        number
        for number, (port, shape) in enumerate(zip(ports, shapes, strict=True))
        if _is_float(port) and shape.dims is not None and len(shape.dims) == 2
    ]
    if max(map(len, usual), default=0) <= 2:
        for number in matrices:
            # A single matrix with two dynamic dims may be audio.
            if len(matrices) > 1 or shapes[number][1].is_static:
                usual[number] = [_LENGTH, _LENGTH]
    if any(_SIDE in sizes for sizes in usual):
        usual = [[_ROWS, _SIDE, _SIDE] if len(sizes) == 3 else sizes for sizes in usual]
    return [size for sizes in usual for size in sizes]


def _usual(port: ModelPort, shape: Shape) -> list[int]:
    """Typical sizes of each axis: two rows of eight elements, or two images of 32 by 32."""
    dims = shape.dims or ()
    if len(dims) == 1:
        return [_LENGTH if _LISTS.search(port.name) else _ROWS]
    sizes = [_ROWS if axis == 0 else _LENGTH for axis in range(len(dims))]
    element_type = port.element_type
    if len(dims) != 4 or not (element_type.is_known and (element_type.is_float or element_type.bits == 8)):
        return sizes
    few = [not dim.is_static or dim.lo in (1, _COLORS) for dim in dims]
    is_open = [not dim.is_static for dim in dims]
    is_colored = not is_open[1] and dims[1].lo == _COLORS
    if is_colored or (few[3] and not is_open[3] and any(is_open[1:3])) or (is_open[3] and few[1]):
        channels = 1 if is_colored or is_open[3] else 3
        sizes = [_ROWS, *[_COLORS if axis == channels else _SIDE for axis in (1, 2, 3)]]
    return sizes


def _with_past(ports: Sequence[ModelPort], shapes: Mapping[int, Shape]) -> dict[int, Shape] | None:
    """Shapes with attention masks as long as the past and the new tokens together; None if the model has no past.

    A mask that is too short may be accepted as well, because elements gathered past its end are 0.

    Args:
        shapes: The shapes of all inputs, by number.
    """
    if len(shapes) < len(ports):
        return None
    names = [port.name.lower() for port in ports]
    pasts = [
        shapes[number][axis].lo
        for number, port in enumerate(ports)
        if "past" in names[number] and _is_float(port) and len(shapes[number]) == 4
        for axis in (1, 2, 3)
        if port.shape.dims is None or not port.shape[axis].is_static
    ]
    # Vectors of tokens have one sequence.
    tokens = [
        shapes[number][-1].lo
        for number, name in enumerate(names)
        if name in ("input_ids", "decoder_input_ids") and shapes[number].rank in (1, 2)
    ]
    masks = [number for number, name in enumerate(names) if name in ("attention_mask", "decoder_attention_mask")]
    longer = dict(shapes)
    for number in masks:
        if pasts and tokens and len(shapes[number]) == 2:
            longer[number] = Shape([shapes[number][0], tokens[0] + pasts[0]])
    return None if longer == shapes else longer


def _is_float(port: ModelPort) -> bool:
    return port.element_type.is_known and port.element_type.is_float


_LARGEST = 2**17
"""Maximum size that is tried."""

_IDLE = 8
"""Maximum consecutive doublings without progress."""


def _met(prober: Prober, outcome: Outcome, candidates: Sequence[int]) -> Outcome | None:
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
            tried = prober(with_size(outcome.sizes, dim, size))
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
        tried = prober(with_size(outcome.sizes, dim, middle))
        if tried.place > outcome.place:
            return tried
        gap = _gap(node, tried.types) if tried.node is node else None
        if gap is None:
            return None
        near, far = (middle, far) if gap * sign > 0 else (near, middle)
    return None


def _grown(prober: Prober, outcome: Outcome, candidates: Sequence[int]) -> Outcome | None:
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


def _gap(node: Node, types: Types) -> int | None:
    """The difference of the first two sizes that the layer requires to be equal; None if they are unknown."""
    if node.op is None:
        return None
    pairs = node.op.equal_sizes(*(types[value.number] for value in node.values_in))
    try:
        return next((first - second for first, second in pairs if first != second), 0)
    except (IndexError, ValueError):
        return None


_GUESSES = ((5, 32), (5, 64), (1, 16), (2, 32), (2, 8), (1, 224), (1, 256), (1, 1), (4, 4))
"""Sizes of a dynamic first dim, and of other dynamic dims. Few constants are 5, and no small step leads from 5 to 1,
a size that would be broadcast."""

_SEARCHED = ((5, 32), (2, 8))
"""Guesses that start the search for distant sizes."""

_MOST_MOVES = 24
"""Maximum combinations of dim and size that one repair tries."""

_MOST_UNDONE = 6
"""Maximum dims changed by a repair that are tried with their previous size."""

_SMALL = (*range(1, 17), 20, 24, 28, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224)
"""Sizes tried for a dim instead of a larger accepted size."""


def first_fit(prober: Prober) -> tuple[Outcome | None, Outcome | None]:
    """The outcome of accepted sizes: declared sizes and guesses for dynamic dims. Else the outcome of the first try."""
    open_dims = [dim for dim in range(len(prober.dims)) if not prober.declared_dim(dim).is_static]
    first: Outcome | None = None
    larger = _larger_batch(prober)
    if larger is not None and larger.fits:
        return larger, None
    guesses = _GUESSES if open_dims else _GUESSES[:1]
    for search in (False, True) if open_dims else (False,):
        for guess in guesses if not search else _SEARCHED:
            sizes = []
            for dim, input_axis in enumerate(prober.dims):
                declared = prober.declared_dim(dim)
                guessed = guess[0] if input_axis.axis == 0 else guess[1]
                sizes.append(declared.lo if declared.is_static else min(max(guessed, declared.lo), declared.hi))
            outcome = prober(tuple(sizes))
            first = first or outcome
            outcome = repair_sizes(prober, outcome, set(range(len(sizes))) - set(open_dims), None, search=search)
            if outcome.fits:
                return outcome, None
    return None, first


def _larger_batch(prober: Prober) -> Outcome | None:
    """The declared sizes of a static model, with a batch larger than 1, because a size of 1 is broadcast."""
    declared = [prober.declared_dim(dim) for dim in range(len(prober.dims))]
    batch = [dim for dim, input_axis in enumerate(prober.dims) if input_axis.axis == 0 and declared[dim] == 1]
    if not batch or not all(dim.is_static for dim in declared):
        return None
    return prober(tuple([_GUESSES[0][0] if dim in batch else size.lo for dim, size in enumerate(declared)]))


def repair_sizes(
    prober: Prober,
    outcome: Outcome,
    fixed_dims: set[int],
    delta: int | None,
    base: Sizes | None = None,
    among: set[int] | None = None,
    *,
    search: bool = False,
) -> Outcome:
    """The outcome after changing further dims as long as inference progresses.

    Args:
        fixed_dims: Dims that keep their size.
        among: The only dims that may change.
        search: True to try distant sizes as well.
    """
    fixed_dims = set(fixed_dims)
    if among is not None:
        fixed_dims |= set(range(len(outcome.sizes))) - among
    fixed = set(fixed_dims)
    while outcome.node is not None:
        better = _one_repair(prober, outcome, fixed_dims, delta, base)
        if better is None and search:
            better = _far_repair(prober, outcome, fixed)
        if better is None:
            return outcome
        fixed_dims.update(dim for dim, size in enumerate(better.sizes) if size != outcome.sizes[dim])
        outcome = better
    return outcome


def without_needless(prober: Prober, outcome: Outcome, base: Sizes, start: int) -> Outcome:
    """The accepted outcome with as few changed dims as possible: a later change may make an earlier one needless."""
    moved = [dim for dim, (new, old) in enumerate(zip(outcome.sizes, base, strict=True)) if new != old and dim != start]
    if outcome.fits and 1 < len(moved) <= _MOST_UNDONE:
        for dim in moved:
            fewer = prober(with_size(outcome.sizes, dim, base[dim]))
            outcome = fewer if fewer.fits else outcome
    return outcome


def _one_repair(
    prober: Prober, outcome: Outcome, fixed_dims: set[int], delta: int | None, base: Sizes | None
) -> Outcome | None:
    """The outcome of changing one dim, or all dims similar to the changed ones, that passes the failing layer."""
    assert outcome.node is not None, "inference stopped at a layer"
    gaps = prober.gaps(outcome)
    candidates = [dim for dim in prober.above(outcome.node) if dim not in fixed_dims]
    alike: list[int] = []
    if base is not None:
        # Related dims mostly have the same size, and are at the same axis.
        moved = [dim for dim, size in enumerate(outcome.sizes) if size != base[dim]]
        sizes, axes = {base[dim] for dim in moved}, {prober.dims[dim].axis for dim in moved}
        candidates.sort(key=lambda dim: (base[dim] not in sizes, prober.dims[dim].axis not in axes))
        alike = [dim for dim in candidates if base[dim] in sizes and prober.dims[dim].axis in axes]
    for dim, size in islice(_propose_sizes(outcome, candidates, gaps, delta, base), _MOST_MOVES):
        better = prober(with_size(outcome.sizes, dim, size))
        if better.place > outcome.place:
            return better
    if delta is not None and len(alike) > 1 and all(outcome.sizes[dim] + delta > 0 for dim in alike):
        # Such as the keys and the values of a layer's past.
        together = prober(tuple([size + delta * (dim in alike) for dim, size in enumerate(outcome.sizes)]))
        return together if together.place > outcome.place else None
    return None


def _far_repair(prober: Prober, outcome: Outcome, fixed_dims: set[int]) -> Outcome | None:
    """The outcome of distant sizes: found from the numbers that differ, or by growth."""
    assert outcome.node is not None, "inference stopped at a layer"
    candidates = [dim for dim in prober.above(outcome.node) if dim not in fixed_dims]
    return _met(prober, outcome, candidates) or _grown(prober, outcome, candidates)


def _propose_sizes(
    outcome: Outcome, candidates: Sequence[int], gaps: Sequence[int], delta: int | None, base: Sizes | None
) -> Iterator[tuple[int, int]]:
    """Other sizes for dims: first those with the same or a proportional change, then those that close a gap."""
    if delta is not None and base is not None:
        moved = [dim for dim, size in enumerate(outcome.sizes) if size != base[dim]]
        for dim in candidates:
            # A proportional change, for example for a mask with an eighth of the image's size.
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


def _smallest(prober: Prober, least: Sequence[int]) -> Sizes | None:
    """Accepted sizes, with dynamic dims as close to `least` as possible; None if no sizes are accepted."""
    declared = [prober.declared_dim(dim) for dim in range(len(prober.dims))]
    static_dims = {dim for dim, size in enumerate(declared) if size.is_static}

    def is_allowed(outcome: Outcome) -> bool:
        return outcome.fits and all(size in allowed for size, allowed in zip(outcome.sizes, declared, strict=True))

    def tries() -> Iterator[Outcome | None]:
        few = [min(size, 2) for size in least]
        for targets, search in ((least, False), (least, True), (few, False), ([1] * len(least), False)):
            sizes = tuple([min(max(dim.lo, size), dim.hi) for dim, size in zip(declared, targets, strict=True)])
            yield repair_sizes(prober, prober(sizes), static_dims, None, search=search)
        yield first_fit(prober)[0]

    best: Outcome | None = None
    try:
        best = next((attempt for attempt in tries() if attempt is not None and is_allowed(attempt)), None)
        if best is not None:
            for dim in sorted(set(range(len(declared))) - static_dims):
                best = _smaller(prober, best, dim, static_dims, least[dim], is_allowed)
            best = _level(prober, best, static_dims, is_allowed)
    except OutOfProbesError:
        pass  # the best outcome up to here is sufficient
    return None if best is None else best.sizes


def _smaller(
    prober: Prober, best: Outcome, dim: int, static_dims: set[int], least: int, is_allowed: Callable[[Outcome], bool]
) -> Outcome:
    """The accepted outcome with the smallest size of one dim and of the dims tied to it."""
    for size in _SMALL:
        if not least <= size < best.sizes[dim] or size not in prober.declared_dim(dim):
            continue
        alone = prober(with_size(best.sizes, dim, size))
        outcome = repair_sizes(prober, alone, static_dims | {dim}, size - best.sizes[dim], best.sizes)
        if is_allowed(outcome) and all(new <= old for new, old in zip(outcome.sizes, best.sizes, strict=True)):
            return outcome
        if prober.meets_fixed(outcome, best.sizes):
            break
    return best


def _level(prober: Prober, best: Outcome, static_dims: set[int], is_allowed: Callable[[Outcome], bool]) -> Outcome:
    """The accepted outcome with one size for an axis of all inputs of one rank: a mask is as long as its audio."""
    ranks: dict[int, int] = {}
    for input_axis in prober.dims:
        ranks[input_axis.input] = max(ranks.get(input_axis.input, 0), input_axis.axis + 1)
    places = dict.fromkeys(
        (ranks[input_axis.input], input_axis.axis)
        for dim, input_axis in enumerate(prober.dims)
        if dim not in static_dims
    )
    for rank, axis in places:
        dims = {
            dim
            for dim, input_axis in enumerate(prober.dims)
            if dim not in static_dims and input_axis.axis == axis and ranks[input_axis.input] == rank
        }
        most = max(best.sizes[dim] for dim in dims)
        tried = prober(tuple([most if dim in dims else size for dim, size in enumerate(best.sizes)]))
        best = tried if is_allowed(tried) else best
    return best


def fitting_shapes(model: Model, shapes: Mapping[str, Shape]) -> dict[str, Shape]:
    """Static shapes that inference accepts for the inputs with dynamic dims, by name.

    Dynamic dims get typical sizes: two rows, eight elements, images of 32 by 32; other sizes if the model rejects
    these. The result is empty if no dim is dynamic, or if no sizes are accepted; a run then reports the error.

    Args:
        shapes: Known shapes, instead of those of the file.
    """
    ports = model.inputs
    declared = [shapes.get(port.name, port.shape) for port in ports]
    if all(shape.is_static for shape in declared) or any(shape.rank is None for shape in declared):
        return {}
    try:
        prober = Prober(model, dict(enumerate(declared)))
    except IRError:
        return {}
    sizes = _smallest(prober, _usual_sizes(ports, declared))
    if sizes is None:
        return {}
    fitting = prober.shapes_of(sizes)
    longer = _with_past(ports, fitting)
    if longer is not None and all(map(_allows, declared, [longer[number] for number in range(len(ports))])):
        try:
            outcome = prober(tuple([dim.lo for number in range(len(ports)) for dim in longer[number]]))
            fitting = longer if outcome.fits else fitting
        except OutOfProbesError:
            pass  # the shapes without the longer masks are accepted as well
    return {port.name: fitting[number] for number, port in enumerate(ports) if not declared[number].is_static}


def _allows(declared: Shape, static: Shape) -> bool:
    return all(size.lo in dim for dim, size in zip(declared, static, strict=True))
