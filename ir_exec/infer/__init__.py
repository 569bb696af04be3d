"""Element type, shape and known values of every value of a graph."""

from ir_exec.infer.infer import (
    InferredBody,
    OuterTypes,
    Settle,
    Types,
    declared_port,
    infer_body,
    infer_node,
    infer_outputs,
    infer_types,
    inferred_or_declared,
    redeclare,
    retain_equal,
    tells_outputs,
    typed_bodies,
)
from ir_exec.infer.weights_evidence import explained_by_weights, foreign_weights
from ir_exec.infer.work import Work, count_work

__all__ = [
    "InferredBody",
    "OuterTypes",
    "Settle",
    "Types",
    "Work",
    "count_work",
    "declared_port",
    "explained_by_weights",
    "foreign_weights",
    "infer_body",
    "infer_node",
    "infer_outputs",
    "infer_types",
    "inferred_or_declared",
    "redeclare",
    "retain_equal",
    "tells_outputs",
    "typed_bodies",
]
