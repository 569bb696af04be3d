"""Runs of single layers and blocks of a model on a device, to find a wrong layer or a wrong fusion."""
