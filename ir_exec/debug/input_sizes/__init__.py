"""The input sizes that a model accepts."""
