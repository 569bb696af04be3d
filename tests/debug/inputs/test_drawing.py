"""Missing inputs are drawn in sizes that the network takes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import openvino as ov
import pytest

from ir_exec import EvaluationError, Model, ShapeError, build, compile_model, read_model
from ir_exec.build import Value
from ir_exec.debug import drawn_inputs, shapes
from ir_exec.debug.inputs import sizes
from ir_exec.debug.inputs.shaping import InputDim
from tests.helpers.facts import mentions, naming
from tests.helpers.network_text import NetworkText

ROOT = Path(__file__).parents[3]
NETWORKS = ROOT / "tests" / "networks"


def read(net: NetworkText) -> Model:
    file = net.file()
    return read_model(file.xml, weights=file.weights)


@pytest.mark.parametrize(
    ("path", "shapes"),
    [
        (NETWORKS / "lstm.xml", {"x": (2, 8, 24)}),
        (NETWORKS / "gnn_gcn_gat.xml", {"x": (2, 12), "ei": (2, 12)}),
        (NETWORKS / "index_ops.xml", {"x": (2, 8), "idx": (2, 8)}),
        (NETWORKS / "llama_stateful.xml", {"input_ids": (2, 8), "attention_mask": (2, 8), "beam_idx": (2,)}),
        (NETWORKS / "dynamic_output_ops.xml", {"x": (2, 8), "q": (2,)}),
        (ROOT / "samples" / "gnn_step.xml", {"features": (8, 4), "edges": (2, 8)}),
        (ROOT / "samples" / "scatter_update.xml", {"data": (2, 16, 10, 15)}),
    ],
    ids=lambda parameter: parameter.stem if isinstance(parameter, Path) else "",
)
def test_networks_run_with_drawn_inputs(path: Path, shapes: dict[str, tuple[int, ...]]) -> None:
    model = read_model(path)
    inputs = drawn_inputs(model, 0)
    assert {name: inputs[name].shape for name in shapes} == shapes
    compile_model(model)(inputs)


def convolution(*, image: str = "?,3,?,?") -> Model:
    """Without padding, so that a filter of 7 and one of 5, each by steps of 2, need an image of 15."""
    net = NetworkText()
    value = net.parameter(image)
    for channels, size in ((3, 7), (4, 5)):
        filters = net.const(np.ones((4, channels, size, size), np.float32))
        pads = {"strides": "2,2", "dilations": "1,1", "pads_begin": "0,0", "pads_end": "0,0"}
        value = net.op("Convolution", value, filters, **pads)
    net.result(value)
    return read(net)


def test_the_usual_sizes_of_images() -> None:
    (image,) = drawn_inputs(convolution(), 0).values()
    assert image.shape == (2, 3, 32, 32)


def test_open_channels_are_colors() -> None:
    image = build.parameter("?,?,?,?", "f32", name="image")
    assert drawn_inputs(build.model(build.relu(image)), 0)["image"].shape == (2, 3, 32, 32)


def test_mask_length_is_past_plus_new_tokens() -> None:
    ids, mask = build.parameter("?,?", "i64", name="input_ids"), build.parameter("?,?", "i64", name="attention_mask")
    past = build.parameter("?,2,?,4", "f32", name="past_key_values.0.key")
    new = build.gather(np.ones((30, 2, 4), np.float32), ids, np.int64(0))
    present = build.concat([past, build.transpose(new, np.int64([0, 2, 1, 3]))], 2)
    network = build.model([build.result(present), build.result(build.reduce_sum(mask, np.int64([1])))])
    drawn_shapes = {name: array.shape for name, array in drawn_inputs(network, 0).items()}
    assert drawn_shapes == {"input_ids": (2, 8), "attention_mask": (2, 16), "past_key_values.0.key": (2, 2, 8, 4)}
    arrays = drawn_inputs(network, 0, {"attention_mask": "2,5"})
    assert arrays["attention_mask"].shape == (2, 5)


def test_draws_respect_declared_ranges() -> None:
    (image,) = drawn_inputs(convolution(image="2..4,3,20..30,?"), 0).values()
    assert image.shape == (2, 3, 30, 32)


def test_requested_sizes_stay() -> None:
    model = convolution()
    (name,) = (port.name for port in model.inputs)
    (image,) = drawn_inputs(model, 0, {name: "5,3,?,40"}).values()
    assert image.shape == (5, 3, 32, 40)


def test_given_sizes_stay_and_others_follow() -> None:
    net = NetworkText()
    first, second = net.parameter("?,4"), net.parameter("?,?")
    net.result(net.op("MatMul", first, second, transpose_a=True, transpose_b=False))
    model = read(net)
    a, b = (port.name for port in model.inputs)
    array = np.ones((7, 4), np.float32)
    drawn = drawn_inputs(model, 0, given={a: array})
    assert drawn[a] is array
    assert drawn[b].shape == (7, 8)


def test_one_seed_one_answer() -> None:
    model = read_model(NETWORKS / "lstm.xml")
    first, second, other = (drawn_inputs(model, seed)["x"] for seed in (3, 3, 4))
    np.testing.assert_array_equal(first, second)
    assert (first != other).any()


def test_static_dims_need_no_inference(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("it was not to be asked")

    monkeypatch.setattr(sizes, "Prober", refuse)
    model = convolution()
    (name,) = (port.name for port in model.inputs)
    assert drawn_inputs(model, 0, {name: "1,3,16,16"})[name].shape == (1, 3, 16, 16)
    assert drawn_inputs(convolution(image="1,3,16,16"), 0)


def test_unfitting_draw_gives_the_reason() -> None:
    net = NetworkText()
    value = net.op("Reshape", net.parameter("?,4"), net.const(np.array([3, 5])), special_zero=False)
    net.result(value)
    model = read(net)
    inputs = drawn_inputs(model, 0)
    assert [array.shape for array in inputs.values()] == [(1, 4)]
    with pytest.raises(ShapeError):
        compile_model(model)(inputs)


def test_errors() -> None:
    with pytest.raises(EvaluationError, match=naming("nothing")):
        drawn_inputs(convolution(), 0, {"nothing": "1"})
    net = NetworkText()
    net.result(net.op("ReLU", net.parameter("...")))
    with pytest.raises(ShapeError, match=naming("parameter0")):
        drawn_inputs(read(net), 0)


LARGEST = 70


def image() -> Value:
    return build.parameter("?,3,?,?", name="image")


def model(value: Value) -> Model:
    return build.model(build.result(value, name="y"))


def dim(x: Value, axis: int) -> Value:
    return build.gather(build.shape_of(x, output_type="i64"), np.int64([axis]), np.int64(0))


def convolve(x: Value, channels: int, kernel: int, stride: int, pad: int = 0) -> Value:
    weights = np.ones((4, channels, kernel, kernel), np.float32)
    return build.convolution(
        x, weights, strides=[stride] * 2, pads_begin=[pad] * 2, pads_end=[pad] * 2, dilations=[1, 1]
    )


def make_strided_sound(count: int) -> Model:
    """A sound that is shortened by strides of 4, down to one frame."""
    value = build.parameter("?,1,?", "f32", name="sound")
    channels, options = 1, {"strides": [4], "pads_begin": [0], "pads_end": [0], "dilations": [1]}
    for _ in range(count):
        value, channels = build.convolution(value, np.ones((2, channels, 8), np.float32), **options), 2
    return model(value)


def with_positions(count: int) -> Model:
    """A table of positions for exactly so many patches of 10."""
    value = build.parameter("?,1,?", "f32", name="sound")
    options = {"strides": [10], "pads_begin": [0], "pads_end": [0], "dilations": [1]}
    patches = build.convolution(value, np.ones((4, 1, 16), np.float32), **options)
    return model(build.add(build.transpose(patches, np.int64([0, 2, 1])), np.ones((1, count, 4), np.float32)))


def encode_points(features: int) -> Model:
    """Points with sines and cosines of them, before a layer with the number of their dimensions."""
    value = build.parameter("?,?", "f32", name="points")
    parts = [value, *[part for scale in (1, 2, 4) for part in (build.sin(build.multiply(value, np.float32(scale))),)]]
    return model(build.matmul(build.concat(parts, 1), np.ones((features * 4, 5), np.float32)))


def grid(count: int) -> Model:
    """An image of patches by 8, both ways, with a table of positions."""
    value = build.parameter("?,3,?,?", "f32", name="image")
    patches = build.reshape(convolve(value, 3, 8, 8), np.int64([0, 4, -1]), special_zero=True)
    return model(build.add(patches, np.ones((1, 1, count), np.float32)))


@pytest.mark.broad
@pytest.mark.parametrize(
    "network",
    [
        make_strided_sound(5),
        with_positions(300),
        with_positions(50),
        encode_points(3),
        encode_points(41),
        grid(4 * 7),
        grid(100),
    ],
    ids=["a stack of strides", "many positions", "positions", "few features", "features", "patches", "many patches"],
)
def test_distant_sizes(network: Model) -> None:
    inputs = drawn_inputs(network, 0)
    compile_model(network)(inputs)
    report = shapes(network)
    assert report.inputs
    assert report.complete


def test_mask_length_equals_masked_length() -> None:
    sound, mask = build.parameter("?,?", "f32", name="sound"), build.parameter("?,?", "i64", name="mask")
    options = {"strides": [4], "pads_begin": [0], "pads_end": [0], "dilations": [1]}
    frames = build.convolution(build.unsqueeze(sound, 1), np.ones((2, 1, 200), np.float32), **options)
    count = build.reduce_sum(mask, np.int64([1]))
    inputs = drawn_inputs(build.model([build.result(frames), build.result(count)]), 0)
    assert inputs["sound"].shape == inputs["mask"].shape


def windows(x: Value, size: int) -> Model:
    """Each side of an image of 4 channels as windows times the size of a window, without padding before."""
    sides = [part for axis in (2, 3) for part in (build.divide(dim(x, axis), np.int64([size])), np.int64([size]))]
    return model(build.reshape(x, build.concat([dim(x, 0), np.int64([4]), *sides], 0), special_zero=False))


def double(x: Value) -> Value:
    return build.interpolate(
        x,
        np.float32([2, 2]),
        np.int64([2, 3]),
        mode="nearest",
        shape_calculation_mode="scales",
        coordinate_transformation_mode="asymmetric",
        nearest_mode="floor",
    )


def levels(count: int, down: Callable[[Value], Value]) -> Model:
    """A U-Net: each level is joined with what comes up from the next."""
    value, skipped = convolve(image(), 3, 3, 1, 1), []
    for _ in range(count):
        skipped.append(value)
        value = down(value)
    for other in reversed(skipped):
        value = convolve(build.concat([double(value), other], 1), 8, 3, 1, 1)
    return model(value)


def make_pooling(rounding: str) -> Callable[[Value], Value]:
    options = {"strides": [2, 2], "pads_begin": [0, 0], "pads_end": [0, 0], "kernel": [2, 2], "exclude_pad": True}
    return lambda x: build.avg_pool(x, **options, rounding_type=rounding)


def merge_columns() -> Model:
    """The even columns joined with the odd ones."""
    x = convolve(image(), 3, 2, 2)
    parts = [build.slice(x, *map(np.int64, ([first], [2**31 - 1], [2], [2]))) for first in (0, 1)]
    return model(build.concat(parts, 1))


def positions() -> Model:
    x = build.parameter("?,?,8", name="image")
    table = build.slice(np.ones((1, 40, 8), np.float32), np.int64([0]), dim(x, 1), np.int64([1]), np.int64([1]))
    return model(build.add(x, table))


def divisors() -> Model:
    x = build.parameter("?,?,8", name="image")
    return model(
        build.reshape(np.ones(48, np.float32), build.concat([dim(x, 1), np.int64([-1])], 0), special_zero=False)
    )


FITTED: dict[str, tuple[Callable[[], Model], str, str | None]] = {
    "windows of patches": (
        lambda: windows(convolve(image(), 3, 4, 4), 4),
        "multiples of 16 plus 0 to 3 from 16",
        "floor(image[2] / 16)",
    ),
    "windows of 7": (
        lambda: windows(convolve(image(), 3, 4, 4), 7),
        "multiples of 28 plus 0 to 3 from 28",
        "floor(image[2] / 28)",
    ),
    "windows of pairs": (
        lambda: windows(convolve(image(), 3, 2, 2), 8),
        "multiples of 16 plus 0 or 1 from 16",
        "floor(image[2] / 16)",
    ),
    "windows of patches with margins": (
        lambda: windows(convolve(image(), 3, 7, 4, 3), 4),
        "multiples of 16 plus 0 or 13 to 15",
        "floor((image[2] + 3) / 16)",
    ),
    "windows behind two strides": (
        lambda: windows(convolve(convolve(image(), 3, 3, 2, 1), 4, 3, 2, 1), 4),
        "multiples of 16 plus 0 or 13 to 15",
        "floor((image[2] + 3) / 16)",
    ),
    "even and odd": (merge_columns, "multiples of 4 plus 0 or 1 from 4", "floor(image[2] / 4)"),
    "two levels": (lambda: levels(2, lambda x: convolve(x, 4, 3, 2, 1)), "multiples of 4", "image[2]"),
    "three levels": (lambda: levels(3, lambda x: convolve(x, 4, 3, 2, 1)), "multiples of 8", "image[2]"),
    "pooled, rounded up": (lambda: levels(2, make_pooling("ceil")), "multiples of 4", "image[2]"),
    "pooled, rounded down": (lambda: levels(2, make_pooling("floor")), "multiples of 4", "image[2]"),
    "blocks": (
        lambda: model(build.space_to_depth(image(), mode="blocks_first", block_size=4)),
        "multiples of 4",
        "image[2] / 4",
    ),
    "positions": (positions, "at most 40", None),
    "divisors": (divisors, "1 to 4, 6, 8, 12, 16, 24 or 48 (of sizes up to 527)", None),
}


def takes(dim: InputDim, size: int) -> bool:
    """The sizes that the fields of the report allow."""
    if size in dim.also or (size == 1 and dim.one):
        return True
    if dim.kind == "listed" or (dim.least is not None and size < dim.least):
        return False
    is_high = dim.most is not None and size > dim.most
    return not is_high and size % dim.step in (dim.offsets or (dim.offset,))


@pytest.mark.broad(keep=4)
@pytest.mark.parametrize("name", FITTED)
def test_drawn_sizes_run_in_openvino(name: str, tmp_path: Path) -> None:
    make, text, formula = FITTED[name]
    network = make()
    report = shapes(network)
    axis = 2 if len(report.inputs) == 4 else 1
    dim = report.inputs[axis]
    assert str(dim) == text
    network.save(tmp_path / "network.xml")
    core = ov.Core()
    theirs = core.read_model(tmp_path / "network.xml")
    for size in range(1, LARGEST):
        # Other sizes are small, the batch too: the one that is looked at does not depend on them.
        shape = [input.size if input.axis else 1 for input in report.inputs]
        shape[axis] = size
        try:
            theirs.reshape({0: ov.PartialShape(shape)})
            (result,) = core.compile_model(theirs, "CPU")(np.ones(shape, np.float32)).values()
        except RuntimeError:
            assert not takes(dim, size), size
            continue
        assert takes(dim, size), size
        if formula is not None:
            assert report.outputs[2].formula == formula
            value = formula.replace("image[2]", str(size)).replace("/", "//").replace("floor", "")
            assert eval(value) == result.shape[2], size  # a formula of this file


@pytest.mark.broad
def test_a_long_period() -> None:
    """Windows of 7 in the last of four levels, for images of one declared size."""
    x = build.parameter([1, 3, 224, 224], name="image")
    value = convolve(x, 3, 4, 4)
    for _ in range(3):
        value = convolve(value, 4, 2, 2)
    dim = shapes(windows(value, 7)).inputs[2]
    assert str(dim) == mentions(224, 0, 31, 224)


def test_only_examined_sizes_are_reported() -> None:
    dim = shapes(windows(convolve(image(), 3, 4, 4), 4)).inputs[2]
    assert dim.offsets == (0, 1, 2, 3)
    assert (dim.step, dim.least, dim.most, dim.also) == (16, 16, None, ())
