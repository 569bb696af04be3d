"""Limits of GPUs and NPUs for a compiled model: shapes, element types, operators.

Operators and element types that no document mentions are reported as not known.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Literal

from ir_exec.errors import Citation, IRError
from ir_exec.graph import Node, Value
from ir_exec.ops.base.known_extensions import internal_operator
from ir_exec.ops.base.registry import canonical, opset_number, type_key
from ir_exec.ops.infrastructure.values import Parameter
from ir_exec.text.folders.folder import FolderPart
from ir_exec.text.targets.documents import (
    CUSTOM_GPU_OPERATIONS,
    GENAI_TOKENIZATION,
    GPU_DEVICE,
    GPU_OPERATORS,
    GPU_TRANSFORMATIONS,
    NPU_COMPILER,
    NPU_DEVICE,
    SUPPORTED_DEVICES,
    finding,
    names_in_documents,
)
from ir_exec.types import ElementType, Shape

__all__ = ["on_device", "shapes_on_gpu", "shapes_on_npu"]

Device = Literal["gpu", "npu"]

_UNBOUNDED = 2**31 - 1


def on_device(part: FolderPart, device: Device, *, is_text: bool = False) -> Iterator[IRError]:
    """Report all features of a model that a device rejects, and features with unknown support.

    Args:
        is_text: True for models of a text pipeline, whose dynamic dims GPUs support.
    """
    if part.loaded is None:
        document = GPU_DEVICE if device == "gpu" else NPU_DEVICE
        message = f"the file cannot be read: it is not known whether {_with_article(device)} supports it"
        yield finding(message, part.location, document, "info", "run `ir-exec check` on the file without --for")
        return
    if any(ElementType.string in _types(node) for node in part.nodes):
        yield _strings(part, device)
        return
    if device == "npu":
        yield from shapes_on_npu(part)
    else:
        yield from shapes_on_gpu(part, is_text=is_text or bool({"input_ids", "inputs_embeds"} & part.inputs.keys()))
    yield from _shapes_within(part, device)
    yield from _element_types(part, device)
    yield from _operators(part, device)


def _with_article(device: Device) -> str:
    return "a GPU" if device == "gpu" else "an NPU"


def shapes_on_gpu(part: FolderPart, *, is_text: bool) -> Iterator[IRError]:
    """Report dynamic ranks, which GPUs reject, and dynamic dims, which they support partially."""
    dynamic: list[tuple[Node, str, Shape]] = []
    for node, name, shape in _inputs(part):
        if shape.rank is None:
            yield finding(f"the input {name} has a dynamic rank, which GPUs do not support", node.location, GPU_DEVICE)
        elif not shape.is_static:
            dynamic.append((node, name, shape))
    if is_text or all(_is_bounded_batch(shape) for _, _, shape in dynamic):
        return
    for node, name, shape in dynamic:
        message = (
            f"the input {name} has dynamic dims, {shape}: "
            "it is not known whether GPUs support them for every operator of this model"
        )
        yield finding(message, node.location, GPU_DEVICE, "info", "use static shapes")


def _is_bounded_batch(shape: Shape) -> bool:
    """Return True if only the first dim is dynamic, and has an upper bound."""
    first, *others = shape
    return first.hi < _UNBOUNDED and all(dim.is_static for dim in others)


_FOR_NPUS = " for NPUs"


def shapes_on_npu(part: FolderPart) -> Iterator[IRError]:
    """Report shapes that are not static."""
    hint = "reshape the model to static shapes before compiling it"
    for node, name, shape in _inputs(part):
        if shape.rank is None:
            yield finding(
                f"the input {name} has a dynamic rank",
                node.location,
                NPU_DEVICE,
                hint=hint,
                expected="a static shape",
                reason=_FOR_NPUS,
            )
        elif shape.is_static:
            continue
        elif all(dim.is_static or dim.hi < _UNBOUNDED for dim in shape):
            message = (
                f"the input {name} has bounded dims, {shape}: the source of the compiler reads upper bounds, "
                "but it is not known which drivers support them"
            )
            yield finding(message, node.location, NPU_COMPILER, "info", hint)
        else:
            yield finding(
                f"the input {name} has dynamic dims without an upper bound,",
                node.location,
                NPU_DEVICE,
                hint=hint,
                actual=shape,
                expected="a static shape",
                reason=_FOR_NPUS,
            )


def _shapes_within(part: FolderPart, device: Device) -> Iterator[IRError]:
    """Report the first layer whose output shape depends on values, in a model with static inputs."""
    if part.loaded is None or part.types is None or not all(shape.is_static for _, _, shape in _inputs(part)):
        return
    for node in part.loaded.graph.nodes:
        is_known = node.op is not None and opset_number(node.type, node.layer.version or "") is not None
        if not is_known or not all(_is_static(part, value) for value in node.values_in):
            continue
        for value in node.outputs:
            if not _is_static(part, value):
                message = (
                    f"the output has dynamic dims, {part.type_of(value)}, which depend on values: "
                    f"it is not known whether {_with_article(device)} supports these"
                )
                yield finding(message, node.location, GPU_DEVICE if device == "gpu" else NPU_DEVICE, "info")
                return


def _is_static(part: FolderPart, value: Value) -> bool:
    tensor = part.type_of(value)
    return tensor is not None and tensor.shape.is_static


def _inputs(part: FolderPart) -> Iterator[tuple[Node, str, Shape]]:
    for node, names in part.inputs.values():
        if isinstance(node.op, Parameter):
            yield node, names[0], node.op.shape


def _types(node: Node) -> Iterator[ElementType]:
    return (value.declared.element_type for value in node.outputs)


def _strings(part: FolderPart, device: Device) -> IRError:
    """Report a model with strings, which is a tokenizer."""
    node = next(node for node in part.nodes if ElementType.string in _types(node))
    other = _with_article(device)
    message = f"the model has string values, like tokenizers: pipelines run these on the CPU, not on {other}"
    return finding(message, node.location, GENAI_TOKENIZATION, "warning", "compile it for the CPU")


def _element_types(part: FolderPart, device: Device) -> Iterator[IRError]:
    """Report element types that no document mentions, each at its first layer."""
    named = names_in_documents(device, "element types")
    source = GPU_TRANSFORMATIONS if device == "gpu" else NPU_COMPILER
    seen: set[ElementType] = set()
    for node in part.nodes:
        for element_type in _types(node):
            if element_type.is_known and element_type.name not in named and element_type not in seen:
                seen.add(element_type)
                message = f"it is not known whether {_with_article(device)} supports values of {element_type.name}"
                yield finding(message, node.location, source, "info")


@cache
def _operators_of(device: Device) -> frozenset[str]:
    return frozenset(
        map(type_key, names_in_documents(device, "operators") | names_in_documents(device, "lowered operators"))
    )


_OFTEN_ON_CPU = frozenset({"proposal", "nonmaxsuppression", "detectionoutput"})


def _operators(part: FolderPart, device: Device) -> Iterator[IRError]:
    """Report operators of extensions, operators that no list contains, and operators that a GPU may run on the CPU."""
    named = _operators_of(device)
    source = GPU_OPERATORS if device == "gpu" else NPU_COMPILER
    for node in part.nodes:
        key = type_key(node.type)
        version = node.layer.version or ""
        if opset_number(node.type, version) is None and version:
            yield _extension(node, key, version, device)
        elif key not in named:
            message = f"it is not known whether {_with_article(device)} runs {canonical(node.type)}"
            yield finding(message, node.location, source, "info", "query the device: `ov.Core().query_model(...)`")
        elif device == "gpu" and key in _OFTEN_ON_CPU:
            message = f"{canonical(node.type)} may run on the CPU, depending on its attributes and the GPU"
            yield finding(message, node.location, GPU_DEVICE, "info")


def _extension(node: Node, key: str, version: str, device: Device) -> IRError:
    if internal_operator(key, version) is not None:
        document: Citation = GPU_OPERATORS if device == "gpu" else NPU_COMPILER
        operator = f"{node.type}, an internal operator of OpenVINO"
        message = f"it is not known whether {_with_article(device)} supports {operator}"
        return finding(message, node.location, document, "info", "save the model before transforming or compiling it")
    if device == "npu":
        message = f"{node.type} is an operator of an extension, which NPUs do not support"
        return finding(message, node.location, SUPPORTED_DEVICES)
    message = f"{node.type} is an operator of an extension: a GPU runs it only with a custom kernel"
    hint = "write the kernel in OpenCL C, and name its configuration file in CONFIG_FILE"
    return finding(message, node.location, CUSTOM_GPU_OPERATIONS, "warning", hint)
