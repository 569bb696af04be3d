"""Passes of the compiler that change results: bisected, with the layers that they put together."""
