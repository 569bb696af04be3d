"""Many inputs, over any executor of `concurrent.futures`: threads, processes, a Dask cluster.

for result in ir_exec.batch.run("model.xml", items, jobs=4):
    print(result.index, result.error or result.outputs)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ir_exec.batch.running import Result as Result
    from ir_exec.batch.running import run as run

__all__ = ["Result", "run"]


def __getattr__(name: str) -> object:
    # A worker process sets up the environment before anything loads NumPy.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from ir_exec.batch import running

    return getattr(running, name)
