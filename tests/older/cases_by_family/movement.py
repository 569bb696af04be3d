"""Layers that move elements, and reductions."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ir_exec.types import Array
from tests.older.cases_by_family.single import CASES, Case, X, case, image, single_layer
from tests.older.files import OlderFile


@case
def concat() -> Case:
    y = image(1, 2, 5, 6, seed=1)
    return single_layer("Concat", [X, y], np.concatenate([X, y], 1), {"axis": 1}, version=2, element="concat_data")


@case
def split_in_declared_parts() -> Case:
    return single_layer("Split", [X], [X[:, :1], X[:, 1:4]], {"axis": 1})


@case
def slice_at_points() -> Case:
    return single_layer(
        "Slice", [X], [X[..., :2], X[..., 2:3], X[..., 3:]], {"axis": 3, "slice_point": (2, 3)}, version=2
    )


@case
def permute() -> Case:
    return single_layer("Permute", [X], X.transpose(0, 2, 3, 1), {"order": (0, 2, 3, 1)})


@case
def crop_to_dims() -> Case:
    return single_layer("Crop", [X], X[:, :, 1:4, 2:5], {"axis": (2, 3), "offset": (1, 2), "dim": (3, 3)})


@case
def crop_from_both_ends() -> Case:
    told = {"axis": (2, 3), "crop_begin": (1, 2), "crop_end": (1, 1)}
    return single_layer("Crop", [X], X[:, :, 1:4, 2:5], told)


@case
def crop_like_another() -> Case:
    like = image(1, 4, 3, 2)
    return single_layer("Crop", [X, like], X[:, :, 1:4, 2:4], {"axis": (2, 3), "offset": (1, 2)}, version=2)


@case
def tile() -> Case:
    return single_layer("Tile", [X], np.tile(X, (1, 3, 1, 1)), {"axis": 1, "tiles": 3})


@case
def pad() -> Case:
    expected = np.pad(X, [(0, 0), (0, 0), (1, 0), (2, 1)], constant_values=1.5)
    told = {"pads_begin": (0, 0, 1, 2), "pads_end": (0, 0, 0, 1), "pad_mode": "constant", "pad_value": 1.5}
    return single_layer("Pad", [X], expected, told)


@case
def reshape_with_dims() -> Case:
    return single_layer("Reshape", [X], X.reshape(1, 4, 30), {"dim": (0, 4, -1)})


@case
def reshape_of_axes() -> Case:
    told = {"axis": 1, "num_axes": 2, "dim": (-1,)}
    return single_layer("Reshape", [X], X.reshape(1, 20, 6), told, version=2, element="reshape_data")


@case
def reshape_as_declared() -> Case:
    return single_layer("Reshape", [X], X.reshape(1, 20, 6), {"axis": 0, "num_axes": -1}, version=2)


@case
def reshape_with_an_input() -> Case:
    return single_layer("Reshape", [X], X.reshape(1, 120), None, consts=[(np.int32([0, -1]), "I32")])


@case
def reshape_with_floats() -> Case:
    return single_layer("Reshape", [X], X.reshape(1, 120), None, consts=[(np.float32([0, -1]), "FP32")], version=5)


@case
def reshape_with_integers_in_a_layer_of_floats() -> Case:
    dims = np.int32([1, -1, 3]).view(np.float32)
    return single_layer("Reshape", [X], X.reshape(1, 40, 3), None, consts=[(dims, "FP32")], version=5)


@case
def flatten() -> Case:
    return single_layer("Flatten", [X], X.reshape(1, 20, 6), {"axis": 1, "end_axis": 2})


@case
def flatten_to_the_end() -> Case:
    return single_layer("Flatten", [X], X.reshape(1, 120), {"axis": 1})


@case
def squeeze() -> Case:
    x = image(2, 1, 3)
    return single_layer("Squeeze", [x], x[:, 0], None, consts=[(np.int32([1]), "I32")])


@case
def unsqueeze() -> Case:
    x = image(2, 3)
    return single_layer("Unsqueeze", [x], x[:, None], None, consts=[(np.int32([1]), "I32")])


@case
def strided_slice() -> Case:
    told = {"begin_mask": "0,1,1,1", "end_mask": "0,1,0,1", "shrink_axis_mask": "0,1,0,0"}
    bounds = [(np.int32(value), "I32") for value in ([0, 2, 1, 5], [0, 3, 0, 0], [1, 1, 2, -2])]
    return single_layer("StridedSlice", [X], X[:, 2, 1::2, 5:0:-2], told, consts=bounds)


@case
def gather() -> Case:
    x = image(5, 3)
    return single_layer("Gather", [x], x[[4, 0]], {"axis": 0}, consts=[(np.int32([4, 0]), "I32")])


@case
def depth_to_space() -> Case:
    expected = X.reshape(1, 2, 2, 1, 5, 6).transpose(0, 3, 4, 1, 5, 2).reshape(1, 1, 10, 12)
    return single_layer("DepthToSpace", [X], expected, {"block_size": 2})


@case
def space_to_depth() -> Case:
    x = image(1, 2, 4, 6)
    expected = x.reshape(1, 2, 2, 2, 3, 2).transpose(0, 3, 5, 1, 2, 4).reshape(1, 8, 2, 3)
    return single_layer("SpaceToDepth", [x], expected, {"block_size": 2})


@case
def shuffle_channels() -> Case:
    expected = X.reshape(1, 2, 2, 5, 6).swapaxes(1, 2).reshape(X.shape)
    return single_layer("ShuffleChannels", [X], expected, {"axis": 1, "group": 2})


@case
def reverse_sequence() -> Case:
    x = image(2, 4)
    expected = np.stack([np.r_[x[0, 2::-1], x[0, 3:]], x[1, ::-1]])
    told = {"seq_axis": 1, "batch_axis": 0}
    return single_layer("ReverseSequence", [x], expected, told, consts=[(np.int32([3, 4]), "I32")])


@case
def one_hot() -> Case:
    indices = np.int32([2, 0])
    told = {"depth": 3, "on_value": 5.0, "off_value": -1.0, "axis": -1}
    return single_layer(
        "OneHot", [indices], np.where(np.eye(3)[indices], 5, -1).astype(np.float32), told, precisions=["FP32"]
    )


@case
def broadcast() -> Case:
    x = image(1, 3)
    return single_layer("Broadcast", [x], np.broadcast_to(x, (2, 3)).copy(), None, consts=[(np.int32([2, 3]), "I32")])


@case
def select() -> Case:
    condition, x, y = np.int32([[1, 0], [0, 1]]), image(2, 2), image(2, 2, seed=1)
    return single_layer("Select", [condition, x, y], np.where(condition != 0, x, y), None)


@case
def scatter_update() -> Case:
    x, updates = image(4, 2), image(2, 2, seed=1)
    expected = x.copy()
    expected[[3, 0]] = updates
    file = OlderFile()
    data, new = file.input("in0", 4, 2), file.input("in1", 2, 2)
    file.layer("ScatterUpdate", [data, file.const(np.int32([3, 0]), "I32"), new], (4, 2), data={"axis": 0})
    return file, [x, updates], [expected]


def _add_reduction(type: str, expected: Callable[[Array], Array]) -> None:
    x = np.abs(X) + 0.5
    CASES[f"reduce_{type.lower()}"] = lambda: single_layer(
        f"Reduce{type}", [x], expected(x), {"keep_dims": "False"}, consts=[(np.int32([1, -1]), "I32")]
    )


for _name, _function in {
    "Sum": lambda x: x.sum((1, 3)),
    "Mean": lambda x: x.mean((1, 3)),
    "Max": lambda x: x.max((1, 3)),
    "Min": lambda x: x.min((1, 3)),
    "Prod": lambda x: x.prod((1, 3)),
    "L1": lambda x: np.abs(x).sum((1, 3)),
    "L2": lambda x: np.sqrt((x**2).sum((1, 3))),
    "SumSquare": lambda x: (x**2).sum((1, 3)),
    "LogSum": lambda x: np.log(x.sum((1, 3))),
    "LogSumExp": lambda x: np.log(np.exp(x).sum((1, 3))),
    "And": lambda x: np.ones((1, 5), np.float32),
    "Or": lambda x: np.ones((1, 5), np.float32),
}.items():
    _add_reduction(_name, _function)


@case
def shape_of() -> Case:
    return single_layer("ShapeOf", [X], np.int32(X.shape), precisions=["I32"], version=7)


@case
def shape_of_an_older_name() -> Case:
    return single_layer("Shape", [X], np.int32(X.shape), precisions=["I32"])


@case
def expand_dims() -> Case:
    return single_layer("ExpandDims", [X], X[:, None], {"axis": 1})


@case
def expand() -> Case:
    x = image(1, 3)
    return single_layer("Expand", [x], np.broadcast_to(x, (2, 3)).copy())


@case
def fill() -> Case:
    x = image(1)
    file = OlderFile()
    value = file.input("in0", 1)
    file.layer("Fill", [file.const(np.int32([2, 3]), "I32"), value], (2, 3))
    return file, [x], [np.full((2, 3), x[0])]


@case
def range_of_integers() -> Case:
    file = OlderFile()
    ends = [file.const(np.int32([value]), "I32") for value in (1, 8, 3)]
    numbers = file.layer("Range", ends, (3,), precision="I32")
    x = file.input("in0", 3)
    file.layer("Eltwise", [x, *numbers], (3,), data={"operation": "mul"})
    return file, [image(3)], [image(3) * np.float32([1, 4, 7])]


@case
def gather_tree() -> Case:
    # One beam of three steps, whose parents all are itself: the steps up to the first end.
    steps, parents = np.int32([[[5]], [[2]], [[7]]]), np.zeros((3, 1, 1), np.int32)
    lengths = [(np.int32([3]), "I32"), (np.int32([2]), "I32")]
    expected = np.int32([[[5]], [[2]], [[2]]])
    return single_layer("GatherTree", [steps, parents], expected, consts=lengths, precisions=["I32"], precision="I32")


@case
def crop_in_an_element_for_each_axis() -> Case:
    file = OlderFile(version=2)
    x = file.input("in0", *X.shape)
    inner = '<crop-data axis="2" offset="1" dim="3"/><crop-data axis="3" offset="2" dim="3"/>'
    file.layer("Crop", [x], (1, 4, 3, 3), inner=inner)
    return file, [X], [X[:, :, 1:4, 2:5]]


@case
def blobs_that_are_children_of_their_layer() -> Case:
    file, inputs, expected = single_layer(
        "FullyConnected", [image(1, 3)], image(1, 3) @ np.eye(3, dtype=np.float32) * 2
    )
    file.stored = (np.eye(3, dtype=np.float32) * 2).tobytes()
    inner = '<fc out-size="3"/><weights offset="0" size="36"/>'
    file.layers[1] = file.layers[1].replace("</layer>", f"{inner}</layer>")
    return file, inputs, expected
