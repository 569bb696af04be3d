"""Files of IR versions 2 to 7, written by hand: layers with ports, attributes and blobs, and the .bin."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from xml.sax.saxutils import quoteattr

import numpy as np

import ir_exec
from ir_exec.types import Array

__all__ = ["OlderFile", "Port", "attributes"]


@dataclass(frozen=True)
class Port:
    """An output of a layer."""

    layer: int
    id: int
    dims: tuple[int, ...]


@dataclass
class OlderFile:
    """A file in the making. element: that holds attributes; has_port_ids: ports are numbered in the file."""

    version: int = 6
    precision: str = "FP32"
    element: str = "data"
    has_port_ids: bool = True
    layers: list[str] = field(default_factory=list)
    edges: list[str] = field(default_factory=list)
    extra: str = ""
    stored: bytes = b""

    def input(self, name: str, *dims: int, precision: str | None = None) -> Port:
        return self.layer("Input", [], dims, name=name, precision=precision)[0]

    def const(self, array: Any, precision: str) -> Port:
        value = np.asarray(array)
        dims = value.shape or (1,)
        return self.layer("Const", [], dims, blobs={"custom": value}, precision=precision)[0]

    def layer(
        self,
        type: str,
        inputs: Sequence[Port],
        *outputs: tuple[int, ...],
        data: Mapping[str, object] | None = None,
        blobs: Mapping[str, Array] | None = None,
        name: str | None = None,
        precision: str | None = None,
        inner: str = "",
        precisions: Sequence[str] = (),
    ) -> list[Port]:
        """Add a layer; `outputs` are the dims of its outputs. precisions: of the output ports."""
        id = len(self.layers)
        kind = precision or self.precision
        of_layer = f' precision="{kind}"' if self.version < 7 else ""
        text = [
            f"<layer id={quoteattr(str(id))} name={quoteattr(name or f'{type}{id}')} type={quoteattr(type)}{of_layer}>"
        ]
        if data is not None:
            text.append(f"<{self.element} {attributes(data)}/>")
        if inputs:
            text.append(f"<input>{''.join(self._port(one.dims, place) for place, one in enumerate(inputs))}</input>")
        kinds = precisions or ([kind] * len(outputs) if self.version >= 7 else [None] * len(outputs))
        ports = [self._port(dims, len(inputs) + at, kinds[at]) for at, dims in enumerate(outputs)]
        text.append(f"<output>{''.join(ports)}</output>" if outputs else "")
        if blobs:
            told = "".join(self._blob(one, value, kind) for one, value in blobs.items())
            text.append(f"<blobs>{told}</blobs>")
        self.layers.append("\n".join([*filter(None, text), inner, "</layer>"]))
        for place, one in enumerate(inputs):
            ends = f'from-layer="{one.layer}" from-port="{one.id}" to-layer="{id}" to-port="{place}"'
            self.edges.append(f"<edge {ends}/>")
        return [Port(id, len(inputs) + at, dims) for at, dims in enumerate(outputs)]

    def _port(self, dims: Sequence[int], id: int, precision: str | None = None) -> str:
        number = f' id="{id}"' if self.has_port_ids else ""
        kind = f' precision="{precision}"' if precision else ""
        return f"<port{number}{kind}>{''.join(f'<dim>{dim}</dim>' for dim in dims)}</port>"

    def _blob(self, name: str, value: Array, precision: str) -> str:
        if value.dtype.kind == "f":
            value = value.astype(np.float16 if precision == "FP16" else np.float32)
        offset = len(self.stored)
        self.stored += value.tobytes()
        kind = f' precision="{precision}"' if self.version >= 7 else ""
        return f'<{name} offset="{offset}" size="{value.nbytes}"{kind}/>'

    @property
    def xml(self) -> bytes:
        layers, edges = "\n".join(self.layers), "\n".join(self.edges)
        head = f'<net batch="1" name="net" version="{self.version}">'
        body = f"<layers>\n{layers}\n</layers>\n<edges>\n{edges}\n</edges>\n{self.extra}"
        return f'<?xml version="1.0" ?>\n{head}\n{body}\n</net>'.encode()

    def model(self) -> ir_exec.Model:
        return ir_exec.read_model(self.xml, self.stored)

    def report(self) -> ir_exec.Report:
        return ir_exec.check_model(self.xml, weights=self.stored)

    def run(self, *inputs: Array) -> list[Array]:
        return list(ir_exec.compile_model(self.model())(list(inputs)).values())


def attributes(data: Mapping[str, object]) -> str:
    """The attributes of an element."""
    told = {name: ",".join(map(str, one)) if isinstance(one, (tuple, list)) else str(one) for name, one in data.items()}
    return " ".join(f"{name}={quoteattr(value)}" for name, value in told.items())
