"""Makes the files of this folder: exports of the modules of `net.py` by today's exporters, with recordings.

    pip install torch onnxscript onnx openvino
    python make.py

`NAME.onnx` is written by torch.onnx with `dynamo`, `NAME_traced.onnx` without it, `NAME_traced.xml` by OpenVINO from
the module, `NAME_program.xml` by OpenVINO from an exported program; `NAME.npz` is a recording of the module. Paths in
stack traces are replaced. Weights are random.
"""

from __future__ import annotations

import warnings
from pathlib import Path

import onnx
import openvino
import torch
from net import Choice, Encoder, Nested
from torch import Tensor, nn

from ir_exec.debug import torch_recorder

FOLDER = Path(__file__).parent
PROJECT = "/home/user/project/"
PACKAGES = "/home/user/venv/lib/python3.11/site-packages/"


def replace_paths(model: onnx.ModelProto) -> None:
    """Replace the paths of this machine in all stack traces."""
    own, packages = str(FOLDER) + "/", str(Path(torch.__file__).parent.parent) + "/"
    graphs = [model.graph, *model.functions]
    while graphs:
        for node in graphs.pop().node:
            for entry in node.metadata_props:
                entry.value = entry.value.replace(own, PROJECT).replace(packages, PACKAGES)
            graphs += [attribute.g for attribute in node.attribute if attribute.HasField("g")]


def export(name: str, module: nn.Module, inputs: tuple[Tensor, ...], *, is_traceable: bool = True) -> None:
    module.eval()
    path = FOLDER / f"{name}.onnx"
    torch.onnx.export(module, inputs, path, dynamo=True, external_data=False, verbose=False)
    model = onnx.load(path)
    replace_paths(model)
    onnx.save(model, path)
    if not is_traceable:
        return
    torch.onnx.export(module, inputs, FOLDER / f"{name}_traced.onnx", dynamo=False)
    program = openvino.convert_model(torch.export.export(module, inputs))
    openvino.save_model(program, FOLDER / f"{name}_program.xml", compress_to_fp16=False)
    with torch.no_grad(), torch_recorder(module, FOLDER / f"{name}.npz"):
        module(*inputs)
    traced = openvino.convert_model(module, example_input=inputs)
    openvino.save_model(traced, FOLDER / f"{name}_traced.xml", compress_to_fp16=False)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    torch.manual_seed(5)
    export("nested", Nested(), (torch.rand(1, 3, 9, 9),))
    export("encoder", Encoder(), (torch.randint(0, 16, (1, 5)),))
    export("choice", Choice(), (torch.rand(2, 4),), is_traceable=False)
