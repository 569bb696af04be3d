"""The tests that are run for a change of a module, the nearest first."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

__all__ = ["Stage", "all_files", "stages"]

PACKAGE: Final = "ir_exec"

OF_NETWORKS: Final = ("tests/runtime/test_bodies.py", "tests/runtime/test_state.py")
"""The own tests of ir_exec/ops/infrastructure, of which one layer alone makes no case."""

OF_ALL: Final = ("tests/ops/test_ops_layout.py", "tests/conformance/test_registry.py")
"""Names of facts of every class of operators."""

ELSEWHERE: Final = ("kernels", "types", "ops", "infer", "graph", "runtime", "ir", "check", "cli", "conformance")
"""The folders of tests that come last, in this order. Of tests/conformance what is not about single rows."""

ROWS: Final = ("test_values.py", "test_types.py", "test_files.py", "test_kept.py", "test_oracle.py")
"""In tests/conformance: what a stage with families does, and the tests of the harness."""


@dataclass(frozen=True)
class Stage:
    """Tests that are run together: files for pytest, or tables of cases by the names of their families.

    is_own: these are the tests of the module itself.
    is_open: there is more than there may be time for.
    """

    name: str
    files: tuple[str, ...] = ()
    families: tuple[str, ...] = ()
    is_own: bool = False
    is_open: bool = False


def stages(root: Path, path: str) -> list[Stage]:
    """For the module at `path` below the repository `root`: its own tests, its table, the tests in the same folder, the
    tests and tables of the modules that import it, and then everything else."""
    own, families = _mirror(root, path), _families(root, path)
    users = [user for user in _users(root).get(path, ()) if user != path]
    their = tuple(dict.fromkeys(file for user in users for file in _mirror(root, user) if file not in own))
    their_families = tuple(dict.fromkeys(name for user in users for name in _families(root, user)))
    beside = tuple(file for file in _beside(root, path) if file not in own)
    their = tuple(file for file in their if file not in beside)
    remaining = tuple(file for file in _everything(root) if file not in (*own, *beside, *their))
    all_stages = [
        Stage("its own tests", own, is_own=True),
        Stage("its table", families=families, is_own=True),
        Stage("tests beside its own", beside),
        Stage("tests of its users", their),
        Stage("tables of its users", families=tuple(name for name in their_families if name not in families)),
        Stage("everything else", remaining, is_open=True),
    ]
    return [stage for stage in all_stages if stage.files or stage.families]


def all_files(root: Path) -> list[str]:
    """All files of tests that may be in a stage."""
    paths = [str(file.relative_to(root)) for file in sorted((root / "tests").rglob("test_*.py"))]
    return [file for file in paths if Path(file).parts[1] != "mutate" and not _is_of_rows(file)]


def _mirror(root: Path, path: str) -> tuple[str, ...]:
    module = Path(path).relative_to(PACKAGE)
    if module.parts[:2] == ("ops", "infrastructure"):
        return OF_NETWORKS
    if module.name == "__init__.py":
        return ()
    mirrored = Path("tests") / module.parent / f"test_{module.name}"
    return (str(mirrored),) if (root / mirrored).exists() else ()


def _beside(root: Path, path: str) -> tuple[str, ...]:
    """The tests in the folder of a module's own tests; none for modules outside of a package of a package."""
    folder = root / "tests" / Path(path).relative_to(PACKAGE).parent
    if folder == root / "tests":
        return ()
    of_all = OF_ALL if folder.is_relative_to(root / "tests" / "ops") else ()
    return tuple(dict.fromkeys([*(str(file.relative_to(root)) for file in sorted(folder.glob("test_*.py"))), *of_all]))


def _families(root: Path, path: str) -> tuple[str, ...]:
    parts = Path(path).with_suffix("").parts
    if parts[1] != "ops" or not (root / "tests" / "cases").joinpath(*parts[2:]).with_suffix(".py").exists():
        return ()
    return (".".join(parts[2:]),)


@cache
def _everything(root: Path) -> tuple[str, ...]:
    folders = [root / "tests" / name for name in ELSEWHERE]
    paths = [file for folder in folders for file in sorted(folder.rglob("test_*.py"))]
    paths += sorted((root / "tests").glob("test_*.py"))
    return tuple(name for file in paths if not _is_of_rows(name := str(file.relative_to(root))))


def _is_of_rows(file: str) -> bool:
    return Path(file).parts[1] == "conformance" and Path(file).name in ROWS


@cache
def _users(root: Path) -> dict[str, list[str]]:
    """The modules that import a module, by its path. Those nearest by name come first, packages themselves last."""
    users_by_path: dict[str, list[str]] = {}
    for file in sorted((root / PACKAGE).rglob("*.py")):
        user = str(file.relative_to(root))
        for name in _imported_modules(ast.parse(file.read_text("utf-8"))):
            for path in (f"{name.replace('.', '/')}.py", f"{name.replace('.', '/')}/__init__.py"):
                if (root / path).exists() and user not in users_by_path.setdefault(path, []):
                    users_by_path[path].append(user)
    for path, users in users_by_path.items():
        # A package passes on what its modules hold: who imports it may use any of them.
        folder = str(Path(path).parent / "__init__.py")
        if folder in users and folder in users_by_path and len(users) == 1:
            users += [user for user in users_by_path[folder] if user not in users]
    return users_by_path


def _imported_modules(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith(PACKAGE):
            yield node.module
            yield from (f"{node.module}.{name.name}" for name in node.names)
        elif isinstance(node, ast.Import):
            yield from (name.name for name in node.names if name.name.startswith(PACKAGE))
