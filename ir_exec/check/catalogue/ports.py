"""Group 6: what ports declare against what was inferred."""

from ir_exec.check.rule import Rule
from ir_exec.codes import Code

__all__ = ["PORT_RULES"]

_WHY = "OpenVINO ignores what ports declare; every tool that believes it computes with something else than OpenVINO."

PORT_RULES = (
    Rule(
        Code.declared_dims,
        "error",
        "A port declares a dim that cannot be.",
        why=f"{_WHY} Where the layers below agree with the port, an attribute, a constant or an edge was changed "
        "instead. `--fix` rewrites the declaration.",
        bad='<port id="1" precision="FP32">\n  <dim>2</dim>\n  <dim>5</dim>\n</port>   (of a ReLU of f32[2,3])',
        good='<port id="1" precision="FP32">\n  <dim>2</dim>\n  <dim>3</dim>\n</port>',
    ),
    Rule(
        Code.declared_rank,
        "error",
        "A port declares a rank that cannot be.",
        why=f"{_WHY} `--fix` rewrites the declaration.",
        bad='<port id="1" precision="FP32">\n  <dim>2</dim>\n</port>   (of a ReLU of f32[2,3])',
        good='<port id="1" precision="FP32">\n  <dim>2</dim>\n  <dim>3</dim>\n</port>',
    ),
    Rule(
        Code.declared_element_type,
        "error",
        "A port declares an element type that cannot be.",
        why=f"{_WHY} `--fix` rewrites the declaration. Where no layer takes the output it is a warning, and so is what "
        "old writers always declared as f32: the boxes of DetectionOutput and the indices of MaxPool.",
        bad='<port id="1" precision="FP16">   (of a ReLU of f32[2,3])',
        good='<port id="1" precision="FP32">',
    ),
    Rule(
        Code.ports_disagree,
        "warning",
        "The ports at both ends of an edge declare different dims.",
        why="Either could be, so it is open which one the writer of the file meant.",
        bad='<port id="0" precision="FP32">\n  <dim>2</dim>\n  <dim>7</dim>\n</port>',
        good='<port id="0" precision="FP32">\n  <dim>2</dim>\n  <dim>-1</dim>\n</port>',
    ),
    Rule(
        Code.body_input_type,
        "error",
        "What a layer hands to a Parameter of its body contradicts the type that the Parameter declares.",
        why="OpenVINO gives the Parameter the type of what it is handed, and the layers inside may not take it.",
        bad='<data shape="2,1" element_type="f16"/>   (of the Parameter; the layer hands it f32[2,1])',
        good='<data shape="2,1" element_type="f32"/>',
    ),
    Rule(
        Code.value_info,
        "error",
        "An ONNX file declares another type for a value than its node gives.",
        why="Runtimes trust what `value_info` and the outputs declare, or refuse the file. The declaration is often "
        "left from before the network was changed; or a node means something else than was meant.",
        bad="(float[2,3] x) => (float[2,4] y) { y = Relu(x) }",
        good="(float[2,3] x) => (float[2,3] y) { y = Relu(x) }",
    ),
)
