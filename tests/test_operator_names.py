"""Facts about operators are declared in their classes, not in tables of names or comparisons elsewhere."""

from __future__ import annotations

from tests.helpers.operator_names import find_excess, find_uses, find_uses_in, load_counts

SOURCE = """
_MOVING = frozenset(["Reshape", "Transpose"])
_LIMITS: dict[str, float] = {"Sigmoid": 1.0, "Tanh": 1.0, "MyOwn": 2.0}
_PORTS = {("Gather", "axis"): 1, ("Range", "step"): 2}
_WORDS = frozenset("Abs Negative Sign".split())
_OTHER = ["Reshape", "first", "second"]
_SINGLE = {"Reshape"}

def find_readers(node, type):
    if node.type == "MatMul" or "Convolution" in type or node.type in ("Add", "Subtract"):
        return node.type in _MOVING
    match type:
        case "Gather" | "GatherND":
            return type.startswith("ReduceSum")
    return type not in frozenset(["Concat", "Split"]) and type != "other"
"""


TABLES = {
    ("engines/int8/values.py", "_COPYING"): "operators of ONNX graphs, which are edited without classes of operators",
    ("ir/document.py", "_STRUCTURAL"): "the file format: these types turn a list of layers into a model",
    ("onnx/export/kernel_types.py", "_TYPES"): "kernels of onnxruntime by ONNX operators, queried from it",
    ("plan/patterns.py", "_COMMUTATIVE"): "the language of patterns, which match by names before classes are imported",
}
"""The tables that remain, with the reason."""


def test_only_these_tables_remain() -> None:
    tables = {(use.path, use.owner) for use in find_uses() if use.category == "tables"}
    assert tables == TABLES.keys()


def test_no_file_has_more_comparisons_than_before() -> None:
    assert [str(use) for use in find_excess(load_counts(), find_uses())] == []


def test_uses_in_a_module() -> None:
    assert [(use.category, use.line, use.owner, use.names[0]) for use in find_uses_in(SOURCE)] == [
        ("tables", 2, "_MOVING", "Reshape"),
        ("tables", 3, "_LIMITS", "Sigmoid"),
        ("tables", 4, "_PORTS", "Gather"),
        ("tables", 5, "_WORDS", "Abs"),
        ("comparisons", 10, "find_readers", "MatMul"),
        ("comparisons", 10, "find_readers", "Convolution"),
        ("comparisons", 10, "find_readers", "Add"),
        ("comparisons", 13, "find_readers", "Gather"),
        ("comparisons", 13, "find_readers", "GatherND"),
        ("comparisons", 14, "find_readers", "ReduceSum"),
        ("comparisons", 15, "find_readers", "Concat"),
    ]
