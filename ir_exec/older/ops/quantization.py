"""FakeQuantize, named Quantize up to version 5."""

from __future__ import annotations

from ir_exec import build
from ir_exec.build import Value
from ir_exec.older.call import LayerCall
from ir_exec.older.registry import older_layer
from ir_exec.older.values import as_floats

__all__: list[str] = []


@older_layer("FakeQuantize", "Quantize")
def fake_quantize(layer: LayerCall, data: Value, low: Value, high: Value, to_low: Value, to_high: Value) -> Value:
    """The input rounded to one of `levels` values."""
    data, low, high, to_low, to_high = (as_floats(tensor) for tensor in (data, low, high, to_low, to_high))
    return build.fake_quantize(data, low, high, to_low, to_high, layer.integer("levels"))
