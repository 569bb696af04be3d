"""Traces of all values of a run, on disk or in memory."""
