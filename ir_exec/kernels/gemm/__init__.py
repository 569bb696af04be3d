"""Matrix products, arranged as BLAS is fast at them: `product.matrix_product` is the way in.

A long product is cut into pieces, each of which BLAS computes on one thread, and which threads of ours share. The
pieces follow from the shapes alone, and so do `strips`. A constant matrix may lie in `panels`.
"""
