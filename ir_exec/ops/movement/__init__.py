"""Operators of the specification's folder `movement`."""
