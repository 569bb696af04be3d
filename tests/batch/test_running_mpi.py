"""`mpi4py.futures`: workers that MPI starts, over a network that is not in a file of theirs."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
MPIEXEC = shutil.which("mpiexec", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")]))

OPEN_MPI = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
}
"""More processes than cores, as the user of the tests; other implementations of MPI need no option."""


@pytest.mark.skipif(
    MPIEXEC is None or importlib.util.find_spec("mpi4py") is None, reason="mpi4py or mpiexec is not installed"
)
def test_the_same_as_here() -> None:
    assert MPIEXEC is not None
    script = [sys.executable, "-m", "mpi4py.futures", "-m", "tests.helpers.mpi_items", "300"]
    environment = {**os.environ, **OPEN_MPI, "PYTHONPATH": str(ROOT)}
    process = subprocess.run([MPIEXEC, "-n", "3", *script], capture_output=True, text=True, env=environment, cwd=ROOT)
    assert process.returncode == 0, process.stderr
    *answers, error = json.loads(process.stdout)
    weights = np.arange(12, dtype=np.float32).reshape(4, 3)
    assert answers == [(np.full((1, 4), index, np.float32) @ weights).tolist() for index in range(300)]
    assert "no-such-thing" in error
