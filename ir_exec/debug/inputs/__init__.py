"""Generated inputs: sizes that the model accepts, and plausible values."""
