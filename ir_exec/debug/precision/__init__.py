"""Effects of a lower precision: quantized layers and weights, and runs in f16 or bf16."""
