"""The model as nodes and values, built from a document and ordered; bodies are separate graphs."""

from ir_exec.graph.build import build_graph, declared_type
from ir_exec.graph.graph import BodyGraph, Graph, Node, Value
from ir_exec.graph.order import last_uses, reachable, topological_order

__all__ = [
    "BodyGraph",
    "Graph",
    "Node",
    "Value",
    "build_graph",
    "declared_type",
    "last_uses",
    "reachable",
    "topological_order",
]
