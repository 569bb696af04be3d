"""The argument `weight_mode` of `compile_model`: expanded weights, or weights that stay in their file."""

from __future__ import annotations

import warnings
from typing import Literal, TypeAlias, cast, get_args

from ir_exec.codes import Code
from ir_exec.errors import EvaluationError
from ir_exec.model import WeightsSource

__all__ = ["WeightMode", "split_weights"]

WeightMode: TypeAlias = Literal["expand", "keep"]
"""`expand`: values that depend on weights alone are computed once; `keep`: weights stay in their file."""

MODES = get_args(WeightMode)


def split_weights(
    weights: WeightsSource | None, mode: WeightMode | None
) -> tuple[WeightsSource | None, WeightMode | None]:
    """Return another .bin and the mode; the former values "expand" and "keep" of `weights` are read as the mode.

    Raises:
        EvaluationError: IR704 for another mode.
    """
    if isinstance(weights, str) and weights in MODES:
        message = f"weights={weights!r} is called weight_mode={weights!r} now"
        warnings.warn(message, DeprecationWarning, stacklevel=3)
        return None, mode or cast("WeightMode", weights)
    if mode is not None and mode not in MODES:
        raise EvaluationError("weight_mode is", actual=repr(mode), expected="'expand' or 'keep'", code=Code.bad_value)
    return weights, mode
