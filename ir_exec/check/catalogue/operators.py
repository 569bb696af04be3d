"""Groups 3, 4, 5 and 7: what the operators say of their attributes and inputs."""

from ir_exec.check.rule import Rule
from ir_exec.codes import Code

__all__ = ["ATTRIBUTE_RULES", "ELEMENT_TYPE_RULES", "SHAPE_RULES", "VALUE_RULES"]

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
)
