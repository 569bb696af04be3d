"""IR files as text, for tests that need a particular one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

PRECISIONS = {"f32": "FP32", "f16": "FP16", "f64": "FP64", "bf16": "BF16", "boolean": "BOOL"}

Dims = Sequence[int] | None


def port(id: int, element_type: str = "f32", dims: Dims = None, names: str = "") -> str:
    inner = "".join(f"<dim>{dim}</dim>" for dim in dims or ())
    named = f' names="{names}"' if names else ""
    return f'<port id="{id}" precision="{PRECISIONS.get(element_type, element_type.upper())}"{named}>{inner}</port>'


def layer(
    id: int | str,
    type: str,
    *,
    name: str | None = None,
    opset: str = "opset1",
    data: str = "",
    inputs: Sequence[str] = (),
    outputs: Sequence[str] = (),
    inner: str = "",
) -> str:
    """A layer; `inputs` and `outputs` are made by `port`."""
    parts = [f'<layer id="{id}" name="{name or f"layer{id}"}" type="{type}" version="{opset}">']
    parts += [f"<data {data}/>"] if data else []
    parts += [f"<input>{''.join(inputs)}</input>"] if inputs else []
    parts += [f"<output>{''.join(outputs)}</output>"] if outputs else []
    return "\n".join([*parts, inner, "</layer>"])


def parameter(id: int, element_type: str = "f32", dims: Sequence[int] = (), name: str | None = None) -> str:
    shape = ",".join("?" if dim < 0 else str(dim) for dim in dims)
    data = f'shape="{shape}" element_type="{element_type}"'
    return layer(id, "Parameter", name=name, data=data, outputs=[port(0, element_type, dims, name or "")])


def const(id: int, element_type: str, dims: Sequence[int], offset: int, size: int) -> str:
    shape = ",".join(map(str, dims))
    data = f'element_type="{element_type}" shape="{shape}" offset="{offset}" size="{size}"'
    return layer(id, "Const", data=data, outputs=[port(0, element_type, dims)])


def result(id: int, element_type: str = "f32", dims: Dims = None) -> str:
    return layer(id, "Result", inputs=[port(0, element_type, dims)])


def edges(ends: Iterable[tuple[int, int, int, int]]) -> str:
    """Edges from (from layer, from port, to layer, to port)."""
    lines = (f'<edge from-layer="{a}" from-port="{b}" to-layer="{c}" to-port="{d}"/>' for a, b, c, d in ends)
    return "<edges>\n" + "\n".join(lines) + "\n</edges>"


def net(
    layers: Iterable[str], ends: Iterable[tuple[int, int, int, int]], *, version: int = 11, tail: str = ""
) -> bytes:
    body = "\n".join(layers)
    text = f'<?xml version="1.0"?>\n<net name="net" version="{version}">\n<layers>\n{body}\n</layers>\n'
    return (text + edges(ends) + tail + "\n</net>").encode()
