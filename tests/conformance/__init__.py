"""The conformance tables: operators, and complete models, compared with OpenVINO.

A row is a `Case` (`conformance/case.py`): type, opset, input arrays, attributes, which inputs are constants, and the
tolerance. One test runs 32 rows and names those that fail. Each row runs

- alone, against the values of OpenVINO's CPU plugin, or of its reference kernels if the row specifies it, also
  with inputs that are not contiguous (`test_values.py`; every row in every run),
- with static dims, unknown dims and unknown ranks, against the types that OpenVINO infers (`test_types.py`),
- as a file through the public API, with these three kinds of dims (`test_files.py`),
- with the kernel of a plan, compared with `evaluate` (`test_kernels.py`),
- with work split into chunks for several threads, and in one chunk (`test_numbers.py`).

`python -m tests.conformance movement.gather -k axis=1` runs rows of a table and prints differences.

The rows are also exported to ONNX (`onnx/export/test_export_rows.py`), checked by onnx.checker, run by onnxruntime or
ONNX's reference in a separate process, and compared with `evaluate`. `onnx/export/left_out.py` lists exceptions with
reasons. `python -m tests.onnx.export movement.gather -k axis=1 --form "any dims"` prints differences, `python -m
tests.onnx.export.round_trips` converts the official suite from ONNX to IR to ONNX.

OpenVINO runs in a separate process, because it may crash. 32 rows of a table form one model for its plugin, because
compiling a model of any size takes 20 ms; a row that differs runs again alone. Outputs are cached in the user's cache
folder (`$XDG_CACHE_HOME/ir_exec/openvino-answers` or `~/.cache/...`, `~/Library/Caches/...` on macOS,
`%LOCALAPPDATA%` on Windows), by the digest of the request, in a folder for OpenVINO's version, the kind of machine
and the worker. The folder may be deleted at any time. Damaged entries are computed again; crashes and timeouts are
not cached. `IR_EXEC_ORACLE_CACHE` specifies another folder, or `off`. The cache takes 155 MB and reduces the
processor time of all tables from 200 to 28 seconds.
"""
