"""The work of a model: the multiply-adds of its layers, without a run."""

from __future__ import annotations

from dataclasses import dataclass

from ir_exec.errors import IRError
from ir_exec.graph import Graph, Node, Value
from ir_exec.infer.infer import Types, infer_types, inferred_or_declared
from ir_exec.ops import Op
from ir_exec.ops.base.bodies import WeightsReader
from ir_exec.ops.base.shapes import known_int, normalize_axis
from ir_exec.types import Shape, TensorType

__all__ = ["Work", "count_work", "smallest"]


@dataclass(frozen=True, slots=True)
class Work:
    """The amount of arithmetic of a layer or a model.

    Attributes:
        multiply_adds: The multiply-adds of one run. In layers with several bodies only the largest one counts.
        is_exact: All sizes are known. Otherwise a dynamic dim counts with its least size, at least 1, and a loop with
            an unknown number of iterations counts once.
    """

    multiply_adds: int = 0
    is_exact: bool = True

    def __add__(self, other: Work) -> Work:
        return Work(self.multiply_adds + other.multiply_adds, self.is_exact and other.is_exact)

    def times(self, count: int | None) -> Work:
        """The work of this many iterations; None if their number is not known."""
        return Work(self.multiply_adds * (1 if count is None else count), self.is_exact and count is not None)


def count_work(graph: Graph, types: Types, weights: WeightsReader | None) -> Work:
    """The work of a graph whose values have these types."""
    work = Work()
    if any(not types[node.outputs[0].number].shape.is_static for node in graph.parameters):
        work, types = Work(is_exact=False), _with_least_inputs(graph, types, weights)
    for node in graph.nodes:
        work += _work_of(node, types)
        if node.bodies:
            work += _inside(node, types, weights)
    return work


def smallest(shape: Shape) -> tuple[int, ...] | None:
    """The sizes of a shape with the least size, at least 1, of dynamic dims; None if the rank is unknown."""
    return None if shape.dims is None else tuple([dim.lo if dim.is_static else max(dim.lo, 1) for dim in shape.dims])


def _with_least_inputs(graph: Graph, types: Types, weights: WeightsReader | None) -> Types:
    """The types for inputs of the least sizes; the given ones if the model does not accept those."""
    least_types: dict[Value, TensorType] = {}
    for node in graph.parameters:
        type = types[node.outputs[0].number]
        least_types[node.outputs[0]] = TensorType(type.element_type, Shape(smallest(type.shape)))
    try:
        return infer_types(graph, weights=weights, overrides=least_types)
    except IRError:
        return types


def _work_of(node: Node, types: Types) -> Work:
    if node.op is None or not node.is_whole:
        return Work()
    shapes = [types[value.number].shape for value in (*node.values_in, *node.outputs)]
    sizes = [size for shape in shapes if (size := smallest(shape)) is not None]
    if len(sizes) < len(shapes):
        return Work(is_exact=type(node.op).multiply_adds is Op.multiply_adds)
    count = len(node.values_in)
    done = node.op.multiply_adds(sizes[:count], sizes[count:])
    return Work(done, not done or all(shape.is_static for shape in shapes))


def _inside(node: Node, types: Types, weights: WeightsReader | None) -> Work:
    bodies = []
    for body in node.bodies:
        input_types: dict[Value, TensorType] = {}
        for tie in body.ties.inputs if body.ties else ():
            # A slice of an input has another shape, which the body declares.
            if tie.position is not None and tie.part is None and not _is_carried(node, tie.parameter):
                value = body.graph.parameters[tie.parameter].outputs[0]
                outer = node.inputs[tie.position]
                if outer is not None:
                    input_types[value] = types[outer.number]
        inside = infer_types(body.graph, weights=weights, overrides=input_types, settle=inferred_or_declared)
        work = Work()
        for inner in body.graph.nodes:
            work += _work_of(inner, inside)
            if inner.bodies:
                work += _inside(inner, inside, weights)
        bodies.append(work)
    most = max(bodies, key=lambda work: work.multiply_adds)
    return most if len(bodies) > 1 else most.times(_iterations(node, types)) if most.multiply_adds else most


def _is_carried(node: Node, parameter: int) -> bool:
    """Return True if a Parameter of a loop changes in each iteration, possibly with its shape."""
    ties = node.bodies[0].ties
    return ties is not None and any(edge.parameter == parameter for edge in ties.back_edges)


def _iterations(node: Node, types: Types) -> int | None:
    """The maximum number of iterations of a loop; None if it is not known."""
    (body,) = node.bodies
    counts = []
    for tie in body.ties.inputs if body.ties else ():
        outer = None if tie.position is None else node.inputs[tie.position]
        if tie.part is not None and outer is not None and types[outer.number].shape.dims is not None:
            shape = types[outer.number].shape
            iterations = tie.part.iterations(shape[normalize_axis(tie.part.axis, len(shape))])
            counts += [iterations.lo] if iterations.is_static else []
    if node.op is not None and node.op.has_condition and node.inputs[0] is not None:
        trips = known_int(types[node.inputs[0].number])
        counts += [trips] if trips is not None and trips >= 0 else []
    return min(counts, default=None)
