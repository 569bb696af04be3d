"""Groups 3, 4, 5 and 7: attributes and inputs of operators; 6: declared against inferred types; 9: unchecked layers."""

from ir_exec.check.rule import Rule
from ir_exec.codes import Code

__all__ = ["ATTRIBUTE_RULES", "ELEMENT_TYPE_RULES", "PORT_RULES", "SHAPE_RULES", "UNCHECKED_RULES", "VALUE_RULES"]

ATTRIBUTE_RULES = (
    Rule(
        Code.missing_attribute,
        "error",
        "A required attribute is missing.",
        why="The operator is undefined without it. For a missing type or shape of a ReadValue the severity is warning: "
        "OpenVINO uses those of the input.",
        bad='<layer id="2" name="gather" type="GatherElements" version="opset6">\n  <input>',
        good='<layer id="2" name="gather" type="GatherElements" version="opset6">\n  <data axis="1"/>\n  <input>',
    ),
    Rule(
        Code.invalid_attribute,
        "error",
        "An attribute cannot be parsed, or its value is not allowed.",
        why="Attributes are numbers, lists, booleans or keywords. The message lists the allowed values.",
        bad='<data axis="last"/>',
        good='<data axis="1"/>',
    ),
    Rule(
        Code.unknown_attribute,
        "warning",
        "The operator does not have this attribute; it is ignored.",
        why="A misspelled attribute has no effect, and no runtime reports it.",
        bad='<data axis="1" PrimitivesPriority=""/>',
        good='<data axis="1"/>',
    ),
    Rule(
        Code.untyped_constant,
        "error",
        "A constant has the element type dynamic.",
        why="OpenVINO writes such constants, without elements, for omitted inputs of GroupQueryAttention and "
        "PagedAttentionExtension, but cannot read the file. For these layers the severity is warning; they run "
        "without that input.",
        bad='<data element_type="dynamic" shape="0,3" offset="0" size="1"/>',
        good='<data element_type="f32" shape="0,3" offset="0" size="1"/>',
    ),
)

ELEMENT_TYPE_RULES = (
    Rule(
        Code.element_type_not_taken,
        "error",
        "An input has an element type that the operator does not accept.",
        why="Indices are integers and conditions are boolean; the operator is undefined for other types.",
        bad='<data shape="2,2" element_type="f32"/>   (of the indices of a GatherElements)',
        good='<data shape="2,2" element_type="i64"/>',
    ),
    Rule(
        Code.element_types_differ,
        "error",
        "Inputs that must have the same element type differ.",
        why="Operators do not convert their inputs; insert a Convert.",
        bad="Add of f32[2,3] and f16[2,3]",
        good="Add of f32[2,3] and a Convert of f16[2,3] to f32",
    ),
    Rule(
        Code.input_array_type,
        "error",
        "An input array cannot be cast without loss.",
        why="The array contains values that the element type of the input cannot represent.",
        bad='compiled({"indices": np.array([0.5])})   (the input is i64)',
        good='compiled({"indices": np.array([0])})',
        in_files=False,
    ),
)

SHAPE_RULES = (
    Rule(
        Code.wrong_rank,
        "error",
        "A tensor has a rank that the operator does not accept.",
        why="The operator defines the number of dims of its inputs.",
        bad="GatherElements of data [2,3] with indices [2]",
        good="GatherElements of data [2,3] with indices [2,2]",
    ),
    Rule(
        Code.dims_differ,
        "error",
        "Dims that must be equal differ.",
        why="The operator requires equal dims of its inputs.",
        bad="GatherElements along axis 1 of data [2,3] with indices [5,2]",
        good="GatherElements along axis 1 of data [2,3] with indices [2,2]",
    ),
    Rule(
        Code.axis_out_of_range,
        "error",
        "An axis is out of range for the rank.",
        why="A tensor of rank r has the axes -r to r-1.",
        bad='<data axis="2"/>',
        good='<data axis="1"/>',
    ),
    Rule(
        Code.no_broadcast,
        "error",
        "Shapes cannot be broadcast.",
        why="Compared from the last dim, dims must be equal or one of them 1.",
        bad="Add of [2,3] and [2,4]",
        good="Add of [2,3] and [2,1]",
    ),
    Rule(
        Code.impossible_shape,
        "error",
        "The shapes contradict the operator's definition.",
        why="No output shape satisfies it.",
        bad="Reshape of [2,3] to [4,4]",
        good="Reshape of [2,3] to [3,2]",
    ),
    Rule(
        Code.input_array_shape,
        "error",
        "An input array does not have the input's shape.",
        why="The model was exported or reshaped for other shapes.",
        bad='compiled({"x": np.zeros((3, 2))})   (the input is [2,3])',
        good='compiled({"x": np.zeros((2, 3))})',
        in_files=False,
    ),
    Rule(
        Code.dynamic_rank,
        "info",
        "The rank of an input or output of a layer is unknown before the run.",
        why="Some devices reject such models, and the shapes of the following layers cannot be checked.",
        bad='<data shape="..." element_type="f32"/>',
        good='<data shape="?,3" element_type="f32"/>',
    ),
    Rule(
        Code.unbounded_dim,
        "info",
        "A dim of an input has no upper bound.",
        why="Some devices, including NPUs, only accept models whose memory is known in advance.",
        bad='<data shape="?,3" element_type="f32"/>',
        good='<data shape="1..8,3" element_type="f32"/>',
    ),
)

VALUE_RULES = (
    Rule(
        Code.failed,
        "error",
        "An operator failed during the run.",
        why="The values are invalid, not the types.",
        bad="compiled({...})   (with values that an operator does not accept)",
        good="compiled({...})",
        in_files=False,
    ),
    Rule(
        Code.index_out_of_range,
        "error",
        "A constant index is out of range for its axis.",
        why="ir_exec does not run the layer. OpenVINO accesses other memory, or returns zeros.",
        bad="GatherElements along axis 1 of data [2,3] with index 5",
        good="GatherElements along axis 1 of data [2,3] with index 2",
    ),
    Rule(
        Code.negative_index,
        "warning",
        "A constant index is negative, but the specification expects non-negative indices.",
        why="OpenVINO counts it from the end; other runtimes may not.",
        bad="GatherElements along axis 1 of data [2,3] with index -1",
        good="GatherElements along axis 1 of data [2,3] with index 2",
    ),
    Rule(
        Code.duplicate_index,
        "info",
        "Two constant indices write to the same element; the last one wins.",
        why="OpenVINO writes in parallel, so the winner may differ between runs.",
        bad="ScatterUpdate with indices [1, 1]",
        good="ScatterUpdate with indices [0, 1]",
    ),
    Rule(
        Code.bad_value,
        "error",
        "The operator does not accept a value.",
        why="The value is detected during the run; the message names the layer and the input.",
        bad="Range with step 0",
        good="Range with step 1",
        in_files=False,
    ),
    Rule(
        Code.unknown_input,
        "error",
        "Inputs are missing, unknown or given twice.",
        why="The model has no input with the given name.",
        bad='ir-exec check model.xml --shape "y[1,3]"   (the input is x)',
        good='ir-exec check model.xml --shape "x[1,3]"',
        in_files=False,
    ),
    Rule(
        Code.ignored_pattern,
        "warning",
        "PCRE2 cannot compile a regular expression, and OpenVINO ignores the expression.",
        why="Text is not split or not changed, without a message. Other libraries support escapes that PCRE2 does not.",
        bad=r"RegexSplit with the pattern \u0020",
        good=r"RegexSplit with the pattern \x{20}",
    ),
)


_WHY = "OpenVINO ignores the declarations of ports; tools that use them compute different results than OpenVINO."

PORT_RULES = (
    Rule(
        Code.declared_dims,
        "error",
        "A port declares an impossible dim.",
        why=f"{_WHY} If the following layers agree with the port, the fault is in an attribute, a constant or an edge. "
        "`--fix` corrects the declaration.",
        bad='<port id="1" precision="FP32">\n  <dim>2</dim>\n  <dim>5</dim>\n</port>   (of a ReLU of f32[2,3])',
        good='<port id="1" precision="FP32">\n  <dim>2</dim>\n  <dim>3</dim>\n</port>',
    ),
    Rule(
        Code.declared_rank,
        "error",
        "A port declares an impossible rank.",
        why=f"{_WHY} `--fix` corrects the declaration.",
        bad='<port id="1" precision="FP32">\n  <dim>2</dim>\n</port>   (of a ReLU of f32[2,3])',
        good='<port id="1" precision="FP32">\n  <dim>2</dim>\n  <dim>3</dim>\n</port>',
    ),
    Rule(
        Code.declared_element_type,
        "error",
        "A port declares an impossible element type.",
        why=f"{_WHY} `--fix` corrects the declaration. The severity is warning for outputs that no layer reads, and "
        "where old tools always declared f32: the boxes of DetectionOutput and the indices of MaxPool.",
        bad='<port id="1" precision="FP16">   (of a ReLU of f32[2,3])',
        good='<port id="1" precision="FP32">',
    ),
    Rule(
        Code.ports_disagree,
        "warning",
        "The ports at both ends of an edge declare different dims.",
        why="Both are possible, so the intended one is unknown.",
        bad='<port id="0" precision="FP32">\n  <dim>2</dim>\n  <dim>7</dim>\n</port>',
        good='<port id="0" precision="FP32">\n  <dim>2</dim>\n  <dim>-1</dim>\n</port>',
    ),
    Rule(
        Code.body_input_type,
        "error",
        "The type of a value that a layer passes to a Parameter of its body contradicts the declared type.",
        why="OpenVINO gives the Parameter the type of the value, which the layers of the body may not accept.",
        bad='<data shape="2,1" element_type="f16"/>   (of the Parameter; the layer passes f32[2,1])',
        good='<data shape="2,1" element_type="f32"/>',
    ),
    Rule(
        Code.value_info,
        "error",
        "An ONNX file declares a type of a value that contradicts its node.",
        why="Runtimes rely on the types in `value_info` and outputs, or reject the file. The declaration may be older "
        "than the graph, or the node is wrong.",
        bad="(float[2,3] x) => (float[2,4] y) { y = Relu(x) }",
        good="(float[2,3] x) => (float[2,3] y) { y = Relu(x) }",
    ),
)


UNCHECKED_RULES = (
    Rule(
        Code.unsupported,
        "info",
        "ir_exec does not support a feature of the model.",
        why="The model may be valid, but cannot be run here.",
        bad="compile_model of a model with an operator that ir_exec does not support",
        good="check_model of the same model, which counts the layer as not checked",
        in_files=False,
    ),
    Rule(
        Code.operator_not_implemented,
        "info",
        "ir_exec does not support this operator yet; its declared types are used.",
        why="The declared outputs of this layer are not verified, so its faults are not detected.",
        bad="an operator that ir_exec does not support",
        good="an operator that ir_exec supports",
    ),
    Rule(
        Code.extension_operator,
        "info",
        "The operator belongs to an extension or is internal to OpenVINO; without a class, its declared types are "
        "used.",
        why="Only the author of the extension defines the layer. OpenVINO reads the file if the extension is loaded. "
        "It cannot read its own internal operators: they come from compiled or transformed models.",
        bad='<layer id="1" name="mine" type="MyOp" version="my_extension">',
        good='<layer id="1" name="mine" type="ReLU" version="opset1">',
    ),
    Rule(
        Code.unknown_inputs,
        "info",
        "The input types of a layer are unknown, so it was not checked.",
        why="A preceding layer was not checked, and does not declare its outputs completely.",
        bad='<output>\n  <port id="1" precision="FP32"/>\n</output>   (of a layer that is not checked)',
        good='<output>\n  <port id="1" precision="FP32">\n    <dim>2</dim>\n  </port>\n</output>',
    ),
    Rule(
        Code.internal_error,
        "error",
        "ir_exec itself failed. For a single layer the severity is info.",
        why="The file is not the cause. Please report it.",
        bad="ir_exec failed with IndexError",
        good="a report",
    ),
)
