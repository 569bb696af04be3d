"""The sizes and times by which kernels select variants.

Each documents its measurements: on one core of an AMD EPYC with 1 MiB of private and 32 MiB of shared cache, NumPy 2.4
with its OpenBLAS, f32; `python -m benchmarks.costs` repeats most of them. On another machine a number may be wrong by a
factor of two. None changes the result of a kernel, but thresholds marked "Rounds" may change the order of a sum, and so
the last bits of floats.

Kernels read them as `thresholds.NAME` when they are called.
"""

from __future__ import annotations

# Threads

SHARED_NANOSECONDS = 500_000
"""Minimum work per extra thread, and per chunk of attention. If NumPy's calls are short, threads wait for the
interpreter's lock between them: HSigmoid of 200,000 elements takes 140 us on one thread, 370 on two. The speedup of 52
gathers and scatters was 1.20x with 200,000, 1.23x with this, 1.19x with 1,000,000.
"""

SHARED_PRODUCT_NANOSECONDS = 300_000
"""Minimum work per extra thread, for matrix products, whose calls are long: a U-Net takes 14.6 ms with 300,000, 16.4
with the number above, and as long with 200,000, but MobileNet-v2 next to two busy processes then takes 40 ms, not 25.
Chunks of a product are a third longer, since BLAS rearranges one of the matrices for every chunk: four take 5 to 20 %
longer than one. Rounds: BLAS sums products of different sizes in different orders.
"""

CHUNK_NANOSECONDS = 60_000
"""Work per chunk of a gather or a scatter, with an overhead of 3 % for NumPy's call and the hand-over; also the minimum
product of a recurrent step for running the two directions of a sequence on separate threads.
"""

MOST_CHUNKS = 16
"""Maximum number of chunks of work, of about equal size: 16 keep four threads busy to the end. Products have half as
many. Rounds, by the chunks of products.
"""

# Nanoseconds that determine chunks and threads

ELEMENT_NANOSECONDS = 1.0
"""Locating and moving one element, or a multiplication in a product of integers: 0.5 to 0.9 ns for the move in
tensors up to 16 MiB, the rest for the offset; 0.5 ns for a product of i32, 1.0 of i64."""

SLOW_ELEMENT_NANOSECONDS = 2.0
"""An element of a softmax (1 ns in f32, 3.4 in f16), of other functions with an exponential, of a running sum in blocks
(1.7; NumPy's own takes 3.3), and of rows whose least elements are found by a partition (3).
"""

NEAR_ELEMENT_NANOSECONDS = 0.3
"""An element within the cache of a core that is copied, decoded, sampled, transformed, or multiplied and added: 0.2
for copies of rows, 0.3 for Winograd's sums, for decoded weights and for depthwise windows, 0.35 for a
sample."""

BYTE_NANOSECONDS = 0.04
"""Moving one byte of a slice from memory to memory; within the cache half of that. Rounds, by the chunks of
products.
"""

# Chunks of work

CHUNK_ELEMENTS = 2**17
"""Elements of a chunk in expressions, index arithmetic, searches, pooling and attention, on which all steps run before
the next chunk. Five steps take 0.3 to 0.4 ns per element with 2**15 to 2**17 elements at a time, twice as much with
2**13, where the overhead of NumPy's calls matters, and with 2**22, which exceed the cache. Rounds in attention and in
sums of rows of different lengths, which are added chunk by chunk.
"""

INTERMEDIATE_ELEMENTS = 2**18
"""Elements of an intermediate array that is much larger than the output: copied windows of a deformable or transposed
convolution, selected rows of embeddings, channels of a depthwise convolution stored channels-last. As f32 they fill a
core's private cache. Rounds in sums of embeddings.
"""

SPLIT_ELEMENTS = 2**19
"""Minimum elements for splitting one of NumPy's own functions, or a conversion, between threads: about 0.2 ms of
work.
"""

WINDOW_ELEMENTS = 2**19
"""Elements of windows, of rows for bands, or of decoded weights that are copied before a product: 2 MiB. With half of
them 15 convolutions are 1.06x slower, and NumPy's calls are a sixth of the time of one token by compressed weights.
Winograd's transformed elements are twice as many: 64 channels of 56 x 56 take 1.05 ms, 1.5 with twice these; with a
quarter, 256 channels of 14 x 14 take 1.2 ms instead of 0.9, since filters are read again. Rounds: BLAS sums products of
different sizes in different orders.
"""

WORKING_ELEMENTS = 2**22
"""Maximum elements of tables, matrices and scores that a thread holds at a time: 16 MiB of f32. It limits memory and
does not depend on speed. Rounds in attention with very long rows.
"""

RUN_ELEMENTS = 64
"""Minimum length of a long run of adjacent elements: the processor prefetches the next lines, and 128 rows of 4,096
columns, copied transposed with this many columns at a time, take 0.56 ns per element instead of 2.8. Shorter runs are
summed by a call for each place of all runs: 9,000 bags of four rows of 64 elements take 1.4 ms instead of 10.5; 784 x 3
x 2 summed along the second axis by np.einsum takes 8 us, by np.add.reduce 53. Rounds, since short runs are summed in
order and longer ones in pairs.
"""

# Small inputs and short rows, where the overhead of NumPy's calls dominates

FEW_ELEMENTS = 2**15
"""Maximum elements for which a few NumPy calls on all of them are faster than chunks: a scatter of slices takes 4.5 us
instead of 9.4 at 2**15 elements, 17 instead of 20 at 2**17. Also the number of pairs of boxes whose overlaps are
computed at once."""

TABLE_ELEMENTS = 2**13
"""Maximum elements for caching a table of offsets (64 KiB; it saves 7 us of the 10 that 1,024 indices take), for
converting codes one by one, at 30 ns each, without a table that takes 2 ms once, and for running sums without blocks.
Rounds in running sums.
"""

CALL_ELEMENTS = 2**11
"""Maximum elements for which one call of NumPy is faster than a method of several calls: np.where, np.fmod, np.sort,
np.add.reduce, a softmax without a search for the greatest score, reduced updates in waves. np.fmod of 2,048 elements
takes 14 to 27 us, in f64 28 to 33; for 16,384 elements 108 to 450 and 67 to 79. Rounds in softmax and in short sums.
"""

LONG_ROW = 2**9
"""Minimum elements of a long row. Long rows that are not contiguous are copied by columns (3,136 by 256 elements,
transposed, take 0.99 ns each in a copy, 256 by 3,136 6.1). Slices of at least this many bytes are written once, by the
last of their updates. Resampling tables are cached for shorter axes. Running sums of this many slices release the
interpreter's lock. It is also the minimum chunk of a product of few rows. Rounds, by the chunks of products.
"""

MANY_ROWS = 2**8
"""Minimum number of short rows to reduce or search element by element, all at once, and minimum tokens for which BLAS
multiplies tokens by decoded weights as fast as weights by tokens. Joins and pairwise operations need four times as many
rows: three times 1,000 of 2 elements take 8 us instead of 15. Rounds for compressed weights.
"""

SHORT_ROW = 5
"""Maximum elements of a row for which all rows are summed or combined element by element: 20,000 sums of 4 take 22 us,
310 by np.add.reduce; 50,176 x 3 minus 3 takes 76 us instead of 284. The order of such sums is the same in both
methods.
"""

FEW_LINES = 16
"""Minimum rows, columns or channels of an efficient product or reduction: 44 multiplications per nanosecond with 16
rows, 32 with 8, 22 with 4. Tiles of fewer rows are slower than the whole product. The greatest of 16 elements, 20,000
times, takes 310 us element by element and 980 row by row. Means of 256 channels of images are products, 7.5 ms instead
of 18; with 3 channels they would be a third slower. u4 of 2,048 x 2,048 by 16 tokens takes 4.6 ms by sums of groups and
5.0 by scaled weights, by 32 tokens 7.4 and 6.5. Rounds: it determines how products are split.
"""

ELEMENTS_A_CALL = 32
"""Minimum elements, or rows, for one more call of NumPy: the greatest of 16 elements, 128 times, takes 7 us by
np.maximum.reduce and 11 element by element. Four times as many are needed for a place of a bag of embeddings, and for a
tap of resampling, where a matrix product is equally fast at 100. Rounds in resampling and in sums of embeddings.
"""

KEPT_SHARE = 8
"""Minimum ratio of all to kept elements for finding the least ones by a partition instead of a sort; also the number of
overlaps computed together in the time of one overlap of a selected pair.
"""

# Matrix products

UNSHARED_MULTIPLICATIONS = 2**13
"""Maximum product for which no BLAS wakes threads: OpenBLAS does for a vector and a matrix of at least 9,216
elements.
"""

FILLED_ELEMENTS = 2**14
"""Minimum elements of a product for which filling it with zeros, as np.dot does, takes longer than the call of
np.matmul: 64 x 64 by 256 columns 27.3 and 27.1 us, 784 x 32 by 192 138 and 129, 12 x 64 by 64 2.9 and 3.3.
"""

CHUNK_LINES = 96
"""Minimum rows or columns of a chunk of a product: BLAS rearranges the other matrix for every chunk, which takes 10 to
20 % of its time with 96 to 128 of them, 40 to 90 % with 32. Rounds.
"""

ROWS_AS_VECTORS = 3
"""Maximum rows that a product with a large matrix processes one by one: 2 rows of 768 and 768 x 3,072 take 0.5 to
0.7 ms, not 1.2 to 1.6, 3 rows 0.6 to 0.8, not 0.8 to 1.7; with 4 rows some shapes lose. Rounds."""

TILE_MULTIPLICATIONS = 10**6
"""Maximum product that OpenBLAS with AVX-512 multiplies without copying first; longer ones are split into tiles. 1,024
x 256 by 8 columns take 83 us, in tiles 42; 8 rows of 768 by 768 x 3,072 take 1,200 and 440; 96 x 16 by 12,544 columns
520 and 390. There is no gain for products of an eighth of it. Rounds.
"""

TILE_COLUMNS = 64
"""Columns of a tile or a panel, or a multiple: 8 rows by 768 x 3,072 take 440 us with 64, 1,070 with 48, 580 with
96. Rounds."""

TRANSPOSED_TILE_ELEMENTS = 1200
"""Elements of the result of a tile if both matrices are contiguous along the summed axis: 8 rows of 3,072 by a
transposed 3,072 x 768 take 1,880 us, in tiles 380. Rounds.
"""

PANELLED_ELEMENTS = 2**16
"""Minimum elements of a constant matrix for prepacking it in panels; eight times as many if there may be few rows,
since one row by 128 x 512 takes 8 us in panels, 4 by rows. From memory, 128 rows by 768 x 3,072 run at 49
multiplications per nanosecond in panels, 40 for a matrix stored by rows and 38 by columns. Rounds.
"""

RUNS_BEFORE_PACKING = 4
"""Runs of a graph before its packed weights are stored. For BERT-base with 85 million elements, storing the panels
takes 240 ms once, on two threads; copying a few at a time in every run takes 40 to 70 ms more than reading stored ones,
with 8 rows as well as with 512. Results do not change.
"""

# Convolutions

LEAST_WINDOWS = 128
"""Minimum windows, tokens or decoded columns in one product: BLAS rearranges the filters for every product.
f16 of 5,632 x 2,048 by 512 tokens takes 209 ms with 2**18 elements at a time, 139 with 2**21. Also the minimum windows
of an image for Winograd's algorithm: its speedup is 1.3x with 128 channels of 10 x 10, 0.83x with 7 x 7. Rounds."""

FEW_CHANNELS = 8
"""Minimum outputs of a group of one channel for a product of its copied windows, and maximum planes for copying
them one after the other: with 8 planes an element takes 0.6 ns, and 1.1 all at once, with 16 it takes 1.0 and 0.8.
Rounds.
"""

MANY_CHANNELS = 32
"""Minimum channels for depthwise convolutions along the channels: a vector instruction takes 8 or 16. Also the minimum
outputs for Winograd's algorithm. Rounds.
"""

WINOGRAD_CHANNELS = 40
"""Minimum channels for Winograd's algorithm with kernels of 3 x 3: 56 x 56 windows of 32 channels with 64 outputs take
615 us instead of 708 on one thread but 553 instead of 478 on two, of 40 channels with 40 outputs 524 instead of 713.
Rounds.
"""

WINOGRAD_PRODUCTS = 2**20
"""Minimum windows times channels times outputs for Winograd's algorithm: 64 channels of 20 x 20 take 179 us instead of
226; with 10 x 10 it is 1.1x slower. Rounds.
"""

FEW_MULTIPLICATIONS = 1800
"""Maximum windows times elements of the kernel for depthwise convolutions along the channels; three quarters of it if
BLAS has kernels for small matrices. One thread, us, along the channels, by bands and by columns, AVX-512 (AVX2): 256
channels of 7 x 7, 3 x 3 (441) 51, 93 and 99 (51, 125, 99), 384 of 14 x 14 (1,764) 214, 206 and 259 (206, 331, 252), 192
of 28 x 28 (7,056) 482, 279 and 303 (478, 370, 302). Rounds.
"""

# Attention, boxes

SCORES_SUMMED_BY_BLAS = 2**10
"""Maximum scores in a row that BLAS sums: 1,536 rows of 128 take 9 us, not 52. It sums longer rows one by one.
Rounds.
"""

BOXES_AT_ONCE = 128
"""Candidates compared at once in non-maximum suppression: 3,000 boxes take 20 ms with 16 to 512, 30 with 1,024, which
include more boxes that better ones would have removed. For up to four times as many, overlaps are computed once for all
classes (1 MiB of f32); for at least eight times as many, boxes are divided into groups that do not overlap.
"""
