"""Random convolutions, for the sums that define them."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st


@st.composite
def problems(draw: st.DrawFn) -> dict[str, Any]:
    """Attributes, data [batch, groups * C, spatial...] and filters [groups, A, B, kernel...]."""
    rank = draw(st.integers(1, 3))
    sizes = draw(st.lists(st.integers(1, 5), min_size=rank, max_size=rank))
    kernel = draw(st.lists(st.integers(1, 3), min_size=rank, max_size=rank))
    steps = {
        name: tuple(draw(st.lists(st.integers(least, most), min_size=rank, max_size=rank)))
        for name, least, most in [("strides", 1, 3), ("dilations", 1, 2), ("pads_begin", 0, 3), ("pads_end", 0, 3)]
    }
    groups, inputs, other = [draw(st.integers(1, most)) for most in (2, 2, 3)]
    generator = np.random.default_rng(draw(st.integers(0, 99)))
    return {
        "steps": steps,
        "data": generator.integers(-4, 5, (draw(st.integers(1, 2)), groups * inputs, *sizes)).astype(np.float32),
        "filters": generator.integers(-4, 5, (groups, other, inputs, *kernel)).astype(np.float32),
        "auto_pad": draw(st.sampled_from(["explicit", "same_upper", "same_lower", "valid"])),
        "block": draw(st.sampled_from([1, 7, 50, 2**18])),
    }
