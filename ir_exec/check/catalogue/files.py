"""Groups 0 and 2: the file itself, and the weights."""

from ir_exec.check.rule import Rule
from ir_exec.codes import Code

__all__ = ["FILE_RULES", "WEIGHT_RULES"]

FILE_RULES = (
    Rule(
        Code.unspecified,
        "error",
        "A fault without a specific rule.",
        why="Every fault of a file has a rule. This code remains for errors of callers.",
        bad='IRError("text")',
        good='ShapeError("text", code=Code.impossible_shape)',
        in_files=False,
    ),
    Rule(
        Code.unreadable_path,
        "error",
        "The path cannot be read: the file does not exist, is a folder, or permission is denied.",
        why="Nothing was checked.",
        bad="ir-exec check no/such/model.xml",
        good="ir-exec check models/model.xml",
    ),
    Rule(
        Code.not_well_formed,
        "error",
        "The file is not well-formed XML.",
        why="A reader cannot continue after the first syntax error. Usually the file was truncated while copying, or "
        "edited manually.",
        bad="    </port>\n  </input>\n</layer>\n</layer>\n<edges>",
        good="    </port>\n  </input>\n</layer>\n</layers>\n<edges>",
    ),
    Rule(
        Code.refused_markup,
        "error",
        "The file contains a DOCTYPE or entities, which IR files do not need.",
        why="Such markup can make a reader fetch other files or fill its memory. No tool writes it to IR.",
        bad='<!DOCTYPE net SYSTEM "file:///etc/passwd">\n<net name="net" version="11">',
        good='<net name="net" version="11">',
    ),
    Rule(
        Code.not_ir,
        "error",
        "The file is not IR but a Git LFS pointer, HTML, ONNX, an execution graph or empty.",
        why="Other readers only report that the file cannot be parsed. Its actual format shows how to obtain the "
        "right file.",
        bad="version https://git-lfs.github.com/spec/v1\noid sha256:4d7a21...",
        good="git lfs pull",
    ),
    Rule(
        Code.ir_version,
        "error",
        "OpenVINO does not read this IR version (it reads 10 and 11).",
        why="Versions 2 to 7 have a different layout that OpenVINO has not read since 2022.1. For these "
        "versions the severity is warning: ir_exec reads them, and `ir-exec convert` writes them as version 11. "
        "Versions above 11 do not exist yet.",
        bad='<net name="net" version="12">',
        good='<net name="net" version="11">',
    ),
    Rule(
        Code.limit_exceeded,
        "error",
        "The file exceeds the limits that protect against hostile files.",
        why="A file can request more memory or deeper recursion than any machine has. The limits are far above every "
        "real model: 128 MiB of XML, bodies nested 32 deep. Runs are limited too: by the memory of the machine or "
        "`max_memory`, by `max_seconds` if given, and to a million iterations of all loops together. Without "
        "`max_seconds`, the regular expressions of a layer have 10 seconds, and 10 more for each megabyte of text, "
        "or 1 second with recursion. "
        "Chat templates have 10 seconds, 1 GiB of memory and 16 million characters.",
        bad="33 bodies, each inside the one before",
        good="2 or 3 bodies inside each other",
    ),
    Rule(
        Code.unreadable_number,
        "error",
        "A number or an id cannot be parsed.",
        why="Ids, ports and dims are decimal 64-bit integers. An element with other text is skipped.",
        bad="<dim>three</dim>",
        good="<dim>3</dim>",
    ),
    Rule(
        Code.missing_markup,
        "error",
        "A required element or attribute is missing.",
        why="The layer, port or edge is undefined without it.",
        bad='<layer id="1" name="relu" type="ReLU">',
        good='<layer id="1" name="relu" type="ReLU" version="opset1">',
    ),
    Rule(
        Code.unwritable,
        "error",
        "A file cannot be written.",
        why="The folder does not exist or is not writable, the disk is full, or the file is read-only or has hard "
        "links. Existing files are unchanged.",
        bad='model.save("no/such/folder/model.xml")',
        good='model.save("model.xml")',
        in_files=False,
    ),
)


_READ = "Constants of at most 1 MiB are read by default, all of them with `--weights-values`."

WEIGHT_RULES = (
    Rule(
        Code.weights,
        "error",
        "A fault of the weights without a specific rule.",
        why="Every fault of a file has a rule. This code remains for errors of callers.",
        bad='WeightsError("text")',
        good='WeightsError("text", code=Code.weights_short)',
        in_files=False,
    ),
    Rule(
        Code.weights_missing,
        "error",
        "The model has constants, but the weights file cannot be read.",
        why="The .bin contains the values of all constants. It must be in the folder of the .xml, with the same name.",
        bad="model.xml",
        good="model.xml\nmodel.bin",
    ),
    Rule(
        Code.weights_short,
        "error",
        "A constant extends past the end of the weights.",
        why="The .bin belongs to another model or was truncated while copying: the values do not exist.",
        bad='offset="0" size="12"   (the .bin has 8 bytes)',
        good='offset="0" size="12"   (the .bin has 12 bytes)',
    ),
    Rule(
        Code.weights_lfs_pointer,
        "error",
        "The weights are a Git LFS pointer instead of the file.",
        why="The repository was cloned without Git LFS. Other readers interpret the text of the pointer as numbers, "
        "or report incorrect weights.",
        bad="version https://git-lfs.github.com/spec/v1\noid sha256:4d7a21...",
        good="git lfs pull",
    ),
    Rule(
        Code.constant_size,
        "error",
        "The size of a constant does not match its shape and element type.",
        why="The shape, the element type or the size was changed. If the size is larger than needed and within the "
        "weights, the severity is warning: OpenVINO reads the first bytes.",
        bad='<data element_type="f32" shape="3" offset="0" size="8"/>',
        good='<data element_type="f32" shape="3" offset="0" size="12"/>',
    ),
    Rule(
        Code.constant_offset,
        "error",
        "The offset or size of a constant is out of range.",
        why="Offsets are non-negative and fit in 64 bits.",
        bad="weights.read(ElementType.f32, (3,), offset=-12, size=12)",
        good="weights.read(ElementType.f32, (3,), offset=0, size=12)",
        in_files=False,
    ),
    Rule(
        Code.damaged_strings,
        "error",
        "The bytes of a string constant are not packed strings.",
        why="A string constant starts with a table of the ends of its strings. With a wrong table the strings cannot "
        "be located.",
        bad="count 1, ends at 99   (the strings have 3 bytes)",
        good="count 1, ends at 3",
    ),
    Rule(
        Code.unreferenced_weights,
        "info",
        "No constant uses the last bytes of the weights.",
        why="They are harmless, but the .bin may not belong to this .xml.",
        bad='offset="0" size="12"   (the last constant; the .bin has 20 bytes)',
        good='offset="0" size="12"   (the last constant; the .bin has 12 bytes)',
    ),
    Rule(
        Code.nan_in_weights,
        "warning",
        "A constant contains NaN.",
        why=f"Everything computed from it is NaN. Training diverged, or a conversion overflowed. {_READ}",
        bad="[0.5, nan, 1.0]",
        good="[0.5, 0.25, 1.0]",
    ),
    Rule(
        Code.infinity_in_weights,
        "info",
        "A constant contains an infinity.",
        why="Masks contain infinities on purpose. In weights they show that a conversion to a narrower element type "
        f"overflowed. {_READ}",
        bad="[0.5, inf, 1.0]",
        good="[0.5, 70000.0, 1.0]   (as f32)",
    ),
    Rule(
        Code.saturated_f16,
        "warning",
        "An f16 constant contains elements at the end of the range, 65504 or -65504.",
        why="Conversion to f16 clips larger weights to this value, and results change. Constants with equal elements "
        f"are not reported, because masks use this value on purpose. {_READ}",
        bad="[0.5, 65504.0, 1.0]   (f16; the weight was 70000)",
        good="[0.5, 70000.0, 1.0]   (kept as f32)",
    ),
    Rule(
        Code.foreign_weights,
        "error",
        "The weights belong to another model.",
        why="A .bin has no structure of its own: each constant reads the bytes at its offset. In the weights of "
        "another model, axes and shapes are impossible numbers, floats are NaN, denormal or huge, and the file "
        "size differs from the size of all constants. Findings that follow from this fault are omitted.",
        bad="model.xml\nmodel.bin   (copied from another export)",
        good="model.xml\nmodel.bin   (written together with the .xml)",
    ),
    Rule(
        Code.weights_digest,
        "error",
        "The .bin was not written with this .xml.",
        why="The rt_info of an .xml that ir_exec writes contains the size and a digest of its .bin. Another .bin was "
        "copied in its place, it was changed, or a process that replaced both files was killed. A sample of the bytes "
        "is compared whenever a model is read, all of them with `--weights-values`. Files of other tools have no "
        "digest, and a digest is ignored after another tool changed the .xml.",
        bad="model.xml\nmodel.bin   (of another version of the model)",
        good="model.xml\nmodel.bin   (written together with the .xml)",
    ),
    Rule(
        Code.overlapping_constants,
        "error",
        "The bytes of a constant overlap those of another constant.",
        why="Writers store each constant in bytes of its own, or let equal constants share all of them. After an edit "
        "of an offset or a size, a constant reads bytes of a weight: axes and shapes become absurd numbers. The "
        "severity is error if a layer that reads the constant is faulty, and warning otherwise.",
        bad='offset="0" size="12"\noffset="4" size="8"',
        good='offset="0" size="12"\noffset="12" size="8"',
    ),
    Rule(
        Code.zero_weights,
        "warning",
        "All elements of a weight are 0.",
        why="The outputs of its layer do not depend on the inputs. Training did not start, or a conversion lost the "
        f"weight. Weights of less than 1,024 elements are an info. {_READ}",
        bad="[0.0, 0.0, 0.0, ...]   (1,024 or more)",
        good="[0.5, 0.25, 1.0, ...]",
    ),
    Rule(
        Code.constant_weights,
        "warning",
        "All elements of a weight are equal.",
        why="All outputs of its layer are equal. A conversion or an initialization replaced the weight. Means and sums "
        "have equal weights on purpose and are not reported. Weights of less than 1,024 elements are an info. "
        f"{_READ}",
        bad="[0.5, 0.5, 0.5, ...]   (1,024 or more)",
        good="[0.5, 0.25, 1.0, ...]",
    ),
)
