"""Valid files that are broken in one place, each with the layer at fault: the checker names it, and no other.

`python -m tests.mutations 2000` breaks as many, and lists those that were not found or not placed.
"""
