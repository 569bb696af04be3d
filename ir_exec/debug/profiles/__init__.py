"""Profiles of runs: time, memory and work by layer."""
