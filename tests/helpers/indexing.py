"""What the tests of index operators share: operators, types, and random data with indices."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from ir_exec.errors import IRError, raise_error
from ir_exec.ops import Op, resolve
from ir_exec.types import INTEGER, Array, ElementType, Shape, TensorType

SIZES = st.integers(0, 4)
INDEX_TYPES = st.sampled_from(sorted(INTEGER, key=lambda kind: kind.name))


def make(type_name: str, opset: int, **attributes: object) -> Op:
    texts = {name: str(value) for name, value in attributes.items()}
    operator = resolve(type_name, f"opset{opset}").parse(texts, raise_error)
    assert operator is not None
    return operator


def typed(element_type: str, shape: str) -> TensorType:
    return TensorType(ElementType[element_type], Shape.parse(shape))


def known(*values: object, dtype: str = "i64") -> TensorType:
    return TensorType.of(np.array(values[0] if len(values) == 1 else values, ElementType[dtype].dtype))


def run(operator: Op, *inputs: Array) -> Array:
    """Infer, evaluate, and hold the result against the inferred type."""
    inputs = tuple(np.asarray(array) for array in inputs)
    types = [TensorType.of(array) for array in inputs]
    assert operator.check_inputs(types, raise_error)
    inferred = operator.infer(*types)
    for array in inputs:
        array.flags.writeable = False
    output: Array = operator.evaluate(*inputs)
    assert isinstance(output, np.ndarray)
    assert TensorType.of(output) == inferred
    return output


def draw_shape(draw: st.DrawFn, least: int = 1, most: int = 4) -> tuple[int, ...]:
    return tuple(draw(st.lists(SIZES, min_size=least, max_size=most)))


def draw_data(draw: st.DrawFn, shape: tuple[int, ...]) -> Array:
    """Every element another number, in rows, in columns, or backwards in memory."""
    data = np.arange(np.prod(shape, dtype=int), dtype=np.int32).reshape(shape)
    order = draw(st.sampled_from(["C", "F", "strided", "backwards"] if shape else ["C"]))
    if order == "strided":
        return np.repeat(data, 2, axis=-1)[..., ::2]
    if order == "backwards":
        return np.flip(np.flip(data).copy())
    return np.asarray(data, order=order)


def draw_indices(draw: st.DrawFn, shape: tuple[int, ...], low: int, high: int, kind: ElementType) -> Array:
    """Indices from low to high - 1, as far as the element type goes; of shape [0] where there are none."""
    low = max(low, -(2 ** (kind.bits - 1)) if kind.is_signed else 0)
    high = min(high, 2 ** (kind.bits - kind.is_signed))
    size = int(np.prod(shape, dtype=int))
    values = draw(st.lists(st.integers(low, high - 1), min_size=size, max_size=size)) if size else []
    if kind.dtype.names:
        return np.array(values, np.uint8).reshape(shape).view(kind.dtype)
    return np.array(values, np.int64).reshape(shape).astype(kind.dtype)


def plain(indices: Array) -> Array:
    """The same numbers as i64."""
    return indices.view(np.uint8).astype(np.int64) if indices.dtype.names else indices.astype(np.int64)


def told(errors: list[IRError]) -> list[tuple[str, str, str | None]]:
    return [(error.code, error.severity, error.location.port) for error in errors]
