"""Element types, dims, shapes and tensor types, the values of inference."""

from ir_exec.types.conversion import convert, saturate
from ir_exec.types.dim import UNBOUNDED, Dim, OpenShapeError
from ir_exec.types.element_type import (
    ALL,
    BOOLEAN,
    FLOAT,
    INDEX,
    INTEGER,
    NUMERIC,
    SIGNED,
    STRING,
    Array,
    ElementType,
    element_types,
)
from ir_exec.types.shape import MOST_AXES, Bounds, Shape, TensorType, require_array_size

__all__ = [
    "ALL",
    "BOOLEAN",
    "FLOAT",
    "INDEX",
    "INTEGER",
    "MOST_AXES",
    "NUMERIC",
    "SIGNED",
    "STRING",
    "UNBOUNDED",
    "Array",
    "Bounds",
    "Dim",
    "ElementType",
    "OpenShapeError",
    "Shape",
    "TensorType",
    "convert",
    "element_types",
    "require_array_size",
    "saturate",
]
