"""Operators of the specification's folder `infrastructure`."""
