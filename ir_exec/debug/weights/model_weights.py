"""The constants of a model that may be weights, with the layers that read them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import NamedTuple

import numpy as np

from ir_exec.debug.weights.chain_rows import ChainRows
from ir_exec.debug.weights.reader_uses import ReaderUse, arranges_elements, axes_of_sums, find_use
from ir_exec.debug.weights.readers.tensors import MappedTensor, count_rows
from ir_exec.debug.weights.roles import WeightRole, WeightRoles
from ir_exec.graph import Graph, Node, Value
from ir_exec.graph.compressed import CompressedWeight, find_compressed_weights
from ir_exec.graph.constant_parts import is_constant_part
from ir_exec.ir import Weights
from ir_exec.ir.packing import packed_size
from ir_exec.ops.infrastructure.values import Const
from ir_exec.types import Array, ElementType

__all__ = ["ModelWeight", "WeightReader", "find_model_weights"]

_PLAIN = (ElementType.f32, ElementType.f16, ElementType.bf16, ElementType.f64, ElementType.f8e4m3, ElementType.f8e5m2)

_FURTHEST = 3
"""Maximum layers that only convert or move elements between a constant and its reader."""


class WeightReader(NamedTuple):
    """A layer that reads a weight.

    Attributes:
        path: The path of the layer.
        type: The type of the layer.
        is_transposed: For products, True if the weight is read as [outputs, inputs]; None for all other layers.
        module: The path of the module that the layer was exported from; None if the file does not declare it.
        use: The use of the weight.
    """

    path: str
    type: str
    is_transposed: bool | None = None
    module: str | None = None
    use: ReaderUse = "elements"


@dataclass(frozen=True, eq=False)
class ModelWeight:
    """A constant of floats, or a compressed weight with the layers that expand it.

    Attributes:
        name: The path of the constant.
        layer_ids: The ids of all layers, the constant first.
        format: The element type, or the name of the compressed format.
        size: The bytes of all constants.
        readers: The layers that read the weight.
        names: Other names of the constant.
        rows: The elements of a compressed weight; None for a plain constant.
        plain: The elements of a plain constant.
        output_axes: The axes of the outputs: two for convolutions in groups, one for all other weights.
        role: The computation with it; None if several layers read it.
        has_quantized_data: True if its model quantizes the data, too. Such quantization corrects biases.
    """

    name: str
    layer_ids: tuple[str, ...]
    shape: tuple[int, ...]
    format: str
    size: int
    readers: tuple[WeightReader, ...]
    names: tuple[str, ...] = ()
    rows: ChainRows | None = None
    plain: MappedTensor | None = None
    output_axes: int = 1
    role: WeightRole | None = None
    has_quantized_data: bool = False

    @property
    def elements(self) -> int:
        """The number of elements."""
        return prod(self.shape)

    @property
    def is_unscaled(self) -> bool:
        """Return True for integers whose scale multiplies the outputs of their reader."""
        if self.rows is None:
            return False
        chain = self.rows.chain
        return chain.element_type.is_integer and chain.scale is None and chain.limits is None and chain.table is None

    @property
    def matrix_shape(self) -> tuple[int, int]:
        """The number of outputs, and the elements of each."""
        return prod(self.shape[: self.output_axes]), max(prod(self.shape[self.output_axes :]), 1)

    @property
    def element_type(self) -> ElementType:
        """The element type of a plain constant, or of the codes."""
        if self.plain is not None:
            return self.plain.element_type
        assert self.rows is not None, "a weight is plain or compressed"
        return self.rows.chain.element_type

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The names of the constant, then the names of its readers."""
        modules = [f"{reader.module}/{reader.type}::" for reader in self.readers if reader.module]
        return tuple(dict.fromkeys((self.name, *self.names, *(reader.path for reader in self.readers), *modules)))

    def is_read_as(self, *uses: ReaderUse) -> bool:
        """Return True if a layer reads the weight in one of these ways."""
        return any(reader.use in uses for reader in self.readers)

    def read(self, start: int, stop: int) -> Array:
        """Return rows along the first axis as f32; a scalar has one row."""
        if self.plain is not None:
            return self.plain.read(start, stop)
        assert self.rows is not None, "a weight is plain or compressed"
        return self.rows.read(start, stop)

    def release(self) -> None:
        """Release the memory of numbers that were read."""
        if self.plain is not None:
            self.plain.release()
        elif self.rows is not None:
            self.rows.release()

    def gather(self, positions: Array) -> Array:
        """Return the elements at flat positions as f32."""
        if self.plain is not None:
            return self.plain.gather(positions)
        row_size = max(prod(self.shape[1:]), 1)
        rows, columns = np.divmod(positions, row_size)
        numbers = np.empty(positions.shape, np.float32)
        needed = np.unique(rows)
        if len(needed) > count_rows(self.shape) // 2:
            return np.asarray(self.read(0, count_rows(self.shape)).reshape(-1)[positions])
        for row in needed:
            mask = rows == row
            numbers[mask] = self.read(int(row), int(row) + 1).reshape(-1)[columns[mask]]
        return numbers


def find_model_weights(graph: Graph, weights: Weights) -> list[ModelWeight]:
    """The weights of a model and of its bodies, in the order of the file; scalars and integers are none."""
    model_weights: list[ModelWeight] = []
    for scope, inner in graph.scopes():
        prefix = "".join(f"{name}/" for name in scope)
        readers = _collect_readers(inner)
        chains = find_compressed_weights(inner, _is_integer_weight)
        has_quantized_data = any(map(_quantizes_data, inner.nodes))
        inside = {node for chain in chains.values() for node in chain.nodes}
        by_codes: dict[Node, tuple[Value, CompressedWeight]] = {}
        for value, chain in chains.items():
            by_codes.setdefault(chain.codes, (value, chain))
        described: dict[Value, ModelWeight] = {}
        for node in inner.nodes:
            if node in by_codes:
                value, chain = by_codes[node]
                described[value] = _describe_compressed(prefix, value, chain, weights, readers)
            elif node not in inside and isinstance(node.op, Const) and node.op.element_type in _PLAIN:
                for weight in _describe_plain(prefix, node, node.op, weights, readers):
                    described[node.outputs[0]] = weight
        roles = WeightRoles(inner, described, prefix)
        model_weights += [
            replace(weight, role=roles.describe(value), has_quantized_data=has_quantized_data)
            for value, weight in described.items()
        ]
    return model_weights


def _is_integer_weight(chain: CompressedWeight, reader: Node) -> bool:
    """Return True for codes of 32 bits with a scale, as of biases, and for codes whose scale multiplies the outputs."""
    if not chain.element_type.is_integer or not chain.line or chain.table is not None:
        return False
    if chain.scale is not None:
        return prod(chain.stored_shape) > 1
    positions = [position for position, value in enumerate(reader.inputs) if value is chain.value]
    return chain.element_type.bits <= 8 and any(axes_of_sums(reader, position) for position in positions)


def _quantizes_data(node: Node) -> bool:
    """Return True for a layer that rounds computed values to a number of levels."""
    return node.op_class.steps == "levels" and node.inputs[0] is not None and not is_constant_part(node.inputs[0])


def _collect_readers(graph: Graph) -> dict[Value, list[tuple[Node, int]]]:
    readers: dict[Value, list[tuple[Node, int]]] = {}
    for node in graph.nodes:
        for position, value in enumerate(node.inputs):
            if value is not None:
                readers.setdefault(value, []).append((node, position))
    return readers


def _describe_compressed(
    prefix: str,
    value: Value,
    chain: CompressedWeight,
    weights: Weights,
    readers: dict[Value, list[tuple[Node, int]]],
) -> ModelWeight:
    rows = ChainRows(chain, weights)
    ids = tuple([node.id for node in dict.fromkeys((chain.codes, *chain.nodes))])
    return ModelWeight(
        name=prefix + chain.codes.name,
        layer_ids=ids,
        shape=rows.shape,
        format=chain.format(weights),
        size=chain.stored_bytes,
        readers=tuple(_read_by(prefix, value, readers)),
        names=chain.codes.outputs[0].names,
        rows=rows,
        output_axes=_count_output_axes(value, readers),
    )


def _describe_plain(
    prefix: str, node: Node, constant: Const, weights: Weights, readers: dict[Value, list[tuple[Node, int]]]
) -> Iterator[ModelWeight]:
    if not constant.shape.is_static or prod(constant.shape.static) < 2:
        return
    uses = readers.get(node.outputs[0], [])
    if uses and all(position > 0 and reader.op_class.steps == "levels" for reader, position in uses):
        return  # the limits of the levels of data
    shape = constant.shape.static
    stored = MappedTensor(node.name, constant.element_type, shape, weights, constant.offset)
    yield ModelWeight(
        name=prefix + node.name,
        layer_ids=(node.id,),
        shape=shape,
        format=constant.element_type.name,
        size=packed_size(constant.element_type, prod(shape)),
        readers=tuple(_read_by(prefix, node.outputs[0], readers)),
        names=node.outputs[0].names,
        plain=stored,
        output_axes=_count_output_axes(node.outputs[0], readers),
    )


def _count_output_axes(value: Value, readers: dict[Value, list[tuple[Node, int]]]) -> int:
    """Two for the weights of convolutions in groups: the groups, and the outputs of each."""
    uses = readers.get(value, [])
    while len(uses) == 1 and uses[0][0].op_class.is_conversion:
        uses = readers.get(uses[0][0].outputs[0], [])
    return 2 if any(axes_of_sums(*use)[:2] == (2, 3) for use in uses) else 1


def _read_by(
    prefix: str,
    value: Value,
    readers: dict[Value, list[tuple[Node, int]]],
    depth: int = 0,
    *,
    is_turned: bool | None = False,
) -> Iterator[WeightReader]:
    """The layers that read a value, after layers that only convert or move its elements.

    Args:
        is_turned: True if a matrix is transposed before; None if it is unknown.
    """
    for node, position in readers.get(value, ()):
        if arranges_elements(node) and position == 0 and depth < _FURTHEST and len(node.outputs) == 1:
            turned = is_turned if node.op_class.is_conversion else None
            if node.op_class.changes_order and is_turned is not None and len(value.declared.shape.dims or ()) == 2:
                turned = not is_turned
            yield from _read_by(prefix, node.outputs[0], readers, depth + 1, is_turned=turned)
            continue
        transposed = None
        use = find_use(node, position)
        if use == "matrix" and is_turned is not None:
            # A weight [outputs, inputs] is summed along its last axis.
            transposed = (axes_of_sums(node, position)[0] == (value.declared.shape.rank or 0) - 1) != is_turned
        module = None if node.source is None else node.source.module
        yield WeightReader(prefix + node.name, node.type, transposed, module, use)
