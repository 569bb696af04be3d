"""Weights of a model against a checkpoint, by value."""
