"""Effects of quantization: errors of compressed weights, ranges of FakeQuantize layers, sensitivity of outputs."""
