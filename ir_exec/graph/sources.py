"""The lines of Python of all layers of a model, also of layers for which the file does not contain one.

Optimizers add layers without a source: constants, folded weights, conversions. Such a layer gets the source that its
readers share, or else its inputs: the innermost call and module that contain all of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ir_exec.graph.graph import Graph, Node
from ir_exec.ir import Document
from ir_exec.ir.sources import CodeLocation, common_source

__all__ = ["find_sources"]

_TENSORFLOW = frozenset({"tf", "tensorflow", "keras"})


def find_sources(graph: Graph, document: Document | None = None) -> dict[Node, CodeLocation]:
    """Return the source of each node, also of nodes in bodies; nodes without any source are missing.

    Args:
        document: Its conversion parameters name the framework: layers of TensorFlow are named after scopes.
    """
    framework = None if document is None else document.rt_info.value("conversion_parameters", "framework")
    sources: dict[Node, CodeLocation] = {}
    _add_sources(graph, None, sources, is_tensorflow=framework in _TENSORFLOW)
    return sources


def _add_sources(
    graph: Graph, enclosing: CodeLocation | None, sources: dict[Node, CodeLocation], *, is_tensorflow: bool
) -> None:
    ends = {*graph.parameters, *graph.results}
    nodes = [node for node in (*graph.nodes, *graph.unreachable) if node not in ends and not node.op_class.is_parameter]
    declared = {
        node: source for node in nodes if (source := node.source or _source_in_scope(node, is_tensorflow)) is not None
    }
    if enclosing is not None and enclosing.module is not None:
        # torch.onnx starts the scopes of a body anew.
        declared |= {
            node: replace(source, module=enclosing.module, module_class=enclosing.module_class)
            for node, source in declared.items()
            if source.module is None
        }
    if declared or enclosing is not None:
        inferred = declared | _sources_of_readers(nodes, declared)
        inferred |= _sources_of_inputs(nodes, inferred)
        sources |= inferred
        if enclosing is not None:
            sources |= {node: enclosing for node in nodes if node not in inferred}
    for node in nodes:
        for body in node.bodies:
            _add_sources(body.graph, sources.get(node), sources, is_tensorflow=is_tensorflow)


def _source_in_scope(node: Node, is_tensorflow: bool) -> CodeLocation | None:
    """Return the module in a name of TensorFlow, `model/dense_1/MatMul`."""
    scope, slash, _ = node.name.rpartition("/")
    return CodeLocation(module=scope.replace("/", ".")) if is_tensorflow and slash else None


def _sources_of_readers(nodes: Sequence[Node], declared: Mapping[Node, CodeLocation]) -> dict[Node, CodeLocation]:
    inferred: dict[Node, CodeLocation] = {}
    readers: dict[Node, list[CodeLocation]] = {}
    for node in reversed(nodes):
        source = declared.get(node)
        if source is None and (source := common_source(readers.get(node, ()))) is not None:
            inferred[node] = source
        if source is not None:
            for value in node.values_in:
                readers.setdefault(value.node, []).append(source)
    return inferred


def _sources_of_inputs(nodes: Sequence[Node], sources: Mapping[Node, CodeLocation]) -> dict[Node, CodeLocation]:
    inferred: dict[Node, CodeLocation] = {}
    for node in nodes:
        if node in sources:
            continue
        inputs = [sources.get(value.node) or inferred.get(value.node) for value in node.values_in]
        source = common_source([source for source in inputs if source is not None])
        if source is not None:
            inferred[node] = source
    return inferred
