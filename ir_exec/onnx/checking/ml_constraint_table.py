"""The constraints of the operators of ai.onnx.ml, by name, in the form of `constraint_table`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from ir_exec.codes import Code
from ir_exec.errors import InvalidAttributeError, IRError
from ir_exec.onnx.checking.constraints import Constraint, NodeFacts, exactly_one, least_rank, one_of, positive, rank

__all__ = ["ML_CONSTRAINTS"]


_POST_TRANSFORM = one_of("post_transform", "NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")
_AGGREGATES = ("SUM", "AVERAGE", "MIN", "MAX")
_LABELS = exactly_one("classlabels_strings", "classlabels_int64s")
_SVM_KERNELS = one_of("kernel_type", "LINEAR", "POLY", "RBF", "SIGMOID")


def _as_long_as(name: str, *others: str) -> Constraint:
    """Attributes with one element for each item of the same kind have equal lengths."""

    def check(facts: NodeFacts) -> IRError | None:
        first = facts.attributes.get(name)
        for other in others:
            elements = facts.attributes.get(other)
            if first is not None and elements and len(elements) != len(first):
                return InvalidAttributeError(
                    f"{other} has",
                    actual=len(elements),
                    detail="elements",
                    expected=len(first),
                    reason=f"the number in {name}",
                    code=Code.invalid_attribute,
                )
        return None

    return check


_NODES = _as_long_as(
    "nodes_nodeids",
    "nodes_treeids",
    "nodes_modes",
    "nodes_featureids",
    "nodes_values",
    "nodes_truenodeids",
    "nodes_falsenodeids",
    "nodes_hitrates",
    "nodes_missing_value_tracks_true",
)

ML_CONSTRAINTS: Mapping[str, Sequence[Constraint]] = MappingProxyType(
    {
        "ArrayFeatureExtractor": [least_rank("X", 1), least_rank("Y", 1)],
        "LinearClassifier": [_POST_TRANSFORM, rank("X", 1, 2)],
        "LinearRegressor": [_POST_TRANSFORM, positive("targets"), rank("X", 1, 2)],
        "Normalizer": [one_of("norm", "MAX", "L1", "L2")],
        "OneHotEncoder": [exactly_one("cats_int64s", "cats_strings"), one_of("zeros", 0, 1)],
        "SVMClassifier": [_POST_TRANSFORM, _SVM_KERNELS],
        "SVMRegressor": [_POST_TRANSFORM, _SVM_KERNELS],
        "TreeEnsemble": [
            one_of("aggregate_function", 0, 1, 2, 3),
            one_of("post_transform", 0, 1, 2, 3, 4),
            rank("X", 2),
            _as_long_as(
                "nodes_featureids",
                "nodes_truenodeids",
                "nodes_falsenodeids",
                "nodes_trueleafs",
                "nodes_falseleafs",
                "nodes_missing_value_tracks_true",
            ),
        ],
        "TreeEnsembleClassifier": [
            _POST_TRANSFORM,
            _LABELS,
            _NODES,
            _as_long_as("class_ids", "class_treeids", "class_nodeids", "class_weights"),
            rank("X", 1, 2),
        ],
        "TreeEnsembleRegressor": [
            _POST_TRANSFORM,
            one_of("aggregate_function", *_AGGREGATES),
            _NODES,
            _as_long_as("target_ids", "target_treeids", "target_nodeids", "target_weights"),
            rank("X", 1, 2),
        ],
        "ZipMap": [_LABELS],
    }
)
