"""Reports about layers: compare, profile, diff, and networks; statistics of the values of a run."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import openvino as ov
import pytest

from ir_exec import read_model
from ir_exec.debug import compare, diff
from ir_exec.debug.comparison.items_report import ComparedItem, Comparisons
from ir_exec.debug.profiles.profiling import profile
from ir_exec.errors import EvaluationError, IRError
from ir_exec.view import Other, PageView, view
from ir_exec.view.data import GraphView, LayerView
from tests.helpers.facts import mentions, naming
from tests.helpers.ir_text import layer, net, parameter, port, result

ROOT = Path(__file__).parents[2]
SAMPLES = ROOT / "samples"
GNN = SAMPLES / "gnn_step.xml"
INPUTS = dict(np.load(SAMPLES / "gnn_step.inputs.npz"))


def layers_of(page: PageView) -> dict[str, LayerView]:
    return {layer.key: layer for layer in page.networks[0].graph.layers}


@pytest.fixture
def changed_sample(tmp_path: Path) -> Path:
    """The sample, its sums of messages made products."""
    path = tmp_path / "changed.xml"
    path.write_text(GNN.read_text().replace('reduction="sum"', 'reduction="prod"'))
    path.with_suffix(".bin").write_bytes(GNN.with_suffix(".bin").read_bytes())
    return path


@pytest.fixture
def longer(tmp_path: Path) -> Path:
    """The sample with a layer more, and one less, as OpenVINO writes it."""
    model = ov.Core().read_model(GNN)
    layers = {node.get_friendly_name(): node for node in model.get_ops()}
    limited = ov.opset13.clamp(layers["hidden"].output(0), 0.0, 6.0)
    limited.set_friendly_name("limit")
    for target in layers["hidden"].output(0).get_target_inputs():
        if target.get_node() is not limited:
            target.replace_source_output(limited.output(0))
    layers["total"].input(0).replace_source_output(layers["features"].output(0))
    path = tmp_path / "longer.xml"
    ov.save_model(model, path, compress_to_fp16=False)
    return path


def test_errors_of_a_comparison(changed_sample: Path, tmp_path: Path) -> None:
    report = compare(GNN, changed_sample, INPUTS)
    file = tmp_path / "report.json"
    file.write_text(report.model_dump_json())
    for source in (report, file):
        page = view(GNN, compare=source)
        assert page.colour == "error"
        errors = {key: layer.error.status for key, layer in layers_of(page).items() if layer.error}
        assert [key for key, status in errors.items() if status == "wrong"] == ["12"]
        assert errors["16"] == "carried"
        assert page.sections[0].lines[0] == mentions(12)
        assert page.verdict is not None
        assert (page.verdict.layer, page.verdict.good) == ("12", False)
        assert page.verdict.text == page.sections[0].lines[0]


def test_times_of_a_profile(tmp_path: Path) -> None:
    report = profile(GNN, INPUTS, repeat=1)
    file = tmp_path / "report.json"
    file.write_text(report.model_dump_json())
    page = view(GNN, profile=file)
    times = {key: layer_view.time.seconds for key, layer_view in layers_of(page).items() if layer_view.time}
    assert times == {layer.layer_id: layer.seconds for layer in report.layers}
    assert page.colour == "time"


def test_reports_of_other_networks_and_files_are_refused(changed_sample: Path, tmp_path: Path) -> None:
    report = compare(GNN, changed_sample, INPUTS)
    with pytest.raises(IRError, match=naming("cache_update.xml")):
        view(SAMPLES / "cache_update.xml", compare=report)
    for text in ("{", '{"model": 1}'):
        (tmp_path / "other.json").write_text(text)
        with pytest.raises(IRError, match=naming("other.json", "ir-exec profile")):
            view(GNN, profile=tmp_path / "other.json")
    with pytest.raises(IRError, match=naming("nothing.json")):
        view(GNN, compare=tmp_path / "nothing.json")


def test_differences_are_shown_in_one_graph(longer: Path) -> None:
    page = view(GNN, diff=longer)
    differences = diff(GNN, longer)
    layers = layers_of(page)
    changes = {key: layer_view.change.kind for key, layer_view in layers.items() if layer_view.change}
    assert sorted(key for key, change_type in changes.items() if change_type == "removed") == sorted(
        layer_view.layer_id for layer_view in differences.removed
    )
    added = [layers[key] for key, change_type in changes.items() if change_type == "added"]
    assert [(layer_view.name, layer_view.type) for layer_view in added] == [("limit", "Clamp")]
    assert all(layer_view.key.startswith("other:") for layer_view in added)
    order = list(layers)
    (limit,) = added
    source = limit.inputs[0].layer
    assert source is not None
    assert order[source] == "16"
    # What reads the layer now is an input more of its reader.
    readers = [layer for layer in layers.values() for read in layer.inputs if read.layer == order.index(limit.key)]
    assert [reader.type for reader in readers] == ["Result"]
    # All edges of the first network are those of its file.
    before = layers_of(view(GNN))
    for key, layer_view in before.items():
        sources = [list(before)[read.layer] for read in layer_view.inputs if read.layer is not None]
        now = [order[read.layer] for read in layers[key].inputs if read.layer is not None]
        assert now[: len(sources)] == sources
    assert page.sections[0].lines[0] == differences.summary


def test_known_diff_is_not_repeated(longer: Path) -> None:
    differences = diff(GNN, longer).model_copy(update={"added": (), "removed": (), "changed": (), "consequences": ()})
    page = view(GNN, diff=Other(longer, None, differences))
    assert not [layer for layer in layers_of(page).values() if layer.change]


def test_an_execution_graph_beside_its_network(tmp_path: Path) -> None:
    core = ov.Core()
    compiled = core.compile_model(SAMPLES / "bert.xml", "CPU")
    path = tmp_path / "executed.xml"
    ov.serialize(compiled.get_runtime_model(), path)
    page = view(SAMPLES / "bert.xml", beside=[path])
    ours, theirs = page.networks
    executed = {node.get_friendly_name(): node for node in compiled.get_runtime_model().get_ops()}
    assert {layer.name for layer in theirs.graph.layers} == set(executed)
    names = {layer.key: layer.name for layer in ours.graph.layers}
    their_names = {layer.key: layer.name for layer in theirs.graph.layers}
    named = {
        original
        for node in executed.values()
        for original in node.get_rt_info()["originalLayersNames"].astype(str).split(",")
    }
    folded = set(names.values()) - named
    made_of = {
        their_names[other]: names[link.layer] for link in page.links for other in link.others if link.layer in names
    }
    for name, source in made_of.items():
        originals = executed[name].get_rt_info()["originalLayersNames"].astype(str).split(",")
        assert source in originals or not set(originals) & set(names.values()) or source in folded
    ends = {names[link.layer]: {their_names[other] for other in link.others} for link in page.links}
    # OpenVINO names the sum alone, into which the product before it went.
    product = next(layer for layer in ours.graph.layers if layer.type == "MatMul")
    (reader,) = [
        layer for layer in ours.graph.layers for read in layer.inputs if ours.graph.layers[read.layer or 0] is product
    ]
    assert ends[product.name] == ends[reader.name]
    # Several of ours may be one there.
    assert len(page.links) > len({other for link in page.links for other in link.others})


def test_an_onnx_file_beside_its_network(tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx")
    node = onnx.helper.make_node("Relu", ["x"], ["y"], name="first")
    other = onnx.helper.make_node("Add", ["y", "w"], ["z"], name="second")
    value = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [1, "n"]) for name in ("x", "z")]
    weights = onnx.numpy_helper.from_array(np.ones((1, 1), np.float32), "w")
    graph = onnx.helper.make_graph([node, other], "net", value[:1], value[1:], [weights])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)])
    onnx.save(model, tmp_path / "net.onnx")
    ov.save_model(ov.convert_model(tmp_path / "net.onnx"), tmp_path / "net.xml", compress_to_fp16=False)
    page = view(tmp_path / "net.xml", beside=[tmp_path / "net.onnx"])
    ours, theirs = ({layer.key: layer for layer in network.graph.layers} for network in page.networks)
    assert [(their.name, their.type) for their in theirs.values()] == [
        ("w", "Constant"),
        ("x", "Parameter"),
        ("first", "Relu"),
        ("second", "Add"),
        ("z", "Result"),
    ]
    pairs = {(ours[link.layer].type, theirs[other].type) for link in page.links for other in link.others}
    assert {("ReLU", "Relu"), ("Add", "Add"), ("Parameter", "Parameter")} <= pairs
    assert theirs["1"].outputs[0].declared == "f32[1,n]"


@pytest.mark.parametrize(
    ("name", "text"), [("a.onnx", b"nothing"), ("b.xml", b'<net execOrder=""'), ("c.xml", b"<a/>")]
)
def test_files_without_network_are_refused(name: str, text: bytes, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(text)
    with pytest.raises(IRError):
        view(GNN, beside=[tmp_path / name])


def layer_of(graph: GraphView, key: str) -> LayerView:
    return next(layer for layer in graph.layers if layer.key == key)


def show_clamped(array: np.ndarray) -> LayerView:
    inputs, outputs = [port(0, dims=array.shape)], [port(1, dims=array.shape)]
    clamp = layer(1, "Clamp", data='min="-1" max="2"', inputs=inputs, outputs=outputs)
    file = net([parameter(0, dims=array.shape), clamp, result(2)], [(0, 0, 1, 0), (1, 1, 2, 0)])
    return layer_of(view(file, inputs=[array]).networks[0].graph, "1")


def test_statistics_are_those_of_the_elements() -> None:
    array = np.array([[-5, 0, 0, 0.5, 2, 7, np.nan, np.inf]], np.float32)
    values = show_clamped(array).outputs[0].values
    assert values is not None
    # An infinity is clamped as well.
    elements = np.array([-1, 0, 0, 0.5, 2, 2, 2])
    assert (values.min, values.max, values.nans, values.infinities) == (-1, 2, 1, 0)
    assert values.mean == pytest.approx(elements.mean())
    assert values.std == pytest.approx(elements.std())
    assert (values.zeros, values.saturated, values.elements) == (2, 4, 8)
    assert values.shape == (1, 8)
    assert sum(values.histogram) == 7
    assert values.histogram[0] == 1
    assert values.histogram[-1] == 3


def test_sample_values_equal_openvino() -> None:
    inputs = dict(np.load(SAMPLES / "gnn_step.inputs.npz"))
    expected = dict(np.load(SAMPLES / "gnn_step.outputs.npz"))
    page = view(SAMPLES / "gnn_step.xml", inputs=inputs)
    assert page.colour == "values"
    graph = page.networks[0].graph
    assert all(output.values for layer in graph.layers for output in layer.outputs)
    values = layer_of(graph, "16").outputs[0].values
    assert values is not None
    array = expected["hidden"]
    assert values.shape == array.shape
    assert values.max == pytest.approx(float(array.max()), rel=1e-5)
    assert values.zeros == np.count_nonzero(array == 0)
    np.testing.assert_allclose(values.first, array.reshape(-1)[:8], rtol=1e-5)


def test_bodies_count_their_runs() -> None:
    network = ROOT / "tests" / "networks" / "script_loop_seq.xml"
    page = view(network, inputs=list(np.load(network.with_suffix(".inputs.npz")).values()))
    (loop,) = [layer for layer in page.networks[0].graph.layers if layer.bodies]
    runs = {
        output.values.runs
        for layer in loop.bodies[0].graph.layers
        if not layer.constant
        for output in layer.outputs
        if output.values
    }
    assert max(runs) > 1


def test_failed_run_leaves_earlier_page() -> None:
    dims = (1, 2)
    unknown = layer(1, "Unknown", opset="extension", inputs=[port(0, dims=dims)], outputs=[port(1, dims=dims)])
    file = net([parameter(0, dims=dims), unknown, result(2, dims=dims)], [(0, 0, 1, 0), (1, 1, 2, 0)])
    page = view(file, inputs=[np.ones(dims, np.float32)])
    assert "Unknown" in page.sections[0].lines[0]


def test_inputs_of_another_network_are_refused() -> None:
    with pytest.raises(EvaluationError):
        view(SAMPLES / "gnn_step.xml", inputs={"nothing": np.ones(1, np.float32)})


def test_the_verdict_of_equal_models_names_no_layer() -> None:
    page = view(GNN, compare=compare(GNN, GNN, INPUTS))
    assert page.verdict is not None
    assert (page.verdict.layer, page.verdict.good) == (None, True)
    assert view(GNN).verdict is None


def test_error_decides_the_color(changed_sample: Path) -> None:
    report = compare(GNN, changed_sample, INPUTS)
    assert view(GNN, inputs=INPUTS, compare=report, profile=profile(GNN, INPUTS, repeat=1)).colour == "error"
    assert view(GNN, compare=report, diff=Other(changed_sample, None, diff(GNN, changed_sample))).colour == "error"


@pytest.mark.parametrize("name", ["gnn_step.xml", "bert.xml", "cache_update.xml"])
def test_inputs_and_outputs_are_named_like_the_command_line(name: str) -> None:
    model = read_model(SAMPLES / name)
    layers = layers_of(view(SAMPLES / name)).values()
    for type_name, ports in (("Parameter", model.inputs), ("Result", model.outputs)):
        assert [layer.port for layer in layers if layer.type == type_name] == [port.name for port in ports]
    assert {layer.port for layer in layers if layer.type not in ("Parameter", "Result")} == {None}


def test_verdict_on_many_inputs_names_worst_layer(changed_sample: Path) -> None:
    items = [ComparedItem(item="a", error=None, comparison=compare(GNN, changed_sample, INPUTS))]
    items.append(ComparedItem(item="b", error=None, comparison=compare(GNN, GNN, INPUTS)))
    page = view(GNN, compare=Comparisons.of(str(GNN), str(changed_sample), items))
    assert page.verdict is not None
    assert (page.verdict.layer, page.verdict.good, page.verdict.text) == ("12", False, mentions(1, 2))


def test_verdict_of_constant_links_to_it(tmp_path: Path) -> None:
    """A constant is not shown as a layer; the page selects it nevertheless."""
    path = tmp_path / "other.xml"
    path.write_bytes(GNN.read_bytes())
    weights = bytearray(GNN.with_suffix(".bin").read_bytes())
    weights[28:32] = np.float32(9).tobytes()
    path.with_suffix(".bin").write_bytes(weights)
    page = view(GNN, compare=compare(GNN, path, INPUTS))
    assert page.verdict is not None
    assert layers_of(page)[page.verdict.layer or ""].constant
