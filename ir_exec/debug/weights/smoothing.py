"""Quantization that moves scales from data into weights: constants that divide the data by what multiplies columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from ir_exec.debug.weights.comparing_values import Relation
from ir_exec.debug.weights.matching import Matcher, WeightMatch
from ir_exec.debug.weights.model_weights import ModelWeight

__all__ = ["match_smoothed"]

_ERROR = 0.05
"""Maximum relative error of half of the factors, which are fitted to rounded numbers."""


def match_smoothed(
    matches: Mapping[ModelWeight, WeightMatch | None], matcher: Matcher
) -> tuple[dict[ModelWeight, WeightMatch], set[ModelWeight]]:
    """Find the weights whose columns are multiplied by the inverse of another constant, and these constants."""
    unknown = [
        weight
        for weight, match in matches.items()
        if match is None and {reader.use for reader in weight.readers} == {"elements"} and weight.has_quantized_data
    ]
    smoothed: dict[ModelWeight, WeightMatch] = {}
    scales: set[ModelWeight] = set()
    for weight, match in matches.items():
        if match is None or match.relation.form != "scaled columns" or match.relation.factors is not None:
            continue
        factors = match.comparison.factors
        assert factors is not None, "they are fitted unless they are known"
        for scale in unknown:
            if scale.elements != len(factors):
                continue
            numbers = scale.gather(np.arange(scale.elements))
            with np.errstate(all="ignore"):
                error = float(np.median(np.abs(factors * numbers - 1)))
                relation = Relation("scaled columns", factors=1 / numbers)
            if not error < _ERROR:
                continue
            assert match.layout is not None, "only single tensors are scaled"
            compared = matcher.compare(weight, match.sources[0], match.layout, relation)
            if compared.is_explained:
                words = tuple([word for word in compared.transformations if word != relation.form])
                smoothed[weight] = replace(compared, transformations=(*words, f"columns scaled as by {scale.name}"))
                scales.add(scale)
                break
    return smoothed, scales
