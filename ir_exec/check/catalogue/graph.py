"""Group 1: layers, ports and edges."""

from ir_exec.check.rule import Rule
from ir_exec.codes import Code

__all__ = ["GRAPH_RULES"]

GRAPH_RULES = (
    Rule(
        Code.graph,
        "error",
        "A fault of the graph without a specific rule.",
        why="Every fault of a file has a rule. This code remains for errors of callers.",
        bad='GraphError("text")',
        good='GraphError("text", code=Code.cycle)',
        in_files=False,
    ),
    Rule(
        Code.duplicate_layer_id,
        "error",
        "Two layers have the same id.",
        why="Edges refer to layers by id, so these edges are ambiguous. OpenVINO reports that it cannot create a "
        "layer from an unsupported opset.",
        bad='<layer id="1" name="again" type="ReLU" version="opset1">',
        good='<layer id="3" name="again" type="ReLU" version="opset1">',
    ),
    Rule(
        Code.dangling_edge,
        "error",
        "An edge refers to a layer that does not exist.",
        why="The input at its end has no value. OpenVINO reports that it cannot create a layer from an unsupported "
        "opset.",
        bad='<edge from-layer="9" from-port="1" to-layer="2" to-port="0"/>',
        good='<edge from-layer="1" from-port="1" to-layer="2" to-port="0"/>',
    ),
    Rule(
        Code.wrong_port,
        "error",
        "An edge refers to a port that its layer does not have.",
        why="Port ids count through a layer, inputs first: the output of a layer with one input has id 1.",
        bad='<edge from-layer="1" from-port="5" to-layer="2" to-port="0"/>',
        good='<edge from-layer="1" from-port="1" to-layer="2" to-port="0"/>',
    ),
    Rule(
        Code.two_edges,
        "error",
        "Two edges end at the same input port.",
        why="An input has one value, so the input is ambiguous.",
        bad='<edge from-layer="0" from-port="0" to-layer="1" to-port="0"/>\n'
        '<edge from-layer="3" from-port="0" to-layer="1" to-port="0"/>',
        good='<edge from-layer="0" from-port="0" to-layer="1" to-port="0"/>',
    ),
    Rule(
        Code.input_without_edge,
        "error",
        "An input port has no edge.",
        why="The layer has no value to compute from. OpenVINO counts edges instead of ports, and uses the next value "
        "instead. An optional last input without an edge is omitted; the severity is then warning.",
        bad='<edges>\n  <edge from-layer="1" from-port="1" to-layer="2" to-port="0"/>',
        good='<edges>\n  <edge from-layer="0" from-port="0" to-layer="1" to-port="0"/>\n'
        '  <edge from-layer="1" from-port="1" to-layer="2" to-port="0"/>',
    ),
    Rule(
        Code.wrong_number_of_inputs,
        "error",
        "A layer has more or fewer inputs than its operator accepts.",
        why="The position of an input defines its meaning. OpenVINO crashes on Assign, Broadcast, MaxPool and "
        "ReadValue without inputs.",
        bad='<layer id="1" name="add" type="Add" version="opset1">   (with one input)',
        good='<layer id="1" name="add" type="Add" version="opset1">   (with two inputs)',
    ),
    Rule(
        Code.cycle,
        "error",
        "Layers depend on themselves.",
        why="There is no order to compute them in. Use a Loop, a TensorIterator or a variable to pass a value from "
        "one step to the next.",
        bad='<edge from-layer="2" from-port="1" to-layer="1" to-port="1"/>\n'
        '<edge from-layer="1" from-port="2" to-layer="2" to-port="0"/>',
        good='<edge from-layer="0" from-port="0" to-layer="1" to-port="1"/>\n'
        '<edge from-layer="1" from-port="2" to-layer="2" to-port="0"/>',
    ),
    Rule(
        Code.no_result,
        "error",
        "The model has no Result and would compute nothing.",
        why="Only layers that a Result or an Assign depends on are computed.",
        bad='<edges>\n  <edge from-layer="0" from-port="0" to-layer="1" to-port="0"/>\n</edges>',
        good='<edges>\n  <edge from-layer="0" from-port="0" to-layer="1" to-port="0"/>\n'
        '  <edge from-layer="1" from-port="1" to-layer="2" to-port="0"/>   (layer 2 is a Result)\n</edges>',
    ),
    Rule(
        Code.unreachable_layer,
        "info",
        "No Result or Assign depends on a layer: it is never computed.",
        why="It is harmless, but an edge may be missing.",
        bad="a ReLU whose output no layer reads",
        good="a ReLU whose output a Result reads",
    ),
    Rule(
        Code.duplicate_layer_name,
        "info",
        "Two layers have the same name.",
        why="Ids identify layers. Tools that show or quantize layers by name confuse the two.",
        bad='<layer id="1" name="x" type="ReLU" version="opset1">',
        good='<layer id="1" name="relu" type="ReLU" version="opset1">',
    ),
    Rule(
        Code.duplicate_tensor_name,
        "warning",
        "Two values have the same tensor name.",
        why="Inputs and outputs are selected by tensor name, so the name is ambiguous.",
        bad='<port id="1" precision="FP32" names="x">',
        good='<port id="1" precision="FP32" names="y">',
    ),
    Rule(
        Code.body_port_map,
        "error",
        "A body is missing, or its port map or a back edge does not match the layer and the body.",
        why="The port map connects the ports of a Loop, TensorIterator or If to the Parameters and Results of the "
        "body. With a wrong entry, a value is lost or undefined. For output ports that the map counts from 0 "
        "the severity is warning: OpenVINO uses their ids as an order.",
        bad='<output axis="1" external_port_id="1" internal_layer_id="7"/>',
        good='<output axis="1" external_port_id="1" internal_layer_id="2"/>',
    ),
    Rule(
        Code.variable_without_pair,
        "error",
        "A variable is read but never assigned, or assigned but never read.",
        why="OpenVINO rejects models with a ReadValue without an Assign of its variable, or an Assign without a "
        "ReadValue.",
        bad='<data variable_id="v" variable_type="f32" variable_shape="2,3"/>   (of a ReadValue, and no Assign)',
        good='<data variable_id="v"/>   (of an Assign as well)',
    ),
    Rule(
        Code.too_many_outputs,
        "error",
        "A layer declares more outputs than its operator has.",
        why="The additional outputs have no values.",
        bad="a ReLU with two output ports",
        good="a ReLU with one output port",
    ),
    Rule(
        Code.duplicate_port_id,
        "error",
        "Two inputs, or two outputs, of a layer have the same port id.",
        why="Edges refer to ports by id, so these edges are ambiguous.",
        bad='<port id="0" precision="FP32">\n  <dim>2</dim>\n  <dim>3</dim>\n</port>\n<port id="0" precision="FP32">',
        good='<port id="0" precision="FP32">\n  <dim>2</dim>\n  <dim>3</dim>\n</port>\n<port id="1" precision="FP32">',
    ),
    Rule(
        Code.unknown_type,
        "error",
        "No opset contains an operator of this type.",
        why="The type is misspelled, or belongs to an extension. Case is ignored.",
        bad='<layer id="1" name="relu" type="Rellu" version="opset1">',
        good='<layer id="1" name="relu" type="ReLU" version="opset1">',
    ),
    Rule(
        Code.type_not_in_opset,
        "error",
        "The declared opset does not contain this operator.",
        why="Only the opset declared by `version` is searched.",
        bad='<layer id="2" name="gather" type="GatherElements" version="opset1">',
        good='<layer id="2" name="gather" type="GatherElements" version="opset6">',
    ),
    Rule(
        Code.unknown_opset,
        "error",
        "The opset does not exist.",
        why="Opsets are numbered without gaps; no release of OpenVINO has this one.",
        bad='<layer id="2" name="gather" type="GatherElements" version="opset60">',
        good='<layer id="2" name="gather" type="GatherElements" version="opset6">',
    ),
    Rule(
        Code.newer_than_target,
        "error",
        "A layer, an attribute, an element type or the file needs a newer release of OpenVINO than the target.",
        why="The target cannot read the file, or ignores the attribute and computes different values. Checked with "
        "`--target`.",
        bad='<layer id="1" name="norm" type="GroupNormalization" version="opset12">   (target 2023.0)',
        good='<layer id="1" name="norm" type="MVN" version="opset6">   (target 2023.0)',
    ),
    Rule(
        Code.repeated_rt_info,
        "error",
        "An `<rt_info>` attribute that OpenVINO reads occurs twice at a layer or port.",
        why="OpenVINO rejects the file: multiple rt_info attributes are detected. Attributes that OpenVINO does not "
        "read may be repeated, and so may those of version 10.",
        bad='<attribute name="fused_names" version="0" value="a"/>\n'
        '<attribute name="fused_names" version="0" value="b"/>',
        good='<attribute name="fused_names" version="0" value="a,b"/>',
    ),
    Rule(
        Code.colliding_names,
        "error",
        "In a model of version 10, an input or output has the same name as another one.",
        why="In version 10 inputs and outputs have the names of their layers, in addition to tensor names. OpenVINO "
        "rejects files with equal names.",
        bad='<layer id="0" name="x" type="Parameter" version="opset1">   (and a Result of the layer "x")',
        good='<layer id="0" name="image" type="Parameter" version="opset1">   (and a Result of the layer "x")',
    ),
    Rule(
        Code.unsorted_nodes,
        "warning",
        "In an ONNX file, a node reads a value of a later node.",
        why="ONNX requires sorted nodes: its checker and some runtimes reject the file. ir_exec sorts them.",
        bad="y = Relu(h)  h = Neg(x)",
        good="h = Neg(x)  y = Relu(h)",
    ),
    Rule(
        Code.opset_import,
        "error",
        "An ONNX file does not import a domain of its nodes, or imports a version that does not exist.",
        why="The version defines the meaning of an operator.",
        bad='opset_import: ["" : 17]  y = com.microsoft.Gelu(x)',
        good='opset_import: ["" : 17, "com.microsoft" : 1]  y = com.microsoft.Gelu(x)',
    ),
    Rule(
        Code.repeated_value_name,
        "error",
        "In an ONNX file, two nodes of a graph define values with the same name.",
        why="The name is ambiguous: every value must be defined once.",
        bad="h = Neg(x)  h = Relu(x)",
        good="h = Neg(x)  g = Relu(x)",
    ),
    Rule(
        Code.deprecated_operator,
        "warning",
        "In an ONNX file, a node has a deprecated or experimental operator.",
        why="ir_exec runs its last version, but ONNX's checker and some runtimes reject the file.",
        bad='opset_import: ["" : 13]  y = Upsample(x, scales)',
        good='opset_import: ["" : 13]  y = Resize(x, "", scales)',
    ),
    Rule(
        Code.operator_not_in_opset,
        "error",
        "In an ONNX file, a node has an operator that the imported version of its domain does not contain.",
        why="No runtime accepts the file: the operator was added in a later version, belongs to another domain, or is "
        "misspelled.",
        bad='opset_import: ["" : 17]  y = Gelu(x)',
        good='opset_import: ["" : 20]  y = Gelu(x)',
    ),
    Rule(
        Code.repeated_node_name,
        "error",
        "In an ONNX file, two nodes of a graph have the same name.",
        why="ONNX requires unique names, and onnxruntime rejects the file. Nodes without a name are valid.",
        bad="[a] h = Neg(x)  [a] y = Relu(h)",
        good="[a] h = Neg(x)  [b] y = Relu(h)",
    ),
    Rule(
        Code.shadowed_name,
        "error",
        "In an ONNX file, a value of a body has the same name as a value of the enclosing graph.",
        why="ONNX forbids it. onnxruntime rejects the output of a node of the body. For an input or initializer the "
        "severity is warning: onnxruntime treats it as a different value.",
        bad="h = Neg(x)  y = If(c) <then_branch = g () => (r) { h = Relu(x)  r = Abs(h) }, ...>",
        good="h = Neg(x)  y = If(c) <then_branch = g () => (r) { i = Relu(x)  r = Abs(i) }, ...>",
    ),
)
