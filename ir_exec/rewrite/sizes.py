"""Arithmetic on shapes: constant shapes of Reshapes if the dims allow it, and joint Gathers of sizes of one shape."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ir_exec.build.draft import LayerPort
from ir_exec.graph import Node, Value
from ir_exec.ir import Port
from ir_exec.ops.base.registry import type_key
from ir_exec.ops.infrastructure.values import Result
from ir_exec.rewrite.dims import Size, Sizes, Symbol
from ir_exec.rewrite.network import EditedNetwork

__all__ = ["Sizes", "simplify_sizes"]

_MOVES = frozenset({"reshape", "squeeze", "unsqueeze"})


def simplify_sizes(network: EditedNetwork, sizes: Sizes) -> None:
    """Make shapes of Reshapes constant, join chains of reshapes, and gather sizes of one shape together."""
    for node in network.graph.nodes:
        if node in network.removed or not node.is_whole:
            continue
        if type_key(node.type) in _MOVES:
            _join(network, sizes, node)
            if type_key(node.type) == "reshape":
                _make_constant(network, sizes, node)
    gathering = _Gathering(network, sizes)
    for node in network.graph.nodes:
        if node not in network.removed and node.is_whole:
            gathering.visit(node)


def _make_constant(network: EditedNetwork, sizes: Sizes, node: Node) -> None:
    """Give a Reshape a constant shape: dims of its input are copied, and one other size is inferred (-1)."""
    shape = network.current(node.values_in[1])
    if network.constant_value(shape) is not None:
        return
    pattern = _pattern(sizes, network.current(node.values_in[0]), sizes.elements(shape), node)
    if pattern is not None:
        array = np.array(pattern, network.type(shape).element_type.dtype)
        port = network.constant(array, f"{node.name}/shape", node)
        network.read_constant(node, 1, port)
        network.set_attributes(node, special_zero="true" if 0 in pattern else "false")


def _pattern(sizes: Sizes, data: Value, target: Sequence[Size] | None, node: Node) -> list[int] | None:
    dims = sizes.dims(data)
    if target is None or dims is None:
        return None
    copies = bool(vars(node.op)["special_zero"])
    pattern: list[int] = []
    for at, size in enumerate(target):
        if isinstance(size, Symbol):
            if not size.is_dim:
                return None
            pattern.append(0 if at < len(dims) and dims[at] == size else -1)
        elif size == 0 and not copies:
            return None
        else:
            pattern.append(size)
    opened = pattern.count(-1) - list(target).count(-1)
    # An inferred size is undefined next to a copied size of 0.
    return pattern if opened == 0 or (opened == 1 and pattern.count(-1) == 1 and 0 not in pattern) else None


def _join(network: EditedNetwork, sizes: Sizes, node: Node) -> None:
    """Connect a reshape of a reshape to the input of the first, if the value between has no name or other reader."""
    between = network.current(node.values_in[0])
    above = between.node
    if type_key(above.type) not in _MOVES or above in network.removed or network.names(between):
        return
    if len(node.inputs) < 2:
        return
    dims, readers = sizes.dims(node.outputs[0]), network.readers(between)
    if len(readers) != 1 or dims is None or not network.type(above.values_in[0]).element_type.is_known:
        return
    pattern = [size if isinstance(size, int) else -1 for size in dims]
    if pattern.count(-1) > 1 or 0 in pattern or not pattern:
        return
    name = f"{node.name}/shape"
    port = network.constant(np.array(pattern, np.int64), name, node)
    network.become_reshape(node, network.current(above.values_in[0]), port)


class _Gathering:
    """Replaces layers that extract sizes from shapes by Gathers of the first shape with these sizes."""

    def __init__(self, network: EditedNetwork, sizes: Sizes) -> None:
        self._network = network
        self._sizes = sizes
        self._shapes: dict[tuple[Symbol, str], tuple[Value, int]] = {}
        self._made: dict[tuple[Value, tuple[int, ...], int], LayerPort] = {}

    def visit(self, node: Node) -> None:
        operator_type, output = type_key(node.type), node.outputs[0] if node.outputs else None
        if output is None:
            return
        elements = self._sizes.elements(output)
        if operator_type == "shapeof":
            for at, size in enumerate(elements or ()):
                if isinstance(size, Symbol) and size.is_dim:
                    key = size, str(self._network.type(output).element_type)
                    self._shapes.setdefault(key, (output, at))
            return
        if operator_type not in ("concat", "gather", "slice", "squeeze", "unsqueeze") or not elements:
            return
        if operator_type != "concat":
            self._replace(node, output, elements)
        elif self._network.type(output).rank == 1:
            self._regroup(node, elements)

    def _source(self, elements: Sequence[Size], element_type: str) -> tuple[Value, tuple[int, ...]] | None:
        """Return the shape that contains these sizes, and their positions in it."""
        sources = [
            self._shapes.get((size, element_type)) if isinstance(size, Symbol) and size.is_dim else None
            for size in elements
        ]
        places = [source for source in sources if source is not None]
        if not places or len(places) != len(sources) or len({value for value, _ in places}) != 1:
            return None
        return places[0][0], tuple([index for _, index in places])

    def _replace(self, node: Node, output: Value, elements: Sequence[Size]) -> None:
        network = self._network
        source = self._source(elements, str(network.type(output).element_type))
        rank = network.type(output).rank
        if source is None or rank is None or any(isinstance(user.op, Result) for user, _ in network.readers(output)):
            return
        shape, places = source
        key = shape, places, rank
        if type_key(node.type) == "gather" and network.current(node.values_in[0]) is shape:
            self._made.setdefault(key, network.port_of(output))
            return
        reads_gather = type_key(node.type) in ("squeeze", "unsqueeze") and network.readers(node.values_in[0])
        if reads_gather and len(network.readers(node.values_in[0])) > 1 and key not in self._made:
            # The Gather is kept for other readers, and another one in place of this layer saves nothing.
            readers = [user for user, _ in network.readers(node.values_in[0])]
            if any(type_key(reader.type) not in ("squeeze", "unsqueeze") for reader in readers):
                return
        network.replace_by_new(output, self._gather(key, node))

    def _gather(self, key: tuple[Value, tuple[int, ...], int], node: Node) -> LayerPort:
        """Return a Gather of a shape."""
        if key not in self._made:
            network, (shape, places, rank) = self._network, key
            dims: tuple[int, ...] = () if rank == 0 else (len(places),)
            which = network.constant(np.array(places, np.int64).reshape(dims), f"{node.name}/indices", node)
            axis = network.constant(np.array(0, np.int64), f"{node.name}/axis", node)
            port = Port(id="0", precision=network.type(shape).element_type.precision, dims=dims)
            sources = [network.port_of(shape), which, axis]
            name = f"{node.name}/Gather"
            self._made[key] = network.add("Gather", "opset8", {"batch_dims": "0"}, sources, port, name, node)
        return self._made[key]

    def _regroup(self, node: Node, elements: Sequence[Size]) -> None:
        """Join neighboring inputs of a Concat that are sizes of one shape, or numbers."""
        network = self._network
        element_type = network.type(node.outputs[0]).element_type
        parts: list[tuple[list[Size], list[int]]] = []
        for position, value in enumerate(node.values_in):
            group = list(self._sizes.elements(value) or ())
            if parts and self._go_together(parts[-1][0], group, str(element_type)):
                parts[-1][0].extend(group)
                parts[-1][1].append(position)
            else:
                parts.append((group, [position]))
        if len(parts) == len(node.values_in):
            return
        sources = []
        for group, positions in parts:
            source = self._source(group, str(element_type))
            if len(positions) == 1:
                sources.append(network.port_of(node.values_in[positions[0]]))
            elif source is not None:
                sources.append(self._gather((source[0], source[1], 1), node))
            else:
                sources.append(network.constant(np.array(group, element_type.dtype), f"{node.name}/sizes", node))
        network.set_inputs(node, sources)

    def _go_together(self, group: Sequence[Size], more: Sequence[Size], element_type: str) -> bool:
        if not group or not more:
            return False
        if all(isinstance(size, int) for size in (*group, *more)):
            return True
        return self._source([*group, *more], element_type) is not None
