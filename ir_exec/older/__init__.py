"""IR of versions 2 to 7: reading, and lowering of its layers to current operators."""
