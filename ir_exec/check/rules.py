"""The catalogue: every code that the project reports, with its name and its severity.

A code never changes its meaning. Its first digit is the group. A fault may be reported with less than the severity of
its rule, where the place that found it knows that nothing breaks there, and never with more.
"""

from __future__ import annotations

from dataclasses import dataclass

from ir_exec.errors import Severity

__all__ = ["GROUPS", "RULES", "Rule", "lesser", "rule_of"]

GROUPS = {
    0: "file",
    1: "graph",
    2: "weights",
    3: "attributes",
    4: "element types",
    5: "shapes",
    6: "declared against inferred",
    7: "values",
    9: "not checked",
}


@dataclass(frozen=True, slots=True)
class Rule:
    """One thing that can be wrong with a file.

    name: what people call it, in kebab case. severity: the most that a fault of this rule is reported with.
    in_files: whether `check_model` can find it in a file; the other rules are broken by calls of the Python API.
    """

    code: str
    name: str
    severity: Severity
    summary: str
    in_files: bool = True

    @property
    def group(self) -> str:
        return GROUPS.get(int(self.code[2]), "other")


_TABLE = (
    Rule("IR000", "unspecified", "error", "A fault without a rule of its own.", in_files=False),
    # 0 file
    Rule("IR001", "unreadable-path", "error", "The path cannot be read: no such file, a folder, no permission."),
    Rule("IR002", "not-well-formed", "error", "The file is not well-formed XML."),
    Rule("IR003", "refused-markup", "error", "The file holds a DOCTYPE or entities, which no IR file needs."),
    Rule("IR004", "not-ir", "error", "The file is something else than IR: a Git LFS pointer, HTML, ONNX, empty."),
    Rule("IR005", "ir-version", "error", "The IR version is not one of those that are read (10 and 11)."),
    Rule("IR006", "limit-exceeded", "error", "Something is larger or deeper than the limits against hostile files."),
    Rule("IR007", "unreadable-number", "error", "A number or an id cannot be read."),
    Rule("IR008", "missing-markup", "error", "An element or attribute that every IR file has is missing."),
    Rule("IR009", "unwritable", "error", "The network cannot be written.", in_files=False),
    # 1 graph
    Rule("IR100", "graph", "error", "A fault of the graph without a rule of its own.", in_files=False),
    Rule("IR101", "duplicate-layer-id", "error", "Two layers have the same id."),
    Rule("IR102", "dangling-edge", "error", "An edge begins or ends at a layer that does not exist."),
    Rule("IR103", "wrong-port", "error", "An edge begins or ends at a port that its layer does not have."),
    Rule("IR104", "two-edges", "error", "Two edges lead to one input port."),
    Rule("IR105", "input-without-edge", "error", "No edge leads to an input port."),
    Rule("IR106", "wrong-number-of-inputs", "error", "A layer has more or fewer inputs than its operator takes."),
    Rule("IR107", "cycle", "error", "Layers depend on themselves."),
    Rule("IR108", "no-result", "error", "The network has no Result, so that nothing would be computed."),
    Rule("IR109", "unreachable-layer", "info", "No Result and no Assign depends on a layer; it is never computed."),
    Rule("IR110", "duplicate-layer-name", "info", "Two layers have the same name."),
    Rule("IR111", "duplicate-tensor-name", "warning", "Two values have the same tensor name: which is meant is open."),
    Rule("IR112", "body-port-map", "error", "The port map or a back edge of a body does not fit layer and body."),
    Rule("IR113", "variable-without-pair", "error", "A variable is read and never assigned, or assigned and not read."),
    Rule("IR114", "too-many-outputs", "error", "A layer declares more outputs than its operator gives."),
    Rule("IR115", "duplicate-port-id", "error", "Two inputs, or two outputs, of a layer have the same port id."),
    Rule("IR116", "unknown-type", "error", "No opset has an operator of this type."),
    Rule("IR117", "type-not-in-opset", "error", "The named opset does not hold this operator."),
    Rule("IR118", "unknown-opset", "error", "There is no such opset."),
    # 2 weights
    Rule("IR200", "weights", "error", "A fault of the weights without a rule of its own.", in_files=False),
    Rule("IR201", "weights-missing", "error", "There are constants, and the weights file cannot be read."),
    Rule("IR202", "weights-short", "error", "A constant reaches past the end of the weights."),
    Rule("IR203", "weights-lfs-pointer", "error", "The weights are a Git LFS pointer, not the file it stands for."),
    Rule("IR204", "constant-size", "error", "The size of a constant is not what its shape and element type take."),
    Rule("IR205", "constant-offset", "error", "Offset or size of a constant are out of range.", in_files=False),
    Rule("IR206", "damaged-strings", "error", "The bytes of a string constant are not packed strings."),
    Rule("IR207", "unreferenced-weights", "info", "No constant uses the bytes at the end of the weights."),
    # 3 attributes
    Rule("IR301", "missing-attribute", "error", "An attribute that the operator needs is missing."),
    Rule("IR302", "invalid-attribute", "error", "An attribute cannot be read, or its value is not allowed."),
    Rule("IR303", "unknown-attribute", "warning", "The operator has no such attribute; it is ignored."),
    # 4 element types
    Rule("IR401", "element-type-not-taken", "error", "An input has an element type that the operator does not take."),
    Rule("IR402", "element-types-differ", "error", "Inputs that must share an element type do not."),
    Rule("IR403", "input-array-type", "error", "An input array cannot be cast without loss.", in_files=False),
    # 5 shapes
    Rule("IR501", "wrong-rank", "error", "A tensor has a rank that the operator does not take."),
    Rule("IR502", "dims-differ", "error", "Dims that must be equal are not."),
    Rule("IR503", "axis-out-of-range", "error", "An axis is out of the range of the rank."),
    Rule("IR504", "no-broadcast", "error", "Shapes that must broadcast do not."),
    Rule("IR505", "impossible-shape", "error", "The shapes contradict the operator's rule."),
    Rule("IR506", "input-array-shape", "error", "An input array does not have the input's shape.", in_files=False),
    # 6 declared against inferred
    Rule("IR601", "declared-dims", "error", "A port declares a dim that cannot be."),
    Rule("IR602", "declared-rank", "error", "A port declares a rank that cannot be."),
    Rule("IR603", "declared-element-type", "error", "A port declares an element type that cannot be."),
    Rule("IR604", "ports-disagree", "warning", "The ports at both ends of an edge declare different dims."),
    # 7 values
    Rule("IR700", "failed", "error", "An operator failed while it ran.", in_files=False),
    Rule("IR701", "index-out-of-range", "error", "A constant index is out of the range of its axis."),
    Rule("IR702", "negative-index", "warning", "A constant index is negative where the specification expects none."),
    Rule("IR703", "duplicate-index", "info", "Two constant indices write to one place; the last one wins."),
    Rule("IR704", "bad-value", "error", "A value is none that the operator takes.", in_files=False),
    Rule("IR705", "unknown-input", "error", "Inputs are missing, unknown or given twice.", in_files=False),
    # 9 not checked
    Rule("IR900", "unsupported", "info", "Something that ir_exec does not have.", in_files=False),
    Rule(
        "IR901",
        "operator-not-implemented",
        "info",
        "ir_exec does not have this operator yet; its types are as declared.",
    ),
    Rule("IR902", "extension-operator", "info", "The operator belongs to an extension; its types are as declared."),
    Rule("IR905", "unknown-inputs", "info", "The types of a layer's inputs are not known, so it was not checked."),
    Rule("IR999", "internal-error", "error", "ir_exec itself failed; at one layer that is an info."),
)

RULES = {rule.code: rule for rule in _TABLE}
"""Every rule by its code."""

_WEIGHT: dict[Severity, int] = {"info": 0, "warning": 1, "error": 2}


def rule_of(code: str) -> Rule:
    """The rule of a code; a code that is not in the catalogue is a fault without a rule of its own."""
    return RULES.get(code, RULES["IR000"])


def lesser(a: Severity, b: Severity) -> Severity:
    """The milder of two severities."""
    return min(a, b, key=_WEIGHT.__getitem__)
