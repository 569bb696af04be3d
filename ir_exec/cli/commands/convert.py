"""`ir-exec convert`: ONNX or IR of any version to IR of version 11, or any model to ONNX."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import click

from ir_exec.check.releases import Release, first_release, newer_than, target_release
from ir_exec.cli.arrays import Asked
from ir_exec.cli.extensions import extension_options, load_extensions
from ir_exec.cli.options import ModelPath, complete_releases, shape_option, shapes_by_input
from ir_exec.cli.output.terminal import UNUSABLE, Unusable, check_hint, echo, errors_as_messages, show_written
from ir_exec.cli.output.writing import model_output, output_option
from ir_exec.errors import IRError, Location, NotKnownError
from ir_exec.model import Model, read_model
from ir_exec.onnx.export.registry import OLDEST_OPSET
from ir_exec.onnx.lowering.demands import Demands
from ir_exec.onnx.lowering.models import convert_model, inputs_of
from ir_exec.onnx.lowering.partial_model import run_once
from ir_exec.onnx.lowering.registry import NEWEST
from ir_exec.onnx.lowering.states import Pair, make_states, named_pairs, noted_pairs
from ir_exec.onnx.reading.files import read_proto
from ir_exec.ops.base.registry import LAST_OPSET, opset_number
from ir_exec.ops.infrastructure.values import ReadsVariable
from ir_exec.printable import printable
from ir_exec.runtime.arguments import check_value
from ir_exec.types import Shape, TensorType

if TYPE_CHECKING:
    from onnx import ModelProto

_FIRST_OPSET = 8
"""The newest opset of the first release that supports IR version 11, the version that is written."""


@click.command("convert")
@click.argument("model", metavar="MODEL", type=ModelPath())
@output_option(
    "-o", "--output", outputs=model_output, required=True, metavar="OUT", help="Write to OUT.xml or OUT.onnx."
)
@shape_option("Shape of an input")
@click.option(
    "--input",
    "named",
    multiple=True,
    metavar="[NAME=]FILE",
    help="For ONNX files: value of an input that operators require, and that the result then depends on; repeatable.",
)
@click.option(
    "--inputs",
    "archive",
    metavar="FILE.npz",
    type=click.Path(),
    help="For ONNX files: values of several inputs, as --input.",
)
@click.option(
    "--stateful",
    is_flag=True,
    help="For ONNX files: convert inputs `past...` and outputs `present...` of equal name and type to states.",
)
@click.option(
    "--state",
    "states",
    multiple=True,
    metavar="INPUT=OUTPUT",
    help="For ONNX files: convert this input and this output to a state; repeatable.",
)
@click.option("--static", is_flag=True, help="Set the remaining open dims of inputs to 1.")
@click.option("--compress-to-fp16", is_flag=True, help="Store f32 and f64 weights as f16.")
@click.option(
    "--fold/--no-fold",
    default=True,
    show_default=True,
    help="Fold constants that do not become larger, and remove layers without effect.",
)
@click.option(
    "--to-opset",
    type=click.IntRange(_FIRST_OPSET, LAST_OPSET),
    metavar="N",
    help=f"To IR: newest opset of the operators, {_FIRST_OPSET} to {LAST_OPSET}.",
)
@click.option(
    "--opset",
    type=click.IntRange(OLDEST_OPSET, NEWEST),
    metavar="N",
    help=f"To ONNX: opset, {OLDEST_OPSET} to {NEWEST}.  [default: newest of the oldest supported onnxruntime]",
)
@click.option(
    "--target",
    metavar="RELEASE",
    shell_complete=complete_releases,
    help="To IR: OpenVINO release that reads the file, such as 2023.0. To ONNX: onnxruntime allows its own operators.",
)
@click.option(
    "--external-data/--no-external-data",
    default=None,
    help="To ONNX: write constants to OUT.onnx.data.  [default: if they exceed 1 GiB]",
)
@click.option(
    "--partial", is_flag=True, help="To ONNX: write layers that ONNX cannot express as operators of a custom domain."
)
@extension_options
def command(
    model: str,
    output: str,
    shapes: tuple[str, ...],
    named: tuple[str, ...],
    archive: str | None,
    stateful: bool,
    states: tuple[str, ...],
    static: bool,
    compress_to_fp16: bool,
    fold: bool,
    to_opset: int | None,
    opset: int | None,
    target: str | None,
    external_data: bool | None,
    partial: bool,
    extensions: tuple[str, ...],
) -> None:
    """Convert ONNX files or older IR to IR, or any model to ONNX.

    The ending of OUT selects the format: OUT.xml (with OUT.bin) or OUT.onnx. MODEL may be IR of versions 2 to 7, which
    current releases of OpenVINO do not read.

    To IR: tensors keep their names, and layers have the names of their nodes; for a node `conv` with a bias, the layer
    before the addition is `conv/WithoutBiases`. Dynamic dims stay dynamic. Some operators can be converted only with
    static shapes (--shape) or with the value of an input (--input); the model is then right for this value only, and a
    line names the input. With --target and --to-opset, operators are written in older, equivalent versions, and layers
    without one are reported.

    States that ir_exec exported as inputs and outputs are converted back to ReadValue and Assign, with --stateful also
    those of other exporters, such as `past_key_values.0.key` and `present.0.key`. A state without a default starts with
    zeros; its open dims are those of inputs of the same name, or 0.

    To ONNX: weights are streamed, states become inputs `past.NAME` and outputs `present.NAME`, and one error names all
    layers that ONNX cannot express.

    Exit code: 0 on success, 1 if the file has a fault, or an operator that the result cannot express, 2 for an
    unreadable path or an invalid argument.
    """
    load_extensions(extensions)
    if output.lower().endswith(".onnx"):
        _refuse(compress_to_fp16=compress_to_fp16, to_opset=to_opset, stateful=stateful, state=states or None)
        if target not in (None, "onnxruntime", "openvino"):
            raise Unusable(f"--target is {target}, expected onnxruntime or openvino for an ONNX file")
        from ir_exec.cli.commands.convert_onnx import convert_to_onnx

        convert_to_onnx(
            model,
            output,
            shapes=shapes,
            static=static,
            fold=fold,
            opset=opset,
            target=target,
            partial=partial,
            external_data=external_data,
        )
        return
    if not output.lower().endswith(".xml"):
        raise Unusable(f"--output is {output}, expected a file with the ending .xml or .onnx")
    _refuse(opset=opset, external_data=external_data, partial=partial)
    release = None if target is None else _release(target)
    options = {
        "input_model": os.path.basename(model),
        "shape": "; ".join(shapes),
        "input": "; ".join((*named, *filter(None, [archive]))),
        "stateful": _flag(stateful),
        "state": "; ".join(states),
        "static": _flag(static),
        "compress_to_fp16": _flag(compress_to_fp16),
        "fold": "true" if fold else "false",
        "to_opset": str(to_opset or ""),
        "target": target or "",
    }
    # A fault that the requested shapes cause is not in the file.
    with errors_as_messages(hint=None if shapes else check_hint(model)):
        if model.lower().endswith(".xml"):
            _refuse_of_ir(stateful=stateful, state=states)
            converted, used = _from_ir(model, shapes, static=static), frozenset[str]()
        else:
            asked = Asked(named, archive, shapes, 0)
            pairs = functools.partial(_pairs, stateful=stateful, states=states)
            converted, used = _from_onnx(model, shapes, options, asked, pairs, static=static)
        if fold:
            from ir_exec.rewrite import simplified  # imported for --fold only

            converted = simplified(converted)
    if to_opset is not None or release is not None:
        with errors_as_messages():
            converted = _for_older(converted, to_opset, release)
    with errors_as_messages(exit_code=UNUSABLE):
        converted.save(output, compress_to_fp16=compress_to_fp16)
    if compress_to_fp16:
        # The written file has one more layer per weight.
        converted = read_model(output)
    show_written("Converted", converted, output)
    variables = [node.op.variable_id for node in converted.graph.nodes if isinstance(node.op, ReadsVariable)]
    if variables:
        echo(f"states: {printable(', '.join(variables))}")
    if used:
        echo(f"valid only for the given values of: {printable(', '.join(sorted(used)))}")


def _convert(
    proto: ModelProto,
    folder: str | None,
    given: Mapping[str, TensorType],
    recorded: Mapping[str, str],
    demands: Demands | None,
) -> Model:
    """Convert the model for all values of the inputs, or else for those in `demands`."""
    try:
        return convert_model(proto, folder=folder, given=given, recorded=recorded).model
    except NotKnownError:
        if demands is None:
            raise
    return convert_model(proto, folder=folder, given=given, recorded=recorded, demands=demands).model


def _refuse(**options: object) -> None:
    """Raise Unusable for options of the other direction of conversion."""
    for name, value in options.items():
        if value not in (None, False):
            raise Unusable(f"--{name.replace('_', '-')} is not supported for the format of --output")


def _from_ir(path: str, shapes: tuple[str, ...], *, static: bool) -> Model:
    """Read an IR file of any version."""
    model = read_model(path)
    requested = shapes_by_input(shapes, model.inputs)
    if static:
        for port in model.inputs:
            shape = requested.get(port.name, port.shape)
            if shape.dims is not None:
                requested[port.name] = Shape([dim if dim.is_static else 1 for dim in shape])
    return model.reshape(requested) if requested else model


def _from_onnx(
    path: str,
    shapes: tuple[str, ...],
    options: Mapping[str, str],
    asked: Asked,
    pairs: Callable[[ModelProto], list[Pair]],
    *,
    static: bool,
) -> tuple[Model, frozenset[str]]:
    """Return the model of an ONNX file, and the inputs whose values it depends on.

    Args:
        options: The options of the conversion, for `rt_info`.
        pairs: The inputs and outputs of a file that become states.
    """
    proto, folder = read_proto(path)
    try:
        make_states(proto, pairs(proto))
    except IRError as error:
        raise error.located(Location(path=path)) from None
    ports = inputs_of(proto)
    requested = shapes_by_input(shapes, ports)
    arrays = asked.read_inputs(ports)
    input_types = {}
    for port in ports:
        shape = requested.get(port.name, port.shape)
        if static and shape.dims is not None:
            shape = Shape([dim if dim.is_static else 1 for dim in shape])
        if port.name in arrays:
            arrays[port.name] = check_value(arrays[port.name], port)
            shape = Shape(arrays[port.name].shape)
        input_types[port.name] = TensorType(port.element_type, shape)
    # The inputs have the shapes of these arrays, so that operators only query values.
    demands = Demands(arrays, run_once, has_shapes=True)
    recorded = {name: value for name, value in options.items() if value}
    try:
        converted = _convert(proto, folder, input_types, recorded, demands if arrays else None)
    except IRError as error:
        raise error.located(Location(path=path)) from error.__cause__
    return converted, frozenset(demands.used)


def _pairs(proto: ModelProto, *, stateful: bool, states: Sequence[str]) -> list[Pair]:
    """Return the states of the command line and of the file's metadata, and with `stateful` those found by name."""
    asked = []
    for text in states:
        past, sign, present = text.partition("=")
        if not sign:
            raise Unusable(f"--state is {text!r}, expected INPUT=OUTPUT")
        asked.append(Pair(past, past, present))
    state_pairs = [*asked, *noted_pairs(proto)]
    if stateful:
        paired_names = {name for state_pair in state_pairs for name in (state_pair.past, state_pair.present)}
        named = [pair for pair in named_pairs(proto) if paired_names.isdisjoint((pair.past, pair.present))]
        if not named and not state_pairs:
            raise Unusable("--stateful found no states by name and type: specify them with --state INPUT=OUTPUT")
        state_pairs += named
    return state_pairs


def _refuse_of_ir(**options: object) -> None:
    """Raise Unusable for options that IR files do not support."""
    for name, value in options.items():
        if value:
            raise Unusable(f"--{name} requires an ONNX file; IR has its states in ReadValue and Assign")


def _for_older(model: Model, to_opset: int | None, release: Release | None) -> Model:
    """Return the model with operator versions that the opset and the release support.

    Raises:
        IRError: If impossible.
    """
    from ir_exec.build.downgrade import downgrade_operators

    if to_opset is not None:
        model = downgrade_operators(model, _in_opset(to_opset), f"opset{to_opset}")
    if release is not None:
        model = downgrade_operators(model, _in_release(release), f"OpenVINO {release}")
        for fault in newer_than(release, model.document, model.document.version):
            raise fault
    return model


def _in_opset(last: int) -> Callable[[str, str], bool]:
    def is_readable(type_name: str, version: str) -> bool:
        number = opset_number(type_name, version)
        return number is None or number <= last

    return is_readable


def _in_release(release: Release) -> Callable[[str, str], bool]:
    def is_readable(type_name: str, version: str) -> bool:
        first = first_release(type_name, version)
        return first is None or first <= release

    return is_readable


def _release(text: str) -> Release:
    try:
        return target_release(text)
    except ValueError as error:
        raise Unusable(f"--target: {error}") from None


def _flag(value: bool) -> str:
    return "true" if value else ""
