"""The lowering of a graph as its nodes see it: names and types of tensors, and states."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ir_exec.graph import Graph, Value
from ir_exec.onnx.export.writer import Writer
from ir_exec.ops.base.bodies import WeightsReader
from ir_exec.types import TensorType

if TYPE_CHECKING:
    from onnx import ValueInfoProto

__all__ = ["GraphLowerer"]


@dataclass
class GraphLowerer(ABC):
    """The tensors of a graph that is lowered.

    Attributes:
        types: The types of all values, in bodies too.
        names: The tensor names of the values.
        states: The input and the output of each variable.
        depth: 1 in the graph, more in a body.
        initial: The tensors of initial values that are computed.
        output_names: The names of the outputs of the graph that nodes compute, by value.
    """

    writer: Writer
    types: Mapping[Value, TensorType]
    weights: WeightsReader | None
    names: dict[Value, str] = field(default_factory=dict)
    states: dict[str, tuple[str, str]] = field(default_factory=dict)
    state_inputs: list[ValueInfoProto] = field(default_factory=list)
    state_outputs: list[ValueInfoProto] = field(default_factory=list)
    depth: int = 0
    state_names: dict[str, tuple[str, str]] = field(default_factory=dict)
    initial: dict[str, str] = field(default_factory=dict)
    notes: dict[str, Any] = field(default_factory=dict)
    output_names: dict[Value, str] = field(default_factory=dict)

    @abstractmethod
    def nodes(self, graph: Graph) -> None:
        """Lower the nodes of a graph whose Parameters have names."""

    def value_name(self, value: Value) -> str:
        """The preferred name of a value: its first tensor name, or the name of its layer."""
        return value.names[0] if value.names else value.name

    def new_name(self, value: Value) -> str:
        """The name of the tensor that a node computes: the name of the output, or an unused variation of its own."""
        return self.output_names.get(value) or self.writer.unique(self.value_name(value))

    def type_of(self, value: Value) -> TensorType:
        """The inferred type of a value of a graph or a body."""
        return self.types.get(value, value.declared)

    def plain_info(self, name: str, shape: tuple[int, ...] | None = None) -> ValueInfoProto:
        """The declaration of a tensor of a body; without a shape it may change between iterations."""
        from onnx import helper

        return helper.make_tensor_value_info(name, self.writer.codes[name], shape)

    def value_info(self, name: str, type: TensorType, *, dims: str = "") -> ValueInfoProto:
        """The declaration of a tensor; dynamic dims are named if `dims` is a prefix."""
        from onnx import helper

        code = self.writer.codes.get(name) or self.writer.code(type.element_type)
        if type.shape.dims is None:
            return helper.make_tensor_value_info(name, code, None)
        shape = [
            dim.size if dim.is_static else (f"{dims}_{axis}" if dims else None) for axis, dim in enumerate(type.shape)
        ]
        return helper.make_tensor_value_info(name, code, shape)
