"""The codes of the rules. Errors have a code; the command line selects, explains and ignores rules by code.

The meaning of a code never changes. Its first digit is the group: 0 file, 1 graph, 2 weights, 3 attributes, 4 element
types, 5 shapes, 6 declared against inferred, 7 values, 9 not checked. `ir_exec.check.catalogue` describes each rule.
"""

from __future__ import annotations

from enum import StrEnum

__all__ = ["Code"]


class Code(StrEnum):
    """The rules by name. A member equals its code, `"IR701"`, and is printed as its code.

    Attributes:
        since: The first version of ir_exec with the rule.
    """

    since: str

    def __new__(cls, code: str, since: str) -> Code:
        member = str.__new__(cls, code)
        member._value_ = code
        member.since = since
        return member

    @property
    def rule_name(self) -> str:
        """The name of the rule in reports and on the command line: `index-out-of-range`."""
        return self.name.replace("_", "-")

    unspecified = "IR000", "0.1.0"
    unreadable_path = "IR001", "0.1.0"
    not_well_formed = "IR002", "0.1.0"
    refused_markup = "IR003", "0.1.0"
    not_ir = "IR004", "0.1.0"
    ir_version = "IR005", "0.1.0"
    limit_exceeded = "IR006", "0.1.0"
    unreadable_number = "IR007", "0.1.0"
    missing_markup = "IR008", "0.1.0"
    unwritable = "IR009", "0.1.0"

    graph = "IR100", "0.1.0"
    duplicate_layer_id = "IR101", "0.1.0"
    dangling_edge = "IR102", "0.1.0"
    wrong_port = "IR103", "0.1.0"
    two_edges = "IR104", "0.1.0"
    input_without_edge = "IR105", "0.1.0"
    wrong_number_of_inputs = "IR106", "0.1.0"
    cycle = "IR107", "0.1.0"
    no_result = "IR108", "0.1.0"
    unreachable_layer = "IR109", "0.1.0"
    duplicate_layer_name = "IR110", "0.1.0"
    duplicate_tensor_name = "IR111", "0.1.0"
    body_port_map = "IR112", "0.1.0"
    variable_without_pair = "IR113", "0.1.0"
    too_many_outputs = "IR114", "0.1.0"
    duplicate_port_id = "IR115", "0.1.0"
    unknown_type = "IR116", "0.1.0"
    type_not_in_opset = "IR117", "0.1.0"
    unknown_opset = "IR118", "0.1.0"
    newer_than_target = "IR119", "0.1.0"
    repeated_rt_info = "IR120", "0.1.0"
    colliding_names = "IR121", "0.1.0"
    unsorted_nodes = "IR122", "0.2.0"
    opset_import = "IR123", "0.2.0"
    repeated_value_name = "IR124", "0.2.0"
    deprecated_operator = "IR125", "0.2.0"
    operator_not_in_opset = "IR126", "0.2.0"
    repeated_node_name = "IR127", "0.2.0"
    shadowed_name = "IR128", "0.2.0"

    weights = "IR200", "0.1.0"
    weights_missing = "IR201", "0.1.0"
    weights_short = "IR202", "0.1.0"
    weights_lfs_pointer = "IR203", "0.1.0"
    constant_size = "IR204", "0.1.0"
    constant_offset = "IR205", "0.1.0"
    damaged_strings = "IR206", "0.1.0"
    unreferenced_weights = "IR207", "0.1.0"
    nan_in_weights = "IR208", "0.1.0"
    infinity_in_weights = "IR209", "0.1.0"
    saturated_f16 = "IR210", "0.1.0"
    foreign_weights = "IR211", "0.2.0"
    weights_digest = "IR212", "0.2.0"
    overlapping_constants = "IR213", "0.2.0"
    zero_weights = "IR214", "0.2.0"
    constant_weights = "IR215", "0.2.0"

    missing_attribute = "IR301", "0.1.0"
    invalid_attribute = "IR302", "0.1.0"
    unknown_attribute = "IR303", "0.1.0"
    untyped_constant = "IR304", "0.2.0"

    element_type_not_taken = "IR401", "0.1.0"
    element_types_differ = "IR402", "0.1.0"
    input_array_type = "IR403", "0.1.0"

    wrong_rank = "IR501", "0.1.0"
    dims_differ = "IR502", "0.1.0"
    axis_out_of_range = "IR503", "0.1.0"
    no_broadcast = "IR504", "0.1.0"
    impossible_shape = "IR505", "0.1.0"
    input_array_shape = "IR506", "0.1.0"
    dynamic_rank = "IR507", "0.1.0"
    unbounded_dim = "IR508", "0.1.0"

    declared_dims = "IR601", "0.1.0"
    declared_rank = "IR602", "0.1.0"
    declared_element_type = "IR603", "0.1.0"
    ports_disagree = "IR604", "0.1.0"
    body_input_type = "IR605", "0.1.0"
    value_info = "IR606", "0.2.0"

    failed = "IR700", "0.1.0"
    index_out_of_range = "IR701", "0.1.0"
    negative_index = "IR702", "0.1.0"
    duplicate_index = "IR703", "0.1.0"
    bad_value = "IR704", "0.1.0"
    unknown_input = "IR705", "0.1.0"
    ignored_pattern = "IR706", "0.2.0"

    missing_part = "IR801", "0.2.0"
    foreign_part = "IR802", "0.2.0"
    vocabularies_differ = "IR803", "0.2.0"
    special_tokens = "IR804", "0.2.0"
    pipeline_ports = "IR805", "0.2.0"
    pipeline_state = "IR806", "0.2.0"
    chat_template = "IR807", "0.2.0"
    part_versions = "IR808", "0.2.0"
    settings_contradict = "IR809", "0.2.0"
    unreadable_settings = "IR810", "0.2.0"
    refused_by_target = "IR811", "0.2.0"
    checkpoint_differs = "IR812", "0.2.0"

    unsupported = "IR900", "0.1.0"
    operator_not_implemented = "IR901", "0.1.0"
    extension_operator = "IR902", "0.1.0"
    unknown_inputs = "IR905", "0.1.0"
    internal_error = "IR999", "0.1.0"
