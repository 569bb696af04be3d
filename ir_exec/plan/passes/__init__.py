"""Changes of a plan: fewer, larger steps in the place of several layers, and constants in the form that is read.

They work on the nodes that a plan is made of, between inference and planning, and never on the model: the layers of a
file stay what an observer sees. A fusion is a function of a plan and one of its nodes, which returns what takes the
place of that node and of later ones, or None. `ir_exec.plan.compiler.PASSES` has all passes in their order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from ir_exec.graph import Node
from ir_exec.plan.graph import Fusion, PlanGraph

__all__ = ["Rewrite"]

Rewrite: TypeAlias = Callable[[PlanGraph, Node], Fusion | None]
