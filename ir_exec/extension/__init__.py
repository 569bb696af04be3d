"""Custom operators: everything that their classes need.

    from ir_exec.extension import FLOAT, Array, In, Op, TensorType, register_op

    @register_op("Scale", version="extension")
    class Scale(Op):
        inputs = (In("data", types=FLOAT),)

        factor: float = 1.0

        def infer(self, data: TensorType) -> TensorType:
            return data.without_values()

        def evaluate(self, data: Array) -> Array:
            return (data * self.factor).astype(data.dtype)

A layer `<layer type="Scale" version="extension"><data factor="2"/>...` is then checked and run like any other. `Op`
documents the declarations of a class; docs/extensions.md explains them at length. `onnx_op` registers a function that
converts an operator of ONNX files, of a custom domain, to layers.

Fields are the attributes of `<data>`: `int`, `float`, `bool`, `str`, Literals of strings, or the attribute types below.
`infer` raises ShapeError or ElementTypeError, `evaluate` raises EvaluationError. The functions `known_*`, `merge_*`,
`normalize_*` and `require_*` are the building blocks of ir_exec's own shape rules.
"""

# `name as name` makes a name public for type checkers, without a second list of names.
from ir_exec.errors import (
    ElementTypeError as ElementTypeError,
    EvaluationError as EvaluationError,
    ShapeError as ShapeError,
)
from ir_exec.extension.onnx_operators import (
    onnx_lowering as onnx_lowering,
    onnx_op as onnx_op,
    unregister_onnx_lowering as unregister_onnx_lowering,
    unregister_onnx_op as unregister_onnx_op,
)
from ir_exec.extension.registration import (
    register_op as register_op,
    unregister_op as unregister_op,
)
from ir_exec.ops.base.attributes import (
    LOWER as LOWER,
    Bool as Bool,
    ElementTypeName as ElementTypeName,
    Float as Float,
    Floats as Floats,
    Int as Int,
    Ints as Ints,
    Named as Named,
    NonNegative as NonNegative,
    NonNegatives as NonNegatives,
    Positive as Positive,
    Positives as Positives,
    ShapeText as ShapeText,
)
from ir_exec.ops.base import (
    In as In,
    Op as Op,
)
from ir_exec.ops.base.facts import (
    Accuracy as Accuracy,
)
from ir_exec.ops.base.inputs import (
    Angles as Angles,
    Ascending as Ascending,
    AttentionMask as AttentionMask,
    AxisIndices as AxisIndices,
    AxisOrder as AxisOrder,
    BagOffsets as BagOffsets,
    BoxCorners as BoxCorners,
    Divisor as Divisor,
    ImagePixels as ImagePixels,
    IndexTuples as IndexTuples,
    Lengths as Lengths,
    PowerBase as PowerBase,
    SegmentIds as SegmentIds,
    TargetShape as TargetShape,
    Usual as Usual,
    ValueRange as ValueRange,
)
from ir_exec.ops.base.shapes import (
    broadcast_shapes as broadcast_shapes,
    known_axes as known_axes,
    known_int as known_int,
    known_ints as known_ints,
    known_shape as known_shape,
    merge_dims as merge_dims,
    merge_shapes as merge_shapes,
    normalize_axes as normalize_axes,
    normalize_axis as normalize_axis,
    require_one_element as require_one_element,
    require_rank as require_rank,
)
from ir_exec.types import (
    ALL as ALL,
    BOOLEAN as BOOLEAN,
    FLOAT as FLOAT,
    INDEX as INDEX,
    INTEGER as INTEGER,
    NUMERIC as NUMERIC,
    SIGNED as SIGNED,
    STRING as STRING,
    Array as Array,
    Dim as Dim,
    ElementType as ElementType,
    Shape as Shape,
    TensorType as TensorType,
    convert as convert,
    element_types as element_types,
)
