"""Pairs of values of two models: by name, by role, and by structure."""
