"""Simplification of models: constant values are computed, and redundant layers of converters are removed.

Every rule is exact: the remaining layers read the same elements as before. Where a copy is removed, the memory layout
of a value may change, and with it the order in which NumPy adds. In a Reshape of data without elements, a -1 next to a
size of 0 is the inferred size, where it was 1.
"""

from __future__ import annotations

from collections.abc import Sequence

from ir_exec.build.cutting import declared_port
from ir_exec.errors import raise_error
from ir_exec.graph import Value, build_graph
from ir_exec.ir import Port
from ir_exec.model import Loaded, Model
from ir_exec.rewrite.equal import merge_equal_layers
from ir_exec.rewrite.folding import fold_constants
from ir_exec.rewrite.identities import remove_identities
from ir_exec.rewrite.network import EditedNetwork
from ir_exec.rewrite.sizes import Sizes, simplify_sizes

__all__ = ["simplified"]

_MOST_ROUNDS = 6


def simplified(model: Model) -> Model:
    """Return the same model with fewer layers.

    Values that are independent of the inputs become constants (`fold_constants`), arithmetic on shapes becomes constant
    if the dims allow it, layers that change nothing are removed, and equal layers are merged. Dynamic dims stay
    dynamic, and bodies are unchanged. Names of inputs, outputs and remaining layers are kept; tensor names of a removed
    layer move to the value that replaces its output.

    Raises:
        IRError: The errors of evaluating the constant layers.
    """
    model.require_complete()
    for _ in range(_MOST_ROUNDS):
        model = fold_constants(model)
        network = EditedNetwork(model)
        sizes = Sizes(network)
        remove_identities(network, sizes)
        simplify_sizes(network, sizes)
        merge_equal_layers(network)
        if not network.is_changed:
            break
        model = network.model()
    return _declared_anew(model)


def _declared_anew(model: Model) -> Model:
    """Return the model with the inferred type declared on every port."""
    layers = {}
    for node in model.graph.nodes:
        inputs = _ports(node.layer.inputs, node.inputs, model)
        outputs = _ports(node.layer.outputs, node.outputs, model)
        if inputs != node.layer.inputs or outputs != node.layer.outputs:
            layers[node.id] = node.layer.model_copy(update={"inputs": inputs, "outputs": outputs})
    if not layers:
        return model
    redeclared_layers = tuple([layers.get(layer.id, layer) for layer in model.document.layers])
    changed = model.document.model_copy(update={"layers": redeclared_layers})
    return Model(Loaded(changed, build_graph(changed, model.weights, report=raise_error), model.weights, changed))


def _ports(ports: Sequence[Port], values: Sequence[Value | None], model: Model) -> tuple[Port, ...]:
    pairs = zip(ports, values, strict=True)
    return tuple([port if value is None else declared_port(port, model.types[value.number]) for port, value in pairs])
