"""Ensembles of trees of ai.onnx.ml."""

from __future__ import annotations

from typing import NamedTuple, TypedDict, Unpack

import numpy as np

from ir_exec import build
from ir_exec.build import Value
from ir_exec.errors import InvalidAttributeError, UnsupportedError
from ir_exec.onnx.lowering.attributes import Floats, Ints, Strings, Tensor, chosen
from ir_exec.onnx.lowering.graphs import Call
from ir_exec.onnx.lowering.registry import ML, onnx_op
from ir_exec.onnx.lowering.values import as_i64, cast, number, numbers
from ir_exec.onnx.ops.ml_forest import LEAF, MODES, Forest, Leaves, equal_lengths, walk
from ir_exec.onnx.ops.ml_scores import (
    as_rows,
    both_scores,
    class_labels,
    columns,
    first_largest,
    look_up_labels,
    probit,
    transform_scores,
)
from ir_exec.types import Array, ElementType

__all__ = ["aggregate"]


class NodeAttributes(TypedDict):
    """The attributes of the nodes of all trees, one element for each node."""

    nodes_falsenodeids: Ints
    nodes_featureids: Ints
    nodes_missing_value_tracks_true: Ints
    nodes_modes: Strings
    nodes_nodeids: Ints
    nodes_treeids: Ints
    nodes_truenodeids: Ints
    nodes_values: Floats
    nodes_values_as_tensor: Tensor | None


class _Nodes(NamedTuple):
    """The nodes of all trees."""

    trees: Array
    numbers: Array
    features: Array
    modes: Strings
    values: Array
    when_true: Array
    when_false: Array
    tracks_true: Ints

    @staticmethod
    def read(attributes: NodeAttributes, call: Call) -> _Nodes:
        return _Nodes(
            _as_array(attributes["nodes_treeids"]),
            _as_array(attributes["nodes_nodeids"]),
            _as_array(attributes["nodes_featureids"]),
            attributes["nodes_modes"],
            _precise(attributes["nodes_values"], attributes["nodes_values_as_tensor"], "nodes_values", call),
            _as_array(attributes["nodes_truenodeids"]),
            _as_array(attributes["nodes_falsenodeids"]),
            attributes["nodes_missing_value_tracks_true"],
        )

    def forest(self) -> Forest:
        equal_lengths(
            nodes_treeids=self.trees,
            nodes_nodeids=self.numbers,
            nodes_featureids=self.features,
            nodes_modes=self.modes,
            nodes_values=self.values,
            nodes_truenodeids=self.when_true,
            nodes_falsenodeids=self.when_false,
        )
        if not len(self.trees):
            raise InvalidAttributeError("the ensemble has no nodes")
        modes = np.array([chosen("nodes_modes", mode, _MODES) for mode in self.modes])
        own = np.arange(len(modes))
        inner = modes != LEAF
        yes, no = own.copy(), own.copy()
        yes[inner] = self.places(self.trees[inner], self.when_true[inner], "nodes_truenodeids")
        no[inner] = self.places(self.trees[inner], self.when_false[inner], "nodes_falsenodeids")
        tracks = np.zeros(len(modes), bool)
        tracks[: len(self.tracks_true)] = np.array(self.tracks_true[: len(modes)]) == 1
        starts = np.flatnonzero(np.r_[True, self.trees[1:] != self.trees[:-1]])
        owners = np.searchsorted(starts, own, side="right") - 1
        return Forest(self.features, modes, self.values, yes, no, tracks, starts, owners)

    def places(self, trees: Array, nodes: Array, name: str) -> Array:
        """The indices of the nodes with these ids in these trees."""
        order = np.lexsort((self.numbers, self.trees))
        sorted_pairs = _pairs(self.trees[order], self.numbers[order])
        if (sorted_pairs[1:] == sorted_pairs[:-1]).any():
            raise InvalidAttributeError("two nodes of a tree have the same id")
        pairs = _pairs(trees, nodes)
        indices = np.searchsorted(sorted_pairs, pairs).clip(max=len(sorted_pairs) - 1)
        missing = np.flatnonzero(sorted_pairs[indices] != pairs)
        if missing.size:
            first = missing[0]
            raise InvalidAttributeError(
                f"{name} refers to node {nodes[first]} of tree {trees[first]}, which does not exist"
            )
        places: Array = order[indices]
        return places


_MODES = {name: index for index, name in enumerate(MODES)}


def _pairs(first: Array, second: Array) -> Array:
    """Pairs of integers, sorted by the first ones."""
    pairs = np.empty(len(first), [("first", np.int64), ("second", np.int64)])
    pairs["first"], pairs["second"] = first, second
    return pairs


def _as_array(values: Ints) -> Array:
    return np.array(values, np.int64)


def _precise(floats: Floats, tensor: Tensor | None, name: str, call: Call) -> Array:
    """The floats of an attribute, or of the tensor attribute of the same name."""
    if tensor is None:
        return np.array(floats, np.float32)
    if floats:
        raise InvalidAttributeError(f"both {name} and {name}_as_tensor are given", expected="one")
    array = call.array(tensor).ravel()
    if array.dtype not in (np.float32, np.float64):
        raise InvalidAttributeError(f"{name}_as_tensor is", actual=array.dtype, expected="f32 or f64")
    return array


def _precision(data: Value, *tables: Array) -> ElementType:
    """f64 if the rows or a table are f64; integers are compared as f32."""
    wide = data.element_type is ElementType.f64 or any(table.dtype == np.float64 for table in tables)
    return ElementType.f64 if wide else ElementType.f32


def _weights(nodes: _Nodes, targets: Ints, at: Ints, trees: Ints, weights: Array, prefix: str) -> Leaves:
    lists = {f"{prefix}_ids": targets, f"{prefix}_nodeids": at, f"{prefix}_treeids": trees}
    equal_lengths(**lists, **{f"{prefix}_weights": weights})
    places = nodes.places(_as_array(trees), _as_array(at), f"{prefix}_nodeids")
    return Leaves(places, _as_array(targets), weights)


_HIT_RATES = ("nodes_hitrates", "nodes_hitrates_as_tensor")
"""Attributes for faster evaluation: how often nodes are reached."""

_EXTREMES = {"MIN": False, "MAX": True}


def aggregate(
    rows: Value, forest: Forest, leaves: Leaves, targets: int, base: Array, how: str, post_transform: str
) -> Value:
    """[rows, targets], in the element type of the rows.

    As in onnxruntime, no base value is added for one of several targets without a weight from any leaf.
    """
    if how not in ("SUM", "AVERAGE", *_EXTREMES):
        raise InvalidAttributeError("aggregate_function is", actual=repr(how), expected="SUM, AVERAGE, MIN or MAX")
    if len(base) not in (0, targets):
        raise InvalidAttributeError(
            "the node has", actual=len(base), detail="base values", expected=targets, reason="one for each target"
        )
    places, element_type = walk(rows, forest), rows.element_type
    if how in _EXTREMES:
        scores = leaves.extreme(places, forest, targets, element_type, largest=_EXTREMES[how])
    else:
        scores = leaves.sum_weights(places, forest, targets, element_type)
        scores = build.divide(scores, number(len(forest.roots), scores)) if how == "AVERAGE" else scores
    scores = build.add(scores, numbers(base.tolist(), scores)) if len(base) else scores
    if targets == 1:
        # onnxruntime omits the others if there is one target.
        return probit(scores) if post_transform == "PROBIT" else scores
    if len(base):
        scores = build.select(leaves.find_reached(places, forest, targets), scores, number(0, scores))
    return transform_scores(scores, post_transform)


@onnx_op("TreeEnsembleRegressor", since=(1, 3), domain=ML, unused=_HIT_RATES)
def tree_ensemble_regressor(
    data: Value,
    *,
    aggregate_function: str,
    base_values: Floats,
    base_values_as_tensor: Tensor | None,
    n_targets: int | None,
    post_transform: str,
    target_ids: Ints,
    target_nodeids: Ints,
    target_treeids: Ints,
    target_weights: Floats,
    target_weights_as_tensor: Tensor | None,
    call: Call,
    **attributes: Unpack[NodeAttributes],
) -> Value:
    """Sums, means or extremes of the weights of the leaves of all trees for each target."""
    nodes = _Nodes.read(attributes, call)
    weights = _precise(target_weights, target_weights_as_tensor, "target_weights", call)
    base = _precise(base_values, base_values_as_tensor, "base_values", call)
    forest, targets = nodes.forest(), n_targets or 0
    leaves = _weights(nodes, target_ids, target_nodeids, target_treeids, weights, "target")
    leaves.check(targets, "target_ids")
    rows = as_rows(data, _precision(data, nodes.values, weights))
    scores = aggregate(rows, forest, leaves, targets, base, aggregate_function, post_transform)
    return cast(scores, ElementType.f32)


def _classify(
    rows: Value, forest: Forest, leaves: Leaves, labels: Array, base: Array, post_transform: str
) -> list[Value]:
    """The label of each row, and [rows, classes]."""
    classes = len(labels)
    if classes == 1:
        raise UnsupportedError("a classifier of one class is not supported")
    if len(base) not in ((0, 1, 2) if classes == 2 else (0, classes)):
        raise InvalidAttributeError(
            "the node has", actual=len(base), detail="base values", expected=classes, reason="one for each class"
        )
    places = walk(rows, forest)
    scores = leaves.sum_weights(places, forest, classes, rows.element_type)
    reached = leaves.find_reached(places, forest, classes)
    if classes == 2:
        return _two_classes(scores, reached, leaves, labels, base, post_transform)
    if len(base):
        best = scores = build.add(scores, numbers(base.tolist(), scores))
    elif reached.constant is not None and reached.constant.all():
        best = scores
    else:
        best = build.select(reached, scores, number(-np.inf, scores))
    return [look_up_labels(labels, first_largest(best)), transform_scores(scores, post_transform)]


def _two_classes(
    scores: Value, reached: Value, leaves: Leaves, labels: Array, base: Array, post_transform: str
) -> list[Value]:
    """The label of each row, and the scores of two classes, as in onnxruntime.

    A row whose trees have no weight for the second class has one score, the score of that class; in a pair of scores, a
    score without any weight is zero.
    """
    first, second = build.gather(scores, 0, 1), build.gather(scores, 1, 1)
    has_first, has_second = build.gather(reached, 0, -1), build.gather(reached, 1, -1)
    if len(base) == 2:
        total = build.add(first, number(base[1], first))
        first = build.select(has_second, build.negative(total), build.add(first, number(base[0], first)))
        second = build.select(has_second, total, build.add(second, number(base[1], second)))
    elif len(base):
        first = build.add(first, number(base[0], first))
    positive = build.select(has_second, second, build.select(has_first, first, number(0, first)))
    is_one_sided, is_share = len(np.unique(leaves.targets)) == 1, bool((leaves.weights >= 0).all())
    bound = 0.5 if is_one_sided and is_share else 0
    outputs = [look_up_labels(labels, as_i64(build.greater(positive, number(bound, positive))))]
    pair = columns(first, second)
    pair = build.select(reached, pair, number(0, pair))
    is_reached = None if reached.constant is None else bool(reached.constant.ravel()[1])
    if is_reached or len(base) == 2:
        return [*outputs, transform_scores(pair, post_transform)]
    alone = both_scores(first, post_transform, is_share=is_one_sided and is_share)
    if is_reached is None:
        both = transform_scores(pair, post_transform)
        alone = build.select(build.unsqueeze(has_second, -1), both, alone)
    return [*outputs, alone]


@onnx_op("TreeEnsembleClassifier", since=(1, 3), domain=ML, unused=_HIT_RATES)
def tree_ensemble_classifier(
    data: Value,
    *,
    base_values: Floats,
    base_values_as_tensor: Tensor | None,
    class_ids: Ints,
    class_nodeids: Ints,
    class_treeids: Ints,
    class_weights: Floats,
    class_weights_as_tensor: Tensor | None,
    classlabels_int64s: Ints,
    classlabels_strings: Strings,
    post_transform: str,
    call: Call,
    **attributes: Unpack[NodeAttributes],
) -> list[Value]:
    """The class with the largest sum of the weights of the leaves of all trees, and the sums."""
    nodes = _Nodes.read(attributes, call)
    weights = _precise(class_weights, class_weights_as_tensor, "class_weights", call)
    base = _precise(base_values, base_values_as_tensor, "base_values", call)
    forest, labels = nodes.forest(), class_labels(classlabels_int64s, classlabels_strings)
    leaves = _weights(nodes, class_ids, class_nodeids, class_treeids, weights, "class")
    leaves.check(len(labels), "class_ids")
    rows = as_rows(data, _precision(data, nodes.values, weights))
    label, scores = _classify(rows, forest, leaves, labels, base, post_transform)
    return [label, cast(scores, ElementType.f32)]
