"""Group 9: what was not checked."""

from ir_exec.check.rule import Rule
from ir_exec.codes import Code

__all__ = ["UNCHECKED_RULES"]

UNCHECKED_RULES = (
    Rule(
        Code.unsupported,
        "info",
        "Something that ir_exec does not have.",
        why="The network may be right, and cannot be run here.",
        bad="compile_model of a network with an operator that ir_exec does not have",
        good="check_model of the same network, which counts the layer as not checked",
        in_files=False,
    ),
    Rule(
        Code.operator_not_implemented,
        "info",
        "ir_exec does not have this operator yet; its types are as declared.",
        why="What the file declares for the outputs of this layer is believed, so faults of the layer are not found.",
        bad="an operator that ir_exec does not have",
        good="an operator that ir_exec has",
    ),
    Rule(
        Code.extension_operator,
        "info",
        "The operator belongs to an extension; its types are as declared.",
        why="Only who wrote the extension knows what the layer does. OpenVINO reads the file only where the extension "
        "is loaded.",
        bad='<layer id="1" name="mine" type="MyOp" version="my_extension">',
        good='<layer id="1" name="mine" type="ReLU" version="opset1">',
    ),
    Rule(
        Code.unknown_inputs,
        "info",
        "The types of a layer's inputs are not known, so it was not checked.",
        why="A layer above was not checked, and its outputs declare too little to go on with.",
        bad='<output>\n  <port id="1" precision="FP32"/>\n</output>   (of a layer that is not checked)',
        good='<output>\n  <port id="1" precision="FP32">\n    <dim>2</dim>\n  </port>\n</output>',
    ),
    Rule(
        Code.internal_error,
        "error",
        "ir_exec itself failed; at one layer that is an info.",
        why="The file is not to blame. Please report it.",
        bad="ir_exec failed with IndexError",
        good="a report",
    ),
)
