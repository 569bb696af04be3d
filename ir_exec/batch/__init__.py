"""Runs on many inputs, with any executor of `concurrent.futures`: threads, processes, a Dask cluster.

for result in ir_exec.batch.run("model.xml", items, jobs=4):
    print(result.index, result.error or result.outputs)
"""

from ir_exec.lazy import from_stub

# A worker process sets up the environment before NumPy is loaded.
__getattr__, __dir__, __all__ = from_stub(__name__, __file__)
