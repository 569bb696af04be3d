"""Models of the reader in little memory: equal to validated ones, with shared sets and keys."""

from __future__ import annotations

import copy
import gc
import pickle
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest

from ir_exec import build
from ir_exec.ir import Body, Document, Edge, Layer, Port, RtInfo, read_document
from ir_exec.ir import files as model_files
from ir_exec.ir.document import create_unvalidated
from ir_exec.ir.files import read_files
from tests.helpers.ir_files import networks

MOST_BYTES = 4200
"""Bytes of a layer with two inputs, one output and two edges: 3,200 with Python 3.11, 6,500 in models of pydantic."""


def models_in(document: Document) -> Iterator[Layer | Edge | Port | RtInfo]:
    bodies: list[Document | Body] = [document]
    while bodies:
        body = bodies.pop()
        yield from body.edges
        for layer in body.layers:
            yield layer
            yield from (*layer.inputs, *layer.outputs, layer.rt_info)
            bodies += layer.bodies


def written_chain(path: Path, layers: int) -> bytes:
    value = build.parameter([2, 3], name="x")
    for _ in range(layers):
        value = build.add(value, value)
    build.model(build.result(value)).save(path)
    return path.read_bytes()


@pytest.mark.parametrize("path", networks())
def test_models_equal_validated_ones(path: Path) -> None:
    document = read_document(path)
    assert document is not None
    for model in models_in(document):
        validated = type(model).model_validate(model.model_dump())
        assert model == validated
        assert pickle.loads(pickle.dumps(model)) == copy.copy(model) == validated
        assert model.model_dump(exclude_unset=True).keys() == model.model_fields_set
        assert model.model_extra is None


def test_changed_copy_leaves_the_shared_set_of_fields(tmp_path: Path) -> None:
    document = read_document(written_chain(tmp_path / "chain.xml", 4))
    assert document is not None
    first, second = document.layers[1:3]
    fields = set(second.model_fields_set)
    assert "rt_info" in first.model_copy(update={"rt_info": RtInfo(name="rt_info", text="a")}).model_fields_set
    assert second.model_fields_set == fields


def test_models_share_sets_of_fields(tmp_path: Path) -> None:
    document = read_document(written_chain(tmp_path / "chain.xml", 100))
    assert document is not None
    sets = {id(model.model_fields_set) for model in models_in(document)}
    assert len(sets) <= 10


def test_memory_of_a_layer(tmp_path: Path) -> None:
    count = 2000
    content = written_chain(tmp_path / "chain.xml", count)
    read_document(content)  # validators are built once
    gc.collect()
    tracemalloc.start()
    document = read_document(content)
    gc.collect()
    size, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert document is not None
    assert size / count < MOST_BYTES


def test_models_built_in_python_share_sets_of_fields() -> None:
    value = build.parameter([2, 3], name="x")
    for _ in range(50):
        value = build.add(value, value)
    document = build.model(build.result(value)).document
    models = list(models_in(document))
    for model in models:
        constructed = type(model).model_construct(**dict(model))
        assert model == constructed
        assert model.model_fields_set <= constructed.model_fields_set
    assert len({id(model.model_fields_set) for model in models}) <= 6
    assert create_unvalidated(Edge, from_layer="1").model_fields_set == {"from_layer"}
    assert create_unvalidated(Layer, id="1").data == {}


def test_memory_of_large_documents_is_returned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[None] = []
    monkeypatch.setattr(model_files, "return_freed_memory", lambda: calls.append(None))
    monkeypatch.setattr(model_files, "MANY_LAYERS", 50)
    for layers, returned in ((10, 0), (100, 1)):
        read_files(written_chain(tmp_path / "chain.xml", layers), None, pytest.fail)
        assert len(calls) == returned
