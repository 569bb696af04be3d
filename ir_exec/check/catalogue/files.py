"""Group 0: the file itself."""

from ir_exec.check.rule import Rule
from ir_exec.codes import Code

__all__ = ["FILE_RULES"]

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
        "The IR version is not one of those that are read (10 and 11).",
        why="Version 7 and older have another layout. Newer versions than 11 do not exist yet.",
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
