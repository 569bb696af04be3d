"""Write the files of Polygraphy: `python tests/debug/values/polygraphy_files/make.py`, with the package polygraphy."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from polygraphy.comparator import RunResults
from polygraphy.json import save_json

HERE = Path(__file__).parent
SAMPLES = HERE.parents[3] / "samples"


def main() -> None:
    """Write two runners with two iterations of the sample gnn_step, the second with doubled features."""
    with np.load(SAMPLES / "gnn_step.inputs.npz") as inputs, np.load(SAMPLES / "gnn_step.outputs.npz") as outputs:
        feeds = [dict(inputs), {**inputs, "features": inputs["features"] * 2}]
        hidden = outputs["hidden"]
    results = RunResults()
    results.add([{"hidden": hidden}, {"hidden": hidden * 2}], runner_name="onnxrt-runner")
    results.add([{"hidden": hidden + 1}, {"hidden": hidden}], runner_name="trt-runner")
    results.save(str(HERE / "outputs.json"))
    save_json(feeds, str(HERE / "inputs.json"))


if __name__ == "__main__":
    main()
