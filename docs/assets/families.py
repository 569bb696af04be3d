"""Write the reference of `ir_exec.build` by families of operators: `python docs/assets/families.py`."""

from __future__ import annotations

from pathlib import Path

from ir_exec.build.functions import function_names
from ir_exec.build.operators import operator_class
from ir_exec.ops.base.docstrings import describe

FOLDER = Path(__file__).resolve().parents[1] / "reference" / "building"

PAGES = {
    "activation": ("Activations", ("activation",)),
    "arithmetic": ("Arithmetic", ("arithmetic",)),
    "comparison": ("Comparison, logical and bitwise operators", ("comparison", "logical", "bitwise")),
    "convolution": ("Convolution and pooling", ("convolution", "pooling")),
    "matrix": (
        "Matrix products, normalization, reduction, quantization",
        ("matrix", "normalization", "reduction", "quantization"),
    ),
    "movement": ("Data movement", ("movement",)),
    "shape": ("Shapes, types, conditions, generation", ("shape", "type", "condition", "generation")),
    "sequence": ("Recurrent layers and signals", ("sequence", "signals")),
    "detection": ("Detection", ("detection",)),
    "image": ("Images", ("image",)),
    "sort": ("Sorting and sparse operators", ("sort", "sparse")),
}
"""Title and families of each page."""


def pages() -> dict[str, str]:
    """Return the text of each page by its name."""
    functions: dict[str, list[str]] = {}
    for function, type_name in function_names().items():
        functions.setdefault(operator_class(type_name).__module__.split(".")[2], []).append(function)
    return {
        name: "\n".join(
            [
                "---\nsearch: {boost: 0.5}\n---\n",
                f"# {title}",
                "",
                f"Functions of `ir_exec.build` for the operator families {', '.join(families)}."
                if len(families) > 1
                else f"Functions of `ir_exec.build` for the operator family {families[0]}.",
                "",
                *(_entry(one) for one in sorted(one for family in families for one in functions[family])),
                "",
            ]
        )
        for name, (title, families) in PAGES.items()
    }


def _entry(function: str) -> str:
    """Return the lines for a function; of several outputs each is an item of the section Returns."""
    outputs = describe(operator_class(function_names()[function])).sections.get("Outputs", {})
    options = "\n    options: {docstring_options: {returns_multiple_items: true}}" if len(outputs) > 1 else ""
    return f"::: ir_exec.build.{function}{options}"


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    for name, text in pages().items():
        (FOLDER / f"{name}.md").write_text(text, "utf-8")


if __name__ == "__main__":
    main()
