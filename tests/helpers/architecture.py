"""The map of the packages in docs/architecture.md, drawn from the import contract and the imports of the code.

python -m tests.helpers.architecture    write the map into the page
"""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import click

__all__ = ["PAGE", "draw_map", "find_circles", "import_graph", "read_layers", "replace_map"]

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "ir_exec"
PAGE = ROOT / "docs" / "architecture.md"
BEGIN = "<!-- map: written by `python -m tests.helpers.architecture` -->"
END = "<!-- end of the map -->"


def read_layers() -> list[list[str]]:
    """Return the packages of each layer of the import contract, from the lowest layer to the highest."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"]
    layers = next(contract["layers"] for contract in contracts if contract["containers"] == ["ir_exec"])
    return [layer.split(" | ") for layer in reversed(layers)]


def import_graph() -> dict[str, set[str]]:
    """Return the modules of ir_exec that each module imports, also in functions and for type checkers only."""
    modules = {_module_of(path): path for path in sorted(PACKAGE.rglob("*.py"))}
    return {module: {name for name in _imports(path, modules) if name != module} for module, path in modules.items()}


def _module_of(path: Path) -> str:
    module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
    return module.removesuffix(".__init__")


def _imports(path: Path, modules: dict[str, Path]) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module in modules:
            for alias in node.names:
                submodule = f"{node.module}.{alias.name}"
                yield submodule if submodule in modules else node.module
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in modules)


def find_circles(graph: dict[str, set[str]]) -> list[list[str]]:
    """Return the groups of modules that import each other, directly or by others; Tarjan's algorithm."""
    order: dict[str, int] = {}
    lowest: dict[str, int] = {}
    path: list[str] = []
    circles: list[list[str]] = []

    def visit(module: str) -> None:
        order[module] = lowest[module] = len(order)
        path.append(module)
        for imported in sorted(graph[module]):
            if imported not in order:
                visit(imported)
            if imported in path:
                lowest[module] = min(lowest[module], lowest[imported])
        if lowest[module] == order[module]:
            circle = path[path.index(module) :]
            del path[-len(circle) :]
            if len(circle) > 1:
                circles.append(sorted(circle))

    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, 4 * len(graph)))
    for module in graph:
        if module not in order:
            visit(module)
    sys.setrecursionlimit(limit)
    return sorted(circles)


def draw_map() -> str:
    """Return the table: the packages from the lowest layer to the highest, with their contents and imports."""
    imports: dict[str, set[str]] = {}
    for module, names in import_graph().items():
        package = _package_of(module)
        imports.setdefault(package, set()).update(name for name in map(_package_of, names) if name != package)
    lines = ["| package | contents | imports |", "|---|---|---|"]
    layers = read_layers()
    rank = {package: level for level, layer in enumerate(layers) for package in layer}
    for layer in layers:
        for package in layer:
            path = PACKAGE / package
            source = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
            name = f"{package}/" if path.is_dir() else source.name
            imported = sorted(imports.get(package, set()) & set(rank), key=lambda other: (-rank[other], other))
            listed = ", ".join(f"`{other}`" for other in imported)
            lines.append(f"| `{name}` | {_summary(source)} | {listed} |")
    return "\n".join(lines)


def _package_of(module: str) -> str:
    return module.split(".")[1] if "." in module else ""


def _summary(source: Path) -> str:
    """Return the first sentence of the docstring of a package."""
    docstring = ast.get_docstring(ast.parse(source.read_text("utf-8"))) or ""
    return docstring.split("\n")[0].rstrip(".").replace("|", "\\|")


def replace_map(page: str) -> str:
    """Return the page with a new map."""
    pattern = re.compile(re.escape(BEGIN) + ".*?" + re.escape(END), re.DOTALL)
    return pattern.sub(lambda match: f"{BEGIN}\n\n{draw_map()}\n\n{END}", page)


if __name__ == "__main__":
    PAGE.write_text(replace_map(PAGE.read_text("utf-8")), "utf-8")
    click.echo(PAGE.relative_to(ROOT))
