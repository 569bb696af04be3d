"""Arguments of calls that are tensors of other packages."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ir_exec
from ir_exec.errors import ElementTypeError, EvaluationError
from ir_exec.runtime.tensors import is_tensor, to_numpy
from ir_exec.types import ElementType
from tests.helpers.facts import coded

NUMBERS = np.arange(6, dtype=np.float32).reshape(2, 3)


class Exchanged:
    """A tensor that has nothing but the exchange protocol."""

    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        self._array = array

    def __dlpack__(self, **options: Any) -> Any:
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._array.__dlpack_device__()


class Converted:
    """A tensor that converts itself to an array."""

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        return NUMBERS.astype(dtype) if dtype is not None else NUMBERS


class OnDevice:
    """A tensor of CuPy, which refuses an implicit copy from the device."""

    __module__ = "cupy"

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        raise TypeError("implicit conversion is not allowed")

    def get(self) -> np.ndarray[Any, Any]:
        return NUMBERS


TENSORS = [Exchanged(NUMBERS), Converted(), OnDevice(), NUMBERS.tolist(), [Exchanged(row) for row in NUMBERS]]


def compile_sum() -> ir_exec.CompiledModel:
    data = ir_exec.build.parameter([2, 3], "f32", name="data")
    return ir_exec.compile_model(ir_exec.build.model([ir_exec.build.add(data, data)]))


@pytest.mark.parametrize("value", TENSORS, ids=lambda value: type(value).__name__)
def test_arguments_of_calls(value: Any) -> None:
    assert compile_sum()({"data": value})[0].tolist() == (NUMBERS * 2).tolist()


@pytest.mark.parametrize("value", TENSORS[:3], ids=lambda value: type(value).__name__)
def test_a_tensor_is_the_only_input(value: Any) -> None:
    assert compile_sum()(value)[0].tolist() == (NUMBERS * 2).tolist()


def test_exchanged_memory_is_not_copied() -> None:
    assert np.shares_memory(to_numpy(Exchanged(NUMBERS)), NUMBERS)


def test_other_objects_are_no_tensors() -> None:
    assert not is_tensor(NUMBERS.tolist())
    with pytest.raises(EvaluationError, check=coded("IR705")):
        compile_sum()(object())  # type: ignore[arg-type]


def test_tensors_of_another_type_are_refused() -> None:
    with pytest.raises(ElementTypeError, check=coded("IR403")):
        compile_sum()({"data": Exchanged(np.zeros((2, 3), np.complex64))})


def test_tensors_of_torch() -> None:
    torch: Any = pytest.importorskip("torch")
    numbers = torch.arange(6, dtype=torch.float32).reshape(2, 3)
    compiled = compile_sum()
    for value in (numbers, numbers.clone().requires_grad_(), numbers.to(torch.bfloat16), numbers.double()):
        assert compiled({"data": value})[0].tolist() == (NUMBERS * 2).tolist()
        assert compiled(value)[0].tolist() == (NUMBERS * 2).tolist()
    assert np.shares_memory(to_numpy(numbers), numbers.numpy())
    assert ElementType.of(to_numpy(numbers.to(torch.float8_e4m3fn))) is ElementType.f8e4m3
    assert compiled({"data": list(numbers)})[0].tolist() == (NUMBERS * 2).tolist()


def test_outputs_are_exchanged_without_a_copy() -> None:
    result = compile_sum()({"data": NUMBERS})
    assert np.shares_memory(np.from_dlpack(result[0]), result[0])
    torch: Any = pytest.importorskip("torch")
    tensor = torch.from_dlpack(result[0])
    assert tensor.tolist() == (NUMBERS * 2).tolist()
    assert tensor.data_ptr() == result[0].ctypes.data
