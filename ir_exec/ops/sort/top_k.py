"""TopK: the k greatest or least elements along an axis; and the boxes of the highest probability."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np

from ir_exec.errors import EvaluationError, IRError, ShapeError
from ir_exec.kernels.boxes import best_first
from ir_exec.kernels.gather import take_along_axis
from ir_exec.kernels.indices import as_integers
from ir_exec.kernels.precision import CALCULABLE_FLOAT
from ir_exec.kernels.sorting import best_of_slices, comparable, least_indices
from ir_exec.ops.base import In, Op, op
from ir_exec.ops.base.attributes import LOWER, AttributeValueError, Bool, IndexTypeName, Int, NonNegative
from ir_exec.ops.base.dims import FOUR_COORDINATES, element_type_of, index_bounds, merged_dims
from ir_exec.ops.base.graph_facts import OlderVersion
from ir_exec.ops.base.inputs import ValueRange
from ir_exec.ops.base.shapes import normalize_axis, require_least_rank, require_rank
from ir_exec.types import (
    BOOLEAN,
    INTEGER,
    NUMERIC,
    Array,
    Dim,
    ElementType,
    Shape,
    TensorType,
    convert,
    element_types,
)

__all__ = ["ExperimentalDetectronTopKROIs", "TopK", "TopK1", "TopK3"]


class _TopK(Op):
    """The base of all versions of TopK.

    Equal elements are ordered by index. The specification does not define the order for `sort` none, which is by value
    here, or the order of NaN, which follows all numbers in both modes.

    Inputs:
        data: Rank 1 or more.
        k: A scalar, from 0 to the size of `axis`.

    Attributes:
        axis: The axis along which k elements are selected; counts from the end if it is negative.
        mode: `max` for the greatest elements, `min` for the least.
        sort: The order of the selected elements: by `value`, by `index` as in data, or `none`.
        index_element_type: The type of indices, i32 (the default) or i64.

    Outputs:
        values: The element type of data, size k on `axis`.
        indices: `index_element_type`, the indices of the values on that axis of data, in the shape of values.
    """

    steps = "order"

    inputs = (
        In("data", types=NUMERIC | BOOLEAN),
        In("k", types=INTEGER, domain=ValueRange(1, 1, "the number of elements")),
    )
    moved_inputs = ("data",)
    arranging_inputs = ("k",)
    outputs = ("values", "indices")

    axis: Int
    mode: Annotated[Literal["max", "min"], LOWER]
    sort: Annotated[Literal["value", "index", "none"], LOWER]
    index_element_type: IndexTypeName = ElementType.i32

    def infer(self, data: TensorType, k: TensorType) -> tuple[TensorType, TensorType]:
        require_rank(k, 0, "k")
        require_least_rank(data, 1, "data")
        shape = data.shape
        if shape.dims is not None:
            dims = list(shape.dims)
            axis = normalize_axis(self.axis, len(dims))
            dims[axis] = self._count_kept(dims[axis], k)
            shape = Shape(dims)
        return data.with_shape(shape), TensorType(self.index_element_type, shape)

    def evaluate(self, data: Array, k: Array) -> tuple[Array, Array]:
        count, size = int(as_integers(k).reshape(-1)[0]), data.shape[self.axis]
        if not 0 <= count <= size:
            raise _k_fault(EvaluationError, count, size)
        if count == 1 and data.size:
            best = best_of_slices(data, self.axis, greatest=self.mode == "max")
            if best is not None:
                return best[0], best[1].astype(self.index_element_type.dtype)
        keys = comparable(data)
        if self.mode == "max":
            keys = -keys if keys.dtype.kind == "f" else ~keys
        chosen = least_indices(keys, count, self.axis)
        if self.sort == "index":
            chosen = np.sort(chosen, self.axis)
        return take_along_axis(data, chosen, self.axis % data.ndim), chosen.astype(self.index_element_type.dtype)

    def _count_kept(self, size: Dim, k: TensorType) -> Dim:
        bounds = index_bounds(k)
        if not bounds:
            return Dim(0, size.hi)
        low, high = bounds[0]
        if high < 0 or low > size.hi:
            raise _k_fault(ShapeError, high if high < 0 else low, size.hi)
        return Dim(max(low, 0), min(high, size.hi))


def _k_fault(error: type[IRError], k: int, size: int) -> IRError:
    return error("k is", actual=k, expected=f"0 to {size}", reason="the size of the axis", port="k")


@op("TopK", since=1)
class TopK1(_TopK):
    """The k greatest or least elements along an axis. OpenVINO accepts k as i8, i32 or i64 only.

    Specification: sort/top-k-1.
    """

    inputs = (
        In("data", types=NUMERIC | BOOLEAN),
        In("k", types=element_types("i8 i32 i64"), domain=ValueRange(1, 1, "the number of elements")),
    )
    moved_inputs = ("data",)
    arranging_inputs = ("k",)


@op("TopK", since=3)
class TopK3(_TopK):
    """The k greatest or least elements along an axis.

    Specification: sort/top-k-3.
    """


@op("TopK", since=11)
class TopK(_TopK):
    """The k greatest or least elements along an axis.

    Specification: sort/top-k-11.

    Attributes:
        stable: Requires the order of equal elements that all versions have here; not allowed with `sort` none.
    """

    older = OlderVersion(3, without=(("stable", (False,)),))

    stable: Bool = False

    def check_attributes(self) -> None:
        if self.stable and self.sort == "none":
            raise AttributeValueError(
                "attribute sort is", actual="none", expected="value or index", reason=" with stable=true"
            )


@op("ExperimentalDetectronTopKROIs", since=6)
class ExperimentalDetectronTopKROIs(Op):
    """The boxes of the highest probabilities, the highest first.

    Specification: sort/experimental-detectron-top-krois-6.

    Inputs:
        input_rois: Floating, [n, 4].
        rois_probs: The type of input_rois, [n].

    Outputs:
        output: The type of input_rois, [max_rois, 4]; equal probabilities are ordered by index, and missing boxes are
            zeros; the specification does not define either.
    """

    inputs = (In("input_rois", types=CALCULABLE_FLOAT), In("rois_probs", types=CALCULABLE_FLOAT, like="input_rois"))
    moved_inputs = ("input_rois",)
    is_discontinuous = True

    max_rois: NonNegative = 0

    def infer(self, input_rois: TensorType, rois_probs: TensorType) -> TensorType:
        merged_dims(
            {"input_rois": (input_rois, ("rois", "4 coordinates")), "rois_probs": (rois_probs, ("rois",))},
            FOUR_COORDINATES,
        )
        element_type = element_type_of((input_rois, rois_probs))
        return TensorType(element_type, Shape([self.max_rois, 4]))

    def evaluate(self, input_rois: Array, rois_probs: Array) -> Array:
        scores = convert(rois_probs, ElementType.f32)
        order = best_first(scores, self.max_rois)
        output = np.zeros((self.max_rois, 4), input_rois.dtype)
        output[: len(order)] = input_rois[order]
        return output
