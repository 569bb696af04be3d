"""Nodes that hold constants, in place of nodes that read them.

The modules of the nodes are imported for models that have such constants.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ir_exec.plan.passes.prepack import PackedMatrices, may_be_panelled, may_have_sums

if TYPE_CHECKING:
    from ir_exec.plan.constants import ModelConstants
    from ir_exec.plan.graph import PlanGraph

__all__ = [
    "find_compressed_weights",
    "prepack_weights",
    "transform_filters",
    "use_compressed_weights",
    "use_packed_weights",
]


def prepack_weights(constants: ModelConstants) -> ModelConstants:
    """Multiply by matrices that only MatMul reads in panels.

    The number of rows is taken from the declared shapes: results do not depend on the sizes of the first run.
    """
    setting, arrays = constants.setting, constants.arrays
    if not any(map(may_be_panelled, arrays)):
        return constants
    types = constants.declared_types()
    return constants.hold(PackedMatrices(setting.graph, arrays, types, setting.operator, constants.weight_memory))


def transform_filters(constants: ModelConstants) -> ModelConstants:
    """Multiply by transformed filters, for declared shapes, as for matrices, and merge several convolutions."""
    setting = constants.setting
    if not may_have_sums(setting.graph):
        return constants
    from ir_exec.plan.passes.conv_weights import PackedFilters  # not needed without convolutions

    types = constants.declared_types()
    return constants.hold(
        PackedFilters(setting.graph, constants.arrays, types, setting.operator, constants.weight_memory)
    )


def find_compressed_weights(constants: ModelConstants) -> ModelConstants:
    """Find the products with compressed weights, and the Gathers from them, if weights are not expanded."""
    setting = constants.setting
    if setting.expand or setting.weights is None:
        return constants
    from ir_exec.plan.passes.compressed_weights import CompressedWeights  # few models run on compressed weights

    compressed = CompressedWeights(setting.graph, setting.weights, constants.types, constants.folded, setting.operator)
    return replace(constants, compressed=compressed)


def use_packed_weights(graph: PlanGraph, constants: ModelConstants) -> PlanGraph:
    """Replace nodes that read a packed weight by nodes that hold it."""
    results = [node.values_in[0] for node in constants.setting.graph.results]
    for packed in constants.packed:
        if packed.values:
            graph.set_nodes(packed.replace_nodes(graph.nodes, results))
    return graph


def use_compressed_weights(graph: PlanGraph, constants: ModelConstants) -> PlanGraph:
    """Multiply by compressed weights, and gather from them, chunk by chunk."""
    if constants.compressed is not None:
        results = [node.values_in[0] for node in constants.setting.graph.results]
        graph.set_nodes(constants.compressed.replace_nodes(graph.nodes, results))
        graph.skipped += constants.compressed.skipped
    return graph
