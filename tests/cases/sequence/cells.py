"""RNNCell, GRUCell, LSTMCell."""

from __future__ import annotations

from tests.conformance.case import Case
from tests.helpers.recurrent_cases import ACTIVATIONS, GATES, STATES, TOLERANCE, Arrays

CELL_OPSET = {"RNN": 3, "GRU": 3, "LSTM": 4}


def cell(
    cell_type: str = "LSTM",
    *,
    batch: int = 2,
    size: int = 3,
    hidden: int = 4,
    element_type: str = "f32",
    bias: bool = True,
    spread: float = 1.0,
    constants: tuple[int, ...] = (),
    opset: int | None = None,
    **attributes: object,
) -> Case:
    arrays = Arrays(element_type, spread=spread)
    gates = GATES[cell_type]
    inputs = [arrays(batch, size), *(arrays(batch, hidden) for _ in range(STATES[cell_type]))]
    inputs += [arrays(gates * hidden, size), arrays(gates * hidden, hidden)]
    if bias:
        inputs.append(arrays((gates + bool(attributes.get("linear_before_reset"))) * hidden))
    tolerance = TOLERANCE[element_type] * max(spread, 1)
    return Case(
        f"{cell_type}Cell",
        CELL_OPSET[cell_type] if opset is None else opset,
        tuple(inputs),
        {"hidden_size": hidden, **attributes},
        constants,
        outputs=STATES[cell_type],
        rtol=tolerance,
        atol=tolerance,
    )


KINDS = ("RNN", "GRU", "LSTM")
FUNCTIONS = {
    "RNN": [("relu",), ("sigmoid",), ("tanh",)],
    "GRU": [("sigmoid", "tanh"), ("tanh", "relu"), ("relu", "sigmoid")],
    "LSTM": [("sigmoid", "tanh", "tanh"), ("tanh", "relu", "sigmoid"), ("relu", "sigmoid", "relu")],
}
CASES: list[Case] = []

for cell_type in KINDS:
    weights = tuple(range(1 + STATES[cell_type], 4 + STATES[cell_type]))
    CASES += [cell(cell_type, activations=ACTIVATIONS[cell_type])]
    CASES += [cell(cell_type, activations=ACTIVATIONS[cell_type], constants=weights)]
    CASES += [cell(cell_type, activations=functions, spread=2.0) for functions in FUNCTIONS[cell_type]]
    CASES += [cell(cell_type, activations=ACTIVATIONS[cell_type], clip=clip, spread=2.0) for clip in (0.5, 2.0, 0.0)]
    CASES += [cell(cell_type, activations=ACTIVATIONS[cell_type], batch=1, size=1, hidden=1)]
    CASES += [cell(cell_type, activations=ACTIVATIONS[cell_type], batch=5, size=7, hidden=9)]
    CASES += [cell(cell_type, activations=ACTIVATIONS[cell_type], element_type=name) for name in ("f16", "bf16")]
    CASES += [cell(cell_type, activations=ACTIVATIONS[cell_type], activations_alpha=(), activations_beta=())]
    CASES += [
        cell(cell_type, activations=ACTIVATIONS[cell_type], clip=clip, spread=9.0) for clip in (-1.0, float("inf"))
    ]
    CASES += [cell(cell_type, activations=ACTIVATIONS[cell_type], element_type="f64")]
CASES += [cell("GRU"), cell("LSTM")]
CASES += [cell("RNN", opset=1, activations="tanh"), cell("LSTM", opset=1), cell("LSTM", opset=1, bias=False)]
CASES += [cell("LSTM", activations="Sigmoid,TANH,ReLU", spread=20.0)]
CASES += [cell("LSTM", opset=1, weights_format="fico", input_forget=False, clip=0.25)]
CASES += [
    Case(
        "LSTMCell",
        1,
        (*case.inputs, Arrays("f32", seed=1)(12)),
        {**case.attributes, "weights_format": "ifco", "input_forget": True},
        outputs=2,
        rtol=1e-5,
        atol=1e-5,
        note="peepholes",
    )
    for case in [cell("LSTM", opset=1)]
]
CASES += [
    cell("GRU", linear_before_reset=True, clip=clip, spread=2.0, activations=functions)
    for clip in (0.0, 0.5)
    for functions in FUNCTIONS["GRU"]
]
CASES += [cell("GRU", linear_before_reset=True, element_type=name) for name in ("f16", "bf16")]
for case in (cell("GRU"), cell("LSTM", opset=1)):
    arrays = Arrays("f16", seed=1)
    mixed = (
        (*case.inputs[:2], arrays(12, 3), *case.inputs[3:]) if case.type == "GRUCell" else (*case.inputs, arrays(12))
    )
    CASES += [
        Case(case.type, case.opset, mixed, case.attributes, (2, 3, 4), outputs=case.outputs, rtol=1e-5, atol=1e-5,
             note="an input of f16"),
    ]  # fmt: skip
