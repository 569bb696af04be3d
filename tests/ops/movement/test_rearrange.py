"""Operators that rearrange blocks: shapes and errors."""

from __future__ import annotations

from math import prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ir_exec.errors import InvalidAttributeError, IRError, ShapeError, raise_error
from ir_exec.ops import Op, resolve
from ir_exec.ops.movement.rearrange import (
    BatchToSpace,
    Col2Im,
    DepthToSpace,
    ExtractImagePatches,
    ShuffleChannels,
    SpaceToBatch,
    SpaceToDepth,
)
from ir_exec.types import TensorType
from tests.helpers.facts import fault_with, mentions
from tests.helpers.values import constant, make_type


@pytest.mark.parametrize(
    ("operator", "inputs", "expected"),
    [
        (DepthToSpace(block_size=2, mode="blocks_first"), (make_type("?,6..13,2..3,?"),), "f32[?,2..3,4..6,?]"),
        (SpaceToDepth(block_size=2, mode="depth_first"), (make_type("1,2..3,3..7,?"),), "f32[1,8..12,2..3,?]"),
        (
            BatchToSpace(),
            (make_type("3..9,2..4"), constant([1, 2]), constant([0, 1]), constant([0, 0])),
            "f32[2..4,3..7]",
        ),
        (BatchToSpace(), (make_type("8,?"), constant([1, 2]), constant([0, 1]), constant([0, 0])), "f32[4,?]"),
        (BatchToSpace(), (make_type("8,3"), constant([1, 2]), make_type("2", "i64"), constant([0, 0])), "f32[4,?]"),
        (SpaceToBatch(), (make_type("2..3,?"), constant([1, 4]), constant([0, 1]), constant([0, 4])), "f32[8..12,2..]"),
        (SpaceToBatch(), (make_type("2,3"), make_type("2", "i64"), constant([0, 1]), constant([0, 4])), "f32[?,?]"),
        (ShuffleChannels(group=4), (make_type("2,5..7"),), None),
        (ShuffleChannels(group=4), (make_type("2,5..8"),), "f32[2,5..8]"),
        (Col2Im(), (make_type("1..2,8,?"), constant([3, 4]), constant([2, 2])), "f32[1..2,2,3,4]"),
        (Col2Im(), (make_type("8,?"), make_type("2", "i64"), constant([2, 2])), "f32[2,?,?]"),
    ],
)
def test_shapes_from_bounds(operator: Op, inputs: tuple[TensorType, ...], expected: str | None) -> None:
    if expected is None:
        with pytest.raises(ShapeError):
            operator.infer(*inputs)
    else:
        assert str(operator.infer(*inputs)) == expected


@pytest.mark.parametrize("pad", ["valid", "same_upper"])
def test_patches_of_images_of_unknown_size(pad: str) -> None:
    operator = ExtractImagePatches(sizes=(3, 2), strides=(2, 2), rates=(1, 2), auto_pad=pad)
    output_type = operator.infer(make_type("1,2,2..7,?"))
    # 2 to 7 rows hold 0 to 3 patches of 3 rows at steps of 2; padded, 1 to 4 begin in them.
    assert str(output_type) == ("f32[1,12,..3,?]" if pad == "valid" else "f32[1,12,1..4,?]")


@pytest.mark.parametrize(
    ("operator", "inputs", "code", "fault"),
    [
        (DepthToSpace(block_size=2, mode="blocks_first"), (make_type("1,6,2,2"),), "IR505",
         fault_with("data", actual=6, expected=mentions(4))),
        (DepthToSpace(mode="blocks_first"), (make_type("1,6"),), "IR501",
         fault_with("data", actual=2, expected="3 or more")),
        (SpaceToDepth(block_size=2, mode="blocks_first"), (make_type("1,6,2,3"),), "IR505",
         fault_with("axis", "data", actual=3, expected=mentions(2))),
        (ShuffleChannels(group=3, axis=-1), (make_type("1,6,2"),), "IR505",
         fault_with("axis", "data", actual=2, expected=mentions(3))),
        (ShuffleChannels(axis=3), (make_type("1,6"),), "IR503", fault_with("axis", 2, actual=3, expected="-2 to 1")),
        (BatchToSpace(), (make_type("4,2"), constant([1, 3]), constant([0, 0]), constant([0, 0])), "IR505",
         fault_with("data", actual=4, expected=mentions(3))),
        (BatchToSpace(), (make_type("4,2"), constant([1, 2]), constant([0, 3]), constant([0, 2])), "IR505",
         fault_with("crops_begin", "crops_end", "axis", 1, actual=5, expected="at most 4")),
        (BatchToSpace(), (make_type("4,2"), constant([2, 2]), constant([0, 0]), constant([0, 0])), "IR505",
         fault_with("block_shape", actual="[2, 2]", expected=mentions(1))),
        (BatchToSpace(), (make_type("4,2"), constant([1, 0]), constant([0, 0]), constant([0, 0])), "IR505",
         fault_with("block_shape", actual="[1, 0]", expected="numbers of 1 or more")),
        (BatchToSpace(), (make_type("4"), constant([1]), constant([0]), constant([0])), "IR501",
         fault_with("data", actual=1, expected="2 or more")),
        (SpaceToBatch(), (make_type("4,2"), constant([1, 2]), constant([0, -2]), constant([0, 0])), "IR505",
         fault_with("pads_begin", actual="[0, -2]", expected="numbers of 0 or more")),
        (SpaceToBatch(), (make_type("4,2"), constant([1, 2]), constant([0, 0, 0]), constant([0, 0])), "IR502",
         fault_with("data", "block_shape", "pads_begin", "pads_end", actual="[2] and [3]", expected="equal shapes")),
        (Col2Im(), (make_type("8,6"), constant([3, 4]), constant([2, 0])), "IR505",
         fault_with("kernel_size", actual="[2, 0]", expected="positive numbers")),
        (Col2Im(), (make_type("6,6"), constant([3, 4]), constant([2, 2])), "IR505",
         fault_with("data", actual=6, expected=mentions(4))),
        (Col2Im(), (make_type("8,7"), constant([3, 4]), constant([2, 2])), "IR502",
         fault_with("data", "image", actual="7 and 6", expected="equal dims")),
        (Col2Im(), (make_type("8,7"), constant([3, 4, 5]), constant([2, 2])), "IR502",
         fault_with("output_size", 2, actual="2 and 3", expected="equal dims")),
    ],
)  # fmt: skip
def test_shapes_that_do_not_fit(operator: Op, inputs: tuple[TensorType, ...], code: str, fault: fault_with) -> None:
    with pytest.raises(ShapeError) as error:
        operator.infer(*inputs)
    assert (error.value.code, error.value) == (code, fault)


def test_shuffle_channels_is_not_in_opset2() -> None:
    with pytest.raises(IRError) as error:
        resolve("ShuffleChannels", "opset2")
    assert error.value.code == "IR117"


@pytest.mark.parametrize(
    "attributes", [{"sizes": "3"}, {"strides": "0,1"}, {"auto_pad": "explicit"}, {"rates": "1,1,1"}]
)
def test_attributes_of_patches(attributes: dict[str, str]) -> None:
    texts = {"sizes": "3,3", "strides": "1,1", "rates": "1,1", "auto_pad": "valid"} | attributes
    with pytest.raises(InvalidAttributeError) as error:
        ExtractImagePatches.parse(texts, raise_error)
    assert error.value.code == "IR302"


SIZES = st.lists(st.integers(1, 3), min_size=1, max_size=3)


@settings(max_examples=40)
@given(SIZES, st.integers(1, 3), st.sampled_from(["blocks_first", "depth_first"]))
def test_space_to_depth_undoes_depth_to_space(space: list[int], block: int, mode: str) -> None:
    shape = (2, 2 * block ** len(space), *space)
    data = np.arange(prod(shape)).reshape(shape)
    image = DepthToSpace(block_size=block, mode=mode).evaluate(data)
    np.testing.assert_array_equal(SpaceToDepth(block_size=block, mode=mode).evaluate(image), data)


@settings(max_examples=40)
@given(st.lists(st.tuples(st.integers(1, 3), st.integers(1, 3), st.integers(0, 2)), min_size=1, max_size=3))
def test_batch_to_space_undoes_space_to_batch(axes: list[tuple[int, int, int]]) -> None:
    blocks = [1, *(block for block, _, _ in axes)]
    begins = [0, *(pad for _, _, pad in axes)]
    sizes = [block * count for block, count, _ in axes]
    ends = [0, *(-(size + pad) % block for (block, _, pad), size in zip(axes, sizes, strict=True))]
    data = np.arange(2 * prod(sizes)).reshape(2, *sizes)
    numbers = [np.array(values) for values in (blocks, begins, ends)]
    batch = SpaceToBatch().evaluate(data, *numbers)
    np.testing.assert_array_equal(BatchToSpace().evaluate(batch, *numbers), data)


@settings(max_examples=40)
@given(*[st.tuples(st.integers(1, 3), st.integers(1, 3)) for _ in range(4)])
def test_col2im_adds_up_what_patches_share(
    kernel: tuple[int, int], stride: tuple[int, int], rate: tuple[int, int], more: tuple[int, int]
) -> None:
    size = tuple(r * (k - 1) + 1 + m for k, r, m in zip(kernel, rate, more, strict=True))
    count = tuple((s - r * (k - 1) - 1) // d + 1 for s, k, r, d in zip(size, kernel, rate, stride, strict=True))
    columns = np.random.default_rng(sum(size)).integers(0, 9, (2, 3 * prod(kernel), prod(count)))
    actual = Col2Im(strides=stride, dilations=rate).evaluate(columns, np.array(size), np.array(kernel))
    expected = np.zeros((2, 3, *size), columns.dtype)
    patches = columns.reshape(2, 3, *kernel, *count)
    for i, j, h, w in np.ndindex(*kernel, *count):
        expected[:, :, h * stride[0] + i * rate[0], w * stride[1] + j * rate[1]] += patches[:, :, i, j, h, w]
    np.testing.assert_array_equal(actual, expected)
