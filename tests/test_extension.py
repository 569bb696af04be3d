"""Operators of users: registered, checked, run, and refused."""

from __future__ import annotations

import contextlib
import doctest
import io
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import pytest

import ir_exec
from ir_exec import build
from ir_exec.debug import drawn_inputs
from ir_exec.extension import (
    ALL,
    FLOAT,
    INDEX,
    Array,
    AxisIndices,
    Bool,
    ElementType,
    In,
    Int,
    Ints,
    Named,
    Op,
    Shape,
    TensorType,
    register_op,
    unregister_op,
)
from tests.helpers.facts import facts, fault_with, mentions, naming
from tests.helpers.ir_text import layer, net, parameter, port, result

pytestmark = pytest.mark.usefixtures("forgotten_extensions")

DOCUMENT = (Path(__file__).parents[1] / "docs" / "extensions.md").read_text()


class Scale(Op):
    """data * factor."""

    inputs = (In("data", types=FLOAT),)

    factor: float = 2.0

    def infer(self, data: TensorType) -> TensorType:
        return data.without_values()

    def evaluate(self, data: Array) -> Array:
        return (data * self.factor).astype(data.dtype)


def network(type: str = "Scale", version: str = "extension", outputs: int = 1, **attributes: object) -> bytes:
    data = " ".join(f'{name}="{value}"' for name, value in attributes.items())
    dims = (1, 2)
    layers = [parameter(0, dims=dims)]
    ports = [port(1 + output, dims=dims) for output in range(outputs)]
    layers += [layer(1, type, opset=version, data=data, inputs=[port(0, dims=dims)], outputs=ports)]
    layers += [result(2 + output, dims=dims) for output in range(outputs)]
    return net(layers, [(0, 0, 1, 0), *[(1, 1 + output, 2 + output, 0) for output in range(outputs)]])


def codes(xml: bytes) -> list[str]:
    return [diagnostic.code for diagnostic in ir_exec.check_model(xml).diagnostics]


ROW = np.array([[1, 3]], np.float32)


def run(xml: bytes) -> list[Array]:
    results = ir_exec.compile_model(xml)([ROW])
    return [results[position] for position in range(len(results))]


def test_the_documented_example() -> None:
    code, shown, *_ = re.findall(r"^```(?:python)?\n(.*?)^```$", DOCUMENT, re.MULTILINE | re.DOTALL)
    (session,) = re.findall(r"^```pycon\n(.*?)^```$", DOCUMENT, re.MULTILINE | re.DOTALL)
    printed = io.StringIO()
    names: dict[str, Any] = {"__name__": "__main__"}
    with contextlib.redirect_stdout(printed):
        exec(code, names)
        test = doctest.DocTestParser().get_doctest(session, names, "extensions.md", None, 0)
        assert doctest.DocTestRunner().run(test).failed == 0, printed.getvalue()
    assert printed.getvalue() == shown


def test_a_registered_class_is_checked_and_run() -> None:
    assert codes(network(factor=3)) == ["IR902"]
    register_op("Scale", version="extension")(Scale)
    assert codes(network(factor=3)) == []
    assert run(network(factor=3))[0].tolist() == [[3, 9]]
    assert run(network())[0].tolist() == [[2, 6]]
    assert run(network("SCALE"))[0].tolist() == [[2, 6]]


def test_registered_class_is_unchanged() -> None:
    class Written(Scale):
        factor: float = 2.0

        def infer(self, data: TensorType) -> Any:
            return data.shape

        def evaluate(self, data: Array) -> Array:
            return (data * self.factor).astype(np.int8)

    before = dict(vars(Written))
    assert register_op("Scale", version="extension")(Written) is Written
    with pytest.raises(ir_exec.IRError, match=naming("Written.infer", "Shape")):
        run(network())
    assert dict(vars(Written)) == before
    assert Written(factor=3.0).infer(TensorType.of(ROW)) == [1, 2]
    assert Written(factor=3.0).evaluate(ROW).dtype == np.int8


def test_class_may_call_its_methods_and_base_methods() -> None:
    @register_op("Scale", version="extension")
    class Twice(Scale):
        def infer(self, data: TensorType) -> TensorType:
            return super().infer(data)

        def evaluate(self, data: Array) -> Array:
            assert self.infer(TensorType.of(data)) == TensorType.of(data)
            return super().evaluate(super().evaluate(data))

    assert run(network())[0].tolist() == [[4, 12]]
    model = ir_exec.read_model(network())
    assert isinstance(next(node.op for node in model.graph.nodes if node.type == "Scale"), Twice)


def test_without_a_class() -> None:
    with pytest.raises(ir_exec.UnsupportedError) as error:
        run(network("Other", "my_opset"))
    assert facts(error.value.message) == ["1", "1", "my_opset"]
    (diagnostic,) = ir_exec.check_model(network("Other", "my_opset")).diagnostics
    assert (diagnostic.code, diagnostic.severity) == ("IR902", "info")
    assert facts(diagnostic.hint) == ["ir_exec.register_op"]


def test_unknown_types_of_openvino_may_be_in_opset() -> None:
    register_op("Scale", version="opset1")(Scale)
    assert run(network(version="opset1"))[0].tolist() == [[2, 6]]
    assert codes(network(version="opset2")) == ["IR116"]


def test_versions_are_apart() -> None:
    register_op("Scale", version="one")(Scale)

    @register_op("Scale", version="two")
    class Half(Scale):
        factor: float = 0.5

    assert run(network(version="one"))[0].tolist() == [[2, 6]]
    assert run(network(version="two"))[0].tolist() == [[0.5, 1.5]]
    assert Half(factor=4.0).evaluate(ROW).tolist() == [[4, 12]]


def test_one_class_for_two_types() -> None:
    register_op("Scale", version="extension")(register_op("Times", version="extension")(Scale))
    assert run(network("Times"))[0].tolist() == run(network("Scale"))[0].tolist() == [[2, 6]]


def test_a_class_may_be_forgotten() -> None:
    register_op("Scale", version="extension")(Scale)
    unregister_op("scale", "extension")
    assert codes(network()) == ["IR902"]
    register_op("Scale", version="extension")(Scale)
    with pytest.raises(KeyError):
        unregister_op("Scale", "other")


@pytest.mark.parametrize(
    ("type_name", "version"),
    [("Add", "opset1"), ("relu", "opset13"), ("GRUCell", "extension"), ("MVN", "opset1"), ("Parameter", "opset8")],
)
def test_operators_of_openvino_cannot_be_replaced(type_name: str, version: str) -> None:
    with pytest.raises(TypeError, match=naming(type_name, version, "OpenVINO")):
        register_op(type_name, version=version)(Scale)


def test_no_second_class() -> None:
    register_op("Scale", version="extension")(Scale)
    with pytest.raises(TypeError, match=naming("extension")):

        @register_op("scale", version="extension")
        class Other(Scale):
            pass


class WithoutEvaluate(Op):
    inputs = (In("data"),)

    def infer(self, data: TensorType) -> TensorType:
        return data


class OtherNames(Scale):
    inputs = (In("values"),)


class UnknownContext(Scale):
    def evaluate(self, data: Array, *, clock: object) -> Array:
        return data


class NoType(Scale):
    table: dict[str, int]


class Misspelled(Scale):
    factor: Flaot  # type: ignore[name-defined]  # noqa: F821  # that is the fault


@pytest.mark.parametrize(
    ("cls", "message"),
    [
        (dict, naming("ir_exec.Op")),
        (WithoutEvaluate, naming("WithoutEvaluate", "evaluate")),
        (OtherNames, naming("OtherNames.infer")),
        (UnknownContext, naming("UnknownContext.evaluate", "clock")),
        (NoType, naming("table", "dict[str, int]")),
        (Misspelled, naming("Misspelled", "Flaot")),
    ],
)
def test_classes_that_do_not_keep_the_contract(cls: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        register_op("Wrong", version="extension")(cls)
    assert codes(network("Wrong")) == ["IR902"]


def even(value: int) -> int:
    if value % 2:
        raise ValueError("expected an even number")
    return value


class Attributes(Scale):
    """Every kind of field."""

    kept: ClassVar[int] = 1

    count: int
    factor: float = 1.0
    flag: bool = False
    name: str = "none"
    mode: Literal["fast", "exact"] = "fast"
    sizes: Ints = ()
    half: Annotated[Int, even] = 0
    keep: Annotated[Bool, Named("keep-dims")] = False


def test_attributes_become_values() -> None:
    register_op("Attributes", version="extension")(Attributes)
    texts = {"count": "3", "factor": "1e2", "flag": "true", "name": "n", "mode": "exact", "sizes": "1, 2", "half": "-4"}
    model = ir_exec.read_model(network("Attributes", **texts, **{"keep-dims": "1"}))
    operator = next(node.op for node in model.graph.nodes if node.type == "Attributes")
    assert isinstance(operator, Attributes)
    values = (
        operator.count,
        operator.factor,
        operator.flag,
        operator.name,
        operator.mode,
        operator.sizes,
        operator.half,
        operator.keep,
    )
    assert values == (3, 100.0, True, "n", "exact", (1, 2), -4, True)


@pytest.mark.parametrize(
    ("attributes", "code", "fault"),
    [
        ({}, "IR301", fault_with("count")),
        ({"count": "x"}, "IR302", fault_with("count", actual="'x'", expected="an integer")),
        ({"count": "1", "mode": "slow"}, "IR302", fault_with("mode", actual="'slow'", expected=mentions())),
        ({"count": "1", "half": "3"}, "IR302", fault_with("half", actual="'3'", expected="an even number")),
        ({"count": "1", "other": "3"}, "IR303", fault_with("other")),
    ],
)
def test_attributes_that_do_not_fit(attributes: dict[str, str], code: str, fault: fault_with) -> None:
    register_op("Attributes", version="extension")(Attributes)
    report = ir_exec.check_model(network("Attributes", **attributes))
    assert [(diagnostic.code, diagnostic) for diagnostic in report.diagnostics] == [(code, fault)]


def test_modules_that_evaluate_their_annotations() -> None:
    """Without `from __future__ import annotations`, as in a notebook."""
    module = ModuleType("authors_module")
    sys.modules["authors_module"] = module
    try:
        code = """
from typing import ClassVar
from ir_exec.extension import In, Ints, Op, register_op

@register_op("Sum", version="extension")
class Sum(Op):
    inputs = (In("data"),)
    constant: ClassVar[int] = 3
    axes: Ints = (0,)
    def infer(self, data):
        return data
    def evaluate(self, data):
        return data + self.constant + sum(self.axes)
"""
        exec(code, vars(module))
        assert run(network("Sum", axes="1,2"))[0].tolist() == [[7, 9]]
    finally:
        del sys.modules["authors_module"]


def register_made(infer: Any, evaluate: Any) -> None:
    class Made(Op):
        inputs = (In("data", types=ALL),)

    Made.infer, Made.evaluate = infer, evaluate
    register_op("Made", version="extension")(Made)


def same(self: Op, data: Any) -> Any:
    return data


@pytest.mark.parametrize(
    ("infer", "fault"),
    [
        (
            lambda self, data: data.shape,
            fault_with("Made.infer", actual="Shape", expected=mentions("TensorType", "TensorTypes")),
        ),
        (
            lambda self, data: data.with_shape(Shape(np.zeros(Shape([None, 2])).shape)),
            fault_with("Made.infer", "OpenShapeError", "?"),
        ),
        (lambda self, data: 1 // 0, fault_with("Made.infer", "ZeroDivisionError")),
    ],
)
def test_faults_of_infer_are_told(infer: Any, fault: fault_with) -> None:
    register_made(infer, same)
    (diagnostic,) = ir_exec.check_model(network("Made")).diagnostics
    assert (diagnostic.code, diagnostic) == ("IR999", fault)
    assert diagnostic.hint == mentions("Made")
    with pytest.raises(ir_exec.IRError) as error:
        run(network("Made"))
    assert error.value == fault


@pytest.mark.parametrize(
    ("evaluate", "facts"),
    [
        (lambda self, data: data.astype(np.int8), ["i8[1,2]", "f32[1,2]"]),
        (lambda self, data: data[0], ["f32[2]", "f32[1,2]"]),
        (lambda self, data: None, ["string[]", "f32[1,2]"]),
        (lambda self, data: data + 1j, ["ndarray", "complex64"]),
        (lambda self, data: (), ["Made", "0", "1"]),
        (lambda self, data: data.missing, ["AttributeError", "'missing'"]),
    ],
)
def test_faults_of_evaluate(evaluate: Any, facts: list[str]) -> None:
    register_made(same, evaluate)
    with pytest.raises(ir_exec.EvaluationError) as error:
        run(network("Made"))
    assert [fact for fact in facts if fact not in error.value.message] == []
    assert error.value.location.layer_type == "Made"


def test_scalars_become_arrays() -> None:
    register_made(lambda self, data: TensorType(ElementType.f32, Shape([])), lambda self, data: data.sum())
    assert run(network("Made"))[0].tolist() == 4


def test_several_outputs() -> None:
    register_made(lambda self, data: (data, data), lambda self, data: (data + 1, data * 2))
    assert [output.tolist() for output in run(network("Made", outputs=2))] == [[[2, 4]], [[2, 6]]]


class LookUp(Op):
    """The rows of a table."""

    inputs = (In("table", types=FLOAT), In("ids", types=INDEX, domain=AxisIndices(selects_slices=True)))
    moved_inputs = ("table",)

    def infer(self, table: TensorType, ids: TensorType) -> TensorType:
        return table.with_shape(Shape([*ids.shape, *table.shape[1:]]))

    def evaluate(self, table: Array, ids: Array) -> Array:
        return table[ids]


def test_generated_inputs_are_in_domain_of_custom_operator() -> None:
    register_op("LookUp", version="extension")(LookUp)
    table = np.arange(60, dtype=np.float32).reshape(20, 3)
    rows = build.op("LookUp", table, build.parameter("2,50", "i64", name="ids"), opset="extension")
    model = build.model([build.result(rows)])
    inputs = drawn_inputs(model, 0)
    assert inputs["ids"].min() >= 0
    assert 10 < inputs["ids"].max() < 20
    ir_exec.compile_model(model)(inputs)


@pytest.mark.parametrize(
    "facts_of_class",
    [
        {"inputs": (In("table"), In("ids", domain=AxisIndices("axes")))},
        {"moved_inputs": ("data",)},
        {"term_inputs": ("table", "weights")},
    ],
)
def test_facts_of_unknown_input_are_refused(facts_of_class: dict[str, Any]) -> None:
    cls = type("Named", (LookUp,), facts_of_class)
    with pytest.raises(TypeError):
        register_op("LookUp", version="extension")(cls)
