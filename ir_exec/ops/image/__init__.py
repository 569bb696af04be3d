"""Operators of the specification's folder `image`."""
