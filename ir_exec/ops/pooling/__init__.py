"""Operators of the specification's folder `pooling`."""
