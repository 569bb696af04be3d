"""The constants of a model by name, read on demand."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ir_exec.codes import Code
from ir_exec.errors import NoSuchKeyError, WeightsError
from ir_exec.graph.graph import Graph, Node
from ir_exec.hints import suggested
from ir_exec.ir import Weights
from ir_exec.ops.infrastructure.values import Const
from ir_exec.types import Array

__all__ = ["Constants"]


class Constants(Mapping[str, Array]):
    """The constants of a model and of its bodies, in the order of the file.

    Keys are names of layers, `loop/body/name` in bodies; `name#id` for all but the first of several constants of a
    graph with one name. Tensor names are keys as well, but are not iterated over. The arrays are read-only views of the
    .bin if possible, and read on access.

    Access raises EvaluationError IR705, which is also a KeyError, for an unknown name, and WeightsError if the .bin is
    missing or too short.
    """

    def __init__(self, graph: Graph, weights: Weights | None) -> None:
        self._weights = weights
        self._name = graph.name
        self._nodes: dict[str, Node] = {}
        self._by_tensor: dict[str, Node] = {}
        self._add(graph, "")

    def _add(self, graph: Graph, scope: str) -> None:
        for node in graph.nodes:
            if isinstance(node.op, Const):
                name = f"{scope}{node.name}"
                self._nodes[f"{name}#{node.id}" if name in self._nodes else name] = node
                for tensor in node.outputs[0].names if node.outputs else ():
                    self._by_tensor.setdefault(f"{scope}{tensor}", node)
            for body in node.bodies:
                self._add(body.graph, f"{scope}{node.name}/{body.name}/")

    def __getitem__(self, key: str) -> Array:
        node = self._nodes.get(key) or self._by_tensor.get(key)
        if node is None:
            message = f"unknown constant {key!r}"
            raise NoSuchKeyError(message, hint=suggested(str(key), self._nodes))
        assert isinstance(node.op, Const), "other operators are not constants"
        if self._weights is None:
            raise WeightsError("the weights are missing", code=Code.weights_missing, location=node.location)
        try:
            return node.op.evaluate(weights=self._weights)
        except WeightsError as error:
            raise error.located(node.location) from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._nodes)

    def __len__(self) -> int:
        return len(self._nodes)

    def __contains__(self, key: object) -> bool:
        return key in self._nodes or key in self._by_tensor

    def __repr__(self) -> str:
        return f"<Constants of {self._name!r}: {len(self):,}>"
