"""Networks compared with recordings of the modules that they come from."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import numpy as np
import pytest

from ir_exec.debug import compare, torch_recorder
from ir_exec.debug.comparison.references.torch_hooks import module_of
from ir_exec.errors import EvaluationError

SCHEMA = Path(__file__).parents[4] / "schemas" / "compare.schema.json"


class Tensor:
    def __init__(self, array):
        self.array = array

    def detach(self):
        return self

    def cpu(self):
        return self

    def numpy(self):
        return self.array


class Handle:
    def __init__(self, hooks, hook):
        self.hooks, self.hook = hooks, hook

    def remove(self):
        self.hooks.remove(self.hook)


class Module:
    """The parts of a PyTorch module that the recorder uses."""

    def __init__(self, compute, **children):
        self.compute, self.children, self.hooks, self.pre_hooks = compute, children, [], []

    def named_modules(self, prefix=""):
        yield prefix, self
        for name, child in self.children.items():
            yield from child.named_modules(f"{prefix}.{name}" if prefix else name)

    def register_forward_pre_hook(self, hook):
        self.pre_hooks.append(hook)
        return Handle(self.pre_hooks, hook)

    def register_forward_hook(self, hook, with_kwargs=False):
        self.hooks.append(hook)
        return Handle(self.hooks, hook)

    def forward(self, x):
        return self.compute(self, x)

    def __call__(self, *arguments, **named):
        for hook in list(self.pre_hooks):
            hook(self, arguments)
        output = self.forward(*arguments, **named)
        for hook in list(self.hooks):
            hook(self, arguments, named, output)
        return output


def test_the_recorder_keeps_inputs_outputs_and_modules():
    leaf = Module(lambda self, x: (Tensor(x.array + 1), {"k": Tensor(x.array * 2)}))
    model = Module(lambda self, x: {"y": self.children["leaf"](self.children["leaf"](x)[0])[0]}, leaf=leaf)
    with torch_recorder(model) as recording:
        model(Tensor(np.ones(2, np.float32)))
        model(x=Tensor(np.zeros(2, np.float32)))
    assert set(recording.arrays) == {
        "inputs/x",
        "outputs/y",
        "leaf",
        "leaf:1",
        "leaf#2",
        "leaf:1#2",
        "leaf@0",
        "leaf@0#2",
    }
    assert recording.calls == 2
    np.testing.assert_array_equal(recording.arrays["inputs/x"], [1, 1])
    np.testing.assert_array_equal(recording.arrays["leaf#2"], [3, 3])
    assert not model.hooks
    assert not leaf.hooks
    assert not leaf.pre_hooks


def test_first_input_is_recorded_before_in_place_call():
    def overwrite(_self, x):
        x.array *= 2
        return x

    leaf = Module(overwrite)
    model = Module(lambda self, x: self.children["leaf"](x), leaf=leaf)
    with torch_recorder(model) as recording:
        model(Tensor(np.ones(2, np.float32)))
    np.testing.assert_array_equal(recording.arrays["leaf@0"], [1, 1])
    np.testing.assert_array_equal(recording.arrays["leaf"], [2, 2])


def test_failed_block_writes_nothing(tmp_path):
    with pytest.raises(RuntimeError), torch_recorder(Module(lambda self, x: x), tmp_path / "r.npz"):
        raise RuntimeError
    assert not (tmp_path / "r.npz").exists()


@pytest.mark.parametrize(
    ("layer", "module"),
    [
        ("__module.m.layer.0.query/aten::linear/MatMul", "m.layer.0.query"),
        ("/encoder/layer.0/query/MatMul", "encoder.layer.0.query"),
        ("/layer1/layer1.0/conv1/Conv", "layer1.0.conv1"),
        ("tr_1/attn0_1/key_1/MatMul", "tr_1.attn0_1.key_1"),
        ("aten::relu_/Relu", None),
        ("Add_4", None),
        ("/Add", None),
    ],
)
def test_modules_of_layers(layer, module):
    assert module_of(layer) == module


NETWORK = """<net name="n" version="11"><layers>
<layer id="0" name="x" type="Parameter" version="opset1"><data shape="?,4" element_type="f32"/>
<output><port id="0" precision="FP32" names="x"><dim>-1</dim><dim>4</dim></port></output></layer>
{layers}
<layer id="9" name="r" type="Result" version="opset1"><input><port id="0"/></input></layer></layers>
<edges><edge from-layer="0" from-port="0" to-layer="1" to-port="0"/>
<edge from-layer="1" from-port="1" to-layer="2" to-port="0"/>
<edge from-layer="2" from-port="1" to-layer="3" to-port="0"/>
<edge from-layer="3" from-port="1" to-layer="9" to-port="0"/></edges></net>"""

LAYER = """<layer id="{id}" name="{name}" type="{type}" version="opset1"><input><port id="0"/></input>
<output><port id="1" precision="FP32" names="t{id}"><dim>-1</dim><dim>4</dim></port></output></layer>"""

NAMES = ("__module.m.block.a/aten::tanh/Tanh", "__module.m.block.b/aten::sin/Sin", "__module.m.head/aten::exp/Exp")


def network(tmp_path, types, names=NAMES, dims=(4,)):
    layers = [
        LAYER.format(id=index + 1, name=names[index], type=operator_type) for index, operator_type in enumerate(types)
    ]
    text = NETWORK.format(layers="".join(layers))
    text = text.replace('"?,4"', f'"?,{",".join(map(str, dims))}"')
    path = tmp_path / "n.xml"
    path.write_text(text.replace("<dim>4</dim>", "".join(f"<dim>{dim}</dim>" for dim in dims)))
    return path


def write_recording(tmp_path, **more):
    x = np.linspace(-1, 1, 8, dtype=np.float32).reshape(2, 4)
    a = np.tanh(x)
    b = np.sin(a)
    path = tmp_path / "recording.npz"
    np.savez(path, **{"block.a": a, "block.b": b, "block": b, "head": np.exp(b), **more})
    return path, x


@pytest.mark.parametrize(
    ("types", "module"),
    [
        (("Tanh", "Sin", "Exp"), None),
        (("Sigmoid", "Sin", "Exp"), "m.block.a"),
        (("Tanh", "Cos", "Exp"), "m.block.b"),
        (("Tanh", "Sin", "Sinh"), "m.head"),
    ],
)
def test_the_first_wrong_module_is_named(tmp_path, types, module):
    path, x = write_recording(tmp_path)
    report = compare(network(tmp_path, types), path, [x])
    assert report.first_module == module
    statuses = {module.path: module.status for module in report.modules}
    assert list(statuses) == ["m.block.a", "m.block.b", "m.block", "m.head"]
    wrong = {path for path, status in statuses.items() if status == "wrong"}
    assert wrong == {
        path for path in statuses if module is not None and (module == path or module.startswith(path + "."))
    }
    jsonschema.validate(json.loads(report.model_dump_json()), json.loads(SCHEMA.read_text()))


def test_inputs_come_from_recording_and_unpaired_are_listed(tmp_path):
    x = np.ones((2, 4), np.float32)
    path, _ = write_recording(tmp_path, **{"inputs/x": x * 0, "drop": x})
    report = compare(network(tmp_path, ("Tanh", "Sin", "Exp")), path)
    assert report.seed is None
    assert [layer.path for layer in report.unmatched if layer.side == "reference"] == ["m.drop"]


def test_recordings_of_another_network_are_an_error(tmp_path):
    path = tmp_path / "recording.npz"
    np.savez(
        path,
        **{
            "inputs/x": np.ones((2, 4), np.float32),
            "other.module": np.ones(3, np.float32),
            "outputs/0": np.ones((2, 4)),
        },
    )
    with pytest.raises(EvaluationError) as caught:
        compare(network(tmp_path, ("Tanh", "Sin", "Exp")), path)
    assert caught.value.code == "IR705"


def test_arrays_by_names_of_tensors_are_no_recording(tmp_path):
    x = np.ones((2, 4), np.float32)
    np.savez(tmp_path / "values.npz", t1=np.tanh(x))
    report = compare(network(tmp_path, ("Tanh", "Sin", "Exp")), tmp_path / "values.npz", [x])
    assert not report.modules


@pytest.mark.parametrize(
    ("types", "module"),
    [(("Sin", "Tanh", "Exp"), None), (("Sin", "Sigmoid", "Exp"), "act"), (("Cos", "Tanh", "Exp"), "bn")],
)
def test_batch_norm_folded_into_convolution(tmp_path, types, module):
    """The recorded output of the convolution is no value of the network, that of the normalization is."""
    x = np.random.default_rng(0).normal(size=(3, 4)).astype(np.float32)
    normalized = np.sin(x)
    raw = normalized / np.float32([1.5, 0.7, 2, 0.4]) - np.float32([0.3, -0.2, 0.9, 0.1])
    acted = np.tanh(normalized)
    arrays = {"conv@0": x, "conv": raw, "bn@0": raw, "bn": normalized, "act@0": normalized, "act": acted}
    np.savez(tmp_path / "r.npz", **arrays, **{"head@0": acted, "head": np.exp(acted), "inputs/x": x})
    path = network(tmp_path, types, ("/conv/Conv", "/act/Tanh", "/head/Exp"))
    report = compare(path, tmp_path / "r.npz")
    assert report.first_module == module
    assert [module.path for module in report.modules if not module.layers] == ["conv"]


@pytest.mark.parametrize("dims", [(4,), (4, 3)])
@pytest.mark.parametrize(("types", "module"), [(("Tanh", "Sin", "Exp"), None), (("Tanh", "Cos", "Exp"), "net.b_2")])
def test_layers_of_keras(tmp_path, dims, types, module):
    """TensorFlow numbers names that it has used before, and has the channels last."""
    x = np.random.default_rng(0).normal(size=(3, *dims)).astype(np.float32)
    values = {"a": np.tanh(x), "b_2": np.sin(np.tanh(x)), "head": np.exp(np.sin(np.tanh(x)))}
    np.savez(tmp_path / "r.npz", **{name: np.moveaxis(value, 1, -1) for name, value in values.items()})
    path = network(tmp_path, types, ("net/a_1/Tanh", "net/b_2/Sin", "net/head_1/Exp"), dims)
    report = compare(path, tmp_path / "r.npz", [x])
    assert report.first_module == module
    assert [module.path for module in report.modules] == ["net.a", "net.b_2", "net.head"]
    assert all(module.layers for module in report.modules)


def test_second_module_call_is_found_by_input(tmp_path):
    names = ("__module.m.act/aten::tanh/Tanh", "__module.m/aten::sin/Sin", "__module.m.act/aten::tanh/Tanh_1")
    x = np.random.default_rng(0).normal(size=(3, 4)).astype(np.float32)
    first, second = np.tanh(x), np.sin(np.tanh(x))
    arrays = {"m.act@0": x, "m.act": first, "m.act@0#2": second, "m.act#2": np.tanh(second), "m": np.tanh(second)}
    np.savez(tmp_path / "r.npz", **arrays)
    report = compare(network(tmp_path, ("Tanh", "Sin", "Sigmoid"), names), tmp_path / "r.npz", [x])
    assert report.first_module == "m.act"
    report = compare(network(tmp_path, ("Tanh", "Cos", "Tanh"), names), tmp_path / "r.npz", [x])
    assert report.first_module == "m"


def test_layer_confirmed_by_another_reader_is_not_blamed(tmp_path):
    """The value of m.u is not recorded: m.r, which reads it too, agrees."""
    names = ("__module.m.u/aten::tanh/Tanh", "__module.m.f/aten::sin/Sin", "__module.m.r/aten::exp/Exp")
    x = np.random.default_rng(0).normal(size=(3, 4)).astype(np.float32)
    np.savez(tmp_path / "r.npz", **{"m.f": np.sin(np.tanh(x)), "m.r": np.exp(np.tanh(x))})
    path = network(tmp_path, ("Tanh", "Cos", "Exp"), names)
    text = path.read_text().replace(
        'from-layer="2" from-port="1" to-layer="3"', 'from-layer="1" from-port="1" to-layer="3"'
    )
    second = '<layer id="10" name="r2" type="Result" version="opset1"><input><port id="0"/></input></layer></layers>'
    edge = '<edge from-layer="2" from-port="1" to-layer="10" to-port="0"/></edges>'
    path.write_text(text.replace("</layers>", second).replace("</edges>", edge))
    assert compare(path, tmp_path / "r.npz", [x]).first_module == "m.f"
