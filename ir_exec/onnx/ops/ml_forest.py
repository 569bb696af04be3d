"""Decision trees as tables, and the traversal from their roots to their leaves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from ir_exec import build
from ir_exec.build import Value
from ir_exec.codes import Code
from ir_exec.errors import InvalidAttributeError, ResourceError, ShapeError
from ir_exec.onnx.lowering.values import ints, number, shape_of, size_along
from ir_exec.types import Array, ElementType

__all__ = ["LEAF", "MODES", "Forest", "Leaves", "equal_lengths", "walk"]

_MOST_CELLS = 2**27
"""Maximum leaves times targets in the table of the leaf weights of each target."""

MODES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ", "LEAF")
LEAF = MODES.index("LEAF")

_TESTS: Sequence[Callable[[Value, Value], Value]] = (
    build.less_equal,
    build.less,
    build.greater_equal,
    build.greater,
    build.equal,
    build.not_equal,
)
"""The comparison of an element of a row with the value of a node, by mode."""


def equal_lengths(**lists: Sequence[object] | Array) -> None:
    """Raise InvalidAttributeError unless all lists have the length of the first one."""
    lengths = {name: len(values) for name, values in lists.items()}
    first, count = next(iter(lengths.items()))
    for name, length in lengths.items():
        if length != count:
            raise InvalidAttributeError(
                f"{name} has", actual=length, detail="elements", expected=count, reason=f"the number in {first}"
            )


class Forest(NamedTuple):
    """Nodes of all trees by index: [nodes]; both successors of a leaf are the leaf itself.

    Attributes:
        tracks_true: The nodes at which NaN follows the true branch.
        roots: [trees].
        owners: The tree of each node, None if trees may share nodes.
    """

    features: Array
    modes: Array
    values: Array
    when_true: Array
    when_false: Array
    tracks_true: Array
    roots: Array
    owners: Array | None = None

    @property
    def leaves(self) -> Array:
        """The indices of the leaves."""
        return np.flatnonzero(self.modes == LEAF)

    def depth(self) -> int:
        """The maximum number of comparisons to a leaf.

        Raises:
            InvalidAttributeError: For a cycle.
        """
        level, depth = np.unique(self.roots), 0
        while True:
            level = level[self.modes[level] != LEAF]
            if not level.size:
                return depth
            if depth > len(self.modes):
                raise InvalidAttributeError(f"the nodes at {level[:3].tolist()} form a cycle")
            depth += 1
            level = np.unique(np.concatenate([self.when_true[level], self.when_false[level]]))

    def check(self, columns: int | None) -> None:
        """Raise an error for features out of range for rows of this number of columns (None: unknown)."""
        inner = self.modes != LEAF
        used = self.features[inner]
        if used.size and used.min() < 0:
            raise InvalidAttributeError("a feature has the index", actual=used.min(), expected="0 or more")
        if used.size and columns is not None and used.max() >= columns:
            raise ShapeError(
                "a feature has the index",
                actual=used.max(),
                expected=f"less than {columns}",
                reason="the columns of the input",
                code=Code.index_out_of_range,
            )


def walk(rows: Value, forest: Forest) -> Value:
    """[rows, trees]: the leaves reached by rows of features; each step computes all rows and trees at once."""
    columns = size_along(rows, 1)
    forest.check(columns.size if columns.is_static else None)
    depth = forest.depth()
    count = build.slice(shape_of(rows), ints(0), ints(1), ints(1))
    trees = build.constant(forest.roots.astype(np.int32))
    start = build.broadcast(trees, build.concat([count, ints(len(forest.roots))], 0))
    if not depth:
        return start
    step = _Step(rows, forest)
    (places,) = build.loop(build.constant(np.int64(depth)), None, lambda _, places: (None, [step(places)], []), [start])
    return places


class _Step:
    """The step from nodes to their successors."""

    def __init__(self, rows: Value, forest: Forest) -> None:
        self.rows = rows
        self.forest = forest
        is_leaf = forest.modes == LEAF
        self.modes = np.unique(forest.modes[~is_leaf])
        self.features = np.where(is_leaf, 0, forest.features).astype(np.int32)
        self.tracks = bool(forest.tracks_true.any()) and rows.element_type.is_float

    def __call__(self, places: Value) -> Value:
        forest = self.forest
        feature = build.gather_elements(self.rows, _looked_up(self.features, places), 1)
        value = _looked_up(forest.values.astype(self.rows.element_type.dtype), places)
        goes = self._compare(feature, value, places)
        if self.tracks:
            tracked = build.logical_and(_looked_up(forest.tracks_true, places), build.is_nan(feature))
            goes = build.logical_or(goes, tracked)
        yes, no = (_looked_up(branch.astype(np.int32), places) for branch in (forest.when_true, forest.when_false))
        return build.select(goes, yes, no)

    def _compare(self, feature: Value, value: Value, places: Value) -> Value:
        """Each comparison by its mode; the comparison at leaves has no effect."""
        goes = _TESTS[int(self.modes[0])](feature, value)
        kinds = _looked_up(self.forest.modes.astype(np.int32), places) if len(self.modes) > 1 else None
        for mode in self.modes[1:]:
            assert kinds is not None
            is_this = build.equal(kinds, number(int(mode), kinds))
            goes = build.select(is_this, _TESTS[int(mode)](feature, value), goes)
        return goes


def _looked_up(table: Array, places: Value) -> Value:
    return build.gather(build.constant(table), places, 0)


class Leaves(NamedTuple):
    """The outputs of nodes: a weight for each pair of a node and a target, as three lists of equal length."""

    nodes: Array
    targets: Array
    weights: Array

    def check(self, targets: int, name: str) -> None:
        """Raise InvalidAttributeError for a target out of range."""
        if targets < 1:
            raise InvalidAttributeError("the number of targets is", actual=targets, expected="1 or more")
        wrong = self.targets[(self.targets < 0) | (self.targets >= targets)]
        if wrong.size:
            raise InvalidAttributeError(f"{name} contains", actual=wrong[0], expected=f"0 to {targets - 1}")

    def sum_weights(self, places: Value, forest: Forest, targets: int, element_type: ElementType) -> Value:
        """[rows, targets]: the sums of the weights of the leaves of all trees."""
        if targets > 1 and len(np.unique(self.nodes)) == len(self.nodes):
            return self._scatter(places, forest, targets, element_type)
        table, _ = self._tables(forest, targets)
        weights = _looked_up(table.astype(element_type.dtype), _rank(places, forest))
        return build.reduce_sum(weights, ints(1), keep_dims=False)

    def _scatter(self, places: Value, forest: Forest, targets: int, element_type: ElementType) -> Value:
        """The sums if no leaf has two targets: the weight of each leaf is added at its target."""
        weights, where = np.zeros(len(forest.modes), element_type.dtype), np.zeros(len(forest.modes), np.int32)
        weights[self.nodes], where[self.nodes] = self.weights, self.targets
        count = build.slice(shape_of(places), ints(0), ints(1), ints(1))
        zeros = build.broadcast(
            build.constant(np.zeros((), element_type.dtype)), build.concat([count, ints(targets)], 0)
        )
        return build.scatter_elements_update(
            zeros, _looked_up(where, places), _looked_up(weights, places), 1, reduction="sum"
        )

    def extreme(
        self, places: Value, forest: Forest, targets: int, element_type: ElementType, *, largest: bool
    ) -> Value:
        """[rows, targets]: the largest or smallest given weight; zero if there is none."""
        table, has_weight = self._tables(forest, targets, largest=largest)
        bound = -np.inf if largest else np.inf
        ranked = _rank(places, forest)
        reduce = build.reduce_max if largest else build.reduce_min
        weights = _looked_up(np.where(has_weight, table, bound).astype(element_type.dtype), ranked)
        result = reduce(weights, ints(1), keep_dims=False)
        if has_weight.all():
            return result
        return build.select(self.find_reached(places, forest, targets), result, number(0, result))

    def find_reached(self, places: Value, forest: Forest, targets: int) -> Value:
        """[rows, targets], or [targets] if independent of rows: True if a tree has a weight for the target."""
        ever = np.isin(np.arange(targets), self.targets)
        if np.array_equal(self._always(forest, targets), ever):
            return build.constant(ever)
        _, has_weight = self._tables(forest, targets)
        counts = _looked_up(has_weight.astype(np.float32), _rank(places, forest))
        most = build.reduce_max(counts, ints(1), keep_dims=False)
        return build.greater(most, number(0, most))

    def _always(self, forest: Forest, targets: int) -> Array:
        """[targets]: True if all leaves of a tree have a weight for the target."""
        is_certain = np.zeros(targets, bool)
        if forest.owners is None:
            return is_certain
        leaves = np.bincount(forest.owners[forest.leaves], minlength=len(forest.roots))
        pairs = np.unique(self.nodes * targets + self.targets)
        pairs = pairs[forest.modes[pairs // targets] == LEAF]
        cells, counts = np.unique(forest.owners[pairs // targets] * targets + pairs % targets, return_counts=True)
        is_certain[cells[counts == leaves[cells // targets]] % targets] = True
        return is_certain

    def _tables(self, forest: Forest, targets: int, *, largest: bool | None = None) -> tuple[Array, Array]:
        """[leaves, targets]: weights, and a mask of the given ones.

        Several weights for a target are summed, or reduced to the largest or smallest one.
        """
        leaves = forest.leaves
        if len(leaves) * targets > _MOST_CELLS:
            raise ResourceError(
                f"{len(leaves):,} leaves and {targets:,} targets require a table of more than 2^27 elements"
            )
        ranks = np.full(len(forest.modes), -1)
        ranks[leaves] = np.arange(len(leaves))
        is_leaf = ranks[self.nodes] >= 0
        where = ranks[self.nodes[is_leaf]], self.targets[is_leaf]
        has_weight = np.zeros((len(leaves), targets), bool)
        has_weight[where] = True
        if largest is None:
            table = np.zeros((len(leaves), targets), self.weights.dtype)
            np.add.at(table, where, self.weights[is_leaf])
        else:
            table = np.full((len(leaves), targets), -np.inf if largest else np.inf, self.weights.dtype)
            (np.maximum if largest else np.minimum).at(table, where, self.weights[is_leaf])
        return table, has_weight


def _rank(places: Value, forest: Forest) -> Value:
    """The index of each leaf among the leaves."""
    ranks = np.zeros(len(forest.modes), np.int32)
    ranks[forest.leaves] = np.arange(len(forest.leaves), dtype=np.int32)
    return _looked_up(ranks, places)
