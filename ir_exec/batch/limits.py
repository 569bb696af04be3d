"""Limits of workers, for modules that start none."""

__all__ = ["MOST_JOBS"]

MOST_JOBS = 1024
"""Maximum number of worker processes: above the cores of any machine."""
