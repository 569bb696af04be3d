"""Generation of text: decoders and their caches, prompts, sampling, and comparison of tokens."""
