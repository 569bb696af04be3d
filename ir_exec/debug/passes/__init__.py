"""Bisection of the compiler passes that change results, with the layers that they fuse."""
