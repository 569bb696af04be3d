"""Rewrites of one plan: fewer, larger steps in the place of several layers.

They work on the nodes that a plan is made of, between inference and planning, and never on the model: the layers of a
file stay what an observer sees. Each module has one rewrite: a function of a draft and one of its nodes, which tells
what takes the place of that node and of others, if anything. `REWRITES` has them in their order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from ir_exec.graph import Node
from ir_exec.runtime.rewrite.draft import Draft, Scaled
from ir_exec.runtime.rewrite.fused import FusedNode, Fusion
from ir_exec.runtime.rewrite.layer_norm import as_layer_norm
from ir_exec.runtime.rewrite.quantized import as_quantized
from ir_exec.runtime.rewrite.rms_norm import as_rms_norm
from ir_exec.runtime.rewrite.scaled_products import products_of_levels, products_of_steps

__all__ = ["REWRITES", "Draft", "FusedNode", "Fusion", "Rewrite", "Scaled", "rewritten"]

Rewrite: TypeAlias = Callable[[Draft, Node], Sequence[Fusion]]

REWRITES: tuple[Rewrite, ...] = (as_rms_norm, as_layer_norm, as_quantized, products_of_levels, products_of_steps)


def rewritten(draft: Draft) -> list[Node]:
    """The nodes after all rewrites, each of which goes through them in order."""
    for rewrite in REWRITES:
        for node in draft.nodes:
            if draft.holds(node):
                for fusion in rewrite(draft, node):
                    draft.replace(fusion)
        draft.settle()
    draft.fill()
    return draft.nodes
