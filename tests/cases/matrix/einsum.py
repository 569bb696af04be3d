"""Einsum."""

from __future__ import annotations

import numpy as np

from ir_exec.types import Array, ElementType
from tests.conformance.case import Case

TOLERANCE = {"f64": 1e-5, "f32": 1e-5, "f16": 4e-3, "bf16": 2e-2}


def data_of(element_type: str, shape: tuple[int, ...], seed: int) -> Array:
    generator = np.random.default_rng(seed)
    type_ = ElementType[element_type]
    if type_.is_integer:
        return generator.integers(-3 if type_.is_signed else 0, 4, shape).astype(type_.dtype)
    return generator.uniform(-1, 1, shape).astype(type_.dtype)


def einsum(equation: str, *shapes: tuple[int, ...], element_type: str = "f32", **fields: object) -> Case:
    inputs = tuple(data_of(element_type, shape, seed) for seed, shape in enumerate(shapes))
    tolerance = TOLERANCE.get(element_type, 0.0)
    return Case("Einsum", 7, inputs, {"equation": equation}, rtol=tolerance, atol=tolerance, **fields)  # type: ignore[arg-type]  # as a caller


def example(equation: str, *inputs: object, expected: object) -> Case:
    arrays = tuple(np.array(input, np.float32) for input in inputs)
    return Case("Einsum", 7, arrays, {"equation": equation}, expected=(np.array(expected, np.float32),))


THREE = [[1, 2, 3], [4, 5, 6], [7, 8, 9]]
TWICE = [[2, 4, 6], [8, 10, 12], [14, 16, 18]]

# The specification's examples.
CASES = [
    example("i,i->", [1, 2, 3], [4, 5, 6], expected=32),
    example("ij,j->i", [[1, 2, 3], [1, 2, 3]], [4, 5, 6], expected=[32, 32]),
    example("kii->k", [THREE, TWICE], expected=[15, 30]),
    example("kii->ki", [THREE, TWICE], expected=[[1, 5, 9], [2, 10, 18]]),
    example("ijk->kij", [THREE], expected=[[[1, 4, 7]], [[2, 5, 8]], [[3, 6, 9]]]),
    example("a...->...", THREE, expected=[12, 15, 18]),
    example("a...,...->a...", THREE, [0.5], expected=[[0.5, 1, 1.5], [2, 2.5, 3], [3.5, 4, 4.5]]),
    example("AbC", [[[1, 2, 3], [4, 5, 6]]], expected=[[[1, 4], [2, 5], [3, 6]]]),
    einsum("ij,ij->i", (2, 64), (2, 64)),
    einsum("ab...,ac...,ade->...bc", (2, 3, 4), (2, 7, 1), (2, 4, 7)),
    einsum("a...b,b...->a...", (9, 1, 4, 3), (3, 11, 7, 1)),
    einsum("ab,bcd,bc->ca", (2, 5), (5, 3, 6), (5, 3)),
]

# One input: transposed, summed, diagonals.
CASES += [
    einsum(equation, shape)
    for equation, shape in [
        ("ij->ji", (2, 3)),
        ("ij->ij", (2, 3)),
        ("ij->", (2, 3)),
        ("ij->i", (2, 3)),
        ("ij->j", (2, 3)),
        ("ba", (2, 3)),
        ("", ()),
        ("->", ()),
        ("...->...", ()),
        ("...->...", (2, 3)),
        ("...i->i...", (2, 3, 4)),
        ("i...j->j...i", (2, 3, 4, 5)),
        ("i...->i", (2, 3, 4)),
        ("ij->i...", (2, 3)),
        ("...", (2, 3)),
        ("b...a", (2, 3, 4)),
        ("ii->i", (3, 3)),
        ("ii->", (3, 3)),
        ("iii->i", (3, 3, 3)),
        ("iii->", (2, 2, 2)),
        ("ijkj->ij", (2, 4, 5, 4)),
        ("ijij->ji", (2, 3, 2, 3)),
        ("...ii->...i", (2, 3, 3)),
        ("i...i->...", (3, 2, 3)),
        ("ii->i", (1, 1)),
        ("ij->i", (2, 0)),
        ("ij->j", (2, 0)),
        ("ii->i", (0, 0)),
    ]
]

# Two inputs: products, contractions, batches, free axes on either side, and their orders.
CASES += [
    einsum(equation, *shapes)
    for equation, *shapes in [
        ("ij,jk->ik", (2, 3), (3, 4)),
        ("ij,jk->ki", (2, 3), (3, 4)),
        ("ij,kj->ik", (2, 3), (4, 3)),
        ("ji,jk", (3, 2), (3, 4)),
        ("ij,jk->", (2, 3), (3, 4)),
        ("ij,jk->i", (2, 3), (3, 4)),
        ("ij,jk->ijk", (2, 3), (3, 4)),
        ("i,j->ij", (2,), (3,)),
        ("i,j->ji", (2,), (3,)),
        ("i,->i", (3,), ()),
        (",->", (), ()),
        (",ij->j", (), (2, 3)),
        ("ij,ij->ij", (2, 3), (2, 3)),
        ("ij,ij->", (2, 3), (2, 3)),
        ("ij,ji->ij", (2, 3), (3, 2)),
        ("bij,bjk->bik", (2, 3, 4), (2, 4, 5)),
        ("bij,bjk->ikb", (2, 3, 4), (2, 4, 5)),
        ("bhqd,bhkd->bhqk", (2, 2, 3, 4), (2, 2, 5, 4)),
        ("bnth,bnsh->bnts", (1, 2, 3, 4), (1, 2, 3, 4)),
        ("abcd,cdef->abef", (2, 1, 3, 2), (3, 2, 2, 2)),
        ("abcd,dcef->efab", (2, 1, 3, 2), (2, 3, 2, 2)),
        ("ijk,ilm->kml", (2, 3, 4), (2, 2, 3)),
        ("aab,bb->a", (2, 2, 3), (3, 3)),
        ("...ij,...jk->...ik", (2, 1, 3, 4), (5, 4, 6)),
        ("...ij,...jk", (2, 1, 3, 4), (5, 4, 6)),
        ("...ij,jk->...ik", (2, 3, 4), (4, 2)),
        ("i...,...i->...", (3, 2), (2, 3)),
        ("i...,...j->ij...", (3,), (2,)),
        ("...,...->...", (), (2, 3)),
        ("...i,...i", (2, 3), (3,)),
        ("...i,...i->", (2, 3), (2, 3)),
        ("aB,Bc", (2, 3), (3, 2)),
        ("ij,jk->ik", (2, 0), (0, 4)),
        ("ij,jk->ik", (0, 3), (3, 4)),
        ("i,j->ij", (0,), (3,)),
    ]
]

# Axes of size 1 broadcast between inputs.
CASES += [
    einsum(equation, *shapes)
    for equation, *shapes in [
        ("ij,ij->ij", (2, 1), (2, 3)),
        ("ij,ij->i", (2, 1), (2, 3)),
        ("ij,jk->ik", (2, 1), (3, 4)),
        ("i,i->i", (1,), (3,)),
        ("bij,bjk->bik", (1, 2, 3), (4, 3, 2)),
        ("ab,cb->ac", (2, 1), (3, 4)),
        ("i,i->i", (1,), (1,)),
    ]
]

# Three inputs and more.
CASES += [
    einsum(equation, *shapes)
    for equation, *shapes in [
        ("ij,jk,kl->il", (2, 3), (3, 4), (4, 2)),
        ("a,b,ab->", (2,), (3,), (2, 3)),
        ("i,j,k->kji", (2,), (3,), (2,)),
        ("ab,cd,ef->acebdf", (2, 3), (1, 2), (2, 2)),
        ("bi,bj,bij->b", (2, 3), (2, 4), (2, 3, 4)),
        ("i,i,i,i->i", (3,), (3,), (3,), (3,)),
        ("ij,jk,kl,lm->im", (2, 3), (3, 2), (2, 3), (3, 2)),
        ("...i,ij,...j->...", (2, 3), (3, 4), (2, 4)),
        ("i,,->i", (2,), (), ()),
    ]
]

# Element types.
CASES += [
    einsum("ij,jk->ik", (3, 5), (5, 2), element_type=element_type)
    for element_type in ("f64", "f16", "bf16", "i32", "i64", "u32", "u64", "i8", "u8", "i16", "u16")
]
CASES += [
    einsum(equation, (3, 3), element_type=element_type)
    for element_type in ("f16", "i32", "i8")
    for equation in ("ii->i", "ij->i")
]
CASES += [
    Case(
        "Einsum",
        7,
        (np.array([[100, 2], [-100, 3]], np.int8), np.array([[3, -1], [5, 4]], np.int8)),
        {"equation": "ij,jk->ik"},
        note="8 bits saturate",
    )
]

# What the specification allows and OpenVINO does not read or run.
CASES += [
    Case(
        "Einsum",
        7,
        tuple(np.array(input, np.float32) for input in inputs),
        {"equation": equation},
        expected=(np.array(expected, np.float32),),
        oracle="nobody",
        dynamic=False,
        note=note,
    )
    for equation, inputs, expected, note in [
        ("ij , j -> i", ([[1, 2, 3], [1, 2, 3]], [4, 5, 6]), [32, 32], "blanks"),
    ]
]
