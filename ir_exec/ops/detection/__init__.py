"""Operators of the specification's folder `detection`."""
