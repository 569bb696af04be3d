"""Lowerings of the folder generation.

Random numbers are ONNX's: they have the same distribution, but different values.
"""

from __future__ import annotations

from ir_exec.onnx.export.carriers import is_carried
from ir_exec.onnx.export.node import ExportNode
from ir_exec.onnx.export.ops.common import narrow, working
from ir_exec.onnx.export.ops.type import convert_elements
from ir_exec.onnx.export.registry import Outputs, export
from ir_exec.ops.generation.eye import Eye
from ir_exec.ops.generation.multinomial import Multinomial
from ir_exec.ops.generation.random_uniform import RandomUniform
from ir_exec.ops.generation.range import Range, Range1
from ir_exec.types import ElementType


@export(Eye)
def eye(node: ExportNode) -> Outputs:
    element_type = node.op.output_type
    if is_carried(element_type, node.opset) and element_type.is_float:
        node.refuse(f"opset {node.opset} of ONNX has no element type {element_type}")
    rows, columns, diagonal = (node.reshape(node.i64(position), []) for position in range(3))
    zero, unit = node.constant(0, ElementType.i64), node.constant(1, ElementType.i64)
    down = node.unsqueeze(node.emit("Range", zero, rows, unit), [1])
    across = node.emit("Range", zero, columns, unit)
    is_one = node.emit("Equal", node.emit("Add", down, diagonal), across)
    if node.has(3):
        shape = node.concat([node.i64(3), node.reshape(rows, [1]), node.reshape(columns, [1])])
        is_one = node.emit("Expand", is_one, shape)
    return (
        convert_elements(node, is_one, ElementType.boolean, element_type)
        if element_type is not ElementType.boolean
        else is_one
    )


@export(Range1, Range)
def range_(node: ExportNode) -> Outputs:
    element_type = node.out_kind
    if element_type.is_integer:
        start, stop, step = (_integer_scalar(node, position) for position in range(3))
        return narrow(node, node.emit("Range", start, stop, step), element_type)
    start, stop, step = (node.cast(working(node, position), ElementType.f64) for position in range(3))
    length = node.emit("Ceil", node.emit("Div", node.emit("Sub", stop, start), step))
    count = node.cast(node.emit("Max", length, node.constant(0.0)), ElementType.i64)
    zero, unit = node.constant(0, ElementType.i64), node.constant(1, ElementType.i64)
    places = node.cast(node.emit("Range", zero, count, unit), ElementType.f64)
    values = node.emit("Add", node.emit("Mul", places, step), start)
    return node.cast(values if element_type is ElementType.f64 else node.cast(values, ElementType.f32), element_type)


def _integer_scalar(node: ExportNode, position: int) -> str:
    """A scalar as i64, without its fraction."""
    return node.cast(working(node, position), ElementType.i64)


@export(RandomUniform)
def random_uniform(node: ExportNode) -> Outputs:
    element_type = node.op.output_type
    wide = ElementType.f64 if element_type in (ElementType.f64, ElementType.i32, ElementType.i64) else ElementType.f32
    shape = node.known_ints(0)
    seed = float(node.op.global_seed or node.op.op_seed) or None
    code = node.writer.code(wide)
    if shape is not None:
        share = node.emit("RandomUniform", dtype=code, shape=shape, seed=seed, kinds=wide)
    else:
        like = node.emit("ConstantOfShape", node.i64(0), kinds=ElementType.f32)
        share = node.emit("RandomUniformLike", like, dtype=code, seed=seed, kinds=wide)
    low, high = (node.reshape(node.cast(node.inputs[position], wide), []) for position in (1, 2))
    samples = node.emit("Add", node.emit("Mul", share, node.emit("Sub", high, low)), low)
    if element_type.is_integer:
        samples = node.emit("Floor", samples)
    return node.cast(samples, element_type)


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
    best = node.emit("TopK", node.emit("Add", logarithms, noise), node.reshape(node.i64(1), [1]), outputs=2, axis=-1)
    return node.cast(best[1], op.convert_type)
