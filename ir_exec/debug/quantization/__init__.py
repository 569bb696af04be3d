"""What quantization does to a model: compressed weights against plain ones, ranges of FakeQuantize, sensitivity."""
