"""The table of families against what the modules register."""

from __future__ import annotations

import json
import os
import pkgutil
import subprocess
import sys
from pathlib import Path

import ir_exec.ops
from ir_exec.ops.families import FAMILIES

ROOT = Path(__file__).resolve().parent.parent.parent

# A module that imports another one registers its types too, so each starts from an empty registry.
PROGRAM = """
import json, pkgutil, sys
from importlib import import_module
import ir_exec.ops
from ir_exec.ops import opsets

kept = set(sys.modules)
found = {}
for one in pkgutil.iter_modules(ir_exec.ops.__path__):
    for name in [name for name in sys.modules if name.startswith("ir_exec.ops.") and name not in kept]:
        del sys.modules[name]
    opsets._classes.clear()
    import_module(f"ir_exec.ops.{one.name}")
    others = sorted(name.rpartition(".")[2] for name in sys.modules if name.startswith("ir_exec.ops."))
    types = sorted({cls.type_name for held in opsets._classes.values() for cls in held.values()})
    found[one.name] = {"types": types, "imports": others}
print(json.dumps(found))
"""


def test_every_type_stands_at_the_module_that_registers_it() -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True, env=environment, cwd=ROOT
    )
    found = json.loads(done.stdout)
    assert set(found) == {one.name for one in pkgutil.iter_modules(ir_exec.ops.__path__)}
    registers = {}
    for module, entry in found.items():
        imported = {type for other in entry["imports"] if other != module for type in found[other]["types"]}
        own = set(entry["types"]) - imported
        if own:
            registers[module] = own
    assert {module: set(types.split()) for module, types in FAMILIES.items()} == registers


def test_no_type_stands_twice() -> None:
    types = [name for names in FAMILIES.values() for name in names.split()]
    assert len(types) == len(set(types))
