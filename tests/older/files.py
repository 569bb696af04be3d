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
        own_precision = precision or self.precision
        of_layer = f' precision="{own_precision}"' if self.version < 7 else ""
        text = [
            f"<layer id={quoteattr(str(id))} name={quoteattr(name or f'{type}{id}')} type={quoteattr(type)}{of_layer}>"
        ]
        if data is not None:
            text.append(f"<{self.element} {attributes(data)}/>")
        if inputs:
            text.append(
                f"<input>{''.join(self._port(source.dims, index) for index, source in enumerate(inputs))}</input>"
            )
        kinds = precisions or ([own_precision] * len(outputs) if self.version >= 7 else [None] * len(outputs))
        ports = [self._port(dims, len(inputs) + at, kinds[at]) for at, dims in enumerate(outputs)]
        text.append(f"<output>{''.join(ports)}</output>" if outputs else "")
        if blobs:
            told = "".join(self._blob(blob, value, own_precision) for blob, value in blobs.items())
            text.append(f"<blobs>{told}</blobs>")
        self.layers.append("\n".join([*filter(None, text), inner, "</layer>"]))
        for index, source in enumerate(inputs):
            ends = f'from-layer="{source.layer}" from-port="{source.id}" to-layer="{id}" to-port="{index}"'
            self.edges.append(f"<edge {ends}/>")
        return [Port(id, len(inputs) + at, dims) for at, dims in enumerate(outputs)]

    def _port(self, dims: Sequence[int], id: int, precision: str | None = None) -> str:
        number = f' id="{id}"' if self.has_port_ids else ""
        attribute = f' precision="{precision}"' if precision else ""
        return f"<port{number}{attribute}>{''.join(f'<dim>{dim}</dim>' for dim in dims)}</port>"

    def _blob(self, name: str, value: Array, precision: str) -> str:
        if value.dtype.kind == "f":
            value = value.astype(np.float16 if precision == "FP16" else np.float32)
        offset = len(self.stored)
        self.stored += value.tobytes()
        attribute = f' precision="{precision}"' if self.version >= 7 else ""
        return f'<{name} offset="{offset}" size="{value.nbytes}"{attribute}/>'

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
    told = {
        name: ",".join(map(str, setting)) if isinstance(setting, (tuple, list)) else str(setting)
        for name, setting in data.items()
    }
    return " ".join(f"{name}={quoteattr(value)}" for name, value in told.items())
