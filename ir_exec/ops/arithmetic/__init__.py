"""Operators of the specification's folder `arithmetic`."""
