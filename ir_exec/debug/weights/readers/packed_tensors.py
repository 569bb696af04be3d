"""Quantized layers in checkpoints: GPTQ and AWQ pack codes into integers, FP8 has scales of rows or blocks.

GPTQ stores a matrix [outputs, inputs] as `qweight` [inputs * bits / 32, outputs], a stream of bits along the inputs of
each output; AWQ as [inputs, outputs * bits / 32], with the outputs of an integer in the order 0, 2, 4, 6, 1, 3, 5, 7.
Both have `scales` [groups, outputs] and `qzeros` [groups, outputs * bits / 32], and GPTQ may have `g_idx`, the group of
each input. GPTQ stores zero points minus one, except in its second version.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ir_exec.debug.weights.readers.tensors import Checkpoint, CheckpointTensor, MappedTensor, count_rows, release_memory
from ir_exec.types import Array, ElementType

__all__ = ["PackedTensor", "ScaledTensor", "decode_packed_tensors"]

_WORD = 32
_BITS = (2, 3, 4, 8)
_AWQ_ORDER = np.array([0, 2, 4, 6, 1, 3, 5, 7])
_FLOATS = (ElementType.f32, ElementType.f16, ElementType.bf16)
_SCALED = (ElementType.f8e4m3, ElementType.f8e5m2, ElementType.i8)
_BLOCK = 128
_SCALES = ("weight_scale_inv", "weight_scale")


@dataclass(frozen=True, eq=False)
class PackedTensor:
    """A matrix [outputs, inputs] of codes that are packed into integers.

    Attributes:
        name: The name of the weight in a checkpoint without quantization.
        format: The method and the bits.
        codes: The packed codes.
        zeros: The packed zero points.
        scales: [groups, outputs].
        groups: The group of each input.
        is_by_outputs: True if integers contain the codes of several outputs, False for several inputs.
        offset: The number that is added to zero points.
    """

    name: str
    format: str
    shape: tuple[int, int]
    bits: int
    codes: MappedTensor
    zeros: MappedTensor
    scales: MappedTensor
    groups: Array
    is_by_outputs: bool
    offset: int

    @property
    def size(self) -> int:
        """The bytes in the file."""
        return self.codes.size + self.zeros.size + self.scales.size

    def read(self, start: int, stop: int) -> Array:
        """Return rows along the first axis as f32."""
        columns = slice(start, stop)
        codes = (
            self._read_outputs(self.codes, start, stop)
            if self.is_by_outputs
            else _unpack(_read_words(self.codes)[:, columns].T, self.bits, self.shape[1]).T
        )
        mask = 2**self.bits - 1
        zeros = (self._read_outputs(self.zeros, start, stop) + self.offset) & mask
        scales = self._scales[:, columns]
        numbers = (codes.astype(np.float32) - zeros[self.groups].astype(np.float32)) * scales[self.groups]
        return np.ascontiguousarray(numbers.T)

    def gather(self, positions: Array) -> Array:
        """Return the elements at flat positions as f32, row by row."""
        rows, columns = np.divmod(positions, self.shape[1])
        numbers = np.empty(positions.shape, np.float32)
        for row in np.unique(rows):
            mask = rows == row
            numbers[mask] = self.read(int(row), int(row) + 1)[0][columns[mask]]
        return numbers

    def release(self) -> None:
        """Release the pages of the file."""
        for part in (self.codes, self.zeros):
            release_memory(part)

    @cached_property
    def _scales(self) -> Array:
        return self.scales.read(0, count_rows(self.scales.shape))

    def _read_outputs(self, packed: MappedTensor, start: int, stop: int) -> Array:
        """The codes of outputs as [inputs or groups, outputs], of integers that contain several outputs."""
        words = _read_words(packed)
        per_word = _WORD // self.bits
        if _WORD % self.bits:
            return _unpack(words, self.bits, self.shape[0])[:, start:stop]
        first, last = start // per_word, -(-stop // per_word)
        unpacked = _unpack(words[:, first:last], self.bits, (last - first) * per_word)
        if self.is_by_outputs:
            ordered = unpacked.reshape(len(words), -1, per_word)
            unpacked = np.empty_like(ordered)
            unpacked[..., _AWQ_ORDER] = ordered
            unpacked = unpacked.reshape(len(words), -1)
        return unpacked[:, start - first * per_word : stop - first * per_word]


@dataclass(frozen=True, eq=False)
class ScaledTensor:
    """A matrix of codes with a scale for all elements, for rows, or for blocks.

    Attributes:
        codes: The matrix.
        scales: [rows, columns] of blocks; a scale of several rows or columns is one of blocks of them.
        block: The rows and columns of a block.
    """

    codes: MappedTensor
    scales: MappedTensor
    block: tuple[int, int]

    @property
    def name(self) -> str:
        """The name of the matrix."""
        return self.codes.name

    @property
    def shape(self) -> tuple[int, ...]:
        """The dims."""
        return self.codes.shape

    @property
    def format(self) -> str:
        """The element type of the codes."""
        return self.codes.format

    @property
    def size(self) -> int:
        """The bytes in the file."""
        return self.codes.size + self.scales.size

    def read(self, start: int, stop: int) -> Array:
        """Return rows along the first axis as f32."""
        rows = np.arange(start, stop) // self.block[0]
        columns = np.arange(self.shape[1]) // self.block[1]
        return np.asarray(self.codes.read(start, stop) * self._scales[rows[:, None], columns])

    def gather(self, positions: Array) -> Array:
        """Return the elements at flat positions as f32."""
        rows, columns = np.divmod(positions, self.shape[1])
        return np.asarray(self.codes.gather(positions) * self._scales[rows // self.block[0], columns // self.block[1]])

    def release(self) -> None:
        """Release the pages of the file."""
        release_memory(self.codes)

    @cached_property
    def _scales(self) -> Array:
        numbers = self.scales.read(0, count_rows(self.scales.shape))
        blocks = tuple([-(-size // block) for size, block in zip(self.shape, self.block, strict=True)])
        return np.asarray(numbers.reshape(blocks))


class _DecodedLayer(NamedTuple):
    """A decoded weight, and the tensors that it consists of."""

    tensor: CheckpointTensor
    parts: tuple[str, ...]


def decode_packed_tensors(checkpoint: Checkpoint, settings: Mapping[str, Any]) -> Checkpoint:
    """Return the checkpoint with the weights of quantized layers in place of their codes, scales and zero points.

    Layers whose shapes do not fit each other are left as they are.

    Args:
        settings: The settings of the quantization in `config.json`.
    """
    layers: list[_DecodedLayer] = []
    for name in checkpoint.tensors:
        prefix, _, leaf = name.rpartition(".")
        if leaf == "qweight":
            layer = _decode_packed(prefix, checkpoint.tensors, settings)
        elif leaf == "weight":
            layer = _decode_scaled(name, checkpoint.tensors, settings)
        else:
            continue
        if layer is not None:
            layers.append(layer)
    if not layers:
        return checkpoint
    parts = {part for layer in layers for part in layer.parts}
    decoded = {layer.parts[0]: layer.tensor for layer in layers}
    tensors: dict[str, CheckpointTensor] = {}
    for name, tensor in checkpoint.tensors.items():
        if name in decoded:
            tensors[decoded[name].name] = decoded[name]
        elif name not in parts:
            tensors[name] = tensor
    return replace(checkpoint, tensors=tensors)


def _decode_packed(
    prefix: str, tensors: Mapping[str, CheckpointTensor], settings: Mapping[str, Any]
) -> _DecodedLayer | None:
    codes, zeros, scales = (_matrix(tensors.get(f"{prefix}.{leaf}")) for leaf in ("qweight", "qzeros", "scales"))
    if codes is None or zeros is None or scales is None or scales.element_type not in _FLOATS:
        return None
    if codes.element_type is not ElementType.i32 or zeros.element_type is not ElementType.i32:
        return None
    groups, outputs = scales.shape
    is_by_outputs = codes.shape[1] == zeros.shape[1] != outputs
    bits = zeros.shape[1] * _WORD // max(outputs, 1)
    inputs = codes.shape[0] if is_by_outputs else codes.shape[0] * _WORD // max(bits, 1)
    are_packed = bits in _BITS and bits * outputs == zeros.shape[1] * _WORD and zeros.shape[0] == groups
    are_packed = are_packed and (is_by_outputs or (codes.shape[1] == outputs and bits * inputs % _WORD == 0))
    if not are_packed or not 0 < groups <= inputs or (is_by_outputs and bits != 4):
        return None
    index = _read_groups(tensors.get(f"{prefix}.g_idx"), inputs, groups)
    if index is None:
        return None
    is_second = settings.get("checkpoint_format") == "gptq_v2"
    tensor = PackedTensor(
        f"{prefix}.weight",
        f"{'awq' if is_by_outputs else 'gptq'}_int{bits}",
        (outputs, inputs),
        bits,
        codes,
        zeros,
        scales,
        index,
        is_by_outputs,
        0 if is_by_outputs or is_second else 1,
    )
    return _DecodedLayer(tensor, tuple([f"{prefix}.{leaf}" for leaf in ("qweight", "qzeros", "scales", "g_idx")]))


def _decode_scaled(
    name: str, tensors: Mapping[str, CheckpointTensor], settings: Mapping[str, Any]
) -> _DecodedLayer | None:
    codes = _matrix(tensors[name])
    prefix = name.removesuffix("weight")
    leaf = next((leaf for leaf in _SCALES if f"{prefix}{leaf}" in tensors), None)
    if codes is None or leaf is None or codes.element_type not in _SCALED:
        return None
    scales = tensors[f"{prefix}{leaf}"]
    if not isinstance(scales, MappedTensor) or scales.element_type not in _FLOATS or scales.is_column_major:
        return None
    declared = settings.get("weight_block_size")
    block = _find_block(codes.shape, scales.shape, declared if isinstance(declared, list) else [])
    if block is None:
        return None
    unread = f"{prefix}input_scale", f"{prefix}activation_scale"
    return _DecodedLayer(ScaledTensor(codes, scales, block), (name, f"{prefix}{leaf}", *unread))


def _find_block(shape: tuple[int, ...], scales: tuple[int, ...], declared: list[Any]) -> tuple[int, int] | None:
    """The rows and columns with one scale; None if the shapes do not fit."""
    rows, columns = shape
    counts = (*scales, 1, 1)[:2] if len(scales) < 3 else ()
    sizes = [int(size) for size in declared if isinstance(size, int) and size > 0]
    for block in ((rows, columns), (1, columns), tuple(sizes), (_BLOCK, _BLOCK)):
        if len(block) == 2 and counts == tuple([-(-size // part) for size, part in zip(shape, block, strict=True)]):
            return block
    return None


def _read_groups(index: CheckpointTensor | None, inputs: int, groups: int) -> Array | None:
    """The group of each input; None for groups that do not exist."""
    if index is None:
        return None if inputs % groups else np.arange(inputs) // (inputs // groups)
    if index.shape != (inputs,):
        return None
    numbers = index.read(0, inputs).astype(np.int64)
    return numbers if inputs and numbers.min() >= 0 and numbers.max() < groups else None


def _matrix(tensor: CheckpointTensor | None) -> MappedTensor | None:
    is_mapped = isinstance(tensor, MappedTensor) and not tensor.is_column_major and len(tensor.shape) == 2
    return tensor if is_mapped else None  # type: ignore[return-value]  # the first condition


def _read_words(tensor: MappedTensor) -> Array:
    stored = tensor.weights.read(tensor.element_type, tensor.shape, tensor.offset, tensor.size)
    return stored.view(np.uint32)


def _unpack(words: Array, bits: int, count: int) -> Array:
    """The codes of a stream of bits in each row of integers, the lowest bits first."""
    mask = np.uint32(2**bits - 1)
    if _WORD % bits == 0:
        shifts = np.arange(0, _WORD, bits, dtype=np.uint32)
        return ((words[..., None] >> shifts) & mask).reshape(len(words), -1)[:, :count].astype(np.int32)
    positions = np.arange(count) * bits
    index = positions // _WORD
    following = np.minimum(index + 1, words.shape[1] - 1)
    pairs = words[:, index].astype(np.uint64) | (words[:, following].astype(np.uint64) << np.uint64(_WORD))
    return ((pairs >> (positions % _WORD).astype(np.uint64)) & np.uint64(mask)).astype(np.int32)
