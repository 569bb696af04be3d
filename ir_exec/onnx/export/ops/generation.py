"""Lowerings of the folder generation.

Random numbers are ONNX's: they have the same distribution, but different values.
"""

from __future__ import annotations

from ir_exec.onnx.export.carriers import is_carried
from ir_exec.onnx.export.node import ExportNode
from ir_exec.onnx.export.ops.common import narrow, working
from ir_exec.onnx.export.ops.type import converted
from ir_exec.onnx.export.registry import Outputs, export
from ir_exec.ops.generation.eye import Eye
from ir_exec.ops.generation.multinomial import Multinomial
from ir_exec.ops.generation.random_uniform import RandomUniform
from ir_exec.ops.generation.range import Range, Range1
from ir_exec.types import ElementType


@export(Eye)
def eye(node: ExportNode) -> Outputs:
    kind = node.op.output_type
    if is_carried(kind, node.opset) and kind.is_float:
        node.refuse(f"opset {node.opset} of ONNX has no element type {kind}")
    rows, columns, diagonal = (node.reshape(node.i64(place), []) for place in range(3))
    zero, one = node.constant(0, ElementType.i64), node.constant(1, ElementType.i64)
    down = node.unsqueeze(node.emit("Range", zero, rows, one), [1])
    across = node.emit("Range", zero, columns, one)
    is_one = node.emit("Equal", node.emit("Add", down, diagonal), across)
    if node.has(3):
        shape = node.concat([node.i64(3), node.reshape(rows, [1]), node.reshape(columns, [1])])
        is_one = node.emit("Expand", is_one, shape)
    return converted(node, is_one, ElementType.boolean, kind) if kind is not ElementType.boolean else is_one


@export(Range1, Range)
def range_(node: ExportNode) -> Outputs:
    kind = node.out_kind
    if kind.is_integer:
        start, stop, step = (_whole(node, place) for place in range(3))
        return narrow(node, node.emit("Range", start, stop, step), kind)
    start, stop, step = (node.cast(working(node, place), ElementType.f64) for place in range(3))
    length = node.emit("Ceil", node.emit("Div", node.emit("Sub", stop, start), step))
    count = node.cast(node.emit("Max", length, node.constant(0.0)), ElementType.i64)
    zero, one = node.constant(0, ElementType.i64), node.constant(1, ElementType.i64)
    places = node.cast(node.emit("Range", zero, count, one), ElementType.f64)
    found = node.emit("Add", node.emit("Mul", places, step), start)
    return node.cast(found if kind is ElementType.f64 else node.cast(found, ElementType.f32), kind)


def _whole(node: ExportNode, place: int) -> str:
    """A scalar as i64, without its fraction."""
    return node.cast(working(node, place), ElementType.i64)


@export(RandomUniform)
def random_uniform(node: ExportNode) -> Outputs:
    kind = node.op.output_type
    wide = ElementType.f64 if kind in (ElementType.f64, ElementType.i32, ElementType.i64) else ElementType.f32
    shape = node.known_ints(0)
    seed = float(node.op.global_seed or node.op.op_seed) or None
    code = node.writer.code(wide)
    if shape is not None:
        share = node.emit("RandomUniform", dtype=code, shape=shape, seed=seed, kinds=wide)
    else:
        like = node.emit("ConstantOfShape", node.i64(0), kinds=ElementType.f32)
        share = node.emit("RandomUniformLike", like, dtype=code, seed=seed, kinds=wide)
    low, high = (node.reshape(node.cast(node.inputs[place], wide), []) for place in (1, 2))
    found = node.emit("Add", node.emit("Mul", share, node.emit("Sub", high, low)), low)
    if kind.is_integer:
        found = node.emit("Floor", found)
    return node.cast(found, kind)


@export(Multinomial)
def multinomial(node: ExportNode) -> Outputs:
    """The classes with the greatest perturbed logarithms (Gumbel), or ONNX's own operator with replacement."""
    op = node.op
    probabilities = node.cast(working(node, 0), ElementType.f32)
    logarithms = probabilities if op.log_probs else node.emit("Log", probabilities)
    seed = float(op.global_seed or op.op_seed) or None
    count = node.known_ints(1)
    if op.with_replacement:
        if count is None:
            node.refuse("the number of samples is known only at run time")
        code = node.writer.code(op.convert_type)
        return node.emit("Multinomial", logarithms, dtype=code, sample_size=count[0], seed=seed, kinds=op.convert_type)
    numbers = node.emit("RandomUniformLike", logarithms, low=1e-30, high=1.0, seed=seed, kinds=ElementType.f32)
    noise = node.emit("Neg", node.emit("Log", node.emit("Neg", node.emit("Log", numbers))))
    taken = node.emit("TopK", node.emit("Add", logarithms, noise), node.reshape(node.i64(1), [1]), outputs=2, axis=-1)
    return node.cast(taken[1], op.convert_type)
