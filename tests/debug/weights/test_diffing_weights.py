"""Accounts of weights: transformations that are found, and faults that are named."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ir_exec import build
from ir_exec.debug import diff_weights
from ir_exec.debug.weights.records import WeightsDiff
from ir_exec.errors import WeightsError
from ir_exec.model import Model
from ir_exec.types import Array
from tests.debug.weights.networks import (
    PROJECTIONS,
    compress,
    decoder,
    draw_tensors,
    memory_checkpoint,
    network,
    save_safetensors,
)

TENSORS = draw_tensors()
FORMATS = ("f32", "f16", "int8", "int4", "nf4", "mxfp4")
QUERY = "model.layers.0.self_attn.q_proj.weight"
KEY = "model.layers.0.self_attn.k_proj.weight"
UP = "model.layers.1.mlp.up_proj.weight"
BIAS = "model.layers.1.mlp.up_proj.bias"
BIASES = TENSORS[BIAS].shape
RANDOM = np.random.default_rng(7)

Arrays = dict[str, Array]


def account(
    arrays: Arrays, weight_format: str = "f32", checkpoint: Arrays | None = None, **settings: object
) -> WeightsDiff:
    """The account of a decoder with these weights, against the undamaged tensors."""
    tensors = TENSORS if checkpoint is None else checkpoint
    return diff_weights(compress(decoder(arrays), weight_format), memory_checkpoint(tensors, **settings))


def words(report: WeightsDiff) -> tuple[str, ...]:
    (weight,) = report.weights
    return weight.transformations


def draw(*shape: int) -> Array:
    return RANDOM.standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize("weight_format", FORMATS)
def test_every_weight_of_a_sound_model_is_found(weight_format: str) -> None:
    report = account(TENSORS, weight_format)
    assert not report.faults
    assert (report.explained_bytes, len(report.weights)) == (report.bytes, len(TENSORS))
    assert all(tensor.status == "used" for tensor in report.tensors)
    paths = [weight.path.removeprefix("self.").removesuffix("_compressed") for weight in report.weights]
    assert [weight.tensors for weight in report.weights] == [(path,) for path in paths]


@pytest.mark.parametrize("dtype", ["float16", "float64"])
def test_a_checkpoint_of_another_type(dtype: str, tmp_path: Path) -> None:
    path = save_safetensors(
        tmp_path / "model.safetensors", {name: array.astype(dtype) for name, array in TENSORS.items()}
    )
    assert not diff_weights(decoder(TENSORS), path).faults


def test_names_are_not_needed() -> None:
    arrays = {f"t{number}": array for number, array in enumerate(TENSORS.values())}
    report = diff_weights(decoder(TENSORS), memory_checkpoint(arrays))
    assert not report.faults
    assert report.explained_bytes == report.bytes


@pytest.mark.parametrize(
    ("weight", "tensors", "expected"),
    [
        (lambda a, b: a.T, {"a.weight": (24, 32)}, ("transposed",)),
        (lambda a, b: a.reshape(12, 64), {"a.weight": (24, 32)}, ("reshaped",)),
        (lambda a, b: a + 1, {"a.weight": (24, 32)}, ("plus one",)),
        (lambda a, b: np.concatenate([a, b]), {"a.weight": (24, 32), "b.weight": (8, 32)}, ("concatenated",)),
        (
            lambda a, b: np.concatenate([a, b]).T,
            {"a.weight": (24, 32), "b.weight": (8, 32)},
            ("concatenated", "transposed"),
        ),
        (lambda a, b: a[8:16], {"a.weight": (24, 32)}, ("rows 8 to 15",)),
        (lambda a, b: a.transpose(2, 0, 1).reshape(16, 24), {"a.weight": (4, 6, 16)}, ("axes 2,0,1", "reshaped")),
    ],
)
def test_transformations(
    weight: Callable[[Array, Array], Array], tensors: dict[str, tuple[int, ...]], expected: tuple[str, ...]
) -> None:
    arrays = {name: draw(*shape) for name, shape in tensors.items()}
    matrix = weight(*(list(arrays.values()) * 2)[:2])
    report = diff_weights(network(matrix, name="weight_of_a_product"), memory_checkpoint(arrays))
    (accounted,) = report.weights
    assert accounted.is_explained
    assert set(accounted.tensors) == {*arrays}
    if expected[0] != "axes 2,0,1":
        assert accounted.transformations == expected


def test_quantized_parts_are_found() -> None:
    arrays = {"q.weight": draw(32, 32), "k.weight": draw(16, 32), "v.weight": draw(16, 32)}
    model = compress(network(np.concatenate([*arrays.values()])), "int4")
    assert words(diff_weights(model, memory_checkpoint(arrays))) == ("concatenated", "quantized to int4_asym")


@pytest.mark.parametrize("epsilon", [1e-5, 1e-3])
def test_folded_batch_normalization(epsilon: float) -> None:
    tensors = {
        "conv.weight": draw(8, 3, 3, 3),
        "conv.bias": draw(8),
        "bn.weight": draw(8) * np.float32(0.2) + 1,
        "bn.bias": draw(8),
        "bn.running_mean": draw(8),
        "bn.running_var": np.square(draw(8)) + np.float32(0.5),
    }
    scale = tensors["bn.weight"] / np.sqrt(tensors["bn.running_var"] + np.float32(epsilon))
    shift = tensors["bn.bias"] - tensors["bn.running_mean"] * scale + tensors["conv.bias"] * scale
    data = build.parameter([1, 3, 8, 8], name="data")
    kernel = build.constant((tensors["conv.weight"] * scale[:, None, None, None]).astype(np.float32), name="Multiply_1")
    output = build.convolution(
        data,
        kernel,
        strides=[1, 1],
        pads_begin=[0, 0],
        pads_end=[0, 0],
        dilations=[1, 1],
        name="__module.conv/aten::_convolution/Convolution",
    )
    bias = build.constant(shift.astype(np.float32).reshape(1, 8, 1, 1), name="Constant_2")
    report = diff_weights(build.model(build.add(output, bias)), memory_checkpoint(tensors))
    assert not report.faults
    assert report.explained_bytes == report.bytes
    assert all(tensor.status == "used" for tensor in report.tensors)


def test_rows_for_rotary_embeddings_differ_only_from_gguf() -> None:
    tensor = draw(32, 24)
    rotated = tensor.reshape(4, 2, 4, 24).swapaxes(1, 2).reshape(32, 24)
    model = network(rotated)
    checkpoint = memory_checkpoint({"w.weight": tensor})
    assert not diff_weights(model, replace(checkpoint, format="gguf")).faults
    assert [fault.category for fault in diff_weights(model, checkpoint).faults] == ["permuted rows"]


def damage(change: Callable[[Array], Array], name: str = UP) -> Callable[[Arrays], Arrays]:
    return lambda arrays: {**arrays, name: change(arrays[name])}


def _set(array: Array, index: tuple[int, int], value: float) -> Array:
    changed = array.copy()
    changed[index] = value
    return changed


def _scale_row(array: Array, factor: float) -> Array:
    changed = array.copy()
    changed[5] *= factor
    return changed


def swap(arrays: Arrays, a: str, b: str) -> Arrays:
    return {**arrays, a: arrays[b], b: arrays[a]}


def swap_layers(arrays: Arrays) -> Arrays:
    return {name: arrays[name.translate(str.maketrans("01", "10")) if "layers" in name else name] for name in arrays}


FAULTS: list[tuple[str, str, Callable[[Arrays], Arrays]]] = [
    ("zero", UP, damage(np.zeros_like)),
    ("constant", UP, damage(np.ones_like)),
    ("sign", UP, damage(np.negative)),
    ("scale", UP, damage(lambda array: array * np.float32(1.3))),
    ("values", UP, damage(lambda array: _set(array, (3, 4), 9.0))),
    ("rows", UP, damage(lambda array: _scale_row(array, 0.0))),
    ("rows", UP, damage(lambda array: _scale_row(array, -1.0))),
    ("permuted rows", UP, damage(lambda array: array[np.random.default_rng(0).permutation(len(array))])),
    ("stale", UP, damage(lambda array: array + draw(*array.shape) * np.float32(0.2))),
    ("other values", UP, damage(lambda array: draw(*array.shape))),
    ("transposed", QUERY, damage(np.transpose, QUERY)),
    ("swapped", QUERY, lambda arrays: swap(arrays, QUERY, KEY)),
    ("swapped", QUERY, swap_layers),
    ("other tensor", KEY, lambda arrays: {**arrays, KEY: arrays[QUERY]}),
    ("tied", "lm_head.weight", lambda arrays: {**arrays, "lm_head.weight": arrays["model.embed_tokens.weight"]}),
    ("zero", BIAS, damage(np.zeros_like, BIAS)),
]


@pytest.mark.parametrize("weight_format", ["f32", "f16", "int4"])
@pytest.mark.parametrize(("category", "name", "change"), FAULTS)
def test_a_fault_is_named_first(
    category: str, name: str, change: Callable[[Arrays], Arrays], weight_format: str
) -> None:
    report = account(change(TENSORS), weight_format)
    assert report.faults[0].category == category
    assert name in (*report.faults[0].tensors, *report.faults[0].actual_tensors)
    assert len(report.faults) == 1


@pytest.mark.parametrize("weight_format", ["f32", "f16"])
def test_nan_is_named(weight_format: str) -> None:
    report = account(damage(lambda array: _set(array, (3, 4), np.nan))(TENSORS), weight_format)
    assert [(fault.category, fault.tensors) for fault in report.faults] == [("not finite", (UP,))]


def test_a_value_is_named_with_its_position() -> None:
    (fault,) = account(damage(lambda array: _set(array, (3, 4), 9.0))(TENSORS)).faults
    assert (fault.different, fault.elements) == (1, TENSORS[UP].size)
    assert "[3,4]" in fault.message


def test_a_head_that_should_be_the_embedding() -> None:
    checkpoint = {name: array for name, array in TENSORS.items() if name != "lm_head.weight"}
    wide = {
        name: np.tile(array, (2, 1)) if name in ("model.embed_tokens.weight",) else array
        for name, array in TENSORS.items()
    }
    arrays = {**wide, "model.embed_tokens.weight": draw(128, 32), "lm_head.weight": draw(128, 32)}
    checkpoint["model.embed_tokens.weight"] = arrays["model.embed_tokens.weight"]
    (fault,) = account(arrays, checkpoint=checkpoint).faults
    assert (fault.category, fault.tensors) == ("untied", ("model.embed_tokens.weight",))
    tied = {**arrays, "lm_head.weight": arrays["model.embed_tokens.weight"]}
    assert not account(tied, checkpoint=checkpoint).faults


def test_an_encoder_with_other_embeddings_than_the_shared_ones() -> None:
    checkpoint = {"shared.weight": draw(64, 32), "lm_head.weight": draw(64, 32), "decoder.w.weight": draw(16, 16)}
    tokens = build.parameter([1, 4], "i64", name="tokens")
    table = build.constant(draw(64, 32), name="embed_tokens")
    model = build.model(build.gather(table, tokens, 0, name="Gather_7"))
    (fault,) = diff_weights(model, memory_checkpoint(checkpoint)).faults
    assert (fault.category, fault.tensors) == ("other values", ("shared.weight",))


def test_missing_bias_and_missing_layer() -> None:
    bias = "model.layers.0.self_attn.q_proj.bias"
    (fault,) = account(TENSORS, checkpoint={**TENSORS, bias: draw(32)}).faults
    assert (fault.category, fault.tensors) == ("missing", (bias,))
    more = {
        name.replace("layers.0", "layers.2"): draw(*array.shape)
        for name, array in TENSORS.items()
        if "layers.0" in name
    }
    three = {**TENSORS, **{name.replace("layers.2", "layers.3"): array for name, array in more.items()}}
    assert not account(TENSORS, checkpoint={**TENSORS, **more}).faults
    assert {tensor.status for tensor in account(TENSORS, checkpoint=three).tensors} == {"used", "no layer"}


def test_a_layer_that_is_multiplied_by_zeros_is_not_missing() -> None:
    convolutions = {f"model.layers.{layer}.conv.weight": draw(8, 8) for layer in range(2)}
    zeros = {"model.layers.1.bn.weight": np.zeros(8, np.float32)}
    model = network(convolutions["model.layers.0.conv.weight"], name="model.layers.0.conv.weight")
    report = diff_weights(model, memory_checkpoint({**convolutions, **zeros}))
    assert not report.faults


def test_neutral_and_unused_tensors() -> None:
    extra = {
        "model.layers.0.self_attn.q_proj.bias": np.zeros(32, np.float32),
        "vision.patch.weight": draw(8, 8),
        "model.step": np.ones(1, np.float32),
        "model.copy.weight": TENSORS[UP],
    }
    report = account(TENSORS, checkpoint={**TENSORS, **extra})
    assert not report.faults
    status = {tensor.name: tensor.status for tensor in report.tensors}
    assert [status[name] for name in extra] == ["neutral", "no layer", "not compared", "used"]


@pytest.mark.parametrize("weight_format", ["f32", "int4"])
@pytest.mark.parametrize(("factor", "category"), [(2.0, None), (0.0, "adapter"), (3.0, "adapter scale")])
def test_adapters(factor: float, category: str | None, weight_format: str) -> None:
    down, up = draw(4, 32) * np.float32(0.2), draw(32, 4) * np.float32(0.2)
    arrays = {**TENSORS, QUERY: TENSORS[QUERY] + np.float32(factor) * (up @ down)}
    module = "base_model.model.model.layers.0.self_attn.q_proj"
    names = f"{module}.lora_A.weight", f"{module}.lora_B.weight"
    report = account(arrays, weight_format, {**TENSORS, names[0]: down, names[1]: up}, lora_alpha=8)
    assert [fault.category for fault in report.faults] == ([] if category is None else [category])
    assert all({*names} <= {*fault.tensors} for fault in report.faults)
    if category is None:
        (merged,) = [weight for weight in report.weights if weight.path == f"self.{QUERY}"]
        assert merged.tensors == (QUERY, *names)


@pytest.mark.parametrize("outputs", [32, 48])
@pytest.mark.parametrize(("factor", "category"), [(2.0, None), (0.0, "adapter"), (1.0, "adapter scale")])
def test_adapter_of_a_weight_of_inputs_by_outputs(factor: float, category: str | None, outputs: int) -> None:
    down, up, base = draw(4, 32), draw(outputs, 4), draw(32, outputs)
    model = network((base + np.float32(factor) * (up @ down).T).T.copy(), name="c_attn")
    tensors = {"h.0.c_attn.weight": base, "h.0.c_attn.lora_A.weight": down, "h.0.c_attn.lora_B.weight": up}
    report = diff_weights(model, memory_checkpoint(tensors, lora_alpha=8))
    assert [fault.category for fault in report.faults] == ([] if category is None else [category])


def test_an_adapter_without_its_layer() -> None:
    names = "base_model.model.other.v_proj.lora_A.weight", "base_model.model.other.v_proj.lora_B.weight"
    report = account(TENSORS, checkpoint={**TENSORS, names[0]: draw(4, 32), names[1]: draw(32, 4)})
    assert [(fault.category, fault.tensors) for fault in report.faults] == [("adapter", names)]


def test_order_of_experts() -> None:
    tensors = {f"layers.0.experts.{number}.w1.weight": draw(8, 32) for number in range(4)}
    parts = [tensors[f"layers.0.experts.{number}.w1.weight"] for number in range(4)]
    assert not diff_weights(network(np.concatenate(parts)), memory_checkpoint(tensors)).faults
    swapped = np.concatenate([parts[0], parts[2], parts[1], parts[3]])
    (fault,) = diff_weights(network(swapped), memory_checkpoint(tensors)).faults
    assert fault.category == "expert order"


def test_constants_of_no_tensor_are_no_faults() -> None:
    data = build.parameter([1, 32], name="data")
    product = build.matmul(data, build.constant(TENSORS[QUERY], name="w"), transpose_b=True)
    model = build.model(build.add(product, build.constant(np.linspace(0, 1, 32, dtype=np.float32), name="positions")))
    report = diff_weights(model, memory_checkpoint({QUERY: TENSORS[QUERY]}))
    assert not report.faults
    assert {weight.path: weight.tensors for weight in report.weights} == {"w": (QUERY,), "positions": ()}


def test_masks_are_no_weights() -> None:
    data = build.parameter([32, 32], name="data")
    product = build.matmul(data, build.constant(TENSORS[QUERY], name="w"), transpose_b=True)
    mask = np.triu(np.full((32, 32), -100, np.float32))
    report = diff_weights(
        build.model(build.add(product, build.constant(mask, name="mask"))), memory_checkpoint({QUERY: TENSORS[QUERY]})
    )
    assert [weight.path for weight in report.weights] == ["w"]


def test_another_model_is_a_checkpoint() -> None:
    other: Model = decoder(TENSORS)
    assert not diff_weights(compress(decoder(TENSORS), "int8"), other).faults
    (fault,) = diff_weights(decoder(swap(TENSORS, QUERY, KEY)), other).faults
    assert fault.category == "swapped"


def test_rounding_is_reported_for_quantized_weights() -> None:
    report = account(TENSORS, "int4")
    noise = {weight.path: weight.sqnr_db for weight in report.weights}
    assert 15 < float(noise[f"self.{UP}"] or 0) < 30
    assert noise[f"self.{BIAS}"] is None


def test_folder_without_a_model(tmp_path: Path) -> None:
    path = save_safetensors(tmp_path / "model.safetensors", {QUERY: TENSORS[QUERY]})
    with pytest.raises(WeightsError):
        diff_weights(str(tmp_path), path)


@pytest.mark.parametrize("is_swapped", [False, True])
def test_the_layers_show_which_names_belong_together(is_swapped: bool) -> None:
    # The names of GGUF have no word in common with those of layers.
    arrays = {f"layers.{layer}.{name}_proj": draw(32, 32) for layer in range(6) for name in "qk"}
    tensors = {name.replace("layers", "blk").replace("_proj", "_x.weight"): array for name, array in arrays.items()}
    if is_swapped:
        arrays = swap(arrays, "layers.4.q_proj", "layers.4.k_proj")
    data = build.parameter([1, 32], name="data")
    for name, array in arrays.items():
        data = build.matmul(data, build.constant(array, name=name), transpose_b=True)
    report = diff_weights(build.model(data), memory_checkpoint(tensors))
    assert [fault.category for fault in report.faults] == ["swapped"] * is_swapped
    assert all(fault.path in ("layers.4.q_proj", "layers.4.k_proj") for fault in report.faults)


def test_names_that_an_exporter_numbers_state_no_tensor() -> None:
    arrays = [draw(32, 32) for _ in range(6)]
    tensors = {f"stages.{number // 2}.blocks.{number % 2}.weight": array for number, array in enumerate(arrays)}
    data = build.parameter([1, 32], name="data")
    for number, array in enumerate(arrays):
        data = build.matmul(data, build.constant(array, name=f"linear_{number}/weight_{number}"), transpose_b=True)
    assert not diff_weights(build.model(data), memory_checkpoint(tensors)).faults


@pytest.mark.parametrize("length", [6, 16])
def test_positions_plus_the_first_type_of_tokens(length: int) -> None:
    positions, types = draw(16, 32), draw(2, 32)
    tensors = {
        "bert.embeddings.position_embeddings.weight": positions,
        "bert.embeddings.token_type_embeddings.weight": types,
    }
    total = positions[None, :length] + types[0]
    data = build.parameter([1, length, 32], name="data")
    report = diff_weights(build.model(build.add(data, total)), memory_checkpoint(tensors))
    assert not report.faults
    assert [weight.tensors for weight in report.weights] == [tuple(tensors)]
    assert all(tensor.status == "used" for tensor in report.tensors)
    wrong = diff_weights(build.model(build.add(data, positions[None, :length] - types[0])), memory_checkpoint(tensors))
    assert not wrong.weights[0].is_explained


@pytest.mark.parametrize("is_swapped", [False, True])
def test_parts_of_a_model_in_another_order_of_words(is_swapped: bool) -> None:
    """Names of classes of two releases; another part of the model has tensors of the same names and sizes."""
    names = [f"layers.{layer}.self_attn.{name}" for layer in range(2) for name in PROJECTIONS]
    arrays = {name: draw(32, 32) for name in names}
    tensors = {f"language_model.model.{name}.weight": array for name, array in arrays.items()}
    others = {f"vision_tower.vision_model.encoder.{name}.weight": draw(32, 32) for name in names}
    if is_swapped:
        arrays = {name: arrays[name.translate(str.maketrans("01", "10"))] for name in names}
    data = build.parameter([1, 32], name="data")
    for name, array in arrays.items():
        constant = build.constant(array, name=f"self.model.language_model.{name}.weight")
        reader = f"__module.model.language_model.{name}/aten::linear/MatMul"
        data = build.matmul(data, constant, transpose_b=True, name=reader)
    report = diff_weights(build.model(build.result(data, name="logits")), memory_checkpoint({**tensors, **others}))
    assert [fault.category for fault in report.faults] == ["swapped"] * is_swapped


@pytest.mark.parametrize(("value", "category"), [(0, "zero"), (1, "constant")])
def test_a_constant_weight_is_not_another_constant_tensor(value: float, category: str) -> None:
    constant = np.full(BIASES, value, np.float32)
    (fault,) = account({**TENSORS, BIAS: constant}, checkpoint={**TENSORS, "model.class_token": constant}).faults
    assert (fault.category, fault.tensors) == (category, (BIAS,))
