"""Linear models and support vector machines of ai.onnx.ml."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ir_exec import build
from ir_exec.build import Value
from ir_exec.codes import Code
from ir_exec.errors import InvalidAttributeError, ShapeError, UnsupportedError
from ir_exec.onnx.lowering.attributes import Floats, Ints, Strings, chosen
from ir_exec.onnx.lowering.registry import ML, onnx_op
from ir_exec.onnx.lowering.values import as_i64, concat, ints, number, numbers, shape_of, size_along
from ir_exec.onnx.ops.ml_scores import (
    as_rows,
    both_scores,
    class_labels,
    first_largest,
    look_up_labels,
    probit,
    transform_scores,
)
from ir_exec.types import Array, ElementType

__all__: list[str] = []


def _matrix(values: Floats, rows: int, name: str) -> Array:
    """[rows, ...]: the rows one after the other."""
    if rows < 1 or not values or len(values) % rows:
        raise InvalidAttributeError(
            f"{name} has", actual=len(values), detail="elements", expected=f"a multiple of {rows} rows"
        )
    return np.array(values, np.float32).reshape(rows, -1)


def _rows_of(data: Value, features: int) -> Value:
    """[rows, features], as f32.

    Raises:
        ShapeError: For a different number of features.
    """
    rows = as_rows(data, ElementType.f32)
    columns = size_along(rows, 1)
    if columns.is_static and columns.size != features:
        raise ShapeError(
            "the input has", actual=columns.size, detail="columns", expected=features, code=Code.dims_differ
        )
    return rows


def _sum_features(data: Value, coefficients: Array, intercepts: Floats) -> Value:
    """[rows, targets], from coefficients [targets, features]."""
    sums = build.matmul(_rows_of(data, coefficients.shape[1]), build.constant(coefficients), transpose_b=True)
    return build.add(sums, numbers(intercepts, sums)) if intercepts else sums


@onnx_op("LinearRegressor", since=1, domain=ML)
def linear_regressor(
    data: Value, *, coefficients: Floats, intercepts: Floats, post_transform: str, targets: int
) -> Value:
    """A column of sums for each target; each row of coefficients belongs to one target."""
    used = intercepts if len(intercepts) == targets else ()
    scores = _sum_features(data, _matrix(coefficients, targets, "coefficients"), used)
    if targets > 1:
        return transform_scores(scores, post_transform)
    # onnxruntime omits the others if there is one target.
    return probit(scores) if post_transform == "PROBIT" else scores


@onnx_op("LinearClassifier", since=1, unused=("multi_class",), domain=ML)
def linear_classifier(
    data: Value,
    *,
    classlabels_ints: Ints,
    classlabels_strings: Strings,
    coefficients: Floats,
    intercepts: Floats,
    post_transform: str,
) -> list[Value]:
    """The class with the largest sum, and the sums; one row of coefficients is for the second of two classes."""
    labels = class_labels(classlabels_ints, classlabels_strings)
    count = len(intercepts) or len(labels)
    scores = _sum_features(data, _matrix(coefficients, count, "coefficients"), intercepts)
    if count > 1:
        if count != len(labels):
            raise InvalidAttributeError(
                "the node has", actual=count, detail="intercepts", expected=len(labels), reason="one for each class"
            )
        return [look_up_labels(labels, first_largest(scores)), transform_scores(scores, post_transform)]
    if len(labels) != 2:
        raise UnsupportedError(f"one row of coefficients for {len(labels)} classes is not supported")
    flat = build.squeeze(scores, 1)
    places = as_i64(build.greater(flat, number(0, flat)))
    return [look_up_labels(labels, places), both_scores(flat, post_transform, is_share=True)]


class _Kernel(NamedTuple):
    """The comparison of rows with support vectors."""

    function: str
    gamma: float
    offset: float
    degree: float

    @staticmethod
    def read(kernel_type: str, parameters: Floats) -> _Kernel:
        """The kernel from the attributes kernel_type and kernel_params."""
        function = chosen("kernel_type", kernel_type, {name: name for name in ("LINEAR", "POLY", "RBF", "SIGMOID")})
        if parameters and len(parameters) < 3:
            raise InvalidAttributeError(
                "kernel_params has",
                actual=len(parameters),
                detail="elements",
                expected=3,
                reason=": gamma, coef0, degree",
            )
        return _Kernel(function, *(parameters[:3] if parameters else (0.0, 0.0, 0.0)))

    def __call__(self, rows: Value, vectors: Array) -> Value:
        """[rows, vectors]"""
        if self.function == "RBF":
            return self._distances(rows, vectors)
        products = build.matmul(rows, build.constant(vectors), transpose_b=True)
        if self.function == "LINEAR":
            return products
        moved = build.multiply(products, number(self.gamma, products))
        moved = build.add(moved, number(self.offset, moved))
        return build.tanh(moved) if self.function == "SIGMOID" else build.power(moved, number(self.degree, moved))

    def _distances(self, rows: Value, vectors: Array) -> Value:
        """The exponentials of squared distances, one feature at a time in f64: a matrix product would lose digits."""
        wide = build.convert(rows, ElementType.f64)
        squares = build.reduce_sum(build.multiply(wide, wide), 1, keep_dims=True)
        wide_vectors = vectors.astype(np.float64)
        both = build.multiply(build.matmul(wide, build.constant(wide_vectors), transpose_b=True), number(2, wide))
        apart = build.subtract(build.add(squares, build.constant((wide_vectors**2).sum(1))), both)
        apart = build.maximum(apart, number(0, apart))
        return build.convert(build.exp(build.multiply(apart, number(-self.gamma, apart))), ElementType.f32)


@onnx_op("SVMRegressor", since=1, domain=ML)
def svm_regressor(
    data: Value,
    *,
    coefficients: Floats,
    kernel_params: Floats,
    kernel_type: str,
    n_supports: int,
    one_class: int,
    post_transform: str,
    rho: Floats,
    support_vectors: Floats,
) -> Value:
    """[rows, 1]; for one class: 1 for rows that belong to it, else -1."""
    if not rho or not coefficients:
        raise InvalidAttributeError("rho or coefficients are missing")
    weights = np.array(coefficients, np.float32).reshape(1, -1)
    if n_supports > 0:
        vectors = _matrix(support_vectors, n_supports, "support_vectors")
        if weights.size != n_supports:
            raise InvalidAttributeError(
                "coefficients has",
                actual=weights.size,
                detail="elements",
                expected=n_supports,
                reason="one for each support vector",
            )
        compared = _Kernel.read(kernel_type, kernel_params)(_rows_of(data, vectors.shape[1]), vectors)
        scores = build.matmul(compared, build.constant(weights), transpose_b=True)
    else:
        scores = build.matmul(_rows_of(data, weights.size), build.constant(weights), transpose_b=True)
    scores = build.add(scores, number(rho[0], scores))
    if post_transform != "NONE":
        chosen(
            "post_transform", post_transform, {name: name for name in ("LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO", "PROBIT")}
        )
    if not one_class:
        return scores
    return build.select(build.greater(scores, number(0, scores)), number(1, scores), number(-1, scores))


class _Machine(NamedTuple):
    """Pairs of classes, each with coefficients [vectors, pairs] for its decision and an offset."""

    vectors: Array
    weights: Array
    offsets: Array

    @staticmethod
    def read(classes: int, per_class: Ints, coefficients: Floats, support_vectors: Floats, rho: Floats) -> _Machine:
        """Row j - 1 of the coefficients is for the vectors of a class against class j, row j for later classes."""
        count = sum(per_class)
        if len(per_class) != classes or min(per_class) < 0:
            raise InvalidAttributeError(
                "vectors_per_class has",
                actual=len(per_class),
                detail="elements",
                expected=classes,
                reason="one for each class",
            )
        pairs = [(first, second) for first in range(classes) for second in range(first + 1, classes)]
        if len(coefficients) < (classes - 1) * count or len(rho) < len(pairs):
            raise InvalidAttributeError(
                "coefficients and rho have",
                actual=f"{len(coefficients)} and {len(rho)}",
                detail="elements",
                expected=f"{(classes - 1) * count} and {len(pairs)} or more",
                reason=f" for {count} vectors of {classes} classes",
            )
        table = np.array(coefficients[: (classes - 1) * count], np.float32).reshape(classes - 1, count)
        weights = np.zeros((count, len(pairs)), np.float32)
        starts = np.cumsum([0, *per_class])
        for column, (first, second) in enumerate(pairs):
            mine, theirs = (slice(starts[index], starts[index + 1]) for index in (first, second))
            weights[mine, column] = table[second - 1, mine]
            weights[theirs, column] = table[first, theirs]
        vectors = _matrix(support_vectors, count, "support_vectors")
        return _Machine(vectors, weights, np.array(rho[: len(pairs)], np.float32))

    def decisions(self, data: Value, kernel: _Kernel) -> Value:
        """[rows, pairs], from sums in f64."""
        compared = build.convert(kernel(_rows_of(data, self.vectors.shape[1]), self.vectors), ElementType.f64)
        sums = build.matmul(compared, build.constant(self.weights.astype(np.float64)))
        return build.convert(build.add(sums, build.constant(self.offsets.astype(np.float64))), ElementType.f32)


def _votes(decisions: Value, classes: int) -> Value:
    """[rows, classes]: the number of pairs that each class wins."""
    pairs = [(first, second) for first in range(classes) for second in range(first + 1, classes)]
    winners = np.zeros((2, len(pairs), classes), np.float32)
    for column, (first, second) in enumerate(pairs):
        winners[0, column, first] = winners[1, column, second] = 1
    wins = build.convert(build.greater(decisions, number(0, decisions)), ElementType.f32)
    losses = build.subtract(number(1, wins), wins)
    won, lost = (
        build.matmul(outcomes, build.constant(table)) for outcomes, table in zip((wins, losses), winners, strict=True)
    )
    return build.add(won, lost)


_ROUNDS = 100
"""Iterations of the coupling of probabilities."""


def _couple(decisions: Value, prob_a: Floats, prob_b: Floats, classes: int) -> Value:
    """[rows, classes]: probabilities fitted to all pairs, coupled as in libsvm, with onnxruntime's bounds."""
    slopes, moves = (np.array(values[: classes * (classes - 1) // 2], np.float32) for values in (prob_a, prob_b))
    pairs = [(first, second) for first in range(classes) for second in range(first + 1, classes)]
    scaled = build.add(build.multiply(decisions, build.constant(slopes)), build.constant(moves))
    shares = build.clamp(build.sigmoid(build.negative(scaled)), min=1e-7, max=1 - 1e-7)
    # r[i, j]: the probability of i in the pair of i and j.
    pair_indices = np.zeros((classes, classes), np.int64)
    upper = np.zeros((classes, classes), bool)
    for column, (first, second) in enumerate(pairs):
        pair_indices[first, second] = pair_indices[second, first] = column
        upper[first, second] = True
    pair_shares = build.gather(shares, build.constant(pair_indices), 1)
    ratio = build.select(build.constant(upper), pair_shares, build.subtract(number(1, pair_shares), pair_shares))
    ratio = build.multiply(ratio, build.constant((1 - np.eye(classes)).astype(np.float32)))
    turned = build.transpose(ratio, [0, 2, 1])
    diagonal = build.reduce_sum(build.multiply(turned, turned), 2, keep_dims=False)
    eye = build.constant(np.eye(classes, dtype=np.float32))
    quadratic = build.subtract(build.multiply(build.unsqueeze(diagonal, 2), eye), build.multiply(turned, ratio))
    return _minimize(quadratic, diagonal, classes)


def _minimize(quadratic: Value, diagonal: Value, classes: int) -> Value:
    """The p with minimal p' Q p whose elements are positive and sum to 1; each row of the batch stops separately."""
    bound = number(0.005 / classes, diagonal)
    units = np.eye(classes, dtype=np.float32)

    def products(p: Value) -> tuple[Value, Value]:
        product = build.squeeze(build.matmul(quadratic, build.unsqueeze(p, 2)), 2)
        return product, build.reduce_sum(build.multiply(p, product), 1, keep_dims=True)

    def step(_: Value, p: Value) -> tuple[None, list[Value], list[Value]]:
        product, total = products(p)
        error = build.reduce_max(build.abs(build.subtract(product, total)), 1, keep_dims=True)
        going, start = build.greater_equal(error, bound), p
        for index in range(classes):
            mine, own = build.gather(product, [index], 1), build.gather(diagonal, [index], 1)
            diff = build.divide(build.subtract(total, mine), own)
            grown = build.add(diff, number(1, diff))
            more = build.multiply(diff, build.add(build.multiply(diff, own), build.multiply(mine, number(2, mine))))
            total = build.divide(build.divide(build.add(total, more), grown), grown)
            column = build.gather(quadratic, index, 2)
            product = build.divide(build.add(product, build.multiply(diff, column)), grown)
            p = build.divide(build.add(p, build.multiply(diff, build.constant(units[index]))), grown)
        return None, [build.select(going, p, start)], []

    even = build.add(build.multiply(diagonal, number(0, diagonal)), number(1 / classes, diagonal))
    (p,) = build.loop(build.constant(np.int64(_ROUNDS)), None, step, [even])
    return p


@onnx_op("SVMClassifier", since=1, domain=ML)
def svm_classifier(
    data: Value,
    *,
    classlabels_ints: Ints,
    classlabels_strings: Strings,
    coefficients: Floats,
    kernel_params: Floats,
    kernel_type: str,
    post_transform: str,
    prob_a: Floats,
    prob_b: Floats,
    rho: Floats,
    support_vectors: Floats,
    vectors_per_class: Ints,
) -> list[Value]:
    """The class that wins most pairs, and the scores: probabilities of classes, or decisions of pairs."""
    labels = class_labels(classlabels_ints, classlabels_strings)
    classes, pairs = len(labels), len(labels) * (len(labels) - 1) // 2
    if len(prob_a) != len(prob_b) or 0 < len(prob_a) < pairs:
        raise InvalidAttributeError(
            "prob_a and prob_b have",
            actual=f"{len(prob_a)} and {len(prob_b)}",
            detail="elements",
            expected=pairs,
            reason="one for each pair",
        )
    if not rho:
        raise InvalidAttributeError("rho is missing")
    positive = all(coefficient >= 0 for coefficient in coefficients)
    if not sum(vectors_per_class):
        scores = _sum_features(data, _matrix(coefficients, classes, "coefficients"), (rho[0],) * classes)
        places = _linear_places(scores, classes, positive)
        # onnxruntime does not transform the score of one class.
        return [look_up_labels(labels, places), scores if classes == 1 else transform_scores(scores, post_transform)]
    if classes == 1:
        return _only_class(data, labels, has_shares=bool(prob_a))
    machine = _Machine.read(classes, vectors_per_class, coefficients, support_vectors, rho)
    decisions = machine.decisions(data, _Kernel.read(kernel_type, kernel_params))
    places = first_largest(_votes(decisions, classes))
    if prob_a:
        return [
            look_up_labels(labels, places),
            transform_scores(_couple(decisions, prob_a, prob_b, classes), post_transform),
        ]
    if classes > 2:
        return [look_up_labels(labels, places), transform_scores(decisions, post_transform)]
    both = both_scores(build.squeeze(decisions, 1), post_transform, is_share=post_transform != "NONE")
    return [look_up_labels(labels, places), both]


def _only_class(data: Value, labels: Array, *, has_shares: bool) -> list[Value]:
    """The label of each row and its probability; without probabilities onnxruntime does not define both scores."""
    rows = build.gather(shape_of(as_rows(data, ElementType.f32)), ints(0), 0)
    places = build.broadcast(build.constant(np.int64(0)), rows)
    scores = build.constant(np.float32(1)) if has_shares else build.constant(np.float32(0))
    return [look_up_labels(labels, places), build.broadcast(scores, concat([rows, ints(1 if has_shares else 2)]))]


def _linear_places(scores: Value, classes: int, positive: bool) -> Value:
    """The class of the largest score; of two classes, the second one if its score is large enough."""
    places = first_largest(scores)
    if classes != 2:
        return places
    largest = build.reduce_max(scores, 1, keep_dims=False)
    bound = number(0.5, largest)
    enough = build.greater_equal(largest, bound) if positive else build.greater(largest, number(0, largest))
    return build.select(enough, build.constant(np.int64(1)), places)
