"""The real networks that tests run on: the copies in `tests/networks`, and the whole collection where it is at hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ir_exec.graph import Graph
from ir_exec.types import Array
from tests.conformance.build import IRFile

__all__ = ["COLLECTION", "COPIES", "RUNNABLE", "arrays", "ir_file", "missing_operators", "networks"]

COPIES = Path(__file__).parents[1] / "networks"

COLLECTION = Path(__file__).parents[3] / "shared" / "models"
"""A folder next to the repository; a single clone has none."""

RUNNABLE = frozenset(
    {
        "bert_tiny",
        "bert_tiny_fp16",
        "gnn_gcn_gat",
        "gpt2_with_past",
        "index_ops",
        "llama",
        "llama_int4_asym",
        "llama_stateful",
        "llama_with_past",
        "mixtral",
    }
)
"""Networks of which every operator must be there."""


def networks() -> dict[str, Path]:
    """The .xml of each network by its name; a copy goes before the original."""
    paths = {path.stem: path for folder in (COLLECTION, COPIES) for path in sorted(folder.glob("*.xml"))}
    return dict(sorted(paths.items()))


def ir_file(path: Path) -> IRFile:
    return IRFile(path.read_bytes(), path.with_suffix(".bin").read_bytes(), ())


def arrays(path: Path, part: str) -> list[Array] | None:
    """The arrays of `NAME.inputs.npz`, `NAME.outputs2.npz` and so on, in their order."""
    file = path.with_name(f"{path.stem}.{part}.npz")
    if not file.exists():
        return None
    with np.load(file) as stored:
        prefix = part[: part.index("put")]
        return [stored[f"{prefix}{i}"] for i in range(len(stored.files))]


def missing_operators(graph: Graph) -> set[str]:
    """The types of layers that ir_exec has no operator for."""
    return {node.type for node in graph.all_nodes() if node.op is None}
