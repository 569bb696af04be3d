"""NumPy kernels: arrays in, arrays out. Nothing here knows operators, attributes or layers.

`costs` holds the numbers about speed and memory by which they choose how to work.
"""
