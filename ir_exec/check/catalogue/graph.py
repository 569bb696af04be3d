"""Group 1: layers, ports and edges."""

from ir_exec.check.rule import Rule
from ir_exec.codes import Code

__all__ = ["GRAPH_RULES"]

GRAPH_RULES = (
    Rule(
        Code.graph,
        "error",
        "A fault of the graph without a rule of its own.",
        why="Every fault that can be in a file has a rule; this code is left for errors that a caller makes.",
        bad='GraphError("text")',
        good='GraphError("text", code=Code.cycle)',
        in_files=False,
    ),
    Rule(
        Code.duplicate_layer_id,
        "error",
        "Two layers have the same id.",
        why="Edges name layers by their ids, so it is open which of the two is meant. OpenVINO says that it cannot "
        "create a layer from an unsupported opset.",
        bad='<layer id="1" name="again" type="ReLU" version="opset1">',
        good='<layer id="3" name="again" type="ReLU" version="opset1">',
    ),
    Rule(
        Code.dangling_edge,
        "error",
        "An edge begins or ends at a layer that does not exist.",
        why="The input at its end has no value. OpenVINO says that it cannot create a layer from an unsupported opset.",
        bad='<edge from-layer="9" from-port="1" to-layer="2" to-port="0"/>',
        good='<edge from-layer="1" from-port="1" to-layer="2" to-port="0"/>',
    ),
    Rule(
        Code.wrong_port,
        "error",
        "An edge begins or ends at a port that its layer does not have.",
        why="Port ids count through a layer, inputs first: the output of a layer with one input has the id 1.",
        bad='<edge from-layer="1" from-port="5" to-layer="2" to-port="0"/>',
        good='<edge from-layer="1" from-port="1" to-layer="2" to-port="0"/>',
    ),
    Rule(
        Code.two_edges,
        "error",
        "Two edges lead to one input port.",
        why="An input takes one value; which of the two is meant is open.",
        bad='<edge from-layer="0" from-port="0" to-layer="1" to-port="0"/>\n'
        '<edge from-layer="3" from-port="0" to-layer="1" to-port="0"/>',
        good='<edge from-layer="0" from-port="0" to-layer="1" to-port="0"/>',
    ),
    Rule(
        Code.input_without_edge,
        "error",
        "No edge leads to an input port.",
        why="The layer has nothing to compute from. OpenVINO counts edges, not ports, and takes the next value for it. "
        "An optional last input without an edge is left out, which is a warning.",
        bad='<edges>\n  <edge from-layer="1" from-port="1" to-layer="2" to-port="0"/>',
        good='<edges>\n  <edge from-layer="0" from-port="0" to-layer="1" to-port="0"/>\n'
        '  <edge from-layer="1" from-port="1" to-layer="2" to-port="0"/>',
    ),
    Rule(
        Code.wrong_number_of_inputs,
        "error",
        "A layer has more or fewer inputs than its operator takes.",
        why="What each input means follows from its place. OpenVINO crashes on Assign, Broadcast, MaxPool and "
        "ReadValue without inputs.",
        bad='<layer id="1" name="add" type="Add" version="opset1">   (with one input)',
        good='<layer id="1" name="add" type="Add" version="opset1">   (with two inputs)',
    ),
    Rule(
        Code.cycle,
        "error",
        "Layers depend on themselves.",
        why="No order exists in which they could be computed. What comes back from one step to the next goes through a "
        "Loop, a TensorIterator or a variable.",
        bad='<edge from-layer="2" from-port="1" to-layer="1" to-port="1"/>\n'
        '<edge from-layer="1" from-port="2" to-layer="2" to-port="0"/>',
        good='<edge from-layer="0" from-port="0" to-layer="1" to-port="1"/>\n'
        '<edge from-layer="1" from-port="2" to-layer="2" to-port="0"/>',
    ),
    Rule(
        Code.no_result,
        "error",
        "The network has no Result, so that nothing would be computed.",
        why="Only what a Result or an Assign depends on is computed.",
        bad='<edges>\n  <edge from-layer="0" from-port="0" to-layer="1" to-port="0"/>\n</edges>',
        good='<edges>\n  <edge from-layer="0" from-port="0" to-layer="1" to-port="0"/>\n'
        '  <edge from-layer="1" from-port="1" to-layer="2" to-port="0"/>   (layer 2 is a Result)\n</edges>',
    ),
    Rule(
        Code.unreachable_layer,
        "info",
        "No Result and no Assign depends on a layer; it is never computed.",
        why="It does no harm, but may be what is left of an edge that was forgotten.",
        bad="a ReLU whose output no layer takes",
        good="a ReLU whose output a Result takes",
    ),
    Rule(
        Code.duplicate_layer_name,
        "info",
        "Two layers have the same name.",
        why="Layers are told apart by their ids. Tools that show or quantise layers by name mix the two up.",
        bad='<layer id="1" name="x" type="ReLU" version="opset1">',
        good='<layer id="1" name="relu" type="ReLU" version="opset1">',
    ),
    Rule(
        Code.duplicate_tensor_name,
        "warning",
        "Two values have the same tensor name: which is meant is open.",
        why="Inputs and outputs are asked for by tensor names.",
        bad='<port id="1" precision="FP32" names="x">',
        good='<port id="1" precision="FP32" names="y">',
    ),
    Rule(
        Code.body_port_map,
        "error",
        "A body is missing, or its port map or a back edge does not fit layer and body.",
        why="It ties the ports of a Loop, TensorIterator or If to the Parameters and Results inside; with a wrong tie "
        "a value goes nowhere or comes from nowhere. Output ports that the map counts from 0 are a warning: OpenVINO "
        "takes their ids as an order.",
        bad='<output axis="1" external_port_id="1" internal_layer_id="7"/>',
        good='<output axis="1" external_port_id="1" internal_layer_id="2"/>',
    ),
    Rule(
        Code.variable_without_pair,
        "error",
        "A variable is read and never assigned, or assigned and not read.",
        why="OpenVINO refuses networks in which a ReadValue has no Assign of its variable, or an Assign no ReadValue.",
        bad='<data variable_id="v" variable_type="f32" variable_shape="2,3"/>   (of a ReadValue, and no Assign)',
        good='<data variable_id="v"/>   (of an Assign as well)',
    ),
    Rule(
        Code.too_many_outputs,
        "error",
        "A layer declares more outputs than its operator gives.",
        why="Nothing is computed for the further ones.",
        bad="a ReLU with two output ports",
        good="a ReLU with one output port",
    ),
    Rule(
        Code.duplicate_port_id,
        "error",
        "Two inputs, or two outputs, of a layer have the same port id.",
        why="Edges name ports by their ids, so it is open which of the two is meant.",
        bad='<port id="0" precision="FP32">\n  <dim>2</dim>\n  <dim>3</dim>\n</port>\n<port id="0" precision="FP32">',
        good='<port id="0" precision="FP32">\n  <dim>2</dim>\n  <dim>3</dim>\n</port>\n<port id="1" precision="FP32">',
    ),
    Rule(
        Code.unknown_type,
        "error",
        "No opset has an operator of this type.",
        why="The type is misspelt, or belongs to an extension. Case does not matter.",
        bad='<layer id="1" name="relu" type="Rellu" version="opset1">',
        good='<layer id="1" name="relu" type="ReLU" version="opset1">',
    ),
    Rule(
        Code.type_not_in_opset,
        "error",
        "The named opset does not hold this operator.",
        why="An operator is looked up in the opset that `version` names, and nowhere else.",
        bad='<layer id="2" name="gather" type="GatherElements" version="opset1">',
        good='<layer id="2" name="gather" type="GatherElements" version="opset6">',
    ),
    Rule(
        Code.unknown_opset,
        "error",
        "There is no such opset.",
        why="The opsets are numbered without gaps; no release of OpenVINO holds this one.",
        bad='<layer id="2" name="gather" type="GatherElements" version="opset60">',
        good='<layer id="2" name="gather" type="GatherElements" version="opset6">',
    ),
    Rule(
        Code.newer_than_target,
        "error",
        "A layer, an attribute, an element type or the file needs a newer release of OpenVINO than the target.",
        why="The target cannot read the file, or ignores the attribute and computes something else. Asked for with "
        "`--target`.",
        bad='<layer id="1" name="norm" type="GroupNormalization" version="opset12">   (target 2023.0)',
        good='<layer id="1" name="norm" type="MVN" version="opset6">   (target 2023.0)',
    ),
    Rule(
        Code.repeated_rt_info,
        "error",
        "An attribute of `<rt_info>` that OpenVINO knows stands twice at a layer or port.",
        why="OpenVINO refuses the file: multiple rt_info attributes are detected. Attributes that it does not know may "
        "be repeated, and so may those of version 10, which it does not read.",
        bad='<attribute name="fused_names" version="0" value="a"/>\n'
        '<attribute name="fused_names" version="0" value="b"/>',
        good='<attribute name="fused_names" version="0" value="a,b"/>',
    ),
    Rule(
        Code.colliding_names,
        "error",
        "In a network of version 10, the name of an input or output is that of another one.",
        why="Inputs and outputs of version 10 are named after their layers, beside the tensor names of the file. "
        "OpenVINO refuses the file where names of two of them collide.",
        bad='<layer id="0" name="x" type="Parameter" version="opset1">   (and a Result of the layer "x")',
        good='<layer id="0" name="image" type="Parameter" version="opset1">   (and a Result of the layer "x")',
    ),
    Rule(
        Code.unsorted_nodes,
        "warning",
        "In an ONNX file, a node reads a value that a later node gives.",
        why="ONNX asks for nodes that are sorted: its checker refuses the file, and so do some runtimes. ir_exec sorts "
        "them.",
        bad="y = Relu(h)  h = Neg(x)",
        good="h = Neg(x)  y = Relu(h)",
    ),
    Rule(
        Code.opset_import,
        "error",
        "An ONNX file imports no version of a domain that its nodes name, or one that does not exist.",
        why="What an operator means depends on the version: without it a node has no meaning.",
        bad='opset_import: ["" : 17]  y = com.microsoft.Gelu(x)',
        good='opset_import: ["" : 17, "com.microsoft" : 1]  y = com.microsoft.Gelu(x)',
    ),
    Rule(
        Code.repeated_value_name,
        "error",
        "In an ONNX file, two nodes of a graph give values of the same name.",
        why="Which of them is meant is not said: every value must be given once.",
        bad="h = Neg(x)  h = Relu(x)",
        good="h = Neg(x)  g = Relu(x)",
    ),
    Rule(
        Code.deprecated_operator,
        "warning",
        "In an ONNX file, a node is of an operator that ONNX deprecated, or that was an experimental one.",
        why="ir_exec runs it as its last version, but ONNX's checker refuses the file, and so do some runtimes.",
        bad='opset_import: ["" : 13]  y = Upsample(x, scales)',
        good='opset_import: ["" : 13]  y = Resize(x, "", scales)',
    ),
)
