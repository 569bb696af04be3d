"""Domains that a file uses without importing a version: onnxruntime takes the newest one, and so does a run."""

from __future__ import annotations

import numpy as np
import onnx
import onnxruntime
import pytest

from ir_exec import IRError, check_model, compile_model
from ir_exec.onnx.lowering.registry import ML, NEWEST_VERSIONS, STANDARD, registered
from tests.onnx.files import model

X = np.array([[1.0, -2.0, 3.0]], np.float32)


def without_import(body: str, domain: str, **further: str) -> onnx.ModelProto:
    """A file that imports another domain only."""
    proto = model(body, further='"ai.onnx.ml" : 3, "own" : 1', **further)
    imports = [entry for entry in proto.opset_import if entry.domain != domain]
    del proto.opset_import[:]
    proto.opset_import.extend(imports)
    return proto


BODIES = {
    "": "g (float[1,3] x) => (float[1,3] y) { h = Softmax(x) y = Neg(h) }",
    "ai.onnx.ml": 'g (float[1,3] x) => (float[1,3] y) { h = ai.onnx.ml.Normalizer<norm = "L2">(x) y = Neg(h) }',
}


@pytest.mark.parametrize("domain", BODIES)
def test_unimported_domain_runs_like_onnxruntime(domain: str) -> None:
    proto = without_import(BODIES[domain], domain)
    (diagnostic,) = check_model(proto.SerializeToString()).diagnostics
    assert (diagnostic.code, diagnostic.severity) == ("IR123", "error")
    session = onnxruntime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    (expected,) = session.run(None, {"x": X})
    np.testing.assert_allclose(compile_model(proto.SerializeToString())([X])[0], expected, rtol=1e-6)


def test_a_file_without_imports_is_refused() -> None:
    """By onnxruntime too."""
    proto = model(BODIES[""])
    del proto.opset_import[:]
    with pytest.raises(Exception):  # noqa: B017  # of onnxruntime
        onnxruntime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    with pytest.raises(IRError) as caught:
        compile_model(proto.SerializeToString())
    assert caught.value.code == "IR123"


@pytest.mark.parametrize("imports", ['"" : 17', ""])
def test_a_function_has_imports_of_its_own(imports: str) -> None:
    """A node of a function needs one of the file only if the function has none."""
    functions = f'<domain: "own", opset_import: [{imports}]> F (a) => (b) {{ b = Neg(a) }}'
    proto = without_import("g (float[1,3] x) => (float[1,3] y) { y = own.F(x) }", "", functions=functions)
    assert [error.code for error in check_model(proto.SerializeToString()).errors] == ([] if imports else ["IR123"])
    np.testing.assert_array_equal(compile_model(proto.SerializeToString())([X])[0], -X)


def test_newest_versions_follow_the_operators() -> None:
    for domain in (STANDARD, ML):
        assert max(version.since for version in registered() if version.domain == domain) <= NEWEST_VERSIONS[domain]
