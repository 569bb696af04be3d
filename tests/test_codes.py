"""Codes are text to everyone who reads them, and members of an enumeration where they are raised."""

from __future__ import annotations

import copy
import json
import pickle

import ir_exec
from ir_exec.codes import Code


def test_a_code_is_its_text() -> None:
    code = Code.index_out_of_range
    assert code == "IR701"
    assert (str(code), f"{code}", json.dumps([code])) == ("IR701", "IR701", '["IR701"]')
    assert {code: 1}["IR701"] == 1
    assert Code("IR701") is code


def test_code_survives_pickle_and_copy() -> None:
    assert pickle.loads(pickle.dumps(Code.cycle)) is Code.cycle
    assert copy.deepcopy(Code.cycle) is Code.cycle


def test_code_has_the_name_of_its_rule() -> None:
    assert Code.index_out_of_range.rule_name == "index-out-of-range"


def test_codes_rise_and_stand_once() -> None:
    codes = [str(code) for code in Code]
    assert codes == sorted(set(codes))
    assert len(Code.__members__) == len(codes)


def test_no_rule_is_newer_than_the_package() -> None:
    def numbers(version: str) -> list[int]:
        return [int(part) for part in version.split(".")]

    assert {code.since for code in Code} == {"0.1.0", "0.2.0"}
    assert all(numbers(code.since) <= numbers(ir_exec.__version__) for code in Code)
