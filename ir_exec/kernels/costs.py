"""The numbers about speed and memory by which kernels choose how to work. None of them changes what a kernel computes.

benchmarks/costs.md has the measurements that they were chosen by, and `python -m benchmarks.costs` makes most of them.
On another machine a number may be wrong by a factor of two.

Kernels read the numbers as `costs.NAME`, so that a test may replace them: whole numbers by any from 2 on, times by any
above 0, which stands for work that is not to be shared.
"""

from __future__ import annotations

WORTH_SHARING_NANOSECONDS = 500_000
"""Work from which on another thread is woken."""

PRODUCTS_WORTH_SHARING_NANOSECONDS = 300_000
"""The same for matrix products, whose calls are long."""

SPIN_SECONDS = 1000e-6
"""How long the calling thread looks again and again whether its helpers are done, before it sleeps."""

PIECE_NANOSECONDS = 60_000
"""The work of one piece of a gather or a scatter."""

MOST_PIECES = 16
"""Pieces into which such work is split at most."""

PIECE_ELEMENTS = 2**17
"""Elements that go through all steps of an expression before the next ones do."""

CHUNK_ELEMENTS = 2**17
"""Elements of a chunk of index arithmetic, beam search, pooling and copied windows at most."""

LONG_ROW = 2**9
"""Elements from which on a row whose elements are apart in memory is long."""

COLUMNS_OF_A_COPY = 64
"""Columns of a transposed array that are copied at a time, and rows from which on it pays."""

INTERMEDIATE_ELEMENTS = 2**18
"""Elements of an intermediate array that is much larger than the output."""

FEW_CHANNELS = 8
"""Planes up to which they are laid side by side one after the other."""

NEAR_CACHE_BYTES = 2**20
"""What a core's own cache holds."""

SHARED_CACHE_BYTES = 2**22
"""Size of a tensor up to which going through it column by column costs more than it saves."""

CACHE_LINE_ELEMENTS = 16
"""The fewest adjacent elements of a part of a tensor: they fill a line of the cache."""

RUN_ELEMENTS = 64
"""Adjacent elements of a part of a tensor where memory allows."""

COPIED_PART_BYTES = 2**23
"""The part of a tensor that each thread of a scatter copies at most. It stands for memory."""

ELEMENT_NANOSECONDS = 1.0
"""Finding and moving one element."""

BYTE_NANOSECONDS = 0.04
"""Moving one byte of a slice from memory to memory."""

FEW_ROWS_OF_A_BAG = 64
"""Rows of each bag of embeddings up to which they are added place by place, all bags at once."""

ELEMENTS_A_PLACE = 2**7
"""Elements of all bags for each place in a bag from which on that pays."""

FEW_ELEMENTS = 2**15
"""Elements up to which a few NumPy calls on all of them are quicker than chunks."""

ROWS_OF_A_RUN = 2**8
"""Rows from which on windows along them are pooled in one run."""

SHORT_KERNEL = 5
"""Elements of a window up to which that is done."""

SEGMENT_ELEMENTS_A_PLACE = 2**11
"""Elements of all segments from which on they are compared place by place."""

FEW_CODES = 2**13
"""Elements up to which they are converted to short floats one by one, without a table."""

TABLE_ELEMENTS = 2**13
"""Indices, and sizes of axes, up to which a table of offsets is kept."""

OFFSETS_AT_ONCE = 2**18
"""Indices up to which all offsets are found before threads share the moving."""

LEAST_GROUPS = 64
"""Groups into which the tiles of a gather are put at least, for threads to share."""

FEW_GROUPS = 4
"""Groups below which data is copied by all threads before the groups begin."""

LONG_SLICE_BYTES = 512
"""Slices from which on the last update of each place is found first, so that every slice is written once."""

CHANNELS_OF_PRODUCTS = 16
"""Channels from which on a mean of weighted samples of images is a product for every bin."""

COPIED_TO_READ = 4
"""How many times as large as its samples an image may be to be copied with its channels side by side."""

TUPLES_AT_ONCE = 2**20
"""Tuples whose offsets exist at the same time. It stands for memory."""

WAVE_ELEMENTS = 2**12
"""Elements of one wave of reduced updates that are worth its NumPy calls."""

SPLIT_ELEMENTS = 2**19
"""Elements from which on a function of NumPy's own, or a conversion, is split among threads."""

FEW_SELECTED = 2**11
"""Elements up to which np.where takes no longer than masks of bits."""

FEW_REMAINDERS = 2**11
"""Remainders of f32 up to which NumPy's function is quicker than quotients in f64."""

EXPONENTIAL_NANOSECONDS = 2.0
"""An element of a softmax, and of other functions with an exponential in them."""

SCORES_AT_ONCE = 2**22
"""Attention scores that a thread holds at a time at most. It stands for memory."""

SCORES_WORTH_A_LOOK = 2**12
"""Scores from which on the least and the greatest one are looked for."""

SCORES_SUMMED_BY_BLAS = 2**10
"""Scores in a row up to which BLAS adds them."""

SCORES_WORTH_A_BOUND = 2**14
"""Scores from which on queries and keys are looked at: where these are short, no greatest score is sought."""

SCORES_A_MASK = 4
"""Scores for each element of a mask from which on it is looked at for keys that no query sees."""

ATTENTION_PIECE_NANOSECONDS = 500_000
"""A piece of attention at least."""

MULTIPLICATIONS_A_NANOSECOND = 50
"""What one core does in a matrix product of f32."""

PLAIN_MULTIPLICATION_NANOSECONDS = 0.7
"""A multiplication in a product of integers, which NumPy computes without BLAS."""

SHIFTED_MULTIPLICATION_NANOSECONDS = 0.2
"""A multiplication and an addition along the channels of images, for each element of a kernel."""

WIDE_ROW = 20
"""Windows along the last axes from which on rows of them are worth a product for each channel, where BLAS copies small
matrices first."""

BAND_ROWS = 6
"""Rows of windows in one such product where BLAS copies nothing. Elsewhere it is one."""

BAND_WINDOWS = 16
"""The same for windows of one axis."""

LONG_KERNEL = 8
"""Elements of a kernel from which on that is so; shorter ones along one axis are vectors."""

BESIDE_NANOSECONDS = 0.2
"""Copying an element of the data for one element of a row of the kernel."""

BAND_ELEMENTS = 2**19
"""Elements so copied at a time."""

UNLOCKED_SLICES = 2**9
"""Slices up to which their running sums keep the interpreter's lock."""

ACCUMULATED_ELEMENT_NANOSECONDS = 1.7
"""An element of a running sum in blocks."""

SUMMED_BLOCK = 8
"""Elements of a block of running sums."""

SUMMED_IN_BLOCKS = 2**13
"""Elements of running sums from which on blocks pay."""

BINS_WORTH_TABLES = 2**17
"""Bins times channels from which on tables of greatest rectangles pay."""

ELEMENTS_OF_TABLES = 2**22
"""Elements of these tables at most. It stands for memory."""

PRODUCTS_OF_PLACES = 2**20
"""Products of all places of images with all filters that stay in a cache."""

SAMPLED_ELEMENT_NANOSECONDS = 0.35
"""Reading one of the four neighbours of a sample, and multiplying and adding it."""

UNSHARED_MULTIPLICATIONS = 2**13
"""Products up to which no BLAS wakes threads."""

PRODUCT_PIECE_NANOSECONDS = 400_000
"""A piece of a product, about, where there are more than two."""

MOST_PRODUCT_PIECES = 8
"""Pieces into which a product is cut at most."""

LEAST_ROWS_OF_PIECE = 128
"""Rows of a piece of a product at least: BLAS arranges the columns anew for every piece."""

LEAST_COLUMNS_OF_PIECE = 96
"""The same for columns."""

LEAST_LINES_OF_PIECE = 64
"""The same for both where BLAS copies small matrices first."""

LEAST_COLUMNS_OF_FEW_ROWS = 512
"""The same for columns with fewer than `LEAST_ROWS` rows."""

ROWS_AS_VECTORS = 3
"""Rows up to which a product with a large matrix takes them one by one."""

LARGE_MATRIX_ELEMENTS = 2**18
"""Elements of such a matrix at least."""

STRIP_MULTIPLICATIONS = 10**6
"""Products up to which OpenBLAS multiplies without copying first: longer ones are cut into strips."""

TURNED_STRIP_ELEMENTS = 1200
"""Elements of the result of a strip where both matrices are read along what is summed."""

LEAST_TURNED_INNER = 128
"""Elements of a sum from which on such strips pay where rows are more than columns."""

UNCUT_MULTIPLICATIONS = 2**17
"""Products up to which strips save nothing."""

STRIP_ROWS = 16
"""Rows of a strip, or a multiple of that."""

STRIP_COLUMNS = 64
"""Columns of a strip, or a multiple of that."""

TILE_ROWS = 48
"""Rows of a product with a panel at most."""

LEAST_TILE_ROWS = 8
"""Rows of such a product, or a multiple of that."""

LEAST_ROWS = 16
"""Rows below which products are slow."""

PANELLED_ELEMENTS = 2**16
"""Elements of a constant matrix from which on it is kept in panels."""

PANELLED_ELEMENTS_OF_FEW_ROWS = 2**19
"""The same where the rows may be few."""

PANELS_AT_ONCE = 4
"""Panels that are filled at a time."""

TRANSPOSED_BYTES = 2**20
"""A constant matrix that may be kept in two orders. It stands for memory."""

WINDOW_ELEMENTS = 2**19
"""Elements of windows that are copied side by side before they are multiplied."""

LEAST_WINDOWS = 128
"""Windows in one such product at least."""

FILLED_ELEMENTS = 2**14
"""Elements of a product from which on filling it with zeros, as np.dot does, takes longer than np.matmul's call."""

FEW_OUTPUTS = 8
"""Outputs of a group of one channel from which on a product of its windows is worth their copy."""

WINOGRAD_CHANNELS = 40
"""Channels from which on Winograd's algorithm pays for kernels of 3 x 3."""

WINOGRAD_OUTPUTS = 32
"""The same for outputs."""

WINOGRAD_WINDOWS = 100
"""The same for windows."""

WINOGRAD_PRODUCTS = 2**20
"""The same for windows times channels times outputs."""

WINOGRAD_ELEMENTS = 2**20
"""Transformed elements of images and of their products at a time."""

WINOGRAD_NANOSECONDS = 0.3
"""Making such an element, and reading it."""

FEW_WINDOWS = 144
"""Windows up to which depthwise convolutions run along the channels."""

FEW_MULTIPLICATIONS = 20_000
"""Multiplications of a channel up to which they do so where BLAS copies small matrices first."""

SPREAD_ELEMENTS = 2**18
"""Windows times channels of a part of such a convolution."""

MANY_CHANNELS = 32
"""Channels from which on they are worth running along, unless those of several windows can be one run."""

SHORT_RUN = 2**11
"""Elements of a run at most, where it is the channels of several neighbouring windows."""

BOXES_AT_ONCE = 128
"""Candidates that non-maximum suppression compares with each other at once."""

FEWEST_BOXES_AT_ONCE = 16
"""The same at least, where few are to be kept."""

FEW_PAIRS = 2**15
"""Pairs of boxes below which their overlaps are computed at once."""

PAIRS_A_FOUND_ONE = 8
"""Overlaps that are computed side by side in the time in which one of a chosen pair is."""

BOXES_TO_GROUP = 1_000
"""Boxes from which on suppression looks for groups that do not overlap."""

BOXES_TOGETHER = 512
"""Boxes up to which their overlaps are computed once for all classes."""

ELEMENTS_A_TAP = 128
"""Elements of an axis for each tap up to which resampling is a product with a matrix."""

MATRIX_ELEMENTS = 2**22
"""Elements of such a matrix at most. It stands for memory."""

PRODUCT_COLUMNS = 16
"""Columns below which one product of many rows is faster than many products."""

KEPT_AXIS_ELEMENTS = 2**9
"""Axes up to which tables of resampling are kept."""

STEP_NANOSECONDS = 60_000
"""Product of a recurrent step from which on the two directions run on threads of their own."""

DECODED_ELEMENTS = 2**19
"""Weights that are decoded at a time before they are multiplied."""

TOKENS_OF_A_BLOCK = 128
"""Tokens for each such block that is decoded at a time."""

MOST_BLOCKS = 4
"""Such blocks at most."""

LEAST_DECODED_COLUMNS = 128
"""Columns of such a block at least."""

DECODING_NANOSECONDS = 0.3
"""Decoding and multiplying one weight for one token."""

TOKENS_BY_SUMS = 16
"""Tokens up to which the sums over groups of weights are scaled, and not the weights."""

LEAST_TOKENS_AS_ROWS = 256
"""Tokens from which on BLAS multiplies them by weights as fast as the weights by them."""

ELEMENTS_A_KEPT_ONE = 8
"""Elements for each one that is kept from which on a partition finds the least ones."""

PACKED_ELEMENTS = 2**9
"""Elements from which on a stable order is that of numbers with their indices."""

PARTITION_NANOSECONDS = 3.0
"""An element of rows of which the least ones are found."""

SHORT_ROW_OF_SUMS = 64
"""Elements behind the axes of a sum up to which np.einsum is faster than np.add.reduce."""

SUMS_WORTH_EINSUM = 2**11
"""Elements from which on that is so."""

COLUMNS_OF_PAIRS = 4
"""Elements of rows up to which two arrays that share no other axis are calculated with column by column."""

PAIRS_OF_SHORT_ROWS = 4_000
"""Rows from which on that is so."""

ROWS_TO_JOIN = 1_000
"""Rows from which on they are joined as single elements, if they are short."""

SHORT_ROW_BYTES = 64
"""Bytes of a row up to which that is so."""

COLUMNS_OF_SUMS = 4
COLUMNS_OF_EXTREMES = 16
"""Elements of a row up to which rows are reduced element by element."""

ROWS_TO_REDUCE = 256
"""Rows from which on that is so."""

ROWS_A_COLUMN = 32
"""Rows for each of their elements from which on that is so."""

ELEMENTS_A_WINDOW = 32
"""Windows of adaptive pooling from this size on are worth a few calls of NumPy each."""
