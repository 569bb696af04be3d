"""Transformations of the scores of classifiers and regressors of ai.onnx.ml."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ir_exec import build
from ir_exec.build import Value
from ir_exec.errors import InvalidAttributeError, UnsupportedError
from ir_exec.onnx.lowering.attributes import Ints, Strings, chosen
from ir_exec.onnx.lowering.values import cast, ints, known_rank, number
from ir_exec.types import Array, ElementType

__all__ = [
    "POST_TRANSFORMS",
    "as_rows",
    "both_scores",
    "class_labels",
    "columns",
    "first_largest",
    "look_up_labels",
    "probit",
    "transform_scores",
]

_NEAR_ZERO = 1e-7
"""SOFTMAX_ZERO leaves scores of at most this magnitude unchanged."""


def as_rows(data: Value, element_type: ElementType) -> Value:
    """[rows, features] of this element type; a tensor of rank 1 is one row."""
    wide = cast(data, element_type)
    rank = known_rank(data, "the input")
    if rank not in (1, 2):
        raise InvalidAttributeError("the input has rank", actual=rank, expected="1 or 2", reason=": rows of features")
    return build.unsqueeze(wide, ints(0)) if rank == 1 else wide


def class_labels(integers: Ints, strings: Strings) -> Array:
    """The labels of the classes; only one list may be given."""
    if bool(integers) == bool(strings):
        raise InvalidAttributeError(
            "labels of integers and of strings are both given or both missing", expected="one of them"
        )
    return np.array(strings, object) if strings else np.array(integers, np.int64)


def look_up_labels(labels: Array, places: Value) -> Value:
    """The label at each index."""
    return build.gather(build.constant(labels), places, 0)


def first_largest(scores: Value) -> Value:
    """[rows]: the index of the largest score, the first of several."""
    _, places = build.topk(scores, 1, -1, "max", "value", index_element_type="i64", stable=True)
    return build.squeeze(places, ints(-1))


def probit(scores: Value) -> Value:
    """The quantile function of the normal distribution, as onnxruntime approximates it in f32."""
    share = cast(scores, ElementType.f32)
    one, factor = number(1, share), np.float32(0.147)
    plain = build.subtract(build.multiply(share, number(2, share)), one)
    log = build.log(build.multiply(build.subtract(one, plain), build.add(one, plain)))
    first = number(float(np.float32(2) / (np.float32(3.14159) * factor)), share)
    first = build.add(first, build.multiply(log, number(0.5, share)))
    second = build.multiply(log, number(float(np.float32(1) / factor), share))
    root = build.sqrt(build.subtract(build.multiply(first, first), second))
    size = build.sqrt(build.subtract(root, first))
    signed = build.select(build.less(plain, number(0, share)), build.negative(size), size)
    return cast(build.multiply(signed, number(1.41421356, share)), scores.element_type)


def _softmax_zero(scores: Value) -> Value:
    """Softmax over the scores that are not zero; zeros remain zero."""
    most = build.reduce_max(scores, ints(-1), keep_dims=True)
    counts = build.greater(build.abs(scores), number(_NEAR_ZERO, scores))
    powers = build.exp(build.subtract(scores, most))
    small = build.multiply(scores, build.exp(build.negative(most)))
    numerators = build.select(counts, powers, small)
    total = build.reduce_sum(build.select(counts, powers, number(0, scores)), ints(-1), keep_dims=True)
    return build.divide(numerators, total)


POST_TRANSFORMS: dict[str, Callable[[Value], Value]] = {
    "NONE": lambda scores: scores,
    "LOGISTIC": lambda scores: build.sigmoid(scores),
    "SOFTMAX": lambda scores: build.softmax(scores, axis=-1),
    "SOFTMAX_ZERO": _softmax_zero,
    "PROBIT": probit,
}


def transform_scores(scores: Value, post_transform: str) -> Value:
    """Scores [rows, classes] after the function in the attribute post_transform."""
    return chosen("post_transform", post_transform, POST_TRANSFORMS)(scores)


def columns(first: Value, second: Value) -> Value:
    """[rows, 2] from two tensors [rows]."""
    return build.concat([build.unsqueeze(first, 1), build.unsqueeze(second, 1)], 1)


def both_scores(score: Value, post_transform: str, *, is_share: bool) -> Value:
    """The scores of two classes [rows, 2] from the score of the second one [rows].

    A probability and its complement, or a number and its negative; LOGISTIC converts numbers to probabilities.
    """
    chosen("post_transform", post_transform, POST_TRANSFORMS)
    if post_transform == "PROBIT":
        raise UnsupportedError("PROBIT of one score for two classes is not supported")
    if post_transform == "LOGISTIC":
        return build.sigmoid(columns(build.negative(score), score))
    return columns(build.subtract(number(1, score), score) if is_share else build.negative(score), score)
