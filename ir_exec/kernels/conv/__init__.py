"""Convolutions by algorithm, and the table that chooses: `variants`.

Each algorithm takes a `ConvProblem`, which the shapes alone make, and returns a function of data and filters. It works
in parts that stay in the cache of a core. The parts follow from the shapes too, and each fills a place of its own in
the result, so threads may share them.
"""
