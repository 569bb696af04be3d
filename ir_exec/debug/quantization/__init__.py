"""Effects of quantization on a model: compressed weights against plain ones, ranges of FakeQuantize, sensitivity."""
