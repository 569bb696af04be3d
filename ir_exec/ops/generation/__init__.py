"""Operators of the specification's folder `generation`."""
