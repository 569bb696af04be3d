"""Group 2: the weights."""

from ir_exec.check.rule import Rule
from ir_exec.codes import Code

__all__ = ["WEIGHT_RULES"]

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
)
