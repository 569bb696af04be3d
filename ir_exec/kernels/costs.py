"""The numbers about speed and memory by which kernels choose how to work. None of them changes what a kernel computes.

`python -m benchmarks.costs` measures what they rest on. The figures are those of one core of an AMD EPYC with 1 MiB of
cache of its own and 32 MiB that it shares, NumPy 2.4 with its OpenBLAS, and f32. On another machine a number may be
wrong by a factor of two; some kernels are some tens of per cent slower then. Where a sentence gives no figure, it says
what the number stands for.

Kernels read the numbers as `costs.NAME`, so that a test may replace them: whole numbers by any from 2 on, times by any
above 0, which stands for work that is not to be shared.
"""

from __future__ import annotations

WORTH_SHARING_NANOSECONDS = 500_000
"""Work from which on another thread is woken. Where NumPy's calls are short, threads wait for the interpreter's lock
between them: HSigmoid of 200,000 elements takes 140 us on one thread, 370 on two. Of 76 layers of 0.2 to 10 ms two took
8 per cent longer with 200,000 in place of this number; 52 gathers and scatters took 0.83 of the time with 200,000, 0.81
with this one, and 0.84 with 1,000,000."""

PRODUCTS_WORTH_SHARING_NANOSECONDS = 300_000
"""The same for matrix products, whose calls are long: a U-Net takes 14.6 ms with 300,000, 16.4 with the number above,
and as long with 200,000, but beside two busy processes MobileNet-v2 takes 40 ms then, not 25."""

SPIN_SECONDS = 1000e-6
"""How long the calling thread looks again and again whether its helpers are done, while other processes go first:
waking it takes 100 us, and the last pieces of two threads end some hundreds apart."""

PIECE_NANOSECONDS = 60_000
"""The work of one piece of a gather or a scatter: NumPy's call (1,000 ns) and handing it out are 3 per cent of it."""

MOST_PIECES = 16
"""Pieces into which such work is split at most. They are of about equal size: 16 keep four threads busy to the end."""

PIECE_ELEMENTS = 2**17
"""Elements that go through all steps of an expression before the next ones do. Five steps take 0.3 to 0.4 ns an element
from 2**15 to 2**17 elements at a time, twice as much with 2**13, where NumPy's calls count, and with 2**22, which leave
the cache. On two threads Gelu, Swish and others of 1.5 million elements take 0.81 to 0.89 of the time with 2**16."""

CHUNK_ELEMENTS = 2**17
"""Elements of a chunk of index arithmetic, beam search, pooling and copied windows at most: with i32 or i64 offsets
beside them they fill a core's own cache, and NumPy's calls are below 2 per cent of the time."""

LONG_ROW = 2**9
"""Elements from which on a row whose elements are apart in memory is long: 3,136 by 256 elements, transposed, take 0.99
ns each in a copy, 256 by 3,136 6.1."""

COLUMNS_OF_A_COPY = 64
"""Columns of a transposed array that are copied at a time, and rows from which on it pays: 128 rows of 4,096 columns
take 0.56 ns an element, not 2.8; rows of 40 as long as without."""

INTERMEDIATE_ELEMENTS = 2**18
"""Elements of an intermediate array that is much larger than the output: copied windows of a deformable or transposed
convolution, chosen rows of embeddings, overlaps of boxes. As f32 they fill a core's own cache."""

FEW_CHANNELS = 8
"""Up to so many planes are laid side by side one after the other: with 8 an element takes 0.6 ns, and 1.1 all at once,
with 16 it takes 1.0 and 0.8."""

NEAR_CACHE_BYTES = 2**20
"""What a core's own cache holds. np.take reads a random element in 0.5 ns within it, in 0.7 to 0.9 ns beyond."""

SHARED_CACHE_BYTES = 2**22
"""Up to this size of a tensor random elements take 0.7 ns, so that going through it column by column costs more than it
saves; in 64 MiB each takes 2 ns."""

CACHE_LINE_ELEMENTS = 16
"""The fewest adjacent elements that a part of a tensor has: of four bytes each they fill a line of the cache."""

RUN_ELEMENTS = 64
"""Adjacent elements that a part of a tensor has where memory allows: the processor fetches the next lines ahead."""

COPIED_PART_BYTES = 2**23
"""The part of a tensor that each thread of a scatter copies at most; it stands for memory, not for speed."""

ELEMENT_NANOSECONDS = 1.0
"""Finding and moving one element: 0.5 to 0.9 ns for the move in tensors up to 16 MiB, the rest for the offset."""

BYTE_NANOSECONDS = 0.04
"""Moving one byte of a slice from memory to memory; within the cache it is half of that."""

FEW_ROWS_OF_A_BAG = 64
"""Rows of each bag of embeddings up to which they are added place by place, all bags at once: 9,000 bags of four rows
of 64 elements take 1.4 ms instead of 10.5. Longer bags are summed by runs of rows."""

ELEMENTS_A_PLACE = 2**7
"""Elements of all bags for each place in a bag from which on adding place by place pays: 64 bags of three rows of 16
take 20 us, not 24, but 4 such bags 18, not 11."""

FEW_ELEMENTS = 2**15
"""Up to so many elements a few NumPy calls on all of them are quicker than chunks, which have twice as many or more: a
scatter of slices takes 4.5 us instead of 9.4 at 2**15 elements, 17 instead of 20 at 2**17."""

ROWS_OF_A_RUN = 2**8
"""Rows from which on windows along them are pooled in one run."""

SHORT_KERNEL = 5
"""Elements of a window up to which that is done: windows at the ends are pooled one by one."""

SEGMENT_ELEMENTS_A_PLACE = 2**11
"""Elements of all segments from which on they are compared place by place: np.maximum.reduceat runs along a segment,
and takes 5 to 10 ns an element where these are short, a call for each place of all of them 6 us and 1 ns an element."""

FEW_CODES = 2**13
"""Up to so many elements are converted to short floats one by one, at 30 ns each. A look-up takes 1 ns, and the table
2 ms once."""

TABLE_ELEMENTS = 2**13
"""Indices, and sizes of axes, up to which a table of offsets is kept (64 KiB): it saves 7 us of the 10 that 1,024
indices take without it, and 6 of 15 with 8,192."""

OFFSETS_AT_ONCE = 2**18
"""Indices up to which all offsets are found before threads share the moving: many short NumPy calls on several threads
take longer than on one, for each waits for the interpreter's lock."""

LEAST_GROUPS = 64
"""Groups into which the tiles of a gather are put at least, where there are so many, for threads to share."""

FEW_GROUPS = 4
"""Fewer groups than these do not keep all threads busy: then data is copied by all threads before the groups begin."""

LONG_SLICE_BYTES = 512
"""Slices from which on the last update of each place is found first, so that threads write every slice once."""

CHANNELS_OF_PRODUCTS = 16
"""Channels from which on a mean of weighted samples of images is a product for every bin: 100 boxes of 7 x 7 bins with
256 channels take 7.5 ms, weighted and added 18; with 3 channels the products take a third longer."""

COPIED_TO_READ = 4
"""How many times as large as what is sampled of images they may be to be copied with their channels side by side."""

TUPLES_AT_ONCE = 2**20
"""Tuples whose offsets exist at the same time where they choose single elements: 8 MiB. It stands for memory."""

WAVE_ELEMENTS = 2**12
"""Elements of one wave of reduced updates that are worth its NumPy calls: 40,000 updates of 32 elements to a few
hundred places take 2 ms with 2**10 and 2**12, 4 with 2**8, 3 to 7 with 2**16."""

SPLIT_ELEMENTS = 2**19
"""Elements from which on a function of NumPy's own, or a conversion, is split among threads: about 0.2 ms of work."""

FEW_REMAINDERS = 2**11
"""Up to so many remainders of f32 NumPy's function is quicker than quotients in f64: np.fmod of 2,048 elements takes 14
to 27 us, not 28 to 33, of 16,384 already 108 to 450, not 67 to 79."""

EXPONENTIAL_NANOSECONDS = 2.0
"""An element of a softmax, 1 ns of f32, 3.4 of f16, and of other functions with an exponential in them."""

SCORES_AT_ONCE = 2**22
"""Attention scores (queries times keys, over some batches) that a thread holds at a time at most: 16 MiB of f32. It
stands for memory; most pieces have `CHUNK_ELEMENTS`."""

SCORES_WORTH_A_LOOK = 2**12
"""Scores from which on the least and the greatest one are looked for, in 2 us and 0.05 ns each: 1,536 rows of 128, none
of them beyond 50, take 181 us, not 410."""

SCORES_SUMMED_BY_BLAS = 2**10
"""Scores in a row up to which BLAS adds them: 1,536 rows of 128 take 9 us, not 52. It adds more of them one by one."""

SCORES_WORTH_A_BOUND = 2**14
"""Scores from which on the lengths of queries and keys are looked at: where these are short, the greatest score of each
row is neither sought nor subtracted, 0.6 of the 1.7 ns that a score takes with short vectors."""

SCORES_A_MASK = 4
"""Scores for each element of a mask from which on it is looked at for keys that no query of a piece sees: a score takes
4 to 5 ns, an element of the mask 0.3."""

ATTENTION_PIECE_NANOSECONDS = 500_000
"""A piece of attention at least: of short ones, a dozen calls each, threads wait for the interpreter's lock between the
calls. Twelve heads of 197 queries take 1.97 ms on one thread and 1.52 on two; with 100,000 they took 2.18 and 2.56."""

MULTIPLICATIONS_A_NANOSECOND = 50
"""What one core does in a matrix product of f32: 49 in one of 64 x 64 x 64, 60 in one of 256 x 256 x 256; with vectors
of AVX-512 that are not calculated in halves 80 and 105."""

PLAIN_MULTIPLICATION_NANOSECONDS = 0.7
"""A multiplication in a product of integers, which NumPy computes without BLAS: 0.5 ns of i32, 1.0 of i64."""

SHIFTED_MULTIPLICATION_NANOSECONDS = 0.11
"""A multiplication and an addition of long runs of f32 that the cache of a core holds."""

DEPTHWISE_NANOSECONDS = 1.9
"""An element of a depthwise convolution, beside its multiplications: copies, and sums of rows."""

DEPTHWISE_WORTH_SHARING_NANOSECONDS = 1_600_000
"""Depthwise convolutions that threads share where they are many short calls, of 5 to 50 us: of 18 convolutions of 0.4
to 4 ms those below 1.3 ms took 1.1 times as long on two threads as on one."""

DEPTHWISE_ELEMENTS = 2**15
"""Windows of a depthwise convolution at a time on one thread: their copies and products fill a core's own cache. With
four times as many 18 convolutions take 1.1 times as long."""

WIDE_ROW = 20
"""Windows along the last axes from which on rows of them are worth a product for each channel alone, where BLAS copies
small matrices first: 192 channels of 28 x 28 take 0.91 of the time, of 14 x 14 1.14."""

BAND_ROWS = 6
"""Rows of windows in one product of a depthwise convolution where BLAS copies nothing: an output of 56 x 56 takes 0.38
ns with 6, 0.48 with 4 and 0.51 with 8. Elsewhere one: 0.81 ns, 0.84 with 4."""

BAND_WINDOWS = 16
"""The same for windows of one axis: 256 channels of 500 with kernels of 31 elements take 220 us, with 8 or 32 253 and
313."""

LONG_KERNEL = 8
"""Elements of a kernel from which on that is so; shorter ones along one axis are vectors: 256 channels of 200 with
kernels of 3 elements take 63 us, 112 the other way."""

BESIDE_NANOSECONDS = 0.2
"""Copying an element of the data for one element of a row of the kernel."""

BAND_ELEMENTS = 2**19
"""Elements so copied at a time: 144 channels of 56 x 56 take 447 us, 454 with half of them, on two threads 358 and 425;
64 channels of 224 x 224 3.3 and 3.7 ms."""

UNLOCKED_SLICES = 2**9
"""Running sums of no more than 500 slices keep the interpreter's lock, so that no other thread computes meanwhile."""

ACCUMULATED_ELEMENT_NANOSECONDS = 1.7
"""A running sum in blocks. NumPy adds one element after the other along any axis, at 3.3 ns."""

SUMMED_BLOCK = 8
"""Elements of a block of running sums: 256 rows of 768 take 325 us, 400 with 4 or 16, 650 without blocks."""

SUMMED_IN_BLOCKS = 2**13
"""Elements of running sums from which on the calls for each place in a block pay."""

BINS_WORTH_TABLES = 2**17
"""Bins times channels from which on tables of greatest rectangles pay: 256 regions of 7 x 7 bins with 16 channels take
1.4 ms instead of 1.9, 32 regions 0.33 instead of 0.30."""

ELEMENTS_OF_TABLES = 2**22
"""Elements of these tables at most, 16 MiB of f32. It stands for memory."""

PRODUCTS_OF_PLACES = 2**20
"""Products of all places of images with all filters that stay in a cache: a deformable convolution of 32 channels of
28 x 28 takes 0.7 of the time with these first, one of 64 channels of 56 x 56, 7 MiB, 1.1 of it."""

SAMPLED_ELEMENT_NANOSECONDS = 0.35
"""Reading one of the four neighbours of a sample, and multiplying and adding it, by channel."""

UNSHARED_MULTIPLICATIONS = 2**13
"""Products up to which no BLAS wakes threads: OpenBLAS does from 9,216 elements of a matrix on that meets a vector."""

PRODUCT_PIECE_NANOSECONDS = 400_000
"""A piece of a product, about, where there are more than two: BLAS arranges one of the matrices anew for every piece.
Four pieces take 5 to 20 per cent longer than one; of matrices in panels two threads take 350 us for two pieces of 230
us, and 390 to 405 for four or twelve."""

MOST_PRODUCT_PIECES = 8
"""Into which a product is cut."""

LEAST_ROWS_OF_PIECE = 128
"""Rows of a piece of a product that has more rows than columns: BLAS arranges the columns anew for every piece, which
takes 10 to 20 per cent of its time with 128 rows, 40 to 90 with 32."""

LEAST_COLUMNS_OF_PIECE = 96
"""The same for columns: 10 per cent with 96, 40 with 64."""

LEAST_COLUMNS_OF_FEW_ROWS = 512
"""With fewer than `LEAST_ROWS` rows a product takes the time of reading its columns, in pieces of 2 KiB and more."""

ROWS_AS_VECTORS = 3
"""Rows up to which a product with a large matrix takes them one by one: 2 rows of 768 and 768 x 3,072 take 0.5 to 0.7
ms, not 1.2 to 1.6, 3 rows 0.6 to 0.8, not 0.8 to 1.7; with 4 rows some shapes lose."""

LARGE_MATRIX_ELEMENTS = 2**18
"""Elements of such a matrix at least: with 128 x 512 BLAS takes 4 us for 2 rows, one by one they take 7."""

STRIP_MULTIPLICATIONS = 10**6
"""Products up to which OpenBLAS multiplies with AVX-512 without copying first. 1,024 x 256 by 8 columns take 83 us, in
strips 42; 8 rows of 768 by 768 x 3,072 1,200 and 440; 96 x 16 by 12,544 columns 520 and 390."""

TURNED_STRIP_ELEMENTS = 1200
"""The same of the result where both matrices are read along what is summed: 8 rows of 3,072 by 3,072 x 768 that lies
transposed take 1,880 us, in strips 380."""

LEAST_TURNED_INNER = 128
"""Elements of a sum from which on that is so where the first matrix has more rows than the second one has columns:
512 x 64 by 32 columns take 16 us, in strips 18, 512 x 256 56 and 51; 32 rows by 256 x 512 83 and 54."""

UNCUT_MULTIPLICATIONS = 2**17
"""Below, strips save nothing."""

STRIP_ROWS = 16
"""Rows of a strip, or a multiple of that: 512 x 512 by 49 columns take as long in strips of 16 rows as in one piece, in
such of 32 0.86 of that; with fewer they take longer."""

STRIP_COLUMNS = 64
"""Columns of a strip, or a multiple: 8 rows by 768 x 3,072 take 440 us with 64, 1,070 with 48, 580 with 96."""

TILED_BYTES = 2**20
"""Memory of the second matrix up to which a product is cut along both sides: each row of tiles reads it once more. With
1,024 x 196 256 rows run at 55 multiplications a nanosecond in tiles, at 51 in one piece; with 768 x 768 from memory at
38 and 45."""

TILE_ROWS = 48
"""Rows of such a tile at most: 24 or 48 rows by 64 columns run at 54 to 57 multiplications a nanosecond."""

LEAST_TILE_ROWS = 8
"""Rows of such a tile, or a multiple: with 8 by 64 columns it runs at 50 to 55."""

LEAST_TILE_INNER = 128
"""Elements of a sum from which on such tiles pay: 1,024 x 64 by 64 x 1,024 runs at 0.9 of the speed in them."""

LEAST_ROWS = 16
"""Products of fewer rows are slow: 44 multiplications a nanosecond with 16 rows, 32 with 8, 22 with 4."""

PANELLED_ELEMENTS = 2**16
"""Elements of a constant matrix from which on it is kept in panels. From memory, 128 rows by 768 x 3,072 run at 49
multiplications a nanosecond, 40 where the matrix lies by rows and 38 by columns; one row as fast."""

PANELLED_ELEMENTS_OF_FEW_ROWS = 2**19
"""The same where the rows may be few: one row by 128 x 512 takes 8 us in panels, 4 by rows, and by 1,024 x 1,024 70 and
56, if it is in the cache."""

PANELS_AT_ONCE = 4
"""Panels that are filled at a time: an element takes 0.6 to 1.0 ns."""

TRANSPOSED_BYTES = 2**20
"""A constant matrix that may be kept in two orders. It stands for memory: large products do not care for the order."""

TURNED_BYTES = 2**22
"""A constant matrix that is kept in the other order instead, where its memory is the process's own anyway. From memory,
12 rows of 256 by 256 x 512 take 76 us, 132 where the columns of the second are not contiguous. Larger matrices gain
less, and turning takes 1 to 3 ns an element."""

WINDOW_ELEMENTS = 2**19
"""Elements of windows that are copied side by side before they are multiplied: 2 MiB, a core's own cache. With half of
them 15 convolutions take 1.06 times as long on one thread and on two."""

LEAST_WINDOWS = 128
"""Windows in one such product at least, whatever the copy takes: BLAS arranges the filters anew for every product."""

FEW_OUTPUTS = 8
"""Outputs of a group of one channel from which on a matrix product of its windows is worth their copy."""

COPIES_A_SUM = 4
"""How many elements of windows are copied in the time in which a product of one row of a kernel is written, and added
to those of the other rows."""

WINDOWS_AN_OUTPUT = 16
"""Windows for each output from which on that is so: the filters are arranged anew in each call. 1,376 channels of 8 x 8
windows with 256 outputs take 15 ms that way, as one product of windows 6."""

MULTIPLICATIONS_A_COPY = 20
"""Multiplications of a product in the time in which an element of a window is copied, 0.4 ns. 64 channels of 8 x 24 x
24 with 64 outputs take 36 ms by rows of a kernel of 3 x 3 x 3, each of them three times, and 14 as windows."""

WINOGRAD_CHANNELS = 40
"""Channels from which on convolutions with kernels of 3 x 3 take less time with fewer multiplications, by Winograd's
algorithm: 56 x 56 windows of 32 channels with 64 outputs 615 us instead of 708 on one thread but 553 instead of 478 on
two, of 40 with 40 524 instead of 713."""

WINOGRAD_OUTPUTS = 32
"""The same for outputs."""

WINOGRAD_WINDOWS = 100
"""The same for windows: 128 channels of 10 x 10 take 0.76 of the time, of 7 x 7, a third of which is padding, 1.2."""

WINOGRAD_PRODUCTS = 2**20
"""The same for windows times channels times outputs: 64 channels of 20 x 20 take 179 us instead of 226, of 10 x 10 1.1
times as long."""

WINOGRAD_ELEMENTS = 2**20
"""Transformed elements of images and of their products at a time, 4 MiB: 64 channels of 56 x 56 take 1.05 ms with these
and 1.5 with twice as many; with a quarter 256 of 14 x 14 take 1.2 instead of 0.9, since filters are read again."""

WINOGRAD_NANOSECONDS = 0.3
"""Making such an element, and reading it."""

FEW_WINDOWS = 144
"""Up to so many windows (12 x 12), depthwise convolutions run along the channels: the layers of usual networks with
images as small as that have more channels than windows."""

DEPTHWISE_MULTIPLICATIONS = 2**19
"""Of a part of a convolution along the channels: NumPy takes its time for each window, however few the channels are.
960 channels of 7 x 7 windows take 138 us in one part, 195 in four."""

MANY_CHANNELS = 32
"""Channels from which on they are worth running along: a vector instruction takes 8 or 16 of them."""

SHORT_RUN = 2**9
"""Channels up to which those of neighbouring windows are worth one run, for which their filters are repeated: 64
channels of 10 x 10 windows take 38 us instead of 47, 300 of 7 x 7 as long, 960 take 6 per cent longer."""

BOXES_AT_ONCE = 128
"""Candidates that non-maximum suppression compares with each other at once: 3,000 boxes take 20 ms with 16 to 512, 30
with 1,024, which compare more boxes that better ones would have removed."""

FEWEST_BOXES_AT_ONCE = 16
"""The same at least, where so few are to be kept that fewer would do."""

FEW_PAIRS = 2**15
"""Pairs of boxes below which their overlaps are computed at once, without asking first which may be large enough: 128
boxes with each other take 100 us and 120, 1,500 of which 1,200 are kept 3.5 ms and 5.4."""

PAIRS_A_FOUND_ONE = 8
"""How many overlaps are computed side by side in the time in which one of a chosen pair is."""

BOXES_TO_GROUP = 1_000
"""Boxes from which on, where that many are to be kept, suppression looks for groups that do not overlap."""

BOXES_TOGETHER = 512
"""Boxes up to which their overlaps are computed once for all classes: a square of 512 x 512 f32 is 1 MiB."""

ELEMENTS_A_TAP = 128
"""A matrix product with a table of resampling spread out as a matrix beats adding tap by tap while the axis has at most
so many elements for each tap. Along the last axis both take as long at about 100, along others at 30 already."""

MATRIX_ELEMENTS = 2**22
"""The largest of these matrices: 16 MiB of f32. It stands for memory."""

PRODUCT_COLUMNS = 16
"""With fewer columns than these one product of many rows is faster than many products; NumPy calls BLAS
for each, and with 8 columns it does 42 multiplications a nanosecond instead of 58, with 4 it does 21."""

KEPT_AXIS_ELEMENTS = 2**9
"""Axes up to which tables of resampling are kept: resampling longer ones takes much longer than making a table."""

STEP_NANOSECONDS = 60_000
"""Product of a recurrent step from which on the two directions of a sequence run on threads of their own."""

DECODED_ELEMENTS = 2**19
"""Weights that are decoded at a time before they are multiplied: 2 MiB of f32. With 2**18, which a core's own cache
holds, NumPy's calls are a sixth of the time of one token: 5.6 instead of 4.9 ms for 5,632 x 2,048 of f16."""

TOKENS_OF_A_BLOCK = 128
"""Tokens for each such block that is decoded at a time: BLAS arranges the tokens anew for every block. f16 of 5,632 x
2,048 by 512 tokens takes 209 ms with 2**18 elements at a time, 139 with 2**21."""

MOST_BLOCKS = 4
"""Of these at most."""

LEAST_DECODED_COLUMNS = 128
"""The fewest columns of such a block of a matrix that is read along its columns."""

DECODING_NANOSECONDS = 0.3
"""Decoding and multiplying one weight for one token, in the cache."""

TOKENS_BY_SUMS = 16
"""Tokens up to which the sums over groups of weights are scaled, and not the weights: two passes over them less. u4 of
2,048 x 2,048 by 16 tokens takes 4.6 ms by sums and 5.0 by weights, by 32 tokens 7.4 and 6.5."""

LEAST_TOKENS_AS_ROWS = 256
"""Tokens from which on BLAS multiplies them by decoded weights as fast as the weights by them: 256 rows of 2,048
weights by 16 tokens take 0.6 ms in this order and 0.3 in the other one."""

ELEMENTS_A_KEPT_ONE = 8
"""From so many elements on for one that is kept, the least ones are found by a partition instead of sorting all."""

PACKED_ELEMENTS = 2**9
"""Elements from which on a stable order is that of numbers with their indices: 4 rows of 180 take 20 us instead of 30,
4 of 1,080 78 instead of 230, 1,000 of 50 0.18 ms instead of 0.98, but 4 of 50 14 us instead of 6."""

PARTITION_NANOSECONDS = 3.0
"""For an element of rows of which the least ones are found."""

SHORT_ROW_OF_SUMS = 64
"""Elements behind the axes of a sum up to which np.einsum is faster than np.add.reduce, which takes 20 to 60 ns for
every row of them: 784 x 3 x 2 summed along the second axis take 8 us instead of 53, 64 x 20 x 48 12 instead of 25."""

SUMS_WORTH_EINSUM = 2**11
"""Elements from which on that is so: its call takes 1 us more."""

COLUMNS_OF_PAIRS = 4
"""Elements of rows up to which two arrays that have no other axis in common are calculated with column by column: NumPy
takes 6 to 12 ns for every row. 50,176 x 3 minus 3 take 76 us instead of 284, 256 x 1 x 3 minus 256 x 3 187 and 811."""

PAIRS_OF_SHORT_ROWS = 4_000
"""Rows from which on that is so."""

ROWS_TO_JOIN = 1_000
"""Rows from which on they are joined as single elements, if they are short: three times 1,000 of 2 elements of f32 take
8 us instead of 15, 10,000 of 16 elements 94 instead of 186."""

SHORT_ROW_BYTES = 64
"""Bytes of a row up to which that is so."""

COLUMNS_OF_SUMS = 4
COLUMNS_OF_EXTREMES = 16
"""Elements of a row up to which rows are reduced element by element, all of them at once: 20,000 sums of 4 take 22 us,
310 by np.add.reduce; 20,000 greatest of 16 310 and 980."""

ROWS_TO_REDUCE = 256
"""Rows from which on that is so."""

ROWS_A_COLUMN = 32
"""Rows for each of their elements from which on a call for each element is worth it: 128 greatest of 16 take 7 us by
np.maximum.reduce and 11 element by element."""

ELEMENTS_A_WINDOW = 32
"""Windows of adaptive pooling from this size on are worth a few calls of NumPy each; smaller ones are taken by axes."""
