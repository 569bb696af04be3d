"""Operators of users in ONNX files: registered, checked, run, converted, and refused."""

from __future__ import annotations

import contextlib
import io
import json
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import ir_exec
from ir_exec import build
from ir_exec.build import Value
from ir_exec.cli import main
from ir_exec.extension import onnx_op, unregister_onnx_op
from ir_exec.types import Array
from tests.onnx.files import model, write_model

pytestmark = pytest.mark.usefixtures("forgotten_extensions")

DOCUMENT = (Path(__file__).parents[1] / "docs" / "extensions.md").read_text()

OPERATORS = """
import numpy as np
from ir_exec import build
from ir_exec.extension import onnx_op

@onnx_op("Twice", domain="own")
def twice(data: build.Value, *, by: float = 2.0) -> build.Value:
    return build.multiply(build.abs(data), np.float32(by))
"""

X = np.array([1, -3], np.float32)


def file(body: str = "y = own.Twice(x)", version: int = 1) -> bytes:
    return model(f"g (float[2] x) => (float[2] y) {{ {body} }}", further=f'"own" : {version}').SerializeToString()


def run(content: bytes) -> Array:
    return ir_exec.compile_model(content)([X])["y"]


def test_the_documented_example() -> None:
    blocks = re.findall(r"^```[^\n]*\n(.*?)^```$", DOCUMENT, re.MULTILINE | re.DOTALL)
    code, shown = next(pair for pair in pairwise(blocks) if "onnx_op" in pair[0])
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(code, {"__name__": "__main__"})
    assert printed.getvalue() == shown


def test_function_for_onnxruntime_operator_has_own_signature() -> None:
    """BitmaskDropout is an operator of com.microsoft with other inputs and attributes, which has no function here."""

    @onnx_op("BitmaskDropout", domain="com.microsoft")
    def double(data: Value, *, by: float = 2.0, since: int = 0) -> Value:
        return build.multiply(data, np.float32(by - since))

    text = "g (float[2] x) => (float[2] y) { y = com.microsoft.BitmaskDropout<by = 3.0, since = 1>(x) }"
    assert run(model(text, further='"com.microsoft" : 1').SerializeToString()).tolist() == [2, -6]


def test_inputs_and_attributes_of_every_kind() -> None:
    seen: dict[str, Any] = {}

    @onnx_op("All", domain="own")
    def every(
        first: Value,
        second: Value | None = None,
        *more: Value,
        i: int,
        f: float = 1.0,
        b: bool = False,
        s: str = "",
        many: tuple[int, ...] = (),
        floats: tuple[float, ...] = (),
        texts: tuple[str, ...] = (),
    ) -> Value:
        seen.update(second=second, more=len(more), i=i, f=f, b=b, s=s, many=many, floats=floats, texts=texts)
        return first

    attributes = 'i = 3, b = 1, s = "t", many = [1, 2], floats = [0.5], texts = ["a", "b"]'
    assert run(file(f"h = own.All <{attributes}> (x, , x, x) y = Neg(h)")).tolist() == [-1, 3]
    assert seen == {
        "second": None,
        "more": 2,
        "i": 3,
        "f": 1.0,
        "b": True,
        "s": "t",
        "many": (1, 2),
        "floats": (0.5,),
        "texts": ("a", "b"),
    }


def test_versions_of_a_domain() -> None:
    @onnx_op("Twice", domain="own")
    def first(data: Value) -> Value:
        return build.abs(data)

    @onnx_op("Twice", domain="own", since=3)
    def later(data: Value) -> Value:
        return build.negative(data)

    assert run(file(version=3)).tolist() == [-1, 3]
    assert run(file(version=2)).tolist() == [1, 3]


def test_what_cannot_be_registered() -> None:
    def good(data: Value) -> Value:
        return data

    def bad_attribute(data: Value, *, table: dict[str, int]) -> Value:
        return data

    def bad_input(data: Array) -> Value:
        return build.constant(data)

    def any_attribute(data: Value, **attributes: int) -> Value:
        return data

    for function in (bad_attribute, bad_input, any_attribute):
        with pytest.raises(TypeError):
            onnx_op("Twice", domain="own")(function)
    for name, domain in (("Relu", ""), ("Relu", "ai.onnx"), ("FusedMatMul", "com.microsoft")):
        with pytest.raises(TypeError):
            onnx_op(name, domain=domain, since=99)(good)
    onnx_op("Twice", domain="own")(good)
    with pytest.raises(TypeError):
        onnx_op("Twice", domain="own")(good)
    unregister_onnx_op("Twice", "own")
    onnx_op("Twice", domain="own")(good)
    with pytest.raises(KeyError):
        unregister_onnx_op("Relu", "")


def test_function_faults_name_function_and_node() -> None:
    @onnx_op("Fails", domain="own")
    def fails(data: Value) -> Value:
        raise ValueError("no reason")

    @onnx_op("Wrong", domain="own")
    def wrong(data: Value) -> Value:
        return X  # type: ignore[return-value]  # the fault

    for name, function in (("Fails", "fails"), ("Wrong", "wrong")):
        with pytest.raises(ir_exec.IRError) as caught:
            ir_exec.read_model(file(f"y = own.{name}(x)"))
        assert function in caught.value.message
        assert caught.value.location.layer_type == name
        assert __name__ in (caught.value.hint or "")


def test_missing_function_error_has_a_hint() -> None:
    with pytest.raises(ir_exec.UnsupportedError) as caught:
        ir_exec.read_model(file())
    assert "onnx_op" in (caught.value.hint or "")


def test_on_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    proto = model("g (float[2] x) => (float[2] y) { y = own.Twice(x) }", further='"own" : 1')
    path = str(write_model(tmp_path, proto))
    Path("operators.py").write_text(OPERATORS)
    np.save("x.npy", X)

    def call(*arguments: str) -> Any:
        result = CliRunner().invoke(main, [*arguments, "--extension", "operators.py"])
        assert result.exit_code == 0, result.output
        return result

    assert CliRunner().invoke(main, ["convert", path, "-o", "out.xml"]).exit_code == 1
    call("check", path)
    call("convert", path, "-o", "out.xml")
    assert json.loads(call("inspect", path, "--summary", "--format", "json").stdout)["onnx"]["nodes"] == 1
    call("run", path, "--input", "x=x.npy", "--output", "found.npz")
    with np.load("found.npz") as outputs:
        assert outputs["y"].tolist() == [2, 6]
    assert ir_exec.compile_model("out.xml")([X])["y"].tolist() == [2, 6]
