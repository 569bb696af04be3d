"""The order, the names and the readers of layers during edits, against lists that are searched from end to end."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from ir_exec.build import draft
from ir_exec.build.draft import Connections, LayerDraft, LayerPort, OrderedLayers
from ir_exec.ir import Layer, Port
from ir_exec.types import ElementType

NAMES = ("a", "b", "a:0", "b:1", "a_1", "")
F32 = ElementType.parse("f32").precision


def layer(id: int, name: str = "", outputs: int = 1, tensors: tuple[str, ...] = (), type: str = "Relu") -> Layer:
    ports = tuple([Port(id=str(1 + position), precision=F32, dims=()) for position in range(outputs)])
    if ports:
        ports = (ports[0].model_copy(update={"names": tensors}), *ports[1:])
    inputs = (Port(id="0", precision=F32, dims=()),)
    return Layer(id=str(id), name=name, type=type, version="opset1", inputs=inputs, outputs=ports)


LAYERS = st.builds(
    layer,
    st.just(0),
    st.sampled_from(NAMES),
    st.integers(1, 3),
    st.lists(st.sampled_from(NAMES[:4]), max_size=2, unique=True).map(tuple),
)


def number_layers(layers: list[Layer], start: int = 0) -> list[Layer]:
    return [template.model_copy(update={"id": str(start + index)}) for index, template in enumerate(layers)]


@settings(deadline=None)
@given(st.lists(LAYERS, max_size=4), st.lists(st.tuples(st.integers(-1, 9), st.booleans()), max_size=12))
def test_layers_keep_their_order(first: list[Layer], edits: list[tuple[int, bool]]) -> None:
    expected = number_layers(first)
    layers = OrderedLayers(expected)
    for number, (position, is_removal) in enumerate(edits):
        if is_removal and expected:
            removed = expected.pop(position % len(expected))
            assert layers.remove(removed.id) == removed
        else:
            added = layer(100 + number)
            position = min(position, len(expected) - 1)
            layers.insert(added, expected[position].id if position >= 0 else None)
            expected.insert(position + 1, added)
        assert list(layers.values()) == expected
        ranks = [layers.rank(id) for id in layers]
        assert ranks == sorted(set(ranks))


def test_layers_between_two_neighbors_without_a_gap() -> None:
    layers = OrderedLayers([layer(0), layer(1)])
    for number in range(2, 80):
        layers.insert(layer(number), "0")
    assert list(layers) == ["0", *(str(number) for number in range(79, 1, -1)), "1"]
    assert draft.GAP < 2**78  # more layers than halves of a gap


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3) | st.none()), max_size=20))
def test_readers_of_a_value(edits: list[tuple[int, int | None]]) -> None:
    expected: dict[LayerPort, LayerPort] = {}
    connections = Connections(())
    for target_number, source_number in edits:
        target = LayerPort("t", str(target_number))
        if source_number is None:
            connections.pop(target, None)
            expected.pop(target, None)
        else:
            connections[target] = expected[target] = LayerPort("s", str(source_number))
        assert dict(connections) == expected
        for number in range(4):
            source = LayerPort("s", str(number))
            assert connections.readers(source) == [port for port, other in expected.items() if other == source]


def value_by_search(layers: list[Layer], name: str) -> LayerPort | None:
    """The last value with this tensor name, else with this name as `layer` or `layer:position`."""
    tensors = [LayerPort(node.id, port.id) for node in layers for port in node.outputs if name in port.names]
    if tensors:
        return tensors[-1]
    ports = [
        LayerPort(node.id, port.id)
        for node in layers
        for position, port in enumerate(node.outputs)
        if name == f"{node.name}:{position}" or (name == node.name and len(node.outputs) == 1)
    ]
    return ports[-1] if ports else None


@settings(deadline=None)
@given(st.lists(LAYERS, min_size=1, max_size=5), st.lists(st.tuples(st.integers(0, 4), LAYERS), max_size=5))
def test_names_follow_edits(first: list[Layer], edits: list[tuple[int, Layer]]) -> None:
    expected = number_layers(first)
    edited = LayerDraft(expected, [])
    for number, (position, changed) in enumerate(edits):
        position %= len(expected)
        if number % 2:
            changed = changed.model_copy(update={"id": expected[position].id})
            edited.put(changed)
            expected[position] = changed
        else:
            changed = changed.model_copy(update={"id": str(100 + number)})
            edited.put_after([changed], [expected[position].id, expected[0].id])
            expected.insert(position + 1, changed)
        for name in NAMES:
            port = value_by_search(expected, name)
            is_layer = any(node.name == name for node in expected)
            assert edited.has_name(name) == (port is not None or is_layer)
            assert port is None or edited.value(name) == port
            assert edited.find_layers(name) == [node for node in expected if node.name == name]
            assert edited.new_name(name) not in {node.name for node in expected}
            assert edited.has_tensor(name) == any(name in port.names for node in expected for port in node.outputs)
        names = {f"{node.name}:{position}" for node in expected for position in range(len(node.outputs))}
        names |= {node.name for node in expected} | {
            text for node in expected for port in node.outputs for text in port.names
        }
        assert edited.names() == names
