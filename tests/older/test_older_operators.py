"""Layers of older files whose type is that of an operator of today."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from ir_exec import IRError
from tests.older.cases import image
from tests.older.files import OlderFile

X = image(2, 3)
INDICES = np.array([[0, 2, 1, 1], [2, 0, 0, 1]])


def gather_elements(
    data: Mapping[str, object], *, dims: tuple[int, ...] = (2, 4), name: str = "GatherElements"
) -> OlderFile:
    file = OlderFile(version=5)
    x = file.input("x", *X.shape)
    indices = file.const(INDICES.astype(np.int32), "I32")
    file.layer(name, [x, indices], dims, data=data, name="layer")
    return file


@pytest.mark.parametrize("name", ["GatherElements", "gatherelements"])
def test_gather_elements_in_a_file_of_version_5(name: str) -> None:
    file = gather_elements({"axis": 1}, name=name)
    report = file.report()
    assert [diagnostic.code for diagnostic in report.diagnostics] == ["IR005"]
    assert report.layers_not_checked == 0
    np.testing.assert_array_equal(file.run(X)[0], np.take_along_axis(X, INDICES, 1))


def test_operator_with_word_attribute() -> None:
    file = OlderFile(version=6)
    file.layer("Round", [file.input("x", 4)], (4,), data={"mode": "half_to_even"}, name="round")
    assert file.report().layers_not_checked == 0
    data = np.array([0.5, 1.5, -2.5, 1.25], np.float32)
    np.testing.assert_array_equal(file.run(data)[0], [0, 2, -2, 1])


@pytest.mark.parametrize(
    "file",
    [
        gather_elements({"axis": 1, "other": 3}),
        gather_elements({}),
        gather_elements({"axis": 7}),
        gather_elements({"axis": 1}, dims=(3, 4)),
        gather_elements({"axis": 1}, name="Parameter"),
        gather_elements({"axis": 1}, name="GatherElement"),
    ],
    ids=["unknown attribute", "no attribute", "wrong attribute", "other dims", "an input", "no operator"],
)
def test_layers_not_fitting_operator_have_unknown_types(file: OlderFile) -> None:
    codes = {error.code for error in file.report().errors}
    assert codes
    with pytest.raises(IRError):
        file.run(X)
