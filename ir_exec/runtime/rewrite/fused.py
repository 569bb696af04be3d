"""A node that computes what several nodes of the graph compute."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ir_exec.graph import Node, Value
from ir_exec.ops import Op

__all__ = ["FusedNode", "Fusion"]


@dataclass(eq=False, slots=True, repr=False)
class FusedNode(Node):
    """A node of a plan that is in no graph.

    members: the nodes of the graph that it computes, in their order.
    """

    members: tuple[Node, ...] = ()


class Fusion(NamedTuple):
    """What takes the place of several nodes of a plan.

    nodes: in their order; no other node reads an output of any but the last. op: computes the outputs of the last one
    from `inputs`, which exist before the first.
    """

    nodes: Sequence[Node]
    op: Op
    inputs: Sequence[Value]

    def fused(self) -> FusedNode:
        """One node, with the place in the file of the last one."""
        last = self.nodes[-1]
        members = [one for node in self.nodes for one in (node.members if isinstance(node, FusedNode) else (node,))]
        return FusedNode(
            layer=last.layer,
            op=self.op,
            path=last.path,
            op_class=type(self.op),
            inputs=list(self.inputs),
            outputs=last.outputs,
            members=tuple(members),
        )
