"""The map of the packages agrees with the import contract and the imports of the code."""

from __future__ import annotations

from tests.helpers.architecture import PAGE, find_circles, import_graph, read_layers, replace_map

again = "python -m tests.helpers.architecture"


def test_map_agrees_with_the_code() -> None:
    page = PAGE.read_text("utf-8")
    assert replace_map(page) == page, again


def test_layers_are_all_packages() -> None:
    packages = {module.split(".")[1] for module in import_graph() if "." in module}
    assert {package for layer in read_layers() for package in layer} == packages


def test_circles_of_a_graph() -> None:
    graph = {"a": {"b"}, "b": {"c"}, "c": {"a", "d"}, "d": {"e"}, "e": {"e", "d"}, "f": {"a"}, "g": set()}
    assert find_circles(graph) == [["a", "b", "c"], ["d", "e"]]


def test_no_circular_imports() -> None:
    assert find_circles(import_graph()) == []
