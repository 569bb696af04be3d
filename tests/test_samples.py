"""The samples: each gives the outputs stored with it, and the broken one its faults."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from lxml import etree

import ir_exec

SAMPLES = Path(__file__).parent.parent / "samples"
NETWORKS = sorted(path for path in SAMPLES.glob("*.xml") if path.stem != "broken")


@pytest.mark.parametrize("path", NETWORKS, ids=lambda path: path.stem)
def test_outputs_are_those_of_openvino(path):
    compiled = ir_exec.compile_model(path)
    with np.load(path.with_suffix(".inputs.npz")) as inputs, np.load(path.with_suffix(".outputs.npz")) as expected:
        result = compiled(dict(inputs))
        assert len(expected.files) == len(result)
        for name in expected.files:
            np.testing.assert_allclose(result[name], expected[name], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("path", NETWORKS, ids=lambda path: path.stem)
def test_check_finds_nothing_wrong(path):
    report = ir_exec.check_model(path)
    assert report.ok
    assert not [diagnostic for diagnostic in report.diagnostics if diagnostic.severity != "info"]


@pytest.mark.parametrize("path", sorted(SAMPLES.glob("*.xml")), ids=lambda path: path.stem)
def test_samples_follow_the_schema(path):
    schema = etree.XMLSchema(etree.parse(SAMPLES.parent / "schemas" / "ir.xsd"))
    assert schema.validate(etree.parse(path)), schema.error_log


def test_broken_sample_has_exactly_four_faults():
    report = ir_exec.check_model(SAMPLES / "broken.xml")
    faults = [(diagnostic.code, diagnostic.location.layer_type) for diagnostic in report.errors]
    assert sorted(faults) == [
        ("IR116", "Gathr"),
        ("IR202", "Const"),
        ("IR302", "ScatterElementsUpdate"),
        ("IR601", "Transpose"),
    ]
