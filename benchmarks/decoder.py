"""A language model that generates text: one token per run, with a cache that grows by one position per token.

No two runs have the same input shapes, so this also measures the preparation for new shapes.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import openvino as ov

import ir_exec
from benchmarks.measure import Paired, measure_pair
from ir_exec.types import Array

__all__ = ["measure_decoder"]

TOKENS = 64


def decode(run: Callable[[list[Array]], Any], caches: list[Array]) -> list[int]:
    """Return the most likely tokens, generated one by one from empty caches."""
    tokens = [1]
    for length in range(TOKENS):
        inputs = np.array([tokens[-1:]]), np.ones((1, length + 1), np.int64), np.array([[length]])
        logits, *caches = run([*inputs, *caches])
        tokens.append(int(np.argmax(logits[0, -1])))
    return tokens


def measure_decoder(path: Path, precise: dict[str, str], seconds: float) -> Paired:
    """Time a decoder of token, mask, position and caches [1, heads, length, size], after comparing its texts."""
    compiled = ir_exec.compile_model(path)
    request = ov.Core().compile_model(path, "CPU", precise).create_infer_request()
    empty = [np.zeros([1, port.shape[1].lo, 0, port.shape[3].lo], np.float32) for port in compiled.inputs[3:]]

    def ours() -> list[int]:
        return decode(lambda inputs: compiled(inputs).values(), empty)

    def theirs() -> list[int]:
        return decode(lambda inputs: [np.array(output) for output in request.infer(inputs).values()], empty)

    if ours() != theirs():
        raise SystemExit(f"{path.stem}: the texts differ")
    return measure_pair(f"{path.stem}, {TOKENS} tokens", ours, theirs, seconds=seconds)
