"""Write the files of the notebook, with PyTorch and onnxscript: `python docs/tutorials/notebook/make.py`.

`net.onnx` is the export, `faulty.onnx` the same file with another epsilon of one LayerNorm, and `recording.npz`
the recorded modules of one call.
"""

from __future__ import annotations

from pathlib import Path

import onnx
import torch
from net import Net  # the module next to this script

from ir_exec.debug import torch_recorder

HERE = Path(__file__).resolve().parent
LIBRARIES = Path(torch.__file__).parents[2]


def main() -> None:
    torch.manual_seed(0)
    net = Net().eval()
    image = torch.randn(1, 3, 16, 16)
    with torch_recorder(net, HERE / "recording.npz"), torch.no_grad():
        net(image)
    program = torch.onnx.export(net, (image,), dynamo=True, opset_version=20, verbose=False)
    proto = program.model_proto
    for message in [proto, *proto.graph.node, *proto.graph.value_info]:
        for entry in message.metadata_props:
            for folder in (HERE, LIBRARIES):
                entry.value = entry.value.replace(f"{folder}/", "")
    onnx.save(proto, HERE / "net.onnx")
    norm = [node for node in proto.graph.node if node.op_type == "LayerNormalization"][1]
    next(attribute for attribute in norm.attribute if attribute.name == "epsilon").f = 0.1
    onnx.save(proto, HERE / "faulty.onnx")


if __name__ == "__main__":
    main()
