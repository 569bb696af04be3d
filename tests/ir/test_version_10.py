"""Networks of version 10: the inputs, outputs and means that OpenVINO gives them."""

import numpy as np
import pytest

import ir_exec
from tests.conformance.build import IRFile
from tests.helpers.facts import naming
from tests.helpers.ir_text import PRECISIONS, layer, net, parameter, port, result

DIMS = (1, 3, 2, 2)
MEANS = "".join(f'<channel id="{i}"><mean value="{value}"/></channel>' for i, value in enumerate((1.5, 2.5, 3.5)))
PRE_PROCESS = f'<pre-process mean-precision="FP32" reference-layer-name="image">{MEANS}</pre-process>'


def network(input_type, output_type, tail=""):
    convert = layer(
        2,
        "Convert",
        name="converted",
        data=f'destination_type="{output_type}"',
        inputs=[port(0, input_type, DIMS)],
        outputs=[port(1, output_type, DIMS)],
    )
    image = parameter(0, input_type, DIMS, "image").replace(' names="image"', "")
    return net([image, convert, result(3, output_type, DIMS)], [(0, 0, 2, 0), (2, 1, 3, 0)], version=10, tail=tail)


@pytest.mark.parametrize(
    ("declared_in", "declared_out", "really_in", "really_out"),
    [
        ("f16", "i64", "f32", "i32"),
        ("f32", "f16", "f32", "f32"),
        ("i64", "u8", "i64", "f32"),
        ("f32", "boolean", "f32", "f32"),
        ("bf16", "f64", "bf16", "f32"),
        ("u8", "u32", "u8", "i32"),
        ("f32", "u64", "f32", "i32"),
        ("f16", "f32", "f32", "f32"),
    ],
)
def test_inputs_and_outputs_are_converted(oracle, declared_in, declared_out, really_in, really_out):
    xml = network(declared_in, declared_out)
    model = ir_exec.read_model(xml)
    assert [(port.name, port.element_type.name) for port in model.inputs] == [("image", really_in)]
    assert [(port.name, port.element_type.name) for port in model.outputs] == [("converted", really_out)]
    image = np.linspace(0, 9, 12).astype(model.inputs[0].element_type.dtype).reshape(DIMS)
    expected = oracle.values(IRFile(xml, b"", (image,)), "reference")
    actual = ir_exec.compile_model(model)([image])
    np.testing.assert_array_equal(actual[0], expected[0])
    assert actual[0].dtype == expected[0].dtype


def relabel_output(type, really, declared, outputs=1):
    """A layer of two f32 inputs, or of the element type `really`, whose output is declared as another type."""
    inputs = [parameter(0, really, DIMS, "x").replace(' names="x"', ""), parameter(1, really, DIMS, "y")]
    ports = [port(0, really, DIMS), port(1, really, DIMS)]
    both = layer(2, type, name="both", inputs=ports, outputs=[port(2, declared, DIMS)])
    results = [result(3 + index, declared, DIMS) for index in range(outputs)]
    ends = [(0, 0, 2, 0), (1, 0, 2, 1), *((2, 2, 3 + index, 0) for index in range(outputs))]
    return net([*inputs, both, *results], ends, version=10)


@pytest.mark.parametrize("outputs", [1, 2])
@pytest.mark.parametrize(
    ("type", "really", "declared", "public_type"),
    [
        ("Greater", "f32", "f32", "f32"),
        ("Greater", "i32", "boolean", "f32"),
        ("Add", "i64", "i32", "i32"),
        ("Add", "i64", "f32", "i32"),
        ("Add", "f32", "i64", "f32"),
        ("Add", "u8", "u8", "f32"),
        ("Add", "f32", "f16", "f32"),
    ],
)
def test_the_inferred_type_of_an_output_decides(oracle, type, really, declared, public_type, outputs):
    xml = relabel_output(type, really, declared, outputs)
    model = ir_exec.read_model(xml)
    assert [str(port.element_type) for port in model.outputs] == [public_type] * outputs
    assert all("both" in port.names for port in model.outputs)
    first, other = (np.arange(12).astype(model.inputs[0].element_type.dtype).reshape(DIMS) for _ in range(2))
    expected = oracle.values(IRFile(xml, b"", (first, other)), "reference")
    actual = ir_exec.compile_model(model)([first, other])
    for index in range(outputs):
        np.testing.assert_array_equal(actual[index], expected[index])
        assert actual[index].dtype == expected[index].dtype


@pytest.mark.parametrize(
    ("element_type", "public_type"), [("i64", "i32"), ("u8", "f32"), ("boolean", "f32"), ("f16", "f32"), ("f32", "f32")]
)
def test_input_used_as_output_is_converted(oracle, element_type, public_type):
    image = parameter(0, element_type, DIMS, "image").replace(' names="image"', "")
    xml = net([image, result(1, element_type, DIMS)], [(0, 0, 1, 0)], version=10)
    model = ir_exec.read_model(xml)
    assert [(port.name, str(port.element_type)) for port in model.inputs] == [
        ("image", "f32" if element_type == "f16" else element_type)
    ]
    assert [str(port.element_type) for port in model.outputs] == [public_type]
    value = np.arange(12).astype(model.inputs[0].element_type.dtype).reshape(DIMS)
    expected = oracle.values(IRFile(xml, b"", (value,)), "reference")[0]
    np.testing.assert_array_equal(ir_exec.compile_model(model)([value])[0], expected)


@pytest.mark.parametrize("input_type", ["f32", "f16"])
def test_means_go_by_the_ids_of_their_channels(oracle, input_type):
    channels = PRE_PROCESS.split("<channel")
    shuffled = "<channel".join([channels[0], channels[3].removesuffix("</pre-process>"), channels[1], channels[2]])
    xml = network(input_type, "f32", shuffled + "</pre-process>")
    image = np.full(DIMS, 10, np.float32)
    actual = ir_exec.compile_model(xml)({"image": image})
    np.testing.assert_array_equal(actual[0], oracle.values(IRFile(xml, b"", (image,)))[0])
    assert actual["converted"][0, :, 0, 0].tolist() == [8.5, 7.5, 6.5]


@pytest.mark.parametrize("input_type", ["f32", "f16"])
def test_a_mean_is_subtracted(oracle, input_type):
    xml = network(input_type, "f32", PRE_PROCESS)
    image = np.full(DIMS, 10, np.float32)
    actual = ir_exec.compile_model(xml)({"image": image})
    np.testing.assert_array_equal(actual[0], oracle.values(IRFile(xml, b"", (image,)))[0])
    assert actual["converted"][0, :, 0, 0].tolist() == [8.5, 7.5, 6.5]


def test_non_numeric_mean_is_one_error():
    broken = PRE_PROCESS.replace("2.5", "two")
    with pytest.raises(ir_exec.ParseError, match=naming("mean", "<pre-process>", "two")):
        ir_exec.read_model(network("f32", "f32", broken))


@pytest.mark.parametrize("number", ["two", "9" * 5000, "", "1.5", "\u00b2"])
def test_numbers_of_means_that_cannot_be_read(number):
    for old, new in (('id="1"', f'id="{number}"'), ('value="2.5"', f'offset="{number}" size="16"')):
        report = ir_exec.check_model(network("f32", "f32", PRE_PROCESS.replace(old, new)))
        assert {error.code for error in report.errors} <= {"IR007"}


def test_upgraded_network_is_saved_as_version_11(tmp_path, oracle):
    xml = network("f16", "i64", PRE_PROCESS)
    model = ir_exec.read_model(xml)
    model.save(tmp_path / "new.xml")
    image = np.full(DIMS, 10.25, np.float32)
    written = (tmp_path / "new.xml").read_bytes()
    assert b'version="11"' in written
    expected = oracle.values(IRFile(xml, b"", (image,)))[0]
    np.testing.assert_array_equal(
        oracle.values(IRFile(written, (tmp_path / "new.bin").read_bytes(), (image,)))[0], expected
    )


def test_version_11_is_left_alone():
    xml = network("f16", "i64").replace(b'version="10"', b'version="11"')
    model = ir_exec.read_model(xml)
    assert model.inputs[0].element_type is ir_exec.ElementType.f16
    assert model.outputs[0].element_type is ir_exec.ElementType.i64


def test_all_port_types_have_a_precision():
    assert set(PRECISIONS) <= {element_type.name for element_type in ir_exec.ElementType}
