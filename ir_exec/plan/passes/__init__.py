"""Rewrites of one plan: fewer, larger steps in the place of several layers.

They work on the nodes that a plan is made of, between inference and planning, and never on the model: the layers of a
file stay what an observer sees. Each module has one rewrite: a function of a draft and one of its nodes, which tells
what takes the place of that node and of later ones, or None. `REWRITES` has them in their order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from ir_exec.graph import Node
from ir_exec.plan.graph import Draft, FusedNode, Fusion
from ir_exec.plan.passes.fuse_activation import as_activation
from ir_exec.plan.passes.fuse_attention import as_attention
from ir_exec.plan.passes.fuse_batch_norm import as_batch_norm
from ir_exec.plan.passes.fuse_layer_norm import as_layer_norm, as_rms_norm
from ir_exec.plan.passes.fuse_padding import as_padding
from ir_exec.plan.passes.fuse_quantization import as_quantized

__all__ = ["REWRITES", "Draft", "FusedNode", "Fusion", "Rewrite", "rewritten"]

Rewrite: TypeAlias = Callable[[Draft, Node], Fusion | None]

REWRITES: tuple[Rewrite, ...] = (
    as_rms_norm,
    as_layer_norm,
    as_batch_norm,
    as_activation,
    as_attention,
    as_quantized,
    as_padding,
)


def rewritten(draft: Draft) -> list[Node]:
    """The nodes after all rewrites, each of which goes through them in order."""
    for rewrite in REWRITES:
        for node in draft.nodes:
            if draft.holds(node) and (fusion := rewrite(draft, node)) is not None:
                draft.replace(fusion)
        draft.settle()
    return draft.nodes
