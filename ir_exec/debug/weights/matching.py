"""Pairs of a weight of a model and the tensors of a checkpoint that it consists of, by value."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice, product
from math import prod

import numpy as np

from ir_exec.debug.weights.comparing_values import PLAIN, Relation, ValueComparison, compare_values
from ir_exec.debug.weights.derived import multiply_vectors
from ir_exec.debug.weights.layouts import Layout, find_layouts, read_in_layout, squeeze_shape
from ir_exec.debug.weights.model_weights import ModelWeight
from ir_exec.debug.weights.names import NamedTensors, NameIndex
from ir_exec.debug.weights.readers.tensors import CheckpointTensor, MemoryTensor, count_rows, release_memory
from ir_exec.debug.weights.sampling import Samples, fit_relation, least_similarity, sample_grid
from ir_exec.debug.weights.source_tensors import SourceTensor
from ir_exec.tuning.machine import available_cores
from ir_exec.types import Array

__all__ = ["Matcher", "WeightMatch"]

_FLOATS = ("f64", "f32", "f16", "bf16", "f8e4m3", "f8e5m2")
_MOST_CANDIDATES = 8
_CHUNK = 1024
"""Weights whose similarity to all tensors is computed at a time."""

_SAME = 1.05
"""Candidates whose error is at most this multiple of the least one are distinguished by name."""

_LONGEST_PRODUCT = 2**16
"""Maximum elements of a vector that is compared with products of vectors."""

_MOST_FLIPPED = 2**24
"""Maximum elements of filters that are compared in reversed order."""

_MOST_PRODUCTS = 2**14
"""Maximum pairs of vectors that a vector may be the product of."""

_SHIFT_NAMES = 4
"""The number of tensors that the shift of a batch normalization is computed from."""

_SIMILAR = 1.5
"""The multiple for tensors that are computed with several constants, of which the most common one is preferred."""

_TINY = 1e-10

_MOST_EQUAL = 0.75
"""Share of equal factors of rows of which the others are faults."""

_FACTOR_ERROR = 1e-3
_QUANTIZED = 50
"""Maximum relative error of half of the factors of rows, and how much more it is for quantized weights."""


@dataclass(frozen=True, eq=False)
class WeightMatch:
    """A weight, and the tensors that it consists of.

    Attributes:
        sources: The tensors in the order of the weight's rows: several if it is concatenated.
        transformations: The changes of the tensors.
        comparison: The remaining differences.
        layout: The order of the elements of a single tensor.
        relation: The change of the numbers.
        read: Returns rows of the weight, of the numbers of the tensors.
    """

    weight: ModelWeight
    sources: tuple[SourceTensor, ...]
    transformations: tuple[str, ...]
    comparison: ValueComparison
    layout: Layout | None = None
    relation: Relation = PLAIN
    read: Callable[[int, int], Array] | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """All tensors that the weight consists of."""
        return tuple(dict.fromkeys(name for source in self.sources for name in source.names))

    @property
    def is_explained(self) -> bool:
        """Return True if nothing differs."""
        return self.comparison.is_explained


class _Candidate:
    """A tensor in a layout, and its samples at the grid of a weight."""

    __slots__ = ("error", "layout", "relation", "source")

    def __init__(self, source: SourceTensor, layout: Layout, relation: Relation, error: float) -> None:
        self.source, self.layout, self.relation, self.error = source, layout, relation, error


class Matcher:
    """Finds the tensors of weights by samples of their elements, and compares them completely.

    Args:
        sources: The tensors, also computed ones.
        index: The tensors by name.
        progress: Called with the name of each weight that is compared.
    """

    def __init__(
        self, sources: Sequence[SourceTensor], index: NameIndex, progress: Callable[[str], object] = lambda name: None
    ) -> None:
        self.sources = sources
        self.by_name = {source.name: source for source in sources if not source.is_computed}
        self.sizes = {name: prod(source.tensor.shape) for name, source in self.by_name.items()}
        self._index = index
        self._progress = progress
        self._samples: dict[tuple[int, tuple[int, ...], Layout], Array] = {}

    def find_expected(self, weight: ModelWeight) -> NamedTensors | None:
        """The tensors that the names of a weight and of its readers state."""
        own = self._index.find((weight.name, *weight.names), self.sizes, weight.elements)
        if own is not None and own.is_complete:
            return own
        return self._index.find(weight.labels, self.sizes, weight.elements)

    def find_named(self, labels: Iterable[str], elements: int) -> NamedTensors | None:
        """The tensors that names state, of a number of elements."""
        return self._index.find(labels, self.sizes, elements)

    def match_all(self, weights: Iterable[ModelWeight]) -> dict[ModelWeight, WeightMatch | None]:
        """Find the tensor of each weight; None for weights that are like no tensor."""
        groups: dict[tuple[tuple[int, ...], int], list[ModelWeight]] = {}
        for weight in weights:
            groups.setdefault((weight.shape, weight.output_axes), []).append(weight)
        matches: dict[ModelWeight, WeightMatch | None] = {}
        with ThreadPoolExecutor(available_cores(), "ir-exec-weights") as threads:
            for members in groups.values():
                grid = sample_grid(members[0].matrix_shape)
                for start in range(0, len(members), _CHUNK):
                    chunk = members[start : start + _CHUNK]
                    selected = threads.map(self._select, chunk, self._find_candidates(chunk, grid))
                    for weight, match in zip(chunk, selected, strict=True):
                        self._progress(weight.name)
                        matches[weight] = match
        return matches

    def match_scaled_biases(self, matches: dict[ModelWeight, WeightMatch | None]) -> None:
        """Find the biases of layers whose outputs are multiplied by another tensor, such as that of a normalization."""
        tensors = {name: source.tensor for name, source in self.by_name.items()}
        shifts = {
            (source.tensor.name, source.transformation): source
            for source in self.sources
            if len(source.names) == _SHIFT_NAMES
        }
        products: list[SourceTensor] = []
        for match in matches.values():
            if match is None or not match.relation.form.startswith("scaled ") or len(match.sources) < 2:
                continue
            name, scale = match.sources[0].name.rpartition(".")[0], match.sources[1]
            for shift in {None, shifts.get((scale.tensor.name, scale.transformation))}:
                scaled = multiply_vectors(f"{name}.bias", tensors, scale, shift)
                if scaled is not None:
                    products.append(scaled)
        remaining = [weight for weight, match in matches.items() if match is None or not match.is_explained]
        used = {name for match in matches.values() if match is not None for name in match.names}
        unused = [name for name in self.by_name if name.endswith("bias") and name not in used]
        for weight in remaining:
            products += self._find_products(weight, matches[weight], unused, shifts)
        if not products or not remaining:
            return
        matcher = Matcher(products, self._index, self._progress)
        matcher.by_name, matcher.sizes = self.by_name, self.sizes
        matched = matcher.match_all(remaining)
        matches |= {weight: match for weight, match in matched.items() if match is not None and match.is_explained}

    def match_flipped(self, weight: ModelWeight) -> WeightMatch | None:
        """Find the filters that are in reversed order, as those of transposed convolutions; None without them."""
        axes = len(weight.shape) - 2
        if axes < 1 or not weight.is_read_as("filters") or weight.elements > _MOST_FLIPPED:
            return None
        flipped = [
            SourceTensor(MemoryTensor(name, _flip(source.tensor)), (name,), "flipped")
            for name, source in self.by_name.items()
            if self.sizes[name] == weight.elements and len(source.tensor.shape) > 2
        ]
        if not flipped:
            return None
        matcher = Matcher(flipped, self._index)
        matcher.by_name, matcher.sizes = self.by_name, self.sizes
        match = matcher.match_all([weight])[weight]
        return match if match is not None and match.is_explained else None

    def _find_products(
        self,
        weight: ModelWeight,
        match: WeightMatch | None,
        unused: Sequence[str],
        shifts: Mapping[tuple[str, str], SourceTensor],
    ) -> Iterator[SourceTensor]:
        """Yield the products of the vectors that a vector may be, and another vector, plus its shift.

        Args:
            unused: Biases that no constant has the numbers of.
            shifts: The shifts of batch normalizations by their scales.
        """
        named = self.find_expected(weight)
        names = {
            *(match.names[:1] if match is not None else ()),
            *(named.tensors if named is not None else ()),
            *unused,
        }
        names = {name for name in names if self.sizes[name] == weight.elements}
        if max(weight.shape, default=0) != weight.elements or weight.elements > _LONGEST_PRODUCT:
            return
        tensors = {name: self.by_name[name].tensor for name in names}
        scales = [source for source in self.sources if prod(source.tensor.shape) == weight.elements]
        numbers = weight.gather(np.arange(weight.elements))
        tolerance = _FACTOR_ERROR * float(np.sqrt(np.square(numbers).mean()))
        for name, scale in islice(product(sorted(names), scales), _MOST_PRODUCTS):
            for shift in {None, shifts.get((scale.tensor.name, scale.transformation))} if scale.name != name else ():
                scaled = multiply_vectors(name, tensors, scale, shift)
                if scaled is not None and np.allclose(
                    numbers, scaled.tensor.gather(np.arange(weight.elements)), _FACTOR_ERROR, tolerance
                ):
                    yield scaled

    def compare(self, weight: ModelWeight, source: SourceTensor, layout: Layout, relation: Relation) -> WeightMatch:
        """Compare a weight with a tensor completely."""
        read = partial(read_in_layout, source.tensor, layout, weight.shape)
        comparison = compare_values(weight, read, source.tensor.format, relation, is_computed=source.is_computed)
        for stored in (weight, source.tensor):
            release_memory(stored)
        return WeightMatch(
            weight,
            (source,),
            (*describe_layout(source, layout, relation, weight.shape), *describe_format(weight, source.tensor.format)),
            comparison,
            layout,
            relation,
            read,
        )

    def compare_named(self, weight: ModelWeight, name: str) -> WeightMatch | None:
        """Compare a weight with a tensor of the same size that is not like it, in the most similar layout."""
        source = self.by_name[name]
        grid = sample_grid(weight.matrix_shape)
        x = weight.gather(grid.reshape(-1)).reshape(grid.shape)
        layouts = list(find_layouts(source.tensor.shape, weight.shape))
        fitting = [layout for layout in layouts if layout.permuted_shape == squeeze_shape(weight.shape)] or layouts
        best = min(fitting, key=lambda layout: self._fit(x, source, layout, grid)[1], default=None)
        return None if best is None else self.compare(weight, source, best, PLAIN)

    def _find_candidates(self, weights: Sequence[ModelWeight], grid: Array) -> list[list[_Candidate]]:
        """The most similar tensors of weights of one shape."""
        shape, size = weights[0].shape, weights[0].elements
        x = [weight.gather(grid.reshape(-1)).reshape(grid.shape) for weight in weights]
        samples = Samples(x, grid)
        pool = [
            (position, layout)
            for position, source in enumerate(self.sources)
            if prod(source.tensor.shape) == size
            for layout in find_layouts(source.tensor.shape, shape)
        ]
        if not pool:
            return [[] for _ in weights]
        others = Samples([self._sample(position, layout, shape, grid) for position, layout in pool], grid)
        similarity = samples.similarity(others)
        threshold = least_similarity(grid.size)
        candidates: list[list[_Candidate]] = []
        for row, numbers in zip(similarity, x, strict=True):
            order = np.argsort(-row, kind="stable")[: _MOST_CANDIDATES * 4]
            similar = [int(position) for position in order if row[position] >= threshold]
            # Tensors with equal samples, such as ones, are distinguished by name.
            members = [pool[position] for position in similar]
            candidates.append(
                [
                    _Candidate(
                        self.sources[position], layout, *self._fit(numbers, self.sources[position], layout, grid)
                    )
                    for position, layout in members
                ]
            )
        return candidates

    def _select(self, weight: ModelWeight, candidates: Sequence[_Candidate]) -> WeightMatch | None:
        if not candidates:
            return None
        named = self.find_expected(weight)
        names = frozenset() if named is None else named.tensors
        least = min(candidate.error for candidate in candidates)
        close = [
            candidate
            for candidate in candidates
            if candidate.error <= least * (_SIMILAR if candidate.source.is_computed else _SAME) + _TINY
        ]
        best = min(
            close,
            key=lambda candidate: (
                candidate.source.name not in names,
                not candidate.relation.is_exact,
                candidate.source.rank,
                not candidate.layout.is_row_major,
                self.sources.index(candidate.source),
            ),
        )
        match = self.compare(weight, best.source, best.layout, best.relation)
        if match.comparison.factors is not None:
            match = self._explain_factors(match)
        if weight.rows is not None and not match.is_explained and match.relation.form in ("none", "scaled"):
            # The rounding of samples may hide factors of rows.
            by_rows = self._explain_factors(self.compare(weight, best.source, best.layout, Relation("scaled rows")))
            if by_rows.is_explained and by_rows.relation.factors is not None:
                return by_rows
        return match

    def _explain_factors(self, match: WeightMatch) -> WeightMatch:
        """Find the tensor of which the factors of rows or columns are, such as that of a batch normalization."""
        factors = match.comparison.factors
        assert factors is not None, "only scaled rows and columns have factors"
        assert match.layout is not None, "only single tensors are scaled"
        tolerance = _FACTOR_ERROR * (1 if match.weight.rows is None else _QUANTIZED)
        best: tuple[float, SourceTensor, Array] | None = None
        for source in self.sources:
            if prod(source.tensor.shape) != len(factors):
                continue
            numbers = source.tensor.gather(np.arange(len(factors)))
            with np.errstate(all="ignore"):
                if match.weight.is_unscaled:
                    numbers = numbers * np.nanmedian(factors / numbers)
                error = float(np.median(np.abs(factors - numbers) / np.abs(numbers)))
            if error < tolerance and (best is None or error < best[0] / _SIMILAR):
                best = error, source, numbers
        usual = float(np.nanmedian(factors))
        spread = float(np.nanquantile(np.abs(factors - usual), _MOST_EQUAL)) / max(abs(usual), _TINY)
        is_one = abs(usual - 1) <= tolerance
        equal: WeightMatch | None = None
        if spread <= tolerance and (is_one or best is None or spread <= _SIMILAR * best[0]):
            # Some rows are wrong, and the others are not scaled each by itself.
            relation = PLAIN if is_one else Relation("scaled", usual)
            equal = self.compare(match.weight, match.sources[0], match.layout, relation)
        if best is None:
            return match if equal is None else equal
        _, scale, numbers = best
        relation = Relation(match.relation.form, factors=numbers)
        scaled = self.compare(match.weight, match.sources[0], match.layout, relation)
        # A new batch normalization divides by the root of 1 plus epsilon.
        if equal is not None and equal.comparison.different <= scaled.comparison.different:
            return equal
        words = tuple([word for word in scaled.transformations if word != relation.form])
        return replace(
            scaled,
            sources=(*match.sources, scale),
            transformations=(*words, scale.transformation or f"{relation.form} by {scale.name}"),
        )

    def _fit(self, numbers: Array, source: SourceTensor, layout: Layout, grid: Array) -> tuple[Relation, float]:
        sample = source.tensor.gather(layout.map_positions(grid.reshape(-1))).reshape(grid.shape)
        return fit_relation(numbers, sample)

    def _sample(self, position: int, layout: Layout, shape: tuple[int, ...], grid: Array) -> Array:
        key = (position, (*shape, *grid.shape), layout)
        if key not in self._samples:
            positions = layout.map_positions(grid.reshape(-1))
            self._samples[key] = self.sources[position].tensor.gather(positions).reshape(grid.shape)
        return self._samples[key]


def _flip(tensor: CheckpointTensor) -> Array:
    """The filters of a convolution with all windows reversed."""
    return np.flip(tensor.read(0, count_rows(tensor.shape)), tuple(range(2, len(tensor.shape))))


def describe_layout(
    source: SourceTensor, layout: Layout, relation: Relation, shape: tuple[int, ...]
) -> tuple[str, ...]:
    """The changes of a tensor, as words: transposed, reshaped, plus one."""
    words = [source.transformation] if source.transformation else []
    if not layout.is_row_major:
        words.append("transposed" if len(layout.axes) == 2 else f"axes {','.join(map(str, layout.axes))}")
    if layout.permuted_shape != squeeze_shape(shape):
        words.append("reshaped")
    if not relation.is_exact:
        words.append(f"times {relation.factor:.6g}" if relation.form == "scaled" else relation.form)
    return tuple(words)


def describe_format(weight: ModelWeight, tensor_format: str) -> tuple[str, ...]:
    """The change of the element type: quantized, or cast."""
    if weight.rows is not None:
        return (f"quantized to {weight.format}",)
    return (f"cast to {weight.format}",) if tensor_format in _FLOATS and tensor_format != weight.format else ()
