"""A script of MPI: prints the first output of each of so many items, or its error, as JSON."""

from __future__ import annotations

import json
import sys

from mpi4py.futures import MPIPoolExecutor

from ir_exec import batch
from tests.helpers.deadly import Wrong
from tests.helpers.items import arrays, weighed_network

if __name__ == "__main__":
    items = [*arrays(int(sys.argv[1])), Wrong("no-such-thing")]
    with MPIPoolExecutor() as executor:
        results = list(batch.run(weighed_network(), items, executor))
    outputs = [str(result.error) if result.outputs is None else result.outputs[0].tolist() for result in results]
    json.dump(outputs, sys.stdout)
