"""Reductions over the axes of an input. Source: ReduceValidator, reduce.cpp."""

from __future__ import annotations

from collections.abc import Callable

from ir_exec import build
from ir_exec.build import Value
from ir_exec.older.call import LayerCall
from ir_exec.older.registry import older_layer
from ir_exec.older.values import as_floats, as_integers, number
from ir_exec.types import ElementType

__all__: list[str] = []

Reduction = Callable[[Value, Value, bool], Value]


def _logical(reduce: Callable[..., Value]) -> Reduction:
    def reduction(data: Value, axes: Value, keep_dims: bool) -> Value:
        return reduce(build.not_equal(data, number(0, data)), axes, keep_dims=keep_dims)

    return reduction


def _numeric(reduce: Callable[..., Value]) -> Reduction:
    return lambda data, axes, keep_dims: reduce(data, axes, keep_dims=keep_dims)


def _log_sum(data: Value, axes: Value, keep_dims: bool) -> Value:
    return build.log(build.reduce_sum(as_floats(data), axes, keep_dims=keep_dims))


def _log_sum_exp(data: Value, axes: Value, keep_dims: bool) -> Value:
    return build.log(build.reduce_sum(build.exp(as_floats(data)), axes, keep_dims=keep_dims))


def _sum_square(data: Value, axes: Value, keep_dims: bool) -> Value:
    return build.reduce_sum(build.multiply(data, data), axes, keep_dims=keep_dims)


_REDUCTIONS: dict[str, Reduction] = {
    "ReduceAnd": _logical(build.reduce_logical_and),
    "ReduceOr": _logical(build.reduce_logical_or),
    "ReduceL1": _numeric(build.reduce_l1),
    "ReduceL2": _numeric(build.reduce_l2),
    "ReduceLogSum": _log_sum,
    "ReduceLogSumExp": _log_sum_exp,
    "ReduceMax": _numeric(build.reduce_max),
    "ReduceMean": _numeric(build.reduce_mean),
    "ReduceMin": _numeric(build.reduce_min),
    "ReduceProd": _numeric(build.reduce_prod),
    "ReduceSum": _numeric(build.reduce_sum),
    "ReduceSumSquare": _sum_square,
}


def _lowering(reduction: Reduction) -> Callable[[LayerCall, Value, Value], Value]:
    def lower(layer: LayerCall, data: Value, axes: Value) -> Value:
        output = reduction(data, as_integers(axes), layer.flag("keep_dims", True))
        # The Inference Engine had no scalars.
        if output.rank == 0 and layer.declared_dims() == (1,):
            output = build.reshape(output, build.constant([1], ElementType.i64), special_zero=False)
        return output

    return lower


for _name, _reduction in _REDUCTIONS.items():
    older_layer(_name)(_lowering(_reduction))
