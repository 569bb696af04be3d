"""Operators of the specification's folder `convolution`."""
