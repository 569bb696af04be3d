"""`ir-exec edit`: changes of names, attributes, constants, shapes, weights and layers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from ir_exec import build
from ir_exec.build import Editor
from ir_exec.build.operators import operator_class
from ir_exec.cli.extensions import extension_options, load_extensions
from ir_exec.cli.files import is_onnx_file, require_ir_output
from ir_exec.cli.layer_texts import LayerText, read_layers
from ir_exec.cli.options import MODEL, FiniteRange, shape_option, shapes_by_input
from ir_exec.cli.output.terminal import UNUSABLE, Unusable, check_hint, errors_as_messages, show_written
from ir_exec.cli.output.writing import model_output, output_option
from ir_exec.cli.weights import compress, read_compression, split_weights
from ir_exec.debug.values.files import read_npy
from ir_exec.model import read_model
from ir_exec.types import Array

if TYPE_CHECKING:
    from ir_exec.onnx.editing.storage import ExternalData


@click.command("edit")
@click.argument("model", metavar="MODEL", type=MODEL)
@output_option(
    "-o", "--output", outputs=model_output, required=True, metavar="OUT", help="Write to OUT.xml, or ONNX to OUT.onnx."
)
@click.option(
    "--rename",
    "renamed",
    multiple=True,
    metavar="OLD=NEW",
    help="Rename an input, output, tensor or layer; repeatable.",
)
@shape_option("Set the shape of an input")
@click.option(
    "--type",
    "element_types",
    multiple=True,
    metavar="NAME=TYPE",
    help="Set the element type of an input: NAME=f16; repeatable.",
)
@click.option("--batch", metavar="N|NAME", help="ONNX: set the first dim of all inputs to a size or a name.")
@click.option(
    "--set-attribute",
    "attributes",
    multiple=True,
    metavar="LAYER.NAME=VALUE",
    help="Set an attribute of a layer; repeatable.",
)
@click.option(
    "--set-constant",
    "constants",
    multiple=True,
    metavar="LAYER=VALUE",
    help="Set a constant to numbers (0.5 or 1,2,3) or to the array of an .npy file; repeatable.",
)
@click.option(
    "--remove",
    "removed",
    multiple=True,
    metavar="LAYER",
    help="Remove a layer; its readers read its first input; repeatable.",
)
@click.option(
    "--replace", "replaced", multiple=True, metavar="LAYER=TYPE(...)", help="Replace a layer by another; repeatable."
)
@click.option(
    "--insert",
    "inserted",
    multiple=True,
    metavar="NAME=TYPE(...)",
    help="Insert a layer after a layer or tensor; repeatable.",
)
@click.option(
    "--output-of", "added", multiple=True, metavar="NAME", help="Add a layer or tensor to the outputs; repeatable."
)
@click.option(
    "--external-data",
    type=click.Choice(["in", "out"]),
    help="ONNX: move tensors into the file, or to OUT.onnx.data next to it.",
)
@click.option("--strip", is_flag=True, help="ONNX: remove doc strings, and stack traces in metadata.")
@click.option(
    "--weights",
    multiple=True,
    metavar="FORMAT|FILE",
    help="Compress weights: int8, int4, f16, nf4, mxfp4, ... or a .json with formats by layer. FILE.bin: weights file.",
)
@click.option("--group-size", type=int, metavar="N", help="With --weights: elements that share a scale, -1 for a row.")
@click.option("--ratio", type=FiniteRange(0, 1), metavar="X", help="With --weights int4: share of weights in 4 bits.")
@click.option("--all-layers", is_flag=True, help="With --weights int4: also use 4 bits in embeddings and last layer.")
@click.option(
    "--inputs",
    "archives",
    multiple=True,
    metavar="FILE.npz",
    type=click.Path(),
    help="With --weights: inputs whose activations weight the rounding errors; repeatable.",
)
@extension_options
def command(
    model: str,
    output: str,
    renamed: tuple[str, ...],
    shapes: tuple[str, ...],
    element_types: tuple[str, ...],
    batch: str | None,
    attributes: tuple[str, ...],
    constants: tuple[str, ...],
    removed: tuple[str, ...],
    replaced: tuple[str, ...],
    inserted: tuple[str, ...],
    added: tuple[str, ...],
    external_data: ExternalData | None,
    strip: bool,
    weights: tuple[str, ...],
    group_size: int | None,
    ratio: float | None,
    all_layers: bool,
    archives: tuple[str, ...],
    extensions: tuple[str, ...],
) -> None:
    """Change names, attributes, constants, shapes or layers of a model.

    The rest of the file is kept, and ports declare the inferred types. Options use the names in the file; renaming is
    the last edit. A layer in a body is loop/body/name. `ir-exec extract` extracts a part of a model.

    For MODEL.onnx and OUT.onnx, layers are the nodes of the file, and all that is not edited keeps its bytes: nodes,
    tensors, opsets, metadata. Operators are those of ONNX, 'x=Clip(0, 6)', 'x=com.microsoft.Gelu'; a node of a function
    is function/name; --shape accepts names of dims, "x[batch,3,?]". An edit that makes the model invalid is refused.

    --insert 'logits=Softmax(axis=1)' and --replace 'relu=Clamp(min=0, max=6)' create a layer of the newest version, or
    for example of opset=8. It reads the value, or the inputs of the replaced layer. Other inputs are positional
    arguments: numbers and lists, 'x=Multiply([0.5, 2])', and names or .npy files in quotes, 'x=Add("y")'. The new layer
    keeps the name of the replaced layer and the attributes that both have.

    --weights int8|int4|f16|nf4|mxfp4|fp8_e4m3 compresses weights without calibration data, in the layout of NNCF. A
    .json has formats by name pattern. Use it to measure the effect of a format (`ir-exec quantize-report`) and to make
    test files; NNCF keeps more accuracy. --weights FILE.bin is the weights file of the model.

    Exit code: 0 if the model was written, 2 otherwise.
    """
    if output.lower().endswith(".onnx") and is_onnx_file(model):
        from ir_exec.cli.commands.edit_onnx import OnnxEdits, edit_onnx_file  # imported for ONNX files only

        if (weights, group_size, ratio, all_layers, archives) != ((), None, None, False, ()):
            raise Unusable("--weights and its options require an --output with the ending .xml")
        load_extensions(extensions)
        edits = OnnxEdits(
            renamed=list(_pairs(renamed, "--rename")),
            shapes=shapes,
            element_types=dict(_pairs(element_types, "--type")),
            batch=batch,
            attributes=list(_attributes(attributes)),
            constants=[(name, _elements(text)) for name, text in _pairs(constants, "--set-constant")],
            removed=removed,
            replaced=list(read_layers(replaced, "--replace")),
            inserted=list(read_layers(inserted, "--insert")),
            added=added,
            strip=strip,
        )
        edit_onnx_file(model, output, edits, external_data)
        return
    require_ir_output(model, output)
    if batch is not None or external_data is not None or strip:
        raise Unusable(
            "--batch, --external-data and --strip require an ONNX file and an --output with the ending .onnx"
        )
    file, asked = split_weights(weights)
    if asked is None and (group_size, ratio, all_layers, archives) != (None, None, False, ()):
        raise Unusable("--group-size, --ratio, --all-layers and --inputs require --weights with a format")
    compression = None if asked is None else read_compression(asked, group_size, ratio, all_layers=all_layers)
    load_extensions(extensions)
    hint = check_hint(model)
    with errors_as_messages(hint=hint, exit_code=UNUSABLE):
        network = read_model(model, weights=file)
    named_shapes = shapes_by_input(shapes, network.inputs)
    with errors_as_messages(exit_code=UNUSABLE):
        editor = Editor(network)
        for name, said in read_layers(inserted, "--insert"):
            _insert(editor, name, said)
        for name, said in read_layers(replaced, "--replace"):
            _replace(editor, name, said)
        for name in removed:
            editor.remove(name)
        for layer, attribute, value in _attributes(attributes):
            editor.set_attribute(layer, attribute, value)
        for layer, text in _pairs(constants, "--set-constant"):
            editor.set_constant(layer, _elements(text))
        for name in added:
            editor.add_output(name)
        editor.retype(dict(_pairs(element_types, "--type"))).reshape(named_shapes)
        for old, new in _pairs(renamed, "--rename"):
            editor.rename(old, new)
        edited = editor.model()
    if compression is not None:
        edited = compress(edited, compression, archives)
    with errors_as_messages(exit_code=UNUSABLE):
        edited.save(output)
    show_written("Edited", edited, output)


def _insert(editor: Editor, name: str, said: LayerText) -> None:
    others = _inputs(editor, said)

    def make_layer(value: build.Value) -> build.Value:
        result = build.op(said.type, value, *others, **said.attributes)
        if not isinstance(result, build.Value):
            raise Unusable(f"--insert {name}={said.type}: the layer has {len(result)} outputs, expected one")
        return result

    editor.insert(name, make_layer)


def _replace(editor: Editor, name: str, said: LayerText) -> None:
    cls = operator_class(said.type, said.attributes.get("opset"))
    own = {name_of_field for field in cls.fields() for name_of_field in (field.name, field.attribute)}
    retained = {name_of_field: text for name_of_field, text in editor.attributes(name).items() if name_of_field in own}
    others = _inputs(editor, said)

    def make_layer(*inputs: build.Value) -> Any:
        is_variadic = any(port.variadic for port in cls.inputs)
        sources = [*inputs[:1], *others] if others else inputs if is_variadic else inputs[: len(cls.inputs)]
        return build.op(said.type, *sources, **{**retained, **said.attributes})

    editor.replace(name, make_layer)


def _inputs(editor: Editor, said: LayerText) -> list[Any]:
    """Return the inputs in the text of a layer, with names replaced by values of the model."""
    return [_value_of(editor, input) if isinstance(input, str) else input for input in said.inputs]


def _value_of(editor: Editor, text: str) -> Any:
    return _array(text) if text.lower().endswith(".npy") else editor.value(text)


def _pairs(texts: Iterable[str], option: str) -> Iterator[tuple[str, str]]:
    """Split `name=value`; names may contain `=`, values may not."""
    for text in texts:
        name, equals, value = text.rpartition("=")
        if not (equals and name and value):
            raise Unusable(f"{option} is {text!r}, expected NAME=VALUE")
        yield name, value


def _attributes(texts: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    """Split `layer.attribute=value`; names of layers may contain dots."""
    for path, value in _pairs(texts, "--set-attribute"):
        layer, dot, attribute = path.rpartition(".")
        if not (dot and layer and attribute):
            raise Unusable(f"--set-attribute is {path!r}, expected LAYER.NAME=VALUE")
        yield layer, attribute, value


def _elements(text: str) -> Any:
    """Parse a number, a list of numbers, or the name of an .npy file."""
    if text.lower().endswith(".npy"):
        return _array(text)
    try:
        numbers = [_number(part) for part in text.strip("[]").split(",")]
    except ValueError:
        raise Unusable(f"--set-constant is {text!r}, expected a number, a list of numbers or an .npy file") from None
    return numbers if "," in text or text.startswith("[") else numbers[0]


def _number(text: str) -> bool | int | float:
    word = text.strip().lower()
    if word in ("true", "false"):
        return word == "true"
    try:
        return int(word)
    except ValueError:
        return float(word)


def _array(path: str) -> Array:
    with errors_as_messages(exit_code=UNUSABLE):
        return read_npy(path)
