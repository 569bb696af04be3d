"""Tests of what quantization does to a model."""
