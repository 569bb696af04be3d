"""Networks of version 10: the inputs, outputs and means that OpenVINO gives them."""

import numpy as np
import pytest

import ir_exec
from tests.conformance.build import IRFile
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


@pytest.mark.parametrize("input_type", ["f32", "f16"])
def test_a_mean_is_subtracted(oracle, input_type):
    xml = network(input_type, "f32", PRE_PROCESS)
    image = np.full(DIMS, 10, np.float32)
    actual = ir_exec.compile_model(xml)({"image": image})
    np.testing.assert_array_equal(actual[0], oracle.values(IRFile(xml, b"", (image,)))[0])
    assert actual["converted"][0, :, 0, 0].tolist() == [8.5, 7.5, 6.5]


def test_a_mean_that_is_no_number_is_one_error():
    broken = PRE_PROCESS.replace("2.5", "two")
    with pytest.raises(ir_exec.ParseError, match="mean of <pre-process> cannot be read"):
        ir_exec.read_model(network("f32", "f32", broken))


def test_an_upgraded_network_is_saved_as_version_11(tmp_path, oracle):
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
    assert set(PRECISIONS) <= {kind.name for kind in ir_exec.ElementType}
