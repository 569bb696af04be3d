"""TreeEnsemble of ai.onnx.ml, which has separate lists of leaves and nodes that test for set membership."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ir_exec.build import Value
from ir_exec.errors import InvalidAttributeError
from ir_exec.onnx.lowering.attributes import Ints, Tensor
from ir_exec.onnx.lowering.graphs import Call
from ir_exec.onnx.lowering.registry import ML, onnx_op
from ir_exec.onnx.lowering.values import cast
from ir_exec.onnx.ops.ml_forest import LEAF, MODES, Forest, Leaves, equal_lengths
from ir_exec.onnx.ops.ml_scores import as_rows
from ir_exec.onnx.ops.ml_trees import aggregate
from ir_exec.types import Array, ElementType

__all__: list[str] = []

_MEMBER = 6
"""The mode of a node that tests if a feature is in a set; the older operators do not have it."""

_EQUAL = MODES.index("BRANCH_EQ")
_AGGREGATES = ("AVERAGE", "SUM", "MIN", "MAX")
_TRANSFORMS = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")
_MOST_MEMBERS = 2**24


class _Branches(NamedTuple):
    """Nodes that compare: [nodes]. Indices of successors continue with the leaves, starting at the number of nodes."""

    features: Array
    modes: Array
    splits: Array
    when_true: Array
    when_false: Array
    tracks_true: Array

    def without_sets(self, members: Array, leaves: int) -> _Branches:
        """Each test for a set as tests for its members in sequence, appended after all other nodes.

        Args:
            members: The members of all sets, each set ended by NaN.
        """
        asking = np.flatnonzero(self.modes == _MEMBER)
        if not asking.size:
            return self
        ends = np.flatnonzero(np.isnan(members))
        sets = [part[~np.isnan(part)] for part in np.split(members, ends)]
        if len(sets) < len(asking) or members.size > _MOST_MEMBERS:
            raise InvalidAttributeError(
                "the node has",
                actual=len(sets),
                detail="sets of members",
                expected=len(asking),
                reason="one for each BRANCH_MEMBER node",
            )
        columns = [
            column.tolist() for column in self._replace(modes=np.where(self.modes == _MEMBER, _EQUAL, self.modes))
        ]
        features, modes, splits, yes, no, tracks = columns
        for node, values in zip(asking.tolist(), sets, strict=False):
            splits[node] = values[0] if values.size else np.nan
            last, behind = node, no[node]
            for value in values[1:]:
                # The indices of the leaves are between the nodes of the file and these.
                no[last] = leaves + len(features)
                last = len(features)
                features.append(features[node])
                modes.append(_EQUAL)
                splits.append(value)
                yes.append(yes[node])
                no.append(behind)
                tracks.append(False)
        dtypes = [column.dtype for column in self]
        arrays = (np.array(column, dtype) for column, dtype in zip(columns, dtypes, strict=True))
        return _Branches(*arrays)


def _behind(nodes: Ints, are_leaves: Ints, branches: int, leaves: int, name: str) -> Array:
    """The indices of the successors of nodes."""
    successors, is_leaf = np.array(nodes, np.int64), np.array(are_leaves, np.int64) != 0
    wrong = (successors < 0) | (successors >= np.where(is_leaf, leaves, branches))
    if wrong.any():
        index = int(np.flatnonzero(wrong)[0])
        raise InvalidAttributeError(
            f"{name} contains",
            actual=successors[index],
            detail=f"at {index}",
            expected=f"less than {leaves if is_leaf[index] else branches}",
        )
    return successors + np.where(is_leaf, branches, 0)


@onnx_op("TreeEnsemble", since=5, domain=ML, unused=("nodes_hitrates",))
def tree_ensemble(
    data: Value,
    *,
    aggregate_function: int,
    leaf_targetids: Ints,
    leaf_weights: Tensor,
    membership_values: Tensor | None,
    n_targets: int | None,
    nodes_falseleafs: Ints,
    nodes_falsenodeids: Ints,
    nodes_featureids: Ints,
    nodes_missing_value_tracks_true: Ints,
    nodes_modes: Tensor,
    nodes_splits: Tensor,
    nodes_trueleafs: Ints,
    nodes_truenodeids: Ints,
    post_transform: int,
    tree_roots: Ints,
    call: Call,
) -> Value:
    """Sums, means or extremes of the weights of the leaves of all trees for each target."""
    weights, splits, modes = (call.array(tensor).ravel() for tensor in (leaf_weights, nodes_splits, nodes_modes))
    equal_lengths(
        nodes_featureids=nodes_featureids,
        nodes_modes=modes,
        nodes_splits=splits,
        nodes_truenodeids=nodes_truenodeids,
        nodes_falsenodeids=nodes_falsenodeids,
        nodes_trueleafs=nodes_trueleafs,
        nodes_falseleafs=nodes_falseleafs,
    )
    equal_lengths(leaf_targetids=leaf_targetids, leaf_weights=weights)
    for name, number, names in (
        ("aggregate_function", aggregate_function, _AGGREGATES),
        ("post_transform", post_transform, _TRANSFORMS),
    ):
        if not 0 <= number < len(names):
            raise InvalidAttributeError(f"{name} is", actual=number, expected=f"0 to {len(names) - 1}")
    count, leaves = len(modes), len(weights)
    if modes.dtype.kind not in "iu" or (modes > _MEMBER).any() or splits.dtype.kind != "f" or weights.dtype.kind != "f":
        raise InvalidAttributeError(
            "nodes_modes, nodes_splits or leaf_weights have other values",
            expected="integers up to 6, floats and floats",
        )
    tracks = np.zeros(count, bool)
    tracks[: len(nodes_missing_value_tracks_true)] = np.array(nodes_missing_value_tracks_true[:count]) == 1
    members = np.zeros(0) if membership_values is None else call.array(membership_values).ravel().astype(np.float64)
    branches = _Branches(
        np.array(nodes_featureids, np.int64),
        modes.astype(np.int64),
        splits,
        _behind(nodes_truenodeids, nodes_trueleafs, count, leaves, "nodes_truenodeids"),
        _behind(nodes_falsenodeids, nodes_falseleafs, count, leaves, "nodes_falsenodeids"),
        tracks,
    ).without_sets(members, leaves)
    roots = np.array(tree_roots, np.int64)
    if not roots.size or (roots < 0).any() or (roots >= count).any():
        raise InvalidAttributeError(f"tree_roots contains an index outside of {count} nodes")
    targets = n_targets or 0
    weighted_leaves = Leaves(np.arange(count, count + leaves), np.array(leaf_targetids, np.int64), weights)
    weighted_leaves.check(targets, "leaf_targetids")
    element_type = ElementType.f64 if data.element_type is ElementType.f64 else ElementType.f32
    how, transform = _AGGREGATES[aggregate_function], _TRANSFORMS[post_transform]
    forest = _forest(branches, count, leaves, roots)
    scores = aggregate(
        as_rows(data, element_type), forest, weighted_leaves, targets, np.zeros(0, np.float32), how, transform
    )
    return cast(scores, data.element_type)


def _forest(branches: _Branches, count: int, leaves: int, roots: Array) -> Forest:
    """The nodes of the file, the leaves, and the nodes made from sets."""
    own = np.arange(count, count + leaves)
    nothing = np.zeros(leaves, np.int64)

    def insert_leaves(values: Array, inserted: Array) -> Array:
        return np.concatenate([values[:count], inserted, values[count:]])

    return Forest(
        insert_leaves(branches.features, nothing),
        insert_leaves(branches.modes, np.full(leaves, LEAF)),
        insert_leaves(branches.splits, nothing.astype(branches.splits.dtype)),
        insert_leaves(branches.when_true, own),
        insert_leaves(branches.when_false, own),
        insert_leaves(branches.tracks_true, nothing.astype(bool)),
        roots,
    )
