"""Algorithms of tokenizers: normalization, patterns, byte pairs, unigrams, and offsets of tokens."""
