"""The line of Python of a layer, from the entries of exporters and from names."""

from __future__ import annotations

import pytest

from ir_exec.ir import Layer, RtInfo, source_info
from ir_exec.ir.sources import (
    CLASS_HIERARCHY,
    NAME_SCOPES,
    STACK_TRACE,
    CodeLocation,
    common_source,
    join_modules,
    module_in_name,
    parse_source,
)

PACKAGES = "/home/user/venv/lib/python3.12/site-packages"


def parse(*frames: tuple[str, int, str], classes: str = "[]") -> CodeLocation:
    trace = "\n".join(
        f'  File "{file}", line {line}, in {function}\n    code {line}' for file, line, function in frames
    )
    source = parse_source({STACK_TRACE: trace, CLASS_HIERARCHY: classes})
    assert source is not None
    return source


@pytest.mark.parametrize(
    "inner",
    [
        f"{PACKAGES}/torch/nn/modules/conv.py",
        "/home/user/pytorch/torch/nn/functional.py",
        r"C:\Python312\Lib\site-packages\torch\nn\modules\linear.py",
        r"C:\Python312\Lib\contextlib.py",
        "/usr/lib/python3.12/contextlib.py",
        "<eval_with_key>.3",
        f"{PACKAGES}/einops/einops.py",
    ],
)
def test_source_is_innermost_frame_of_the_model(inner: str) -> None:
    frames = [("/home/user/train.py", 3, "main"), ("/home/user/net.py", 7, "forward"), (inner, 9, "call")]
    source = parse(*frames, classes="['net.Net', 'net.Block', 'aten.add.Tensor']")
    assert (source.file, source.line, source.function, source.code) == ("/home/user/net.py", 7, "forward", "code 7")
    assert [(frame.file, frame.line, frame.function) for frame in source.trace] == frames


def test_package_defining_a_module_is_model_code() -> None:
    layer = f"{PACKAGES}/timm/layers/norm_act.py"
    frames = (
        ("/home/user/net.py", 7, "forward"),
        (layer, 60, "forward"),
        (f"{PACKAGES}/torch/nn/functional.py", 1, "relu"),
    )
    classes = "['net.Net', 'timm.layers.norm_act.BatchNormAct2d', 'aten.relu.default']"
    assert parse(*frames, classes=classes).file == layer
    assert parse(*frames, classes="['net.Net', 'net.Block', 'aten.relu.default']").file == "/home/user/net.py"


def test_a_trace_of_torch_alone_ends_in_torch() -> None:
    frames = [(f"{PACKAGES}/torch/nn/modules/{name}.py", 5, "forward") for name in ("container", "conv")]
    assert parse(*frames).file == frames[-1][0]


def test_notebook_cell_is_model_code() -> None:
    cell = "<ipython-input-4-9a1>"
    assert parse((cell, 2, "forward"), (f"{PACKAGES}/torch/nn/modules/conv.py", 5, "forward")).file == cell


def test_module_is_last_scope_before_the_node() -> None:
    entries = {
        NAME_SCOPES: "['', 'blocks.0@1', \"blocks.0.it's\", 'conv2d_1']",
        CLASS_HIERARCHY: "['net.Net', 'net.Block', 'torch.nn.Conv2d', 'aten.conv2d.default']",
    }
    assert parse_source(entries) == CodeLocation(module="blocks.0.it's", module_class="torch.nn.Conv2d")
    entries[NAME_SCOPES] = "['', 'blocks.0@1', 'add']"
    assert parse_source(entries) == CodeLocation(module="blocks.0")


@pytest.mark.parametrize(
    ("name", "module"),
    [
        ("__module.model.layers.0.self_attn/aten::add/Add", "model.layers.0.self_attn"),
        ("aten::softmax/Softmax", ""),
        ("/stem/stem.0/Conv", "stem.0"),
        ("/model/layers.1/mlp/Gemm/WithoutBiases", "model.layers.1.mlp"),
        ("/Add_3", ""),
        ("StatefulPartitionedCall/model/dense/MatMul", "model.dense"),
        ("StatefulPartitionedCall/model/dense/MatMul/ReadVariableOp", "model.dense"),
        ("node_conv2d/WithoutBiases", None),
        ("linear/aten.linear.default/MatMul", None),
        ("conv", None),
        ("", None),
    ],
)
def test_names_contain_modules(name: str, module: str | None) -> None:
    assert module_in_name(name) == module


def test_a_constant_is_named_after_its_attribute() -> None:
    assert module_in_name("self.stem.0.weight", is_constant=True) == "stem.0"
    assert module_in_name("self.stem.0.weight") is None


@pytest.mark.parametrize(
    ("modules", "common"),
    [
        (["a.b", "a.b"], "a.b"),
        (["a.b", "a.bc"], "a"),
        (["a", "a.b.c"], "a"),
        (["a", ""], ""),
        (["a", "b"], ""),
        ([], ""),
    ],
)
def test_the_common_module_contains_all(modules: list[str], common: str) -> None:
    assert join_modules(modules) == common


@pytest.mark.parametrize(
    "entries",
    [
        {STACK_TRACE: "no frames"},
        {STACK_TRACE: f'File "a.py", line {"9" * 5000}, in f'},
        {NAME_SCOPES: "[" * 10**6},
        {NAME_SCOPES: "'\\" * 10**6},
        {NAME_SCOPES: "42", CLASS_HIERARCHY: "__import__('os')"},
    ],
)
def test_entries_without_a_meaning_are_ignored(entries: dict[str, str]) -> None:
    source = parse_source(entries)
    assert source is None or (source.file is None and not source.module)


def test_a_long_trace_is_cut() -> None:
    source = parse_source({STACK_TRACE: 'File "a.py", line 1, in f\n    x\n' * 10**5})
    assert source is not None
    assert len(source.trace) < 1000


def test_common_source_is_innermost_common_call() -> None:
    outer, inner = ("/net.py", 3, "forward"), (f"{PACKAGES}/torch/nn/modules/container.py", 9, "forward")
    first, second = parse(outer, inner, ("/block.py", 4, "forward")), parse(outer, inner, ("/net.py", 8, "scale"))
    common = common_source([first, second, first])
    assert common is not None
    assert (common.file, common.line, len(common.trace)) == ("/net.py", 3, 2)
    assert common_source([first, first]) == first
    assert common_source([first, parse(("/other.py", 1, "f"))]) is None
    assert common_source([]) is None


def test_the_text_of_a_source() -> None:
    assert str(CodeLocation(r"C:\net.py", 3, "forward", module="a.b")) == "a.b, net.py:3 in forward"
    assert str(CodeLocation("/net.py", 3, "forward", module="")) == "net.py:3 in forward"
    assert str(CodeLocation(module="a.b")) == "a.b"


def test_a_layer_inherits_a_source_and_keeps_its_own() -> None:
    mark = RtInfo(name="rt_info", children=(RtInfo(name="attribute", attributes={"name": "decompression"}),))
    layer = Layer(id="0", name="a", type="Convert", version="opset1", rt_info=mark)
    origin = Layer(id="1", name="__module.b/aten::add/Add", type="Add", version="opset1")
    derived = layer.with_source_of(origin)
    assert derived.source == CodeLocation(module="b")
    assert derived.rt_info.children[-1:] == mark.children
    other = Layer(
        id="2", name="c", type="Add", version="opset1", rt_info=source_info({STACK_TRACE: 'File "c.py", line 4, in f'})
    )
    assert derived.with_source_of(other) is derived
    assert other.with_source_of(origin) is other
    assert layer.with_source_of(layer) is layer
