"""Operators of the specification's folder `sequence`."""
