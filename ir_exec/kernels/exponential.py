"""The exponential function in the base in which NumPy is fastest on this machine."""

from __future__ import annotations

import math

import numpy as np
from numpy.lib import introspect

__all__ = ["EXPONENT", "power"]


def _has_vectors_of_base_2() -> bool:
    """Whether exp2 of f32 is more than a loop over a function of one number, as it is on x86 without AVX-512."""
    loops = introspect.opt_func_info(func_name="^exp2$").get("exp2", {})
    return "ff" in loops and not loops["ff"]["current"].startswith("baseline")


# An element of f32 takes 0.21 ns with exp2 and 0.45 with exp. What the product rounds off is 1e-7 of the exponent.
power, EXPONENT = (np.exp2, math.log2(math.e)) if _has_vectors_of_base_2() else (np.exp, 1.0)
"""power(EXPONENT * x) is e^x, of f32 and f64; power is a ufunc. The factor costs nothing where x has one anyway."""
