"""The rule of every member of `Code`, the source of explanations, docs/rules.md and the rule table of SARIF."""

from ir_exec.check.catalogue.files import FILE_RULES, WEIGHT_RULES
from ir_exec.check.catalogue.graph import GRAPH_RULES
from ir_exec.check.catalogue.operators import (
    ATTRIBUTE_RULES,
    ELEMENT_TYPE_RULES,
    PORT_RULES,
    SHAPE_RULES,
    UNCHECKED_RULES,
    VALUE_RULES,
)
from ir_exec.check.catalogue.pipelines import PIPELINE_RULES

__all__ = ["CATALOGUE"]

CATALOGUE = (
    *FILE_RULES,
    *GRAPH_RULES,
    *WEIGHT_RULES,
    *ATTRIBUTE_RULES,
    *ELEMENT_TYPE_RULES,
    *SHAPE_RULES,
    *PORT_RULES,
    *VALUE_RULES,
    *PIPELINE_RULES,
    *UNCHECKED_RULES,
)
