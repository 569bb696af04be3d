"""Convolutions by algorithm, and the table that selects one: `variants`.

Each algorithm takes a `ConvProblem`, which depends on the shapes only, and returns a function of data and filters. It
works in chunks that fit the cache of a core. The chunks depend on the shapes only, and each fills a separate place of
the result, so threads may share them.
"""
