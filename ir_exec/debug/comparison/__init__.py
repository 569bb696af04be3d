"""Comparison of two runs layer by layer: own and carried errors, tolerances, and the verdict."""
