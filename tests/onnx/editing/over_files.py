"""Edits of many ONNX files: rename an input, change an attribute, extract to the middle node.

    python -m tests.onnx.editing.over_files FILE_OR_FOLDER... [-v]

For each file and edit: the edit succeeds, all untouched parts have the bytes of the file, `diff` names what was edited,
and onnxruntime computes equal values before and after. Files that onnxruntime does not run are not run.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import ModelProto, NodeProto

from ir_exec.debug.diffs.onnx_diffing import diff_onnx
from ir_exec.debug.reduction.onnx_extracting import extract_onnx
from ir_exec.errors import IRError
from ir_exec.onnx.editing.editor import OnnxEditor
from ir_exec.onnx.editing.sources import OnnxSource
from ir_exec.onnx.editing.storage import write_edited

_NEW_NAME = "renamed_by_test"


class WrongResultError(Exception):
    """A wrong result."""


class NotRunError(Exception):
    """A model that onnxruntime does not run, or an edit that the file does not allow."""


def files_in(paths: Sequence[str]) -> Iterator[Path]:
    for path in map(Path, paths):
        yield from sorted(path.rglob("*.onnx")) if path.is_dir() else [path]


def run(path: Path, seed: int, names: Sequence[str] | None = None, outputs: Sequence[str] = ()) -> list[Any]:
    """Return the outputs of a model for random inputs; NotRunError if onnxruntime refuses it.

    Args:
        names: The names under which the inputs are drawn, by default their own.
        outputs: Additional outputs of the model, and then only these.
    """
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    try:
        source: Any = str(path)
        if outputs:
            proto = onnx.load(path)
            own = {output.name for output in proto.graph.output}
            proto.graph.output.extend([onnx.ValueInfoProto(name=name) for name in outputs if name not in own])
            source = proto.SerializeToString()
        session = onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])
        feeds = {}
        for position, port in enumerate(session.get_inputs()):
            feeds[port.name] = _draw(port, seed, names[position] if names else port.name)
        return list(session.run(list(outputs) or None, feeds))
    except Exception as error:
        raise NotRunError(str(error)) from None


_DTYPES = {"float": "f4", "double": "f8", "float16": "f2", "int64": "i8", "int32": "i4", "int8": "i1", "uint8": "u1",
           "int16": "i2", "uint16": "u2", "uint32": "u4", "uint64": "u8", "bool": "?"}  # fmt: skip


def _draw(port: Any, seed: int, name: str) -> Any:
    element_type = port.type.removeprefix("tensor(").removesuffix(")")
    if element_type not in _DTYPES:
        raise NotRunError(port.type)
    rng = np.random.default_rng([seed, *name.encode()])
    shape = [dim if isinstance(dim, int) else 2 for dim in port.shape]
    if element_type.startswith(("float", "double")):
        return rng.random(shape).astype(_DTYPES[element_type])
    return rng.integers(0, 2, shape).astype(_DTYPES[element_type])


def require_equal(before: Sequence[Any], after: Sequence[Any]) -> None:
    if len(before) != len(after):
        raise WrongResultError(f"{len(after)} outputs, expected {len(before)}")
    for left, right in zip(before, after, strict=True):
        if not _is_equal(left, right):
            raise WrongResultError("different outputs")


def _is_equal(left: Any, right: Any) -> bool:
    if isinstance(left, list):
        return len(left) == len(right) and all(map(_is_equal, left, right))
    if not isinstance(left, np.ndarray):
        return repr(left) == repr(right)
    if left.dtype.kind == "O":
        return bool(np.array_equal(left, right))
    return left.dtype == right.dtype and left.shape == right.shape and left.tobytes() == right.tobytes()


def require_untouched(before: ModelProto, after: ModelProto, touched: Callable[[NodeProto], bool]) -> None:
    """Raise WrongResultError unless all parts but the touched nodes have the bytes of the file."""
    for field in ("ir_version", "producer_name", "producer_version", "domain", "model_version", "doc_string"):
        if getattr(before, field) != getattr(after, field):
            raise WrongResultError(field)
    for field in ("opset_import", "metadata_props", "functions"):
        _require_same(getattr(before, field), getattr(after, field), field)
    for field in ("initializer", "sparse_initializer", "value_info"):
        _require_same(getattr(before.graph, field), getattr(after.graph, field), field)
    if len(before.graph.node) != len(after.graph.node):
        raise WrongResultError("node count")
    for left, right in zip(before.graph.node, after.graph.node, strict=True):
        if not touched(left) and left.SerializeToString() != right.SerializeToString():
            raise WrongResultError(f"node {left.name}")


def _require_same(before: Any, after: Any, field: str) -> None:
    if [part.SerializeToString() for part in before] != [part.SerializeToString() for part in after]:
        raise WrongResultError(field)


def rename(path: Path, target: Path) -> None:
    source = OnnxSource(path)
    editor = OnnxEditor(source)
    if not editor.input_names:
        raise NotRunError("no input")
    old = editor.input_names[0]
    editor.rename(old, _NEW_NAME)
    proto = editor.proto()
    write_edited(source, proto, target)
    reads = {id(node) for node in source.proto.graph.node if _reads(node, old)}
    before, after = onnx.load(path, load_external_data=False), onnx.load(target, load_external_data=False)
    require_untouched(before, after, lambda node: _reads(node, old))
    report = diff_onnx(path, target)
    if report.equal or report.added or report.removed or len(report.changed) > len(reads) + 2:
        raise WrongResultError(f"diff: {report.summary}")
    before_names = list(OnnxEditor(source).input_names)
    require_equal(run(path, 1, before_names), run(target, 1, before_names))


def _reads(node: NodeProto, name: str) -> bool:
    from ir_exec.onnx.reading.order import needed_names

    return name in needed_names(node) or name in node.output


def change_attribute(path: Path, target: Path) -> None:
    source = OnnxSource(path)
    for position, node in enumerate(source.proto.graph.node):
        name = node.name or next(filter(None, node.output), "")
        if sum(other.name == name for other in source.proto.graph.node) > 1:
            continue
        for attribute in node.attribute:
            value = _changed_value(attribute)
            if value is None:
                continue
            editor = OnnxEditor(source)
            editor.set_attribute(name, attribute.name, value)
            try:
                proto = editor.proto()
            except IRError:
                continue
            write_edited(source, proto, target)
            _verify_attribute(path, target, position, attribute.name)
            return
    raise NotRunError("no attribute that can be changed")


def _verify_attribute(path: Path, target: Path, position: int, attribute: str) -> None:
    before, after = onnx.load(path, load_external_data=False), onnx.load(target, load_external_data=False)
    edited = before.graph.node[position]
    for left, right in zip(before.graph.node, after.graph.node, strict=True):
        if left is not edited and left.SerializeToString() != right.SerializeToString():
            raise WrongResultError(f"node {left.name}")
    _require_same(before.graph.initializer, after.graph.initializer, "initializer")
    others = [entry for entry in edited.attribute if entry.name != attribute]
    _require_same(others, [e for e in after.graph.node[position].attribute if e.name != attribute], "attribute")
    report = diff_onnx(path, target)
    changes = [change.what for layer in report.changed for change in layer.changes]
    is_constant = edited.op_type == "Constant" and len(report.changed) == 1
    if report.added or report.removed or not (f"attribute {attribute}" in changes or is_constant):
        raise WrongResultError(f"diff: {report.summary}")


def _changed_value(attribute: Any) -> Any:
    kinds = attribute.AttributeType
    match attribute.type:
        case kinds.INT:
            return attribute.i + 1 if attribute.i <= 0 else attribute.i - 1
        case kinds.FLOAT:
            return float(attribute.f) * 1.5 + 0.125
        case kinds.INTS if len(attribute.ints):
            return [value + 1 for value in attribute.ints]
        case kinds.FLOATS if len(attribute.floats):
            return [value * 1.5 + 0.125 for value in attribute.floats]
    return None


def extract(path: Path, target: Path) -> None:
    source = OnnxSource(path)
    nodes = [node for node in source.proto.graph.node if node.input and any(node.output)]
    if not nodes:
        raise NotRunError("no nodes")
    node = nodes[len(nodes) // 2]
    value = next(name for name in node.output if name)
    extracted = extract_onnx(source, to=value)
    extracted.save(target)
    after = onnx.load(target, load_external_data=False)
    originals = {part.SerializeToString() for part in source.proto.graph.node}
    if any(part.SerializeToString() not in originals for part in after.graph.node):
        raise WrongResultError("a node differs")
    _require_same(source.proto.opset_import, after.opset_import, "opset_import")
    require_equal(run(path, 1, outputs=[value]), run(target, 1))


EDITS = {"rename": rename, "attribute": change_attribute, "extract": extract}


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("paths", nargs="+")
    parser.add_argument("-v", "--verbose", action="store_true")
    options = parser.parse_args(arguments)
    counts: dict[str, Counter[str]] = {name: Counter() for name in EDITS}
    with tempfile.TemporaryDirectory() as folder:
        for path in files_in(options.paths):
            for name, edit in EDITS.items():
                target = _target(path, folder)
                outcome = "equal"
                try:
                    edit(path, target)
                except NotRunError as error:
                    outcome = "edited, not run" if target.exists() else "not applicable"
                    if options.verbose:
                        print(f"{path} {name}: {outcome}: {str(error)[:150]}")
                except Exception as error:
                    outcome = "failed"
                    print(f"{path} {name}: {type(error).__name__}: {str(error)[:300]}")
                finally:
                    for file in Path(target.parent).glob(f"{target.name}*"):
                        file.unlink()
                counts[name][outcome] += 1
    for name, counter in counts.items():
        total = counter.total() - counter["not applicable"]
        share = 100 * (total - counter["failed"]) / max(total, 1)
        print(f"{name}: {share:.1f} % of {total}; {dict(counter)}")
    return any(counter["failed"] for counter in counts.values())


def _target(path: Path, folder: str) -> Path:
    # External data are found in the folder of the model only.
    has_data = any(sibling.name.startswith(path.name + ".") for sibling in path.parent.iterdir())
    return (
        path.with_name("edited_by_test.onnx")
        if has_data and os.access(path.parent, os.W_OK)
        else Path(folder, "edited.onnx")
    )


if __name__ == "__main__":
    sys.exit(main())
