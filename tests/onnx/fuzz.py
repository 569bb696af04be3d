"""Attributes and shapes that no exporter writes: what becomes of a node is an IRError or values, never another fault.

    python -m tests.onnx.fuzz [--count 20] [--seed 0] [-k NAME]

Nodes are made from the signatures of all registered versions, with inputs of random small shapes, and from the tables
of the tests, whose inputs fit. Each gets attributes such as 0, -1, 2^62 and NaN.
"""

from __future__ import annotations

import argparse
import signal
import sys
import time
import warnings
from collections.abc import Iterator
from importlib import import_module
from pkgutil import iter_modules
from random import Random
from typing import Any

import numpy as np
from onnx import AttributeProto, TensorProto, helper, numpy_helper

from ir_exec import compile_model
from ir_exec.codes import Code
from ir_exec.errors import IRError
from ir_exec.onnx.lowering.registry import registered
from ir_exec.onnx.lowering.versions import Version
from ir_exec.onnx.reading.functions import schema_of
from tests.onnx import cases
from tests.onnx.runtime import Node, model_of_node

__all__ = ["fault", "from_signatures", "from_tables", "without_bodies"]

_INTEGERS = (0, -1, 1, 2, 3, -(2**31), 2**31, 2**62, -(2**63))
_FLOATS = (0.0, -1.0, 0.5, 1e-30, 1e30, -1e30, float("nan"), float("inf"), float("-inf"))
_TEXTS = ("", "other", "NOTSET", "SAME_UPPER", "linear", "nearest", "ij,jk->ik", "LEFT", "constant", "max")
_SHAPES = ((), (0,), (1,), (2,), (2, 3), (0, 3), (3, 3), (1, 2, 4), (1, 2, 4, 5), (2, 0, 3, 3), (1, 2, 3, 3, 3))
_MOST_SECONDS = 8

_WITHOUT = {"If", "Loop", "Scan", "SequenceMap", "Multinomial"}
"""Operators with bodies, which a signature does not make."""


def _value(type_name: str, random: Random, sample: Any = None) -> Any:
    """Of an attribute of this type of AttributeProto; `sample` is one that fits."""
    match type_name:
        case "INT":
            return random.choice(_INTEGERS)
        case "FLOAT":
            return random.choice(_FLOATS)
        case "STRING":
            return random.choice(_TEXTS)
        case "INTS" | "FLOATS" | "STRINGS":
            single = type_name.removesuffix("S")
            if sample and random.random() < 0.6:
                changed = list(sample)
                changed[random.randrange(len(changed))] = _value(single, random)
                return changed
            return [_value(single, random) for _ in range(random.randrange(5))]
        case "TENSOR":
            return numpy_helper.from_array(np.zeros(random.choice(_SHAPES), random.choice([np.float32, np.int64])))
        case _:
            return None


def _array(types: list[str], random: Random) -> Any:
    named = {f"tensor({name.lower()})": code for name, code in TensorProto.DataType.items()}
    kinds = [named[type] for type in types if type in named] or [TensorProto.FLOAT]
    likely = [data_type for data_type in kinds if data_type in (TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL)]
    dtype = helper.tensor_dtype_to_np_dtype(random.choice(likely or kinds))
    shape = random.choice(_SHAPES)
    if dtype == np.dtype(object):
        return np.full(shape, "text", object)
    return np.array([random.choice((0, 1, 2, 3, -1)) for _ in range(int(np.prod(shape)))]).reshape(shape).astype(dtype)


def _attributes(version: Version, random: Random) -> dict[str, Any]:
    attributes = {}
    for name, declared in version.attributes.items():
        if declared.is_required or random.random() < 0.4:
            value = _value(declared.type_name, random)
            if value is not None:
                attributes[name] = value
    return attributes


def from_signatures(version: Version, random: Random) -> Node:
    """A node of this version, with inputs of the types that ONNX's definition takes."""
    schema = schema_of(version.domain, version.name, version.since)
    most = min(version.most_inputs, 4)
    count = random.randint(version.least_inputs, max(most, version.least_inputs))
    declared = [] if schema is None else list(schema.inputs)
    inputs = []
    for position in range(count):
        types = sorted(declared[min(position, len(declared) - 1)].types) if declared else ["tensor(float)"]
        inputs.append(_array(types, random))
    constants = frozenset(position for position in range(count) if random.random() < 0.5)
    return Node(version.name, version.since, version.domain, inputs, _attributes(version, random), constants, 1)


def _tables() -> Iterator[Node]:
    for module in iter_modules(cases.__path__):
        if module.name != "values":
            yield from import_module(f"tests.onnx.cases.{module.name}").CASES
    values, microsoft = (import_module(f"tests.onnx.{name}") for name in ("lowering.test_values", "ops.test_microsoft"))
    for table in (values.MOVEMENT, values.ARITHMETIC, values.REDUCTIONS, values.LAYERS, values.STATIC):
        yield from table
    for table in (microsoft.FUSED, microsoft.ATTENTION, microsoft.GROUPS, microsoft.QUANTIZED):
        yield from table


def from_tables(random: Random, count: int) -> Iterator[Node]:
    """Nodes of the tables, with one attribute or input changed."""
    listed = [table for table in _tables() if not table.type.startswith("Random")]
    versions = {(version.domain, version.name): version for version in registered()}
    for _ in range(count):
        node = random.choice(listed)
        version = versions.get((node.domain, node.type))
        names = [] if version is None else list(version.attributes)
        if names and random.random() < 0.7:
            assert version is not None
            name = random.choice(names)
            value = _value(version.attributes[name].type_name, random, node.attributes.get(name))
            if value is not None:
                yield node._replace(attributes={**node.attributes, name: value})
                continue
        index = random.randrange(len(node.inputs)) if node.inputs else 0
        array = node.inputs[index] if node.inputs else None
        if array is not None and array.dtype.kind in "iu" and array.size < 9:
            changed = array.copy()
            if changed.size:
                changed.ravel()[random.randrange(changed.size)] = random.choice(
                    (0, 1, 99, int(np.iinfo(changed.dtype).min))
                )
            inputs = [changed if position == index else other for position, other in enumerate(node.inputs)]
            yield node._replace(inputs=inputs, constants=frozenset([*node.constants, index]))
        elif array is not None:
            empty = array[:0] if array.ndim else array
            yield node._replace(inputs=[empty if at == index else other for at, other in enumerate(node.inputs)])


def fault(node: Node) -> str | None:
    """Faults in the outcome of a node; None for values and for an IRError with a specific code."""
    try:
        proto = model_of_node(node, dynamic=False)
    except (ValueError, TypeError, OverflowError):
        # onnx itself does not write it.
        return None
    feed = {f"x{at}": array for at, array in enumerate(node.inputs) if array is not None and at not in node.constants}
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            compile_model(proto.SerializeToString(), max_memory=2**28, max_seconds=5)(feed)
    except IRError as error:
        if error.code == Code.internal_error:
            return f"{node}: {error}"
    except Exception as error:
        return f"{node}: {type(error).__name__}: {error}"
    return None


def without_bodies() -> list[Version]:
    graphs = AttributeProto.AttributeType.Name(AttributeProto.GRAPH)
    return [
        version
        for version in registered()
        if version.name not in _WITHOUT
        and all(declared.type_name != graphs for declared in version.attributes.values())
    ]


def _too_long(*_: Any) -> None:
    raise TimeoutError("more than 20 seconds")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("-k", default="")
    options = parser.parse_args()
    random = Random(options.seed)
    versions = [body for body in without_bodies() if options.k in body.name]
    nodes = [from_signatures(version, random) for version in versions for _ in range(options.count)]
    nodes += [table for table in from_tables(random, options.count * 100) if options.k in table.type]
    signal.signal(signal.SIGALRM, _too_long)
    faults: dict[str, str] = {}
    for node in nodes:
        start = time.monotonic()
        signal.alarm(20)
        wrong = fault(node)
        signal.alarm(0)
        if wrong is None and time.monotonic() - start > _MOST_SECONDS:
            wrong = f"{node}): it took more than {_MOST_SECONDS} seconds"
        summary = None if wrong is None else f"{node.type}: {wrong.rpartition('): ')[2][:120]}"
        if wrong is not None and summary is not None and summary not in faults:
            faults[summary] = wrong
            sys.stdout.write(wrong[:500] + "\n")
            sys.stdout.flush()
    sys.stdout.write(f"{len(nodes)} nodes, {len(faults)} kinds of faults\n")


if __name__ == "__main__":
    main()
