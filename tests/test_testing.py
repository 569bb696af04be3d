"""The helper for other people's tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from ir_exec.testing import assert_ir_ok
from tests.helpers.facts import mentions

ROOT = Path(__file__).parents[1]
BAD = ROOT / "tests" / "bad"
CONV = ROOT / "tests" / "networks" / "conv_zoo.xml"


def test_a_good_file() -> None:
    assert assert_ir_ok(CONV, strict=True).layers_checked == 102
    assert_ir_ok(CONV, shapes="a[2,4,20]", target="2024.1")


def test_a_broken_file_fails_with_the_report() -> None:
    with pytest.raises(AssertionError) as caught:
        assert_ir_ok(BAD / "IR601-declared-dims.xml")
    assert str(caught.value) == mentions("error[IR601 declared-dims]", "f32[2,5]")
    assert str(caught.value).endswith("1 error, 0 warnings")
    assert_ir_ok(BAD / "IR601-declared-dims.xml", ignore=["declared-dims"])


def test_options_of_file_count() -> None:
    with pytest.raises(AssertionError, match="IR505"):
        assert_ir_ok(CONV, batch=3)
    with pytest.raises(AssertionError, match="IR119"):
        assert_ir_ok(CONV, target="2021.4")
    with pytest.raises(ValueError, match="nonsense"):
        assert_ir_ok(CONV, ignore=["nonsense"])


def test_strict() -> None:
    path = BAD / "IR303-unknown-attribute.xml"
    assert_ir_ok(path)
    with pytest.raises(AssertionError, match="IR303"):
        assert_ir_ok(path, strict=True)
