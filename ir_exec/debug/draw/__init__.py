"""Inputs that nobody gave: sizes that the network takes, and values that a person would give."""
