"""Operators of the specification's folder `matrix`."""
