"""Networks with bodies, written as IR text layer by layer.

    net = NetworkText()
    x = net.parameter("?,3")
    net.result(net.op("Add", x, net.const(np.ones(3, np.float32))))
    file = net.file(X)

Ports declare neither types nor dims, so that readers have to infer them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from xml.sax.saxutils import quoteattr

from ir_exec.types import Array, ElementType
from tests.conformance.build import IRFile
from tests.conformance.packing import pack

__all__ = ["NetworkText", "Output"]


@dataclass(frozen=True)
class Output:
    """An output port of a layer."""

    layer: int
    port: int


class NetworkText:
    """A network that grows by a layer with each call; bodies share the weights of their network."""

    def __init__(self, outer: NetworkText | None = None) -> None:
        self.weights: bytearray = outer.weights if outer else bytearray()
        self._layers: list[str] = []
        self._edges: list[str] = []
        self._count = 0

    def parameter(self, shape: str = "...", element_type: str = "f32") -> Output:
        return self._layer("Parameter", (), 1, 1, {"shape": shape, "element_type": element_type})[0]

    def const(self, array: Array) -> Output:
        data = pack(array)
        attributes = {
            "element_type": ElementType.of(array).name,
            "shape": ",".join(map(str, array.shape)),
            "offset": str(len(self.weights)),
            # An empty constant has a byte of its own in the file.
            "size": str(max(len(data), 1)),
        }
        self.weights += data or b"\0"
        return self._layer("Const", (), 1, 1, attributes)[0]

    def op(self, type: str, *inputs: Output, opset: int = 1, **attributes: object) -> Output:
        return self._layer(type, inputs, 1, opset, attributes)[0]

    def outputs(
        self, count: int, type: str, *inputs: Output, opset: int | str = 1, inner: str = "", **attributes: object
    ) -> Sequence[Output]:
        """A layer of several outputs; `inner` is the text of its bodies and port maps."""
        return self._layer(type, inputs, count, opset, attributes, inner)

    def result(self, value: Output) -> int:
        """The id of the Result, for port maps."""
        self._layer("Result", (value,), 0, 1, {})
        return self._count - 1

    def loop(
        self,
        count: int,
        type: str,
        inputs: Sequence[Output],
        body: NetworkText,
        ties: Iterable[str],
        back_edges: Iterable[tuple[int, Output]] = (),
    ) -> Sequence[Output]:
        """A Loop or TensorIterator; `ties` are made by `tied_input` and `tied_output`.

        A back edge goes from a Result to a Parameter. Input ports count from 0, output ports follow them.
        """
        ends = "".join(f'<edge from-layer="{a}" to-layer="{b.layer}"/>' for a, b in back_edges)
        port_map = f"<port_map>{''.join(ties)}</port_map>"
        inner = f"{port_map}<back_edges>{ends}</back_edges><body>{body.text()}</body>"
        return self._layer(type, inputs, count, 5 if type == "Loop" else 1, {}, inner)

    def branch(
        self,
        count: int,
        inputs: Sequence[Output],
        then_body: NetworkText,
        then_ties: Iterable[str],
        else_body: NetworkText,
        else_ties: Iterable[str],
    ) -> Sequence[Output]:
        """An If; the first input is its condition."""
        inner = (
            f"<then_port_map>{''.join(then_ties)}</then_port_map><then_body>{then_body.text()}</then_body>"
            f"<else_port_map>{''.join(else_ties)}</else_port_map><else_body>{else_body.text()}</else_body>"
        )
        return self._layer("If", inputs, count, 8, {}, inner)

    def text(self) -> str:
        return f"<layers>{''.join(self._layers)}</layers><edges>{''.join(self._edges)}</edges>"

    def file(self, *inputs: Array) -> IRFile:
        xml = f'<?xml version="1.0"?><net name="net" version="11">{self.text()}</net>'
        return IRFile(xml.encode(), bytes(self.weights), inputs)

    def _layer(
        self,
        type: str,
        inputs: Sequence[Output],
        outputs: int,
        opset: int | str,
        attributes: dict[str, object],
        inner: str = "",
    ) -> Sequence[Output]:
        id, self._count = self._count, self._count + 1
        ports = "".join(f'<port id="{i}" precision="UNSPECIFIED"/>' for i in range(len(inputs)))
        created = [Output(id, len(inputs) + i) for i in range(outputs)]
        out_ports = "".join(f'<port id="{output.port}" precision="UNSPECIFIED"/>' for output in created)
        data = "".join(f" {key}={quoteattr(str(value))}" for key, value in attributes.items())
        version = opset if isinstance(opset, str) else f"opset{opset}"
        self._layers.append(
            f'<layer id="{id}" name="{type.lower()}{id}" type="{type}" version="{version}">'
            + (f"<data{data}/>" if data else "")
            + (f"<input>{ports}</input>" if inputs else "")
            + (f"<output>{out_ports}</output>" if outputs else "")
            + f"{inner}</layer>"
        )
        self._edges += [
            f'<edge from-layer="{source.layer}" from-port="{source.port}" to-layer="{id}" to-port="{i}"/>'
            for i, source in enumerate(inputs)
        ]
        return created


def tied_input(port: int, parameter: Output, **part: object) -> str:
    """A port of the layer (-1: none) feeds a Parameter of the body; `part` is axis, start, end, stride, part_size."""
    return _tie("input", port, parameter.layer, part)


def tied_output(port: int, result: int, **part: object) -> str:
    """A Result of the body is what a port of the layer gives (-1: none)."""
    return _tie("output", port, result, part)


def _tie(direction: str, port: int, layer: int, part: dict[str, object]) -> str:
    attributes = "".join(f' {key}="{value}"' for key, value in part.items())
    return f'<{direction} external_port_id="{port}" internal_layer_id="{layer}"{attributes}/>'
