"""Lazy runs of models on Dask arrays; the extra `dask` installs Dask.

y = ir_exec.dask.apply("model.xml", x)   # x: a dask.array, in chunks along its first axis
y.mean(axis=0).compute()
"""

from __future__ import annotations

import math
import pickle
from collections.abc import Mapping, Sequence
from copy import copy
from hashlib import sha256
from typing import Any, Literal

import dask.array as da
import numpy as np
from dask.delayed import delayed

from ir_exec.batch.models import ModelReference, NotHere, compiled_for
from ir_exec.codes import Code
from ir_exec.errors import EvaluationError, IRError, ShapeError, WeightsError
from ir_exec.model import Model, ModelPort, PortKey, Source, find_port, read_model
from ir_exec.runtime import CompiledModel
from ir_exec.runtime.arguments import check_value
from ir_exec.runtime.compiled import compiled_with
from ir_exec.runtime.precision import Precision
from ir_exec.types import Array, Dim, Shape

__all__ = ["apply"]


def apply(
    model: Model | Source,
    x: da.Array | Mapping[PortKey, da.Array],
    *,
    weights: Literal["path", "value"] = "path",
    threads: int | None = 1,
    precision: Precision = "f32",
    outputs: Sequence[str] | None = None,
    engine: str | None = None,
    providers: Sequence[str] | None = None,
    options: Mapping[str, Any] | None = None,
) -> da.Array | dict[str, da.Array]:
    """Run a model lazily on every chunk of an array, and return its output as a Dask array.

    A model with several outputs gives a dict of arrays by output name. Runs start when an array is computed; dtypes,
    shapes and chunks are inferred before. The first axis of inputs and outputs is the batch axis, and samples must be
    independent: each chunk is a separate run from the initial state. Chunks along other axes are joined first. Dims
    that depend on values are `nan`, as usual in Dask.

    Args:
        x: The array of the only input, or arrays by name, position or port, with the same chunks along the first axis.
        weights: "path": workers open the .bin of the model at its path, and raise WeightsError if it is missing or has
            changed; "value": weights are sent in the graph, once to each worker. Weights without a file are always
            sent.
        threads: As for `compile_model`.
        precision: As for `compile_model`.
        outputs: As for `compile_model`.
        engine: As for `compile_model`.
        providers: As for `compile_model`.
        options: As for `compile_model`.

    Raises:
        IRError: The errors of `compile_model`.
        EvaluationError: IR705 if inputs are missing or are not Dask arrays.
        ShapeError: If the model does not accept the chunks, or if the first axis of an output is not the batch.
    """
    if weights not in ("path", "value"):
        raise EvaluationError("weights is", actual=repr(weights), expected='"path" or "value"')
    model = model if isinstance(model, Model) else read_model(model)
    interpreted: dict[str, Any] = {"threads": threads, "precision": precision, "outputs": outputs}
    how = interpreted
    if engine is not None or providers is not None or options is not None:
        how = {**interpreted, "engine": engine, "providers": providers, "options": options}
        # Wrong options are reported here instead of on the workers.
        compiled_with(model, **how)
    ports = CompiledModel(model, **interpreted).inputs
    arrays = _rechunk(_by_input(x, ports))
    sizes = _batch_sizes(arrays)
    networks, types = _networks(model, arrays, sorted(set(sizes)), interpreted)
    contents = {size: _content(network, how, weights) for size, network in networks.items()}
    blocks = [array.to_delayed(optimize_graph=False).ravel() for array in arrays]
    runs = [
        delayed(_run, nout=len(types[size]))(*contents[size], list(row))
        for size, *row in zip(sizes, *blocks, strict=True)
    ]
    outputs_by_name = {
        port.name: da.concatenate(
            [
                da.from_delayed(run[index], _sizes(types[size][index].shape), port.element_type.dtype)
                for run, size in zip(runs, sizes, strict=True)
            ],
            allow_unknown_chunksizes=True,
        )
        for index, port in enumerate(types[sizes[0]])
    }
    return outputs_by_name if len(outputs_by_name) > 1 else next(iter(outputs_by_name.values()))


def _run(digest: str, content: bytes, arrays: list[Array]) -> tuple[Array, ...]:
    compiled = compiled_for(ModelReference(digest, ""), content)
    if isinstance(compiled, NotHere):
        hint = 'use apply(..., weights="value") to send the weights to workers without access to the file'
        raise WeightsError("the worker cannot open the weights file", code=Code.weights_missing, hint=hint)
    return compiled.session()(arrays).to_tuple()


def _by_input(x: Any, ports: Sequence[ModelPort]) -> list[da.Array]:
    """The arrays in the order of the inputs, with dtypes that the inputs accept."""
    named_arrays = x if isinstance(x, Mapping) else {0: x} if len(ports) == 1 else {}
    arrays_by_position = {find_port(ports, key): array for key, array in named_arrays.items()}
    missing = [port.name for index, port in enumerate(ports) if index not in arrays_by_position]
    if missing:
        raise EvaluationError(f"no array for input {', '.join(map(repr, missing))}", code=Code.unknown_input)
    for index, port in enumerate(ports):
        array = arrays_by_position[index]
        if not isinstance(array, da.Array):
            raise EvaluationError(
                f"input {port.name!r} is of type",
                actual=type(array).__name__,
                expected="a dask.array",
                code=Code.unknown_input,
            )
        check_value(np.empty(0, array.dtype), port._replace(shape=Shape.unknown()))
    return [arrays_by_position[index] for index in range(len(ports))]


def _rechunk(arrays: list[da.Array]) -> list[da.Array]:
    for array in arrays:
        if array.ndim == 0:
            raise ShapeError("the array has no axes", expected="a batch axis", code=Code.input_array_shape)
    return [array.rechunk(dict.fromkeys(range(1, array.ndim), -1)) for array in arrays]


def _batch_sizes(arrays: list[da.Array]) -> tuple[int, ...]:
    if not arrays:
        raise EvaluationError("the model has no inputs", code=Code.unknown_input)
    if len({array.chunks[0] for array in arrays}) > 1:
        told = ", ".join(str(array.chunks[0]) for array in arrays)
        hint = "rechunk the arrays along axis 0"
        raise ShapeError(
            "the chunks of the inputs differ",
            expected="equal chunks",
            reason=f": {told}",
            code=Code.input_array_shape,
            hint=hint,
        )
    sizes = arrays[0].chunks[0]
    if any(math.isnan(size) for array in arrays for axis in array.chunks for size in axis):
        hint = "call x.compute_chunk_sizes() first"
        raise ShapeError("the chunk sizes are unknown", expected="known sizes", code=Code.input_array_shape, hint=hint)
    return tuple(int(size) for size in sizes)


def _networks(
    model: Model, arrays: list[da.Array], sizes: list[int], options: Mapping[str, Any]
) -> tuple[dict[int, Model], dict[int, list[ModelPort]]]:
    """The model for chunks of each size, or one model for all if it accepts any size; and its outputs for each size."""
    types = {size: CompiledModel(_reshape(model, arrays, size), **options).outputs for size in sizes}
    try:
        any_size = _reshape(model, arrays, None)
        any_size.require_complete()
    except IRError:
        _require_batch(types[sizes[-1]], None)
        return {size: _reshape(model, arrays, size) for size in sizes}, types
    _require_batch(types[sizes[-1]], CompiledModel(any_size, **options).outputs)
    return dict.fromkeys(sizes, any_size), types


def _reshape(model: Model, arrays: list[da.Array], size: int | None) -> Model:
    """The model for chunks of this size along the batch, or of any size."""
    dim = Dim.any() if size is None else Dim(size)
    shapes: dict[PortKey, Shape] = {
        index: Shape([dim, *map(Dim, array.shape[1:])]) for index, array in enumerate(arrays)
    }
    try:
        return copy(model).reshape(shapes)
    except IRError as error:
        raise error.changed(message=f"chunks of {'any size' if size is None else size}: {error.message}") from None


def _require_batch(inferred: list[ModelPort], opened: list[ModelPort] | None) -> None:
    """Reject outputs whose inferred first axis does not depend on the batch.

    Args:
        opened: The outputs of the model with an open batch size, if it has one.
    """
    for index, port in enumerate(inferred):
        dims = port.shape.dims
        if dims is None:
            raise ShapeError(
                f"output {port.name!r} has a dynamic rank", expected="a static rank", code=Code.dynamic_rank
            )
        first = opened[index].shape.dims if opened is not None else None
        if not dims or (first and first[0].is_static):
            raise ShapeError(
                f"output {port.name!r} has the shape",
                actual=port.shape,
                expected="the batch",
                reason=" as its first axis",
                code=Code.input_array_shape,
                hint="select other outputs with outputs=[...]",
            )


def _content(model: Model, options: Mapping[str, Any], weights: str) -> tuple[str, Any]:
    """The digest of a model's pickle, and the pickle as a node of Dask's graph."""
    content = pickle.dumps((model.with_weights_inside() if weights == "value" else model, options))
    digest = sha256(content).hexdigest()
    return digest, delayed(content, name=f"network-{digest}")


def _sizes(shape: Shape) -> tuple[float, ...]:
    return tuple(dim.lo if dim.is_static else math.nan for dim in shape.dims or ())
