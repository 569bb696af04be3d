"""The role of an input, from its use in the network and its name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from ir_exec import Model, build, compile_model, read_model
from ir_exec.build import Value
from ir_exec.debug.inputs.drawing import Drawer, DrawnInput
from ir_exec.types import Array
from tests.helpers.facts import mentions

NETWORKS = Path(__file__).parents[2] / "networks"

TABLE = np.linspace(-1, 1, 60 * 4, dtype=np.float32).reshape(60, 4)


def draw_with_record(network: Model, **arrays_by_name: Array) -> tuple[dict[str, Array], dict[str, DrawnInput]]:
    drawer = Drawer(network, 0, arrays=arrays_by_name)
    arrays = drawer.arrays(0)
    return arrays, {input.name: input for input in drawer.record(arrays).inputs}


def model(*values: Value) -> Model:
    return build.model([build.result(value) for value in values])


def number(value: float) -> Array:
    return np.array(value, np.float32)


def floats(x: Value) -> Value:
    return build.convert(x, destination_type="f32")


def scores() -> Value:
    return build.parameter("2,8", "f32", name="scores")


def invert_mask(x: Value) -> Value:
    return build.multiply(build.subtract(number(1), floats(x)), number(-3e38))


def hide_masked(x: Value, *, where: bool) -> Value:
    low = number(-np.inf)
    chosen = (low, scores()) if where else (scores(), low)
    return build.softmax(build.select(x, *chosen), axis=1)


def causal() -> Value:
    return build.less_equal(np.arange(8)[None, :], build.parameter("2,1", "i64", name="q"))


MASKS: dict[str, tuple[str, Callable[[Value], Value], float]] = {
    "added": ("i64", lambda x: build.add(scores(), invert_mask(x)), 1),
    "added after axes": ("i64", lambda x: build.add(scores(), invert_mask(build.squeeze(build.unsqueeze(x, 1), 1))), 1),
    "floats": ("f32", lambda x: build.add(scores(), invert_mask(x)), 1),
    "1 where hidden": ("i64", lambda x: build.add(scores(), build.multiply(floats(x), number(-1e4))), 0),
    "subtracted": ("i64", lambda x: build.subtract(scores(), build.multiply(floats(x), number(65500))), 0),
    "filled": ("boolean", lambda x: hide_masked(x, where=True), 0),
    "chosen": ("boolean", lambda x: hide_masked(x, where=False), 1),
    "compared": ("i64", lambda x: hide_masked(build.equal(x, np.int64(0)), where=True), 1),
    "with another": ("boolean", lambda x: hide_masked(build.logical_and(x, causal()), where=False), 1),
    "counted": (
        "i64",
        lambda x: build.divide(scores(), floats(build.reduce_sum(x, np.int64([1]), keep_dims=True))),
        1,
    ),
    "multiplied": ("i64", lambda x: build.multiply(build.exp(scores()), floats(x)), 1),
}


@pytest.mark.parametrize("name", MASKS)
def test_masks_hide_nothing(name: str) -> None:
    element_type, use, keep = MASKS[name]
    network = model(use(build.parameter("2,8", element_type, name="x")))
    arrays, records = draw_with_record(network)
    assert records["x"].role == "mask", records["x"]
    assert records["x"].reason == "use"
    np.testing.assert_array_equal(arrays["x"], np.full((2, 8), keep, arrays["x"].dtype))
    for array in compile_model(network)(arrays).values():
        assert np.isfinite(array).all()


@pytest.mark.parametrize("truth", [True, False])
def test_the_mask_of_attention(truth: bool) -> None:
    q = build.parameter("1,2,8,4", "f32", name="q")
    mask = build.parameter("1,1,8,8", "boolean", name="m")
    used = mask if truth else build.logical_not(mask)
    arrays, records = draw_with_record(model(build.scaled_dot_product_attention(q, q, q, used, causal=False)))
    assert records["m"].role == "mask"
    assert (arrays["m"] == truth).all()


def test_a_mask_by_its_name_alone() -> None:
    x = build.parameter("2,8", "i64", name="attention_mask")
    arrays, records = draw_with_record(model(build.bitwise_xor(x, build.parameter("2,8", "i64", name="y"))))
    assert (arrays["attention_mask"] == 1).all()
    assert records["attention_mask"].reason == "name"
    assert records["y"].role == "within"


INDICES: dict[str, tuple[Callable[[Value], Value], int, int]] = {
    "rows of a table": (lambda x: build.gather(TABLE, x, np.int64(0)), 0, 59),
    "two tables": (
        lambda x: build.add(build.gather(TABLE, x, np.int64(0)), build.gather(TABLE[:7], x, np.int64(0))),
        0,
        6,
    ),
    "of the type of another layer": (
        lambda x: build.gather(TABLE, build.add(x, build.convert_like(np.int32(50), x)), np.int64(0)),
        0,
        9,
    ),
    "shifted": (lambda x: build.gather(TABLE, build.add(x, np.int64(50)), np.int64(0)), 0, 9),
    "columns": (lambda x: build.gather(TABLE, x, np.int64(1)), 0, 3),
    "counted from the end where they are negative": (
        lambda x: build.gather(
            TABLE, build.select(build.less(x, np.int64(0)), build.add(x, np.int64(60)), x), np.int64(0)
        ),
        0,
        59,
    ),
    "of what is computed": (
        lambda x: build.gather(build.relu(build.parameter("5,3", "f32", name="data")), x, np.int64(0)),
        0,
        4,
    ),
    "elements": (
        lambda x: build.gather_elements(build.parameter("2,3", "f32", name="data"), x, axis=1),
        0,
        2,
    ),
}


@pytest.mark.parametrize("name", INDICES)
def test_indices_are_inside(name: str) -> None:
    use, low, high = INDICES[name]
    network = model(use(build.parameter("2,400", "i64", name="x")))
    arrays, records = draw_with_record(network)
    assert records["x"].role == "index"
    assert (arrays["x"].min(), arrays["x"].max()) == (low, high)
    compile_model(network)(arrays)


def test_scatter_indices_are_within_drawn_shape() -> None:
    data = build.parameter("?,4", "f32", name="data")
    edges = build.parameter("2,?", "i64", name="edges")
    ends = build.gather(edges, np.int64(1), np.int64(0))
    added = build.scatter_update(data, ends, build.gather(data, ends, np.int64(0)), np.int64(0))
    arrays, records = draw_with_record(model(added))
    assert records["edges"].role == "index"
    assert arrays["edges"].max() < arrays["data"].shape[0]


def test_positions_count_up() -> None:
    ids = build.parameter("2,8", "i64", name="position_ids")
    arrays, records = draw_with_record(model(build.gather(TABLE[:5], ids, np.int64(0))))
    assert records["position_ids"].role == "counting"
    np.testing.assert_array_equal(arrays["position_ids"], [[0, 1, 2, 3, 4, 0, 1, 2]] * 2)


def test_positions_by_their_angles() -> None:
    x = build.parameter("2,8", "i64", name="x")
    angle = build.matmul(floats(build.unsqueeze(x, 2)), np.ones((1, 3), np.float32))
    arrays, _ = draw_with_record(model(build.sin(angle)))
    np.testing.assert_array_equal(arrays["x"], [range(8)] * 2)


def test_beams() -> None:
    arrays, _ = draw_with_record(read_model(NETWORKS / "llama_stateful.xml"))
    np.testing.assert_array_equal(arrays["beam_idx"], range(len(arrays["beam_idx"])))


def lengths_compared(x: Value) -> Value:
    return floats(build.less(np.arange(8)[None, :], build.unsqueeze(x, 1)))


def lengths_of_sequences(x: Value) -> Value:
    data = build.parameter("3,8,4", "f32", name="data")
    state, w = np.zeros((3, 1, 5), np.float32), np.ones((1, 15, 4), np.float32)
    r, b = np.ones((1, 15, 5), np.float32), np.zeros((1, 15), np.float32)
    return build.gru_sequence(data, state, x, w, r, b, hidden_size=5, direction="forward")[0]


def lengths_reversed(x: Value) -> Value:
    return build.reverse_sequence(build.parameter("3,8", "f32", name="data"), x, seq_axis=1, batch_axis=0)


@pytest.mark.parametrize("use", [lengths_compared, lengths_of_sequences, lengths_reversed])
def test_lengths_are_at_most_the_axis(use: Callable[[Value], Value]) -> None:
    arrays, records = draw_with_record(model(use(build.parameter("3", "i64", name="x"))))
    assert records["x"].role == "lengths"
    assert arrays["x"][0] == 8
    assert arrays["x"].min() >= 1
    assert (np.diff(arrays["x"]) <= 0).all()


def test_offsets_of_bags_rise_from_0() -> None:
    indices = build.parameter("7", "i64", name="indices")
    offsets = build.parameter("3", "i64", name="offsets")
    network = model(build.embedding_bag_offsets_sum(TABLE, indices, offsets))
    arrays, _ = draw_with_record(network)
    np.testing.assert_array_equal(arrays["offsets"], [0, 2, 4])
    compile_model(network)(arrays)


def test_probabilities_divided_by_their_sum() -> None:
    x = scores()
    arrays, records = draw_with_record(model(build.divide(x, build.reduce_sum(x, np.int64([1]), keep_dims=True))))
    assert records["scores"].role == "probabilities"
    assert arrays["scores"].min() > 0
    np.testing.assert_allclose(arrays["scores"].sum(axis=1), 1, rtol=1e-6)


def test_explicit_softmax_is_no_division_by_input_sum() -> None:
    exp = build.exp(scores())
    _, records = draw_with_record(model(build.divide(exp, build.reduce_sum(exp, np.int64([1]), keep_dims=True))))
    assert records["scores"].role == "plain"


DOMAINS: dict[str, tuple[Callable[[Value], Value], float, float]] = {
    "logarithm": (build.log, 0, 1),
    "of what is left to 1": (lambda x: build.log(build.subtract(number(1), x)), 0, 1),
    "square root": (build.sqrt, 0, 2),
    "divisor": (lambda x: build.divide(scores(), x), 0.4, 2),
    "power": (lambda x: build.power(x, number(0.3)), 0.4, 2),
    "arc sine": (build.asin, -0.91, 0.91),
    "area cosine": (build.acosh, 1, 3),
    "inverse error function": (build.erfinv, -0.91, 0.91),
}


@pytest.mark.parametrize("name", DOMAINS)
def test_values_in_the_domain_of_a_function(name: str) -> None:
    use, low, high = DOMAINS[name]
    network = model(use(build.parameter("2,8", "f32", name="x")))
    arrays, records = draw_with_record(network)
    assert records["x"].role == "within"
    assert low < arrays["x"].min() <= arrays["x"].max() <= high
    (output,) = compile_model(network)(arrays).values()
    assert np.isfinite(output).all()


@pytest.mark.parametrize("use", [lambda x: build.log(build.multiply(x, x)), lambda x: build.power(x, number(2))])
def test_functions_that_take_any_value(use: Callable[[Value], Value]) -> None:
    _, records = draw_with_record(model(use(build.parameter("2,8", "f32", name="x"))))
    assert records["x"].role == "plain"


@pytest.mark.parametrize(("scale", "high"), [(1.0, 1), (1 / 255, 255)])
def test_images(scale: float, high: int) -> None:
    x = build.parameter("?,3,?,?", "f32", name="x")
    filters = np.ones((4, 3, 3, 3), np.float32)
    pads = {"strides": [1, 1], "pads_begin": [1, 1], "pads_end": [1, 1], "dilations": [1, 1]}
    arrays, records = draw_with_record(model(build.convolution(build.multiply(x, number(scale)), filters, **pads)))
    assert records["x"].role == "image"
    assert arrays["x"].shape == (2, 3, 32, 32)
    assert arrays["x"].min() >= 0
    assert high / 2 < arrays["x"].max() <= high


def test_what_a_loop_asks_for() -> None:
    def body(i: Value, value: Value) -> tuple[None, list[Value], list[Value]]:
        return None, [build.add(value, number(1))], []

    trips = build.parameter("", "i64", name="trips")
    goes_on = build.parameter("", "boolean", name="goes_on")
    arrays, _ = draw_with_record(model(*build.loop(trips, goes_on, body, carried=[scores()])))
    assert arrays["goes_on"]
    assert 1 <= arrays["trips"] <= 3


def test_indices_in_a_body() -> None:
    x = build.parameter("2,300", "i64", name="x")

    def body(i: Value, value: Value) -> tuple[None, list[Value], list[Value]]:
        return None, [build.add(value, build.reduce_sum(build.gather(TABLE, x, np.int64(0)), np.int64([0, 1])))], []

    arrays, records = draw_with_record(model(*build.loop(2, None, body, carried=[np.zeros(4, np.float32)])))
    assert records["x"].role == "index"
    assert arrays["x"].max() == 59


def test_possible_indices_are_0_and_1() -> None:
    x = build.parameter("2,40", "i64", name="x")
    squares = build.multiply(x, x)
    arrays, _ = draw_with_record(model(build.gather(TABLE, squares, np.int64(0))))
    assert arrays["x"].max() == 1
    arrays, _ = draw_with_record(model(build.add(x, np.int64(1))))
    assert arrays["x"].max() > 1


def test_axes_common_to_all_inputs() -> None:
    axes = build.parameter("1", "i64", name="axes")
    network = model(build.reduce_sum(scores(), axes))
    for attempt in range(4):
        arrays = Drawer(network, attempt).arrays(0)
        assert arrays["axes"].max() <= 1
        compile_model(network)(arrays)


@pytest.mark.parametrize("position", [0, 1])
def test_selection_only_passes_elements_on_first_output(position: int) -> None:
    ids = build.parameter("2,8", "i64", name="ids")
    selected = build.topk(ids, np.int64(3), axis=1, mode="max", sort="value")[position]
    _, records = draw_with_record(model(build.gather(TABLE, selected, np.int64(0))))
    assert records["ids"].role == ("index" if position == 0 else "within")


def test_boxes_are_not_made_of_sums() -> None:
    images = build.parameter("1,3,8,8", "f32", name="images")
    strides = {"strides": [2, 2], "pads_begin": [0, 0], "pads_end": [0, 0], "dilations": [1, 1]}
    boxes = build.reshape(
        build.convolution(images, np.ones((4, 3, 2, 2), np.float32), **strides), [1, 16, 4], special_zero=False
    )
    selected = build.non_max_suppression(
        boxes,
        np.ones((1, 1, 16), np.float32),
        max_output_boxes_per_class=np.int64(3),
        iou_threshold=number(0.5),
        score_threshold=number(0),
    )
    _, records = draw_with_record(model(selected[0]))
    assert records["images"].role == "image"


def test_shape_input_fits_the_data() -> None:
    shape = build.parameter("3", "i64", name="shape")
    network = model(build.reshape(scores(), shape, special_zero=False))
    arrays, _ = draw_with_record(network)
    np.testing.assert_array_equal(arrays["shape"], [1, 2, 8])
    compile_model(network)(arrays)


def test_the_record_names_the_layer() -> None:
    ids = build.parameter("2,8", "i64", name="input_ids")
    _, records = draw_with_record(model(build.gather(TABLE, ids, np.int64(0), name="words")))
    record = records["input_ids"]
    assert (record.layer, record.element_type, record.shape) == ("words", "i64", (2, 8))
    assert str(record) == mentions("input_ids", "i64[2,8]", 60)


def test_passed_inputs_are_not_drawn() -> None:
    ids = np.zeros((2, 3), np.int64)
    network = model(build.gather(TABLE, build.parameter("?,?", "i64", name="x"), np.int64(0)))
    arrays, records = draw_with_record(network, x=ids)
    assert arrays["x"] is ids
    assert not records


@pytest.mark.parametrize("path", sorted(NETWORKS.glob("*.xml")), ids=lambda path: path.stem)
def test_every_network_of_the_repository_gives_finite_outputs(path: Path) -> None:
    network = read_model(path)
    arrays, _ = draw_with_record(network)
    for name, array in compile_model(network)(arrays).items():
        assert array.dtype.kind != "f" or np.isfinite(array).all(), name
