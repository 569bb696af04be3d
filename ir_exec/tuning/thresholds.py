"""The sizes and times by which kernels choose how to work.

Each says what it was chosen by: figures of one core of an AMD EPYC with 1 MiB of cache of its own and 32 MiB that it
shares, NumPy 2.4 with its OpenBLAS, f32; `python -m benchmarks.costs` measures most of them again. On another machine a
number may be wrong by a factor of two. None changes what a kernel computes; those marked "Rounds" may change the order
of a sum, and so the last bits of floats.

Kernels read them as `thresholds.NAME` when they are called.
"""

from __future__ import annotations

# Threads

SHARED_NANOSECONDS = 500_000
"""Work from which on another thread is woken, and that of a piece of attention at least. Where NumPy's calls are
short, threads wait for the interpreter's lock between them: HSigmoid of 200,000 elements takes 140 us on one thread,
370 on two. 52 gathers and scatters took 0.83 of the time with 200,000, 0.81 with this, 0.84 with 1,000,000."""

SHARED_PRODUCT_NANOSECONDS = 300_000
"""The same for matrix products, whose calls are long: a U-Net takes 14.6 ms with 300,000, 16.4 with the number
above, and as long with 200,000, but beside two busy processes MobileNet-v2 takes 40 ms then, not 25. Pieces of a
product are a third longer, since BLAS arranges one of the matrices anew for every piece: four take 5 to 20 per cent
longer than one. Rounds: BLAS sums products of other sizes in another order."""

PIECE_NANOSECONDS = 60_000
"""The work of one piece of a gather or a scatter, of which NumPy's call and handing it out are 3 per cent; and the
product of a recurrent step from which on the two directions of a sequence run on threads of their own."""

MOST_PIECES = 16
"""Pieces into which work is split at most, of about equal size: 16 keep four threads busy to the end. Products have
half as many. Rounds, by the pieces of products."""

# Nanoseconds by which pieces are made and shared

ELEMENT_NANOSECONDS = 1.0
"""Finding and moving one element, or a multiplication in a product of integers: 0.5 to 0.9 ns for the move in
tensors up to 16 MiB, the rest for the offset; 0.5 ns for a product of i32, 1.0 of i64."""

SLOW_ELEMENT_NANOSECONDS = 2.0
"""An element of a softmax (1 ns of f32, 3.4 of f16), of other functions with an exponential, of a running sum in
blocks (1.7; NumPy's own takes 3.3), and of rows of which a partition finds the least ones (3)."""

NEAR_ELEMENT_NANOSECONDS = 0.3
"""An element within the cache of a core that is copied, decoded, sampled, transformed, or multiplied and added: 0.2
for copies of rows, 0.3 for Winograd's sums, for weights that are decoded and for depthwise windows, 0.35 for a
sample."""

BYTE_NANOSECONDS = 0.04
"""Moving one byte of a slice from memory to memory; within the cache half of that. Rounds, by the pieces of
products."""

# Parts of work

CHUNK_ELEMENTS = 2**17
"""Elements that go through all steps of an expression, of index arithmetic, of a search, of pooling or of attention
before the next ones do. Five steps take 0.3 to 0.4 ns an element from 2**15 to 2**17 elements at a time, twice as
much with 2**13, where NumPy's calls count, and with 2**22, which leave the cache. Rounds in attention and in sums of
rows of different lengths, which are added part by part."""

INTERMEDIATE_ELEMENTS = 2**18
"""Elements of an intermediate array that is much larger than the output: copied windows of a deformable or
transposed convolution, chosen rows of embeddings, channels of a depthwise convolution laid side by side. As f32 they
fill a core's own cache. Rounds in sums of embeddings."""

SPLIT_ELEMENTS = 2**19
"""Elements from which on a function of NumPy's own, or a conversion, is split among threads: about 0.2 ms of
work."""

WINDOW_ELEMENTS = 2**19
"""Elements of windows, of rows for bands, or of decoded weights that lie side by side before they are multiplied: 2
MiB. With half of them 15 convolutions take 1.06 times as long, and NumPy's calls are a sixth of the time of one
token by stored weights. Winograd's transformed elements are twice as many: 64 channels of 56 x 56 take 1.05 ms, 1.5
with twice these; with a quarter 256 of 14 x 14 take 1.2 instead of 0.9, since filters are read again. Rounds: BLAS
sums products of other sizes in another order."""

HELD_ELEMENTS = 2**22
"""Elements of tables, matrices and scores that a thread holds at a time at most: 16 MiB of f32. It stands for
memory, not for speed. Rounds in attention with very long rows."""

RUN_ELEMENTS = 64
"""Adjacent elements from which on a run is long enough: the processor fetches the next lines ahead, and 128 rows of
4,096 columns, copied transposed in so many columns at a time, take 0.56 ns an element instead of 2.8. Shorter runs
are summed by a call for each place of all of them: 9,000 bags of four rows of 64 elements take 1.4 ms instead of
10.5; 784 x 3 x 2 summed along the second axis by np.einsum 8 us, by np.add.reduce 53. Rounds, as sums of short runs
are added in order and longer ones in pairs."""

# Small inputs and short rows, where NumPy's calls count more than elements

FEW_ELEMENTS = 2**15
"""Elements up to which a few NumPy calls on all of them are quicker than chunks: a scatter of slices takes 4.5 us
instead of 9.4 at 2**15 elements, 17 instead of 20 at 2**17. Also pairs of boxes whose overlaps are computed at
once."""

TABLE_ELEMENTS = 2**13
"""Elements up to which a table is kept, of offsets (64 KiB; it saves 7 us of the 10 that 1,024 indices take), up to
which codes are converted one by one, at 30 ns each, without a table that takes 2 ms once, and running sums take no
blocks. Rounds in running sums."""

CALL_ELEMENTS = 2**11
"""Elements up to which one call of NumPy beats a faster way of several: np.where, np.fmod, np.sort, np.add.reduce, a
softmax whose greatest score is not looked for, reduced updates in waves. np.fmod of 2,048 elements takes 14 to 27
us, in f64 28 to 33, of 16,384 108 to 450 and 67 to 79. Rounds in softmax and in short sums."""

LONG_ROW = 2**9
"""Elements from which on a row is long: those that lie apart in memory are copied by columns (3,136 by 256 elements,
transposed, take 0.99 ns each in a copy, 256 by 3,136 6.1); slices of as many bytes are written once, by the last of
their updates; axes of resampling that are no longer keep their table; running sums of as many slices give up the
interpreter's lock; pieces of a product of few rows are no shorter. Rounds, by the pieces of products."""

MANY_ROWS = 2**8
"""Rows from which on they are reduced or searched element by element, all at once, if they are short, and tokens
from which on BLAS multiplies them by decoded weights as fast as the weights by them. Rows are joined, and calculated
with in pairs, element by element from four times as many on: three times 1,000 of 2 elements take 8 us instead of
15. Rounds for compressed weights."""

SHORT_ROW = 5
"""Elements of a row up to which all rows are summed or paired element by element: 20,000 sums of 4 take 22 us, 310
by np.add.reduce; 50,176 x 3 minus 3 76 us instead of 284. Such sums have one order either way."""

FEW_LINES = 16
"""Rows, columns or channels below which a product or a reduction is slow as it is: 44 multiplications a nanosecond
with 16 rows, 32 with 8, 22 with 4; strips of fewer rows take longer than the product in one piece; 20,000 greatest
of 16 take 310 us element by element and 980 row by row; means of 256 channels of images are products, 7.5 ms instead
of 18, of 3 channels a third slower; u4 of 2,048 x 2,048 by 16 tokens takes 4.6 ms by sums of groups and 5.0 by
scaled weights, by 32 7.4 and 6.5. Rounds: it decides how products are cut."""

ELEMENTS_A_CALL = 32
"""Elements, or rows, that are worth one more call of NumPy: 128 greatest of 16 take 7 us by np.maximum.reduce and 11
element by element. Four times as many for a place of a bag of embeddings, and for a tap of resampling, where a
product with a matrix is as fast at 100. Rounds in resampling and in sums of embeddings."""

KEPT_SHARE = 8
"""Elements for each one that is kept from which on a partition finds the least ones instead of sorting all, and
overlaps that are computed side by side in the time in which one of a chosen pair is."""

# Matrix products

UNSHARED_MULTIPLICATIONS = 2**13
"""Products up to which no BLAS wakes threads: OpenBLAS does from 9,216 elements of a matrix on that meets a
vector."""

FILLED_ELEMENTS = 2**14
"""Elements of a product from which on filling it with zeros, as np.dot does, takes longer than np.matmul's call
does: 64 x 64 by 256 columns 27.3 and 27.1 us, 784 x 32 by 192 138 and 129, 12 x 64 by 64 2.9 and 3.3."""

PIECE_LINES = 96
"""Rows or columns of a piece of a product at least: BLAS arranges the other matrix anew for every piece, which takes
10 to 20 per cent of its time with 96 to 128 of them, 40 to 90 with 32. Rounds."""

ROWS_AS_VECTORS = 3
"""Rows up to which a product with a large matrix takes them one by one: 2 rows of 768 and 768 x 3,072 take 0.5 to
0.7 ms, not 1.2 to 1.6, 3 rows 0.6 to 0.8, not 0.8 to 1.7; with 4 rows some shapes lose. Rounds."""

STRIP_MULTIPLICATIONS = 10**6
"""Products up to which OpenBLAS multiplies with AVX-512 without copying first; longer ones are cut into strips.
1,024 x 256 by 8 columns take 83 us, in strips 42; 8 rows of 768 by 768 x 3,072 1,200 and 440; 96 x 16 by 12,544
columns 520 and 390. Products of an eighth of it gain nothing. Rounds."""

STRIP_COLUMNS = 64
"""Columns of a strip or a panel, or a multiple: 8 rows by 768 x 3,072 take 440 us with 64, 1,070 with 48, 580 with
96. Rounds."""

TURNED_STRIP_ELEMENTS = 1200
"""Elements of the result of a strip where both matrices are read along what is summed: 8 rows of 3,072 by 3,072 x
768 that lies transposed take 1,880 us, in strips 380. Rounds."""

PANELLED_ELEMENTS = 2**16
"""Elements of a constant matrix from which on it is kept in panels; eight times as many where the rows may be few,
since one row by 128 x 512 takes 8 us in panels, 4 by rows. From memory, 128 rows by 768 x 3,072 run at 49
multiplications a nanosecond, 40 where the matrix lies by rows and 38 by columns. Rounds."""

RUNS_BEFORE_PACKING = 4
"""Runs of a graph before its packed weights are kept. Of 85 million elements, BERT-base's, keeping the panels takes
240 ms once, on two threads; copying a few at a time in every run 40 to 70 more than reading kept ones, with 8 rows as
with 512. No result changes."""

# Convolutions

LEAST_WINDOWS = 128
"""Windows, or tokens, or decoded columns in one product at least: BLAS arranges the filters anew for every product.
f16 of 5,632 x 2,048 by 512 tokens takes 209 ms with 2**18 elements at a time, 139 with 2**21. Also windows of an
image from which on Winograd's algorithm pays: 128 channels of 10 x 10 take 0.76 of the time, of 7 x 7 1.2.
Rounds."""

FEW_CHANNELS = 8
"""Outputs of a group of one channel from which on a product of its windows is worth their copy, and planes up to
which they are laid side by side one after the other: with 8 an element takes 0.6 ns, and 1.1 all at once, with 16 it
takes 1.0 and 0.8. Rounds."""

MANY_CHANNELS = 32
"""Channels from which on depthwise convolutions may run along them: a vector instruction takes 8 or 16. Also outputs
from which on Winograd's algorithm pays. Rounds."""

WINOGRAD_CHANNELS = 40
"""Channels from which on convolutions with kernels of 3 x 3 take less time with fewer multiplications: 56 x 56
windows of 32 channels with 64 outputs 615 us instead of 708 on one thread but 553 instead of 478 on two, of 40 with
40 524 instead of 713. Rounds."""

WINOGRAD_PRODUCTS = 2**20
"""The same for windows times channels times outputs: 64 channels of 20 x 20 take 179 us instead of 226, of 10 x 10
1.1 times as long. Rounds."""

FEW_MULTIPLICATIONS = 1800
"""Windows times elements of the kernel up to which depthwise convolutions run along the channels; three quarters of
it where BLAS has kernels for small matrices. One thread, us, along the channels, by bands and by columns, AVX-512
(AVX2): 256 channels of 7 x 7, 3 x 3 (441) 51, 93 and 99 (51, 125, 99), 384 of 14 x 14 (1,764) 214, 206 and 259 (206,
331, 252), 192 of 28 x 28 (7,056) 482, 279 and 303 (478, 370, 302). Rounds."""

# Attention, boxes

SCORES_SUMMED_BY_BLAS = 2**10
"""Scores in a row up to which BLAS adds them: 1,536 rows of 128 take 9 us, not 52. It adds more of them one by one.
Rounds."""

BOXES_AT_ONCE = 128
"""Candidates that non-maximum suppression compares with each other at once: 3,000 boxes take 20 ms with 16 to 512,
30 with 1,024, which compare more boxes that better ones would have removed. Four times as many have their overlaps
computed once for all classes (1 MiB of f32), and from eight times as many on groups are looked for that do not
overlap."""
