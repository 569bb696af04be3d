"""Groups 3, 4, 5 and 7: what the operators say of their attributes and inputs; 6: what ports declare against what was
inferred; 9: what was not checked."""

from ir_exec.check.rule import Rule
from ir_exec.codes import Code

__all__ = ["ATTRIBUTE_RULES", "ELEMENT_TYPE_RULES", "PORT_RULES", "SHAPE_RULES", "UNCHECKED_RULES", "VALUE_RULES"]

ATTRIBUTE_RULES = (
    Rule(
        Code.missing_attribute,
        "error",
        "An attribute that the operator needs is missing.",
        why="It has no default, so the operator is not defined without it. Type and shape of a ReadValue, which "
        "OpenVINO then takes from the input, are a warning.",
        bad='<layer id="2" name="gather" type="GatherElements" version="opset6">\n  <input>',
        good='<layer id="2" name="gather" type="GatherElements" version="opset6">\n  <data axis="1"/>\n  <input>',
    ),
    Rule(
        Code.invalid_attribute,
        "error",
        "An attribute cannot be read, or its value is not allowed.",
        why="Attributes are numbers, lists, booleans or one of a few words; which ones, the message tells.",
        bad='<data axis="last"/>',
        good='<data axis="1"/>',
    ),
    Rule(
        Code.unknown_attribute,
        "warning",
        "The operator has no such attribute; it is ignored.",
        why="A misspelt attribute changes nothing, and nobody notices.",
        bad='<data axis="1" PrimitivesPriority=""/>',
        good='<data axis="1"/>',
    ),
    Rule(
        Code.untyped_constant,
        "error",
        "A constant has the element type dynamic.",
        why="OpenVINO writes such constants, without elements, for the inputs that a GroupQueryAttention or a "
        "PagedAttentionExtension does not have, and reads no file with them. There they are a warning; the layer runs "
        "without that input.",
        bad='<data element_type="dynamic" shape="0,3" offset="0" size="1"/>',
        good='<data element_type="f32" shape="0,3" offset="0" size="1"/>',
    ),
)

ELEMENT_TYPE_RULES = (
    Rule(
        Code.element_type_not_taken,
        "error",
        "An input has an element type that the operator does not take.",
        why="Indices are integers, conditions are boolean; the operator is not defined for anything else.",
        bad='<data shape="2,2" element_type="f32"/>   (of the indices of a GatherElements)',
        good='<data shape="2,2" element_type="i64"/>',
    ),
    Rule(
        Code.element_types_differ,
        "error",
        "Inputs that must share an element type do not.",
        why="No operator converts its inputs; a Convert does.",
        bad="Add of f32[2,3] and f16[2,3]",
        good="Add of f32[2,3] and a Convert of f16[2,3] to f32",
    ),
    Rule(
        Code.input_array_type,
        "error",
        "An input array cannot be cast without loss.",
        why="The caller has values that the network's input cannot hold.",
        bad='compiled({"indices": np.array([0.5])})   (the input is i64)',
        good='compiled({"indices": np.array([0])})',
        in_files=False,
    ),
)

SHAPE_RULES = (
    Rule(
        Code.wrong_rank,
        "error",
        "A tensor has a rank that the operator does not take.",
        why="The operator's rule counts the dims of its inputs.",
        bad="GatherElements of data [2,3] with indices [2]",
        good="GatherElements of data [2,3] with indices [2,2]",
    ),
    Rule(
        Code.dims_differ,
        "error",
        "Dims that must be equal are not.",
        why="The operator's rule ties the dims of its inputs to each other.",
        bad="GatherElements along axis 1 of data [2,3] with indices [5,2]",
        good="GatherElements along axis 1 of data [2,3] with indices [2,2]",
    ),
    Rule(
        Code.axis_out_of_range,
        "error",
        "An axis is out of the range of the rank.",
        why="A tensor of rank r has the axes -r to r-1.",
        bad='<data axis="2"/>',
        good='<data axis="1"/>',
    ),
    Rule(
        Code.no_broadcast,
        "error",
        "Shapes that must broadcast do not.",
        why="Counted from the last, dims must be equal or one of them 1.",
        bad="Add of [2,3] and [2,4]",
        good="Add of [2,3] and [2,1]",
    ),
    Rule(
        Code.impossible_shape,
        "error",
        "The shapes contradict the operator's rule.",
        why="No output exists that the rule allows.",
        bad="Reshape of [2,3] to [4,4]",
        good="Reshape of [2,3] to [3,2]",
    ),
    Rule(
        Code.input_array_shape,
        "error",
        "An input array does not have the input's shape.",
        why="The network was made, or reshaped, for other shapes.",
        bad='compiled({"x": np.zeros((3, 2))})   (the input is [2,3])',
        good='compiled({"x": np.zeros((2, 3))})',
        in_files=False,
    ),
    Rule(
        Code.dynamic_rank,
        "info",
        "The rank of an input, or of what a layer gives, is not known before the network runs.",
        why="Some devices refuse such networks, and nothing below can be checked for its shape.",
        bad='<data shape="..." element_type="f32"/>',
        good='<data shape="?,3" element_type="f32"/>',
    ),
    Rule(
        Code.unbounded_dim,
        "info",
        "A dim of an input has no upper bound.",
        why="Some devices, NPUs among them, take only networks whose memory can be counted beforehand.",
        bad='<data shape="?,3" element_type="f32"/>',
        good='<data shape="1..8,3" element_type="f32"/>',
    ),
)

VALUE_RULES = (
    Rule(
        Code.failed,
        "error",
        "An operator failed while it ran.",
        why="The values, not the types, are at fault.",
        bad="compiled({...})   (with values that an operator does not take)",
        good="compiled({...})",
        in_files=False,
    ),
    Rule(
        Code.index_out_of_range,
        "error",
        "A constant index is out of the range of its axis.",
        why="ir_exec refuses to run it. OpenVINO reads or writes whatever lies there, or gives zeros.",
        bad="GatherElements along axis 1 of data [2,3] with index 5",
        good="GatherElements along axis 1 of data [2,3] with index 2",
    ),
    Rule(
        Code.negative_index,
        "warning",
        "A constant index is negative where the specification expects none.",
        why="OpenVINO counts it from the end; other runtimes may not.",
        bad="GatherElements along axis 1 of data [2,3] with index -1",
        good="GatherElements along axis 1 of data [2,3] with index 2",
    ),
    Rule(
        Code.duplicate_index,
        "info",
        "Two constant indices write to one place; the last one wins.",
        why="OpenVINO writes in parallel, so that which one wins may differ from run to run.",
        bad="ScatterUpdate with indices [1, 1]",
        good="ScatterUpdate with indices [0, 1]",
    ),
    Rule(
        Code.bad_value,
        "error",
        "A value is none that the operator takes.",
        why="It is found when the network runs, and the layer and the input are named.",
        bad="Range with step 0",
        good="Range with step 1",
        in_files=False,
    ),
    Rule(
        Code.unknown_input,
        "error",
        "Inputs are missing, unknown or given twice.",
        why="The name given is not that of an input of this network.",
        bad='ir-exec check model.xml --shape "y[1,3]"   (the input is x)',
        good='ir-exec check model.xml --shape "x[1,3]"',
        in_files=False,
    ),
    Rule(
        Code.ignored_pattern,
        "warning",
        "PCRE2 does not compile a regular expression, and OpenVINO then ignores it.",
        why="Text is not split or not changed, without a word. Other libraries have escapes that PCRE2 lacks.",
        bad=r"RegexSplit with the pattern \u0020",
        good=r"RegexSplit with the pattern \x{20}",
    ),
)


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
        "The operator belongs to an extension or is internal to OpenVINO; without a class its types are as declared.",
        why="Only who wrote the extension knows what the layer does. OpenVINO reads the file only where the extension "
        "is loaded, and its own internal operators in no file: they come from compiled or transformed models.",
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
