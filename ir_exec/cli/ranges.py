"""Numbers among the options of commands."""

from __future__ import annotations

from math import isfinite
from typing import Any

import click

__all__ = ["FiniteRange"]


class FiniteRange(click.FloatRange):
    """Floats in a range. NaN and infinity are in none: they compare as if there were no limit."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        number: float = super().convert(value, param, ctx)
        if not isfinite(number):
            self.fail(f"{value} is not a finite number", param, ctx)
        return number
