"""References for comparisons: models, traces, recordings, and other programs in child processes."""
