"""The values that the nodes of an ONNX graph can refer to, including those of enclosing graphs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from ir_exec.build import Value
from ir_exec.onnx.lowering.values import GraphValue

if TYPE_CHECKING:
    from onnx import AttributeProto, TensorProto

__all__ = ["NameScope"]


class NameScope:
    """The values that the nodes of a graph, a body or a function can refer to.

    Attributes:
        opsets: The version of each domain.
        prefix: The prefix of the names of the scope's nodes, from the call of a function.
        given: The attributes of the call for which a function was expanded.
        is_definition: True inside a function of ONNX itself.
    """

    def __init__(
        self,
        opsets: Mapping[str, int],
        *,
        outer: NameScope | None = None,
        attributes: Mapping[str, AttributeProto] | None = None,
        prefix: str | None = None,
    ) -> None:
        self.opsets = opsets
        self.prefix: str = prefix if prefix is not None else outer.prefix if outer else ""
        self.outer = outer
        self.attributes: Mapping[str, AttributeProto] = (
            attributes if attributes is not None else outer.attributes if outer else {}
        )
        self.depth: int = outer.depth + 1 if outer else 0
        self.is_network = False
        self.is_definition: bool = outer.is_definition if outer else False
        self._values: dict[str, GraphValue] = {}
        self._initializers: dict[str, TensorProto] = {}

    def add_initializers(self, tensors: Iterable[TensorProto]) -> None:
        self._initializers.update((tensor.name, tensor) for tensor in tensors)

    def initializer(self, name: str) -> TensorProto | None:
        scope: NameScope | None = self
        while scope is not None:
            if name in scope._values:
                return None
            if name in scope._initializers:
                return scope._initializers[name]
            scope = scope.outer
        return None

    def tensors(self) -> list[Value]:
        """The tensors of this scope, in the order of creation."""
        return [value for value in self._values.values() if isinstance(value, Value)]

    def values(self) -> Mapping[str, GraphValue]:
        """The values of this scope by name."""
        return self._values

    def initializers(self) -> Mapping[str, TensorProto]:
        """The initializers of this scope by name."""
        return self._initializers

    def names(self) -> set[str]:
        own = self._values.keys() | self._initializers.keys()
        return own | self.outer.names() if self.outer is not None else set(own)

    def find(self, name: str) -> GraphValue:
        """The value of this name.

        Raises:
            KeyError: If there is no such value.
        """
        scope: NameScope | None = self
        while scope is not None:
            if name in scope._values:
                return scope._values[name]
            scope = scope.outer
        raise KeyError(name)

    def holds(self, name: str) -> bool:
        """Return True if this scope itself, not an enclosing one, has a value of this name."""
        return name in self._values or name in self._initializers

    def set(self, name: str, value: GraphValue) -> None:
        self._values[name] = value
