"""NumPy kernels: arrays in, arrays out. Kernels are independent of operators, attributes and layers.

`costs` holds the measured speeds and sizes that select variants.
"""
