"""Operators of the specification's folder `sort`."""
