"""`ir-exec convert`: an ONNX file as an IR file."""

from __future__ import annotations

import click

from ir_exec.cli.shape_option import shape_option, shapes_by_input
from ir_exec.cli.terminal import UNUSABLE, Unusable, errors_as_messages
from ir_exec.cli.written import show_written
from ir_exec.onnx.model import convert_model, inputs_of
from ir_exec.onnx.reading import read_proto
from ir_exec.types import Shape, TensorType


@click.command("convert")
@click.argument("model", metavar="MODEL.onnx", type=click.Path())
@click.option("-o", "--output", required=True, metavar="OUT.xml", type=click.Path(), help="Where to write it.")
@shape_option("The shape of an input")
@click.option("--static", is_flag=True, help="Dims of inputs that are still open become 1.")
@click.option("--compress-to-fp16", is_flag=True, help="Store weights of 32 and 64 bits as f16.")
def command(model: str, output: str, shapes: tuple[str, ...], static: bool, compress_to_fp16: bool) -> None:
    """Write an ONNX file as IR: OUT.xml, and OUT.bin beside it.

    Tensors and nodes keep their names. With fixed shapes operators can be said that otherwise cannot. Weights are
    compressed unless one of them is too large for f16.

    Exit code: 0 when it was written, 1 where the file has a fault or an operator that IR cannot say, 2 for paths and
    arguments that cannot be used.
    """
    if not output.lower().endswith(".xml"):
        raise Unusable(f"--output {output}: the file to write must end in .xml")
    with errors_as_messages(hint=f"`ir-exec check {model}` shows everything that is wrong with the file"):
        proto, folder = read_proto(model)
        ports = inputs_of(proto)
        wanted = shapes_by_input(shapes, ports)
        given = {}
        for port in ports:
            shape = wanted.get(port.name, port.shape)
            if static and shape.dims is not None:
                shape = Shape([dim if dim.is_static else 1 for dim in shape])
            given[port.name] = TensorType(port.element_type, shape)
        converted = convert_model(proto, folder=folder, given=given, compress=compress_to_fp16).model
    with errors_as_messages(exit_code=UNUSABLE):
        converted.save(output)
    show_written("Converted", converted, output)
