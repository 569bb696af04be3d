"""Groups 0 and 2: the file itself, and the weights."""

from ir_exec.check.rule import Rule
from ir_exec.codes import Code

__all__ = ["FILE_RULES", "WEIGHT_RULES"]

FILE_RULES = (
    Rule(
        Code.unspecified,
        "error",
        "A fault without a rule of its own.",
        why="Every fault that can be in a file has a rule; this code is left for errors that a caller makes.",
        bad='IRError("text")',
        good='ShapeError("text", code=Code.impossible_shape)',
        in_files=False,
    ),
    Rule(
        Code.unreadable_path,
        "error",
        "The path cannot be read: no such file, a folder, no permission.",
        why="Nothing was checked, so nothing can be said of the file.",
        bad="ir-exec check no/such/model.xml",
        good="ir-exec check models/model.xml",
    ),
    Rule(
        Code.not_well_formed,
        "error",
        "The file is not well-formed XML.",
        why="No reader can go on behind the first such place. Most often the file was cut off while it was copied, or "
        "edited by hand.",
        bad="    </port>\n  </input>\n</layer>\n</layer>\n<edges>",
        good="    </port>\n  </input>\n</layer>\n</layers>\n<edges>",
    ),
    Rule(
        Code.refused_markup,
        "error",
        "The file holds a DOCTYPE or entities, which no IR file needs.",
        why="Such markup can make a reader fetch other files or fill its memory. No tool writes it into IR.",
        bad='<!DOCTYPE net SYSTEM "file:///etc/passwd">\n<net name="net" version="11">',
        good='<net name="net" version="11">',
    ),
    Rule(
        Code.not_ir,
        "error",
        "The file is something else than IR: a Git LFS pointer, HTML, ONNX, an execution graph, empty.",
        why="Readers say no more than that the file cannot be parsed; what it is instead tells how to get it right.",
        bad="version https://git-lfs.github.com/spec/v1\noid sha256:4d7a21...",
        good="git lfs pull",
    ),
    Rule(
        Code.ir_version,
        "error",
        "The IR version is not one of those that OpenVINO reads (10 and 11).",
        why="Versions 2 to 7 have another layout, which no OpenVINO since 2022.1 reads. They are a warning: ir_exec "
        "reads them, and `ir-exec convert` writes them as version 11. Newer versions than 11 do not exist yet.",
        bad='<net name="net" version="12">',
        good='<net name="net" version="11">',
    ),
    Rule(
        Code.limit_exceeded,
        "error",
        "Something is larger or deeper than the limits against hostile files.",
        why="A file may ask for more memory or a deeper recursion than any machine has. The limits are far beyond "
        "every real network: 128 MiB of XML, bodies 32 deep. A run is limited too: by the memory of the machine or by "
        "max_memory, by max_seconds where it is given, and to a million iterations of all its loops together.",
        bad="33 bodies, each inside the one before",
        good="2 or 3 bodies inside each other",
    ),
    Rule(
        Code.unreadable_number,
        "error",
        "A number or an id cannot be read.",
        why="Ids, ports and dims are decimal numbers of 64 bits; with another text the piece that holds it is lost.",
        bad="<dim>three</dim>",
        good="<dim>3</dim>",
    ),
    Rule(
        Code.missing_markup,
        "error",
        "An element or attribute that every IR file has is missing.",
        why="Without it the layer, the port or the edge does not say what it is.",
        bad='<layer id="1" name="relu" type="ReLU">',
        good='<layer id="1" name="relu" type="ReLU" version="opset1">',
    ),
    Rule(
        Code.unwritable,
        "error",
        "The network cannot be written.",
        why="The folder does not exist, may not be written, or is full; the old files are as they were.",
        bad='model.save("no/such/folder/model.xml")',
        good='model.save("model.xml")',
        in_files=False,
    ),
)


_READ = "Constants of at most 1 MiB are looked at by default, all of them with `--weights-values`."

WEIGHT_RULES = (
    Rule(
        Code.weights,
        "error",
        "A fault of the weights without a rule of its own.",
        why="Every fault that can be in a file has a rule; this code is left for errors that a caller makes.",
        bad='WeightsError("text")',
        good='WeightsError("text", code=Code.weights_short)',
        in_files=False,
    ),
    Rule(
        Code.weights_missing,
        "error",
        "There are constants, and the weights file cannot be read.",
        why="The values of all constants are in the .bin, which must lie beside the .xml under the same name.",
        bad="model.xml",
        good="model.xml\nmodel.bin",
    ),
    Rule(
        Code.weights_short,
        "error",
        "A constant reaches past the end of the weights.",
        why="The .bin is another network's, or was cut off while it was copied: the values do not exist.",
        bad='offset="0" size="12"   (the .bin has 8 bytes)',
        good='offset="0" size="12"   (the .bin has 12 bytes)',
    ),
    Rule(
        Code.weights_lfs_pointer,
        "error",
        "The weights are a Git LFS pointer, not the file it stands for.",
        why="The repository was cloned without Git LFS. A reader would take the text of the pointer for numbers, or "
        "say that the weights are incorrect.",
        bad="version https://git-lfs.github.com/spec/v1\noid sha256:4d7a21...",
        good="git lfs pull",
    ),
    Rule(
        Code.constant_size,
        "error",
        "The size of a constant is not what its shape and element type take.",
        why="Either the shape, the element type or the size was changed; the elements cannot be told apart. Of a size "
        "that is larger than needed OpenVINO reads the first bytes: a warning, where the rest lies within the weights.",
        bad='<data element_type="f32" shape="3" offset="0" size="8"/>',
        good='<data element_type="f32" shape="3" offset="0" size="12"/>',
    ),
    Rule(
        Code.constant_offset,
        "error",
        "Offset or size of a constant are out of range.",
        why="No byte lies at a negative offset, and none beyond 64 bits.",
        bad="weights.read(ElementType.f32, (3,), offset=-12, size=12)",
        good="weights.read(ElementType.f32, (3,), offset=0, size=12)",
        in_files=False,
    ),
    Rule(
        Code.damaged_strings,
        "error",
        "The bytes of a string constant are not packed strings.",
        why="String constants begin with a table of where each string ends; with a wrong table there are no strings.",
        bad="count 1, ends at 99   (the strings have 3 bytes)",
        good="count 1, ends at 3",
    ),
    Rule(
        Code.unreferenced_weights,
        "info",
        "No constant uses the bytes at the end of the weights.",
        why="They do no harm, but may mean that the .bin is not the one of this .xml.",
        bad='offset="0" size="12"   (the last constant; the .bin has 20 bytes)',
        good='offset="0" size="12"   (the last constant; the .bin has 12 bytes)',
    ),
    Rule(
        Code.nan_in_weights,
        "warning",
        "A constant holds NaN.",
        why=f"Whatever is computed from it is NaN. Training went wrong, or a conversion overflowed. {_READ}",
        bad="[0.5, nan, 1.0]",
        good="[0.5, 0.25, 1.0]",
    ),
    Rule(
        Code.infinity_in_weights,
        "info",
        "A constant holds an infinity.",
        why="Masks hold infinities on purpose. Among weights they mean that a conversion to a narrower element type "
        f"overflowed. {_READ}",
        bad="[0.5, inf, 1.0]",
        good="[0.5, 70000.0, 1.0]   (as f32)",
    ),
    Rule(
        Code.saturated_f16,
        "warning",
        "Among the f16 elements of a constant are some at the end of the range, 65504 or -65504.",
        why="Conversion to f16 cuts larger weights off there, and the results change. A constant of which every "
        f"element is the same is taken for a chosen value, as masks have it. {_READ}",
        bad="[0.5, 65504.0, 1.0]   (f16; the weight was 70000)",
        good="[0.5, 70000.0, 1.0]   (kept as f32)",
    ),
    Rule(
        Code.foreign_weights,
        "error",
        "The weights are those of another network.",
        why="A .bin is bytes without a name: each constant takes its own from it, whatever they are. In those of "
        "another network axes and shapes are numbers that cannot be, floats are NaN, denormal or huge, and the size "
        "is another one than the constants take. Whatever else fails then follows from it, and is left out.",
        bad="model.xml\nmodel.bin   (copied from another export)",
        good="model.xml\nmodel.bin   (written together with the .xml)",
    ),
)
