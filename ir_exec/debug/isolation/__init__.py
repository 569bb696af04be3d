"""Layers and blocks of a network by themselves on a device: a wrong layer, or layers that are wrong only together."""
