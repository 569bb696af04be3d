"""Convolutions whose constant weights take over what a quantization before or behind them multiplies by.

A quantization multiplies its input by one number, so as to round it to integers, and these by another. Where a
convolution gives that input, or is what reads the integers, its weights are multiplied once instead. The sums differ by
rounding: where a result lies half-way between two levels of a quantization behind it, the other one may be taken, as
after every change of the order of a sum.
"""

from __future__ import annotations

from math import prod
from typing import Any, NamedTuple

import numpy as np

from ir_exec.graph import Node, Value
from ir_exec.runtime.rewrite.draft import Draft, beside
from ir_exec.runtime.rewrite.fused import Fusion
from ir_exec.runtime.rewrite.quantized import Quantized
from ir_exec.types import Array, ElementType

__all__ = ["products_of_levels", "products_of_steps"]

WORTH = 4
"""Elements of weights that are kept a second time for each element that is not multiplied, at most: it is memory for
the whole life of a network against 0.1 to 0.7 ns in each run."""


class _Product(NamedTuple):
    """A convolution with constant weights, of the shape [groups, outputs, inputs, ...] or [outputs, inputs, ...]."""

    node: Node
    weights: Value
    shape: tuple[int, ...]
    is_grouped: bool

    def of_inputs(self, factor: Array) -> Array | None:
        """A factor of the data as one of the weights; None where it differs within a channel."""
        outputs = 1
        return self._spread(factor, (self.shape[0], outputs, self.shape[2]) if self.is_grouped else (1, self.shape[1]))

    def of_outputs(self, factor: Array) -> Array | None:
        """A factor of the output as one of the weights; None where it differs within a channel."""
        return self._spread(factor, (self.shape[0], self.shape[1], 1) if self.is_grouped else (self.shape[0], 1))

    def _spread(self, factor: Array, channels: tuple[int, ...]) -> Array | None:
        if factor.size == 1:
            return factor.reshape(())
        if factor.shape[1] != factor.size or factor.size != prod(channels):
            return None
        return factor.reshape(*channels, *[1] * (len(self.shape) - len(channels)))

    def scaled(self, draft: Draft, factor: Array) -> Fusion:
        """The same convolution with multiplied weights."""
        inputs = [self.node.values_in[0], draft.multiple(self.weights, factor)]
        return Fusion([self.node], draft.operator(self.node), inputs)


def _product(draft: Draft, node: Node | None) -> _Product | None:
    kind = "" if node is None else draft.kind(node)
    if node is None or kind not in ("Convolution", "GroupConvolution"):
        return None
    weights = node.values_in[1]
    array = draft.constant(weights)
    if array is None or draft.type(node.values_in[0]).element_type is not ElementType.f32:
        return None
    return _Product(node, weights, array.shape, kind == "GroupConvolution")


def products_of_levels(draft: Draft, node: Node) -> list[Fusion]:
    """A quantization that gives the numbers of its levels, to convolutions alone."""
    op = draft.operator(node)
    if not isinstance(op, Quantized) or op.levels.step is None or not _is_factor(op.levels.step):
        return []
    products = [_product(draft, reader) for reader in draft.readers(node.outputs[0])]
    step = np.asarray(op.levels.step, np.float64)
    found = [
        (product, factor)
        for product in products
        if product is not None
        and product.node.values_in[0] is node.outputs[0]
        and (factor := product.of_inputs(step)) is not None
    ]
    if not found or len(found) < len(products) or not _pays(draft, node, [product for product, _ in found]):
        return []
    levels = Fusion([node], Quantized(op.levels.unscaled()), node.values_in)
    return [levels, *[product.scaled(draft, factor) for product, factor in found]]


def products_of_steps(draft: Draft, node: Node) -> list[Fusion]:
    """A quantization behind a convolution, perhaps with a bias between them, that gives multiples of its steps."""
    op = draft.operator(node)
    if not isinstance(op, Quantized) or op.levels.span is None:
        return []
    with np.errstate(all="ignore"):
        factor = np.asarray(op.levels.steps / np.asarray(op.levels.span, np.float64))
    data = node.values_in[0]
    before = draft.maker(data) if draft.only_reader(data) is node else None
    bias = None if before is None else _bias(draft, before)
    if before is not None and bias is not None:
        data = before.values_in[0] if draft.known(before.values_in[0]) is None else before.values_in[1]
    product = _product(draft, draft.maker(data)) if len(draft.readers(data)) == 1 else None
    spread = None if product is None or not _is_factor(factor) else product.of_outputs(factor)
    if product is None or spread is None or not _pays(draft, node, [product]):
        return []
    nodes = [node] if bias is None or before is None else [before, node]
    rounding = Fusion(nodes, Quantized(op.levels.of_scaled(bias)), [data])
    return [product.scaled(draft, spread), rounding]


def _bias(draft: Draft, node: Node) -> Array | None:
    """The constant that the node adds to each channel, without another shape of the sum."""
    if draft.kind(node) != "Add":
        return None
    known = [value for value in node.values_in if draft.known(value) is not None]
    data = beside(node, known[0]) if len(known) == 1 else None
    array = draft.known(known[0]) if known else None
    if data is None or array is None or array.dtype != np.float32:
        return None
    shape, rank = draft.type(data).shape, draft.type(data).rank
    if rank is None or array.ndim > rank or shape != draft.type(node.outputs[0]).shape:
        return None
    bias = array.reshape((1,) * (rank - array.ndim) + array.shape)
    return bias if rank > 1 and bias.shape[1] == bias.size else None


def _is_factor(array: Any) -> bool:
    return bool(np.all((array > 0) & np.isfinite(array)))


def _pays(draft: Draft, node: Node, products: list[_Product]) -> bool:
    shape = draft.type(node.outputs[0]).shape
    if not shape.is_static:
        return False
    weights = {product.weights.number: product for product in products}.values()
    if sum(prod(product.shape) for product in weights) > WORTH * prod(shape.static):
        return False
    return draft.may_multiply([product.weights for product in weights])
