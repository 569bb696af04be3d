"""Matrix products, arranged for fast BLAS calls: the entry point is `product.matrix_product`.

A long product is split into chunks that our threads share; BLAS computes each on one thread. The chunks, and the tiles
of `multiply_in_tiles`, depend on the shapes only. A constant matrix may be prepacked in `panels`.
"""
