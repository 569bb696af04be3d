"""Operators of the specification's folder `activation`."""
