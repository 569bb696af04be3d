"""The interface of users of OpenVINO: ports as keys, infer requests, tensors and variables."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import ir_exec
from tests.helpers.facts import naming
from tests.helpers.ir_text import layer, net, parameter, port, result
from tests.helpers.network_text import NetworkText

SAMPLES = Path(__file__).parents[2] / "samples"
GATHER = SAMPLES / "gather_elements.xml"
CACHE = SAMPLES / "cache_update.xml"

DATA = np.arange(12, dtype=np.float32).reshape(2, 2, 3)
INDICES = np.ones((2, 1, 3), np.int64)
TAKEN = [[[3, 4, 5]], [[9, 10, 11]]]


def step(position: int) -> dict[str, object]:
    ones = np.ones((1, 2, 1, 4), np.float32)
    return {"new_keys": ones, "position": [position], "query": ones}


class TestArguments:
    @pytest.mark.parametrize("device", ["CPU", "AUTO"])
    def test_the_device_is_the_cpu(self, device: str) -> None:
        model = ir_exec.read_model(GATHER, GATHER.with_suffix(".bin"))
        assert ir_exec.compile_model(model, device)([DATA, INDICES])[0].tolist() == TAKEN
        assert ir_exec.compile_model(GATHER, device_name=device)([DATA, INDICES])[0].tolist() == TAKEN

    @pytest.mark.parametrize("device", ["GPU", "cpu", "", None, 3])
    def test_other_devices(self, device: str) -> None:
        with pytest.raises(ir_exec.EvaluationError, match=naming(device, "CPU")) as caught:
            ir_exec.compile_model(GATHER, device)
        assert caught.value.code == "IR704"

    def test_second_argument_of_read_model_is_the_bin(self, tmp_path: Path) -> None:
        (tmp_path / "elsewhere.bin").write_bytes((SAMPLES / "bert.bin").read_bytes())
        (tmp_path / "bert.xml").write_bytes((SAMPLES / "bert.xml").read_bytes())
        model = ir_exec.read_model(tmp_path / "bert.xml", tmp_path / "elsewhere.bin")
        assert model.outputs[0].shape == [None, None, 32]


class TestPorts:
    def test_one_of_them(self) -> None:
        model = ir_exec.read_model(GATHER)
        for network in (model, ir_exec.compile_model(model)):
            data, indices = network.inputs
            assert network.input(0) == network.input("data") == network.input(data) == data
            assert network.input(1) == network.input(np.int64(1)) == indices
            assert network.output() == network.output(0) == network.output("Result_4") == network.outputs[0]
            assert (data.any_name, data.partial_shape) == ("data", [2, 2, 3])

    @pytest.mark.parametrize(
        ("key", "words"),
        [
            (7, naming(7, "data", "indices")),
            (-1, naming(-1)),
            ("dat", naming("dat", "data", "indices")),
            (1.5, naming("1.5")),
            (None, naming(2, "data", "indices")),
        ],
    )
    def test_missing_port(self, key: str, words: str) -> None:
        model = ir_exec.read_model(GATHER)
        for network in (model, ir_exec.compile_model(model)):
            with pytest.raises(ir_exec.EvaluationError, match=words) as caught:
                network.input(key)
            assert caught.value.code == "IR705"
        with pytest.raises(ir_exec.EvaluationError, match=naming("data")):
            model.output("data")

    def test_as_keys_of_inputs_and_results(self) -> None:
        model = ir_exec.read_model(GATHER)
        compiled = ir_exec.compile_model(model)
        for network in (model, compiled):
            results = compiled({network.input(0): DATA, network.input("indices"): INDICES})
            assert results[network.output(0)].tolist() == TAKEN
        with pytest.raises(ir_exec.EvaluationError, match=naming("output")):
            compiled({compiled.output(0): DATA, 1: INDICES})

    def test_as_keys_of_shapes(self) -> None:
        model = ir_exec.read_model(SAMPLES / "bert.xml")
        ids, mask = model.inputs
        model.reshape({ids: [1, -1], mask: "1,?"}).reshape({ids: (1, 16), mask: [1, 16]})
        assert [input.shape for input in model.inputs] == [[1, 16], [1, 16]]
        compiled = ir_exec.compile_model(SAMPLES / "bert.xml")
        assert compiled.memory_plan({ids: [1, 16], mask: [1, 16]}).peak > 0
        # A port from before the reshape is the same port.
        assert ir_exec.compile_model(model)({ids: np.ones((1, 16), int), mask: np.ones((1, 16), int)})


class TestResults:
    def test_in_the_forms_of_openvino(self) -> None:
        compiled = ir_exec.compile_model(SAMPLES / "bert.xml")
        results = compiled([np.ones((1, 4), np.int64)] * 2)
        by_port = results.to_dict()
        assert [port.any_name for port in by_port] == ["last_hidden_state", "pooled"]
        assert by_port[compiled.output("pooled")] is results["pooled"] is results.to_tuple()[1]
        assert [sorted(names)[-1] for names in results.names()] == ["last_hidden_state", "pooled"]

    def test_missing_names_are_reported(self) -> None:
        results = ir_exec.compile_model(GATHER)([DATA, INDICES])
        assert 0 in results
        assert 1 not in results
        assert results.get(5) is None
        for key in (1, -2, "nope"):
            with pytest.raises(KeyError):
                results[key]


class TestCasts:
    @pytest.mark.parametrize("element_type", ["f16", "bf16", "f32"])
    def test_floats_are_rounded(self, element_type: str) -> None:
        network = net([parameter(0, element_type, (2,), "x"), result(1, element_type, (2,))], [(0, 0, 1, 0)])
        data = np.array([0.1, -2.7])
        actual = ir_exec.compile_model(network)([data])[0]
        expected = data.astype(ir_exec.ElementType.parse(element_type).dtype)
        assert actual.dtype == expected.dtype
        assert actual.tolist() == expected.tolist()

    def test_too_large_values_become_infinite_with_warning(self) -> None:
        network = net([parameter(0, "f32", (2,), "x"), result(1, "f32", (2,))], [(0, 0, 1, 0)])
        with pytest.warns(RuntimeWarning, match="overflow"):
            assert ir_exec.compile_model(network)([np.array([1e300, 1])])[0].tolist() == [np.inf, 1]

    @pytest.mark.parametrize(("element_type", "dtype"), [("i64", np.float64), ("f32", np.int64), ("i32", np.int64)])
    def test_integers_are_not(self, element_type: str, dtype: type) -> None:
        network = net([parameter(0, element_type, (2,), "x"), result(1, element_type, (2,))], [(0, 0, 1, 0)])
        with pytest.raises(ir_exec.ElementTypeError, match=naming("x", np.dtype(dtype).name, element_type)):
            ir_exec.compile_model(network)([np.array([1, 2], dtype)])


class TestInferRequests:
    def test_request_keeps_tensors_of_last_run(self) -> None:
        compiled = ir_exec.compile_model(GATHER)
        request = compiled.create_infer_request()
        results = request.infer({"data": DATA.astype(np.float64), 1: INDICES})
        assert results["output"].tolist() == TAKEN
        assert request.results is results
        output = request.get_tensor("output")
        assert output.data.tolist() == request.get_tensor(compiled.output(0)).data.tolist() == TAKEN
        assert request.get_output_tensor().data is request.get_output_tensor(0).data is results[0]
        assert (output.element_type, output.shape) == (ir_exec.ElementType.f32, [2, 1, 3])
        assert request.get_tensor("data").element_type is ir_exec.ElementType.f32
        assert request.get_input_tensor(1).data.tolist() == INDICES.tolist()

    def test_input_tensors_cannot_be_written_to(self) -> None:
        request = ir_exec.compile_model(GATHER).create_infer_request()
        data = DATA.copy()
        request.infer([data, INDICES])
        with pytest.raises(ValueError, match="read-only"):
            request.get_tensor("data").data[:] = 1
        data[:] = 0  # the caller's own array stays as it was

    def test_before_the_first_run(self) -> None:
        request = ir_exec.compile_model(GATHER).create_infer_request()
        for ask in (lambda: request.get_tensor("output"), lambda: request.results, request.get_output_tensor):
            with pytest.raises(ir_exec.EvaluationError, match=naming("infer()")):
                ask()

    def test_unknown_names(self) -> None:
        request = ir_exec.compile_model(GATHER).create_infer_request()
        for key in ("nope", 0):
            with pytest.raises(ir_exec.EvaluationError, match=naming(key, "data", "indices")) as caught:
                request.get_tensor(key)
            assert caught.value.code == "IR705"

    def test_a_failed_run_leaves_the_tensors(self) -> None:
        request = ir_exec.compile_model(GATHER).create_infer_request()
        request.infer([DATA, INDICES])
        with pytest.raises(ir_exec.EvaluationError):
            request.infer([DATA + 1, INDICES + 5])
        assert request.get_tensor("output").data.tolist() == TAKEN
        assert request.get_tensor("data").data.tolist() == DATA.tolist()


class TestStates:
    def test_each_request_has_its_own(self) -> None:
        compiled = ir_exec.compile_model(CACHE)
        first, other = compiled.create_infer_request(), compiled.create_infer_request()
        first.infer(step(0))
        assert first.infer(step(1))["scores"][0, 0, 0, :3].tolist() == [4, 4, 0]
        assert other.infer(step(1))["scores"][0, 0, 0, :3].tolist() == [0, 4, 0]
        assert compiled(step(2))["scores"][0, 0, 0, :3].tolist() == [0, 0, 4]
        first.reset_state()
        assert first.infer(step(1))["scores"][0, 0, 0, :3].tolist() == [0, 4, 0]

    def test_they_can_be_read_and_set(self) -> None:
        request = ir_exec.compile_model(CACHE).create_infer_request()
        (keys,) = request.query_state()
        assert keys.name == "keys"
        assert (keys.state.shape, keys.state.data.any()) == ([1, 2, 8, 4], False)
        request.infer(step(3))
        assert keys.state.data[0, 0].sum(1).tolist() == [0, 0, 0, 4, 0, 0, 0, 0]
        saved = keys.state
        keys.reset()
        assert not keys.state.data.any()
        for value in (saved, saved.data):
            keys.state = value
            assert request.infer(step(0))["scores"][0, 0, 0, :4].tolist() == [4, 0, 0, 4]
            keys.reset()
        with pytest.raises(ir_exec.ShapeError, match=naming("keys")):
            keys.state = np.ones((1, 1), np.float32)
        with pytest.raises(ValueError, match="read-only"):
            keys.state.data[:] = 1

    def test_those_of_the_compiled_model(self) -> None:
        compiled = ir_exec.compile_model(CACHE)
        compiled(step(0))
        assert compiled.query_state()[0].state.data.sum() == 8
        assert ir_exec.compile_model(GATHER).query_state() == []

    def test_initial_value_of_open_dims_has_no_rows(self) -> None:
        text = NetworkText()
        x = text.parameter("?,3")
        read = text.op("ReadValue", x, opset=6, variable_id="v", variable_type="f32", variable_shape="?,3")
        text.result(read)
        text.outputs(0, "Assign", read, opset=6, variable_id="v")
        (variable,) = ir_exec.compile_model(text.file().xml).query_state()
        assert variable.state.shape == [0, 3]


def test_passing_an_input_through_gives_both_tensors() -> None:
    dims = (2,)
    relu = layer(1, "ReLU", inputs=[port(0, dims=dims)], outputs=[port(1, dims=dims, names="y")])
    network = net([parameter(0, dims=dims, name="x"), relu, result(2, dims=dims)], [(0, 0, 1, 0), (1, 1, 2, 0)])
    request = ir_exec.compile_model(network).create_infer_request()
    request.infer(np.array([-1, 1], np.float32))
    assert request.get_tensor("x").data.tolist() == [-1, 1]
    assert request.get_tensor("y").data.tolist() == [0, 1]
