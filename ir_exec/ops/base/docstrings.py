"""The descriptions of operators, from the docstrings of a class and its base classes.

A class describes its inputs in the section `Inputs:`, its fields in `Attributes:`, its outputs in `Outputs:`, and the
codes of its errors in `Raises:`, each entry as `name: Text.` with indented further lines. `Swish` is an example.

A description has the text of the class, then the text of its base classes, shared by versions and families, and one
section of each kind.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from ir_exec.ops.base.operator import Family, Op

__all__ = ["Description", "describe", "description_of", "parse_docstring", "sections_text"]

_SECTIONS = ("Inputs", "Attributes", "Outputs", "Raises")

_BASE = "The base of "
"""The beginning of the docstring of a base class; its first sentence does not concern users of operators."""


_SOURCES = ("Specification:", "Source:")
"""The beginnings of paragraphs that are last in a description."""


class Description(NamedTuple):
    """The parts of a description.

    Attributes:
        paragraphs: The text before the sections, each with its line ends.
        sections: The indented lines of each entry, by heading and name.
    """

    paragraphs: list[str]
    sections: dict[str, dict[str, list[str]]]

    def text(self) -> str:
        """Return the description as a docstring with the sections of an operator."""
        return "\n\n".join([*self.paragraphs, *sections_text(self.sections)])

    def entries(self, heading: str) -> dict[str, str]:
        """Return the texts of a section by name, each on one line."""
        return {
            name: " ".join(line.strip() for line in lines).partition(": ")[2]
            for name, lines in self.sections.get(heading, {}).items()
        }


def description_of(cls: type[Op]) -> str:
    """Return the description of an operator as text."""
    return describe(cls).text()


def describe(cls: type[Op]) -> Description:
    """Return the merged docstrings of the class and its base classes."""
    # The docstring may name each of any number of inputs.
    is_variadic = any(input.variadic for input in cls.inputs)
    names = {
        "Inputs": None if is_variadic else [input.name for input in cls.inputs],
        "Attributes": [field.name for field in cls.fields()],
        "Outputs": [*cls.outputs, "outputs"],
    }
    parts = [parse_docstring(text) for text in _docstrings(cls)]
    paragraphs = [
        paragraph
        for number, part in enumerate(parts)
        for number_of_paragraph, paragraph in enumerate(part.paragraphs)
        if number == 0 or number_of_paragraph or not paragraph.startswith(_BASE)
    ]
    paragraphs.sort(key=lambda paragraph: paragraph.startswith(_SOURCES))
    sections = {heading: _merge_entries(heading, parts, names.get(heading)) for heading in _SECTIONS}
    return Description(paragraphs, {heading: entries for heading, entries in sections.items() if entries})


def sections_text(sections: Mapping[str, Mapping[str, Iterable[str]]]) -> Iterator[str]:
    """Yield the text of each section that has entries."""
    for heading, entries in sections.items():
        lines = [line for entry in entries.values() for line in entry]
        if lines:
            yield "\n".join([f"{heading}:", *lines])


def _docstrings(cls: type[Op]) -> Iterator[str]:
    for base in cls.__mro__[: cls.__mro__.index(Op)]:
        is_other_operator = base is not cls and "type_name" in vars(base)
        # The interface of a Family does not concern users of its operators.
        if base.__doc__ and not is_other_operator and base is not Family:
            yield inspect.cleandoc(base.__doc__)


def parse_docstring(text: str) -> Description:
    """Return the parts of one docstring; its sections are separate paragraphs."""
    description = Description([], {})
    for paragraph in text.split("\n\n"):
        heading, *lines = paragraph.strip("\n").split("\n")
        if heading.removesuffix(":") not in _SECTIONS or not heading.endswith(":"):
            description.paragraphs.append(paragraph)
            continue
        entries = description.sections.setdefault(heading.removesuffix(":"), {})
        for line in lines:
            if line.startswith("        ") and entries:
                entries[next(reversed(entries))].append(line)
            else:
                entries[line.partition(":")[0].strip()] = [line]
    return description


def _merge_entries(heading: str, parts: list[Description], names: list[str] | None) -> dict[str, list[str]]:
    """Return the entries of all docstrings for these names, None for all names.

    A base class declares inputs and attributes, to which the class adds; its errors follow those of the class.
    """
    merged: dict[str, list[str]] = {}
    for part in parts if heading == "Raises" else reversed(parts):
        for name, lines in part.sections.get(heading, {}).items():
            if name not in merged:
                merged[name] = lines
            else:
                first, *others = lines
                merged[name] = [*merged[name], " " * 8 + first.partition(": ")[2], *others]
    if names is None:
        return merged
    return {name: merged[name] for name in names if name in merged}
