"""The operators of the nodes of an ONNX file by their names."""

from __future__ import annotations

import os

from ir_exec.onnx.reading.files import read_proto
from ir_exec.onnx.reading.listing import Listing

__all__ = ["node_operators"]


def node_operators(path: str | os.PathLike[str]) -> dict[str, str]:
    """Return the operators of the nodes of an ONNX file by the names of the nodes, or by those of their outputs.

    Raises:
        IRError: If the file cannot be read.
    """
    nodes = Listing(read_proto(path)[0], os.fsdecode(path)).nodes
    return {node.name: node.operator for node in reversed(nodes) if node.name}
