"""Small IR files as text, for tests to read whole or to damage."""

from __future__ import annotations

from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]

RELU = """<?xml version="1.0"?>
<net name="relu" version="11">
	<layers>
		<layer id="0" name="x" type="Parameter" version="opset1">
			<data shape="2,?" element_type="f32" />
			<output>
				<port id="0" precision="FP32" names="x">
					<dim>2</dim>
					<dim>-1</dim>
				</port>
			</output>
		</layer>
		<layer id="1" name="y" type="ReLU" version="opset1">
			<input>
				<port id="0" precision="FP32">
					<dim>2</dim>
					<dim>-1</dim>
				</port>
			</input>
			<output>
				<port id="1" precision="FP32" names="y">
					<dim>2</dim>
					<dim>-1</dim>
				</port>
			</output>
		</layer>
		<layer id="2" name="result" type="Result" version="opset1" output_names="y">
			<input>
				<port id="0" precision="FP32">
					<dim>2</dim>
					<dim>-1</dim>
				</port>
			</input>
		</layer>
	</layers>
	<edges>
		<edge from-layer="0" from-port="0" to-layer="1" to-port="0" />
		<edge from-layer="1" from-port="1" to-layer="2" to-port="0" />
	</edges>
	<rt_info>
		<info name="OpenVINO Runtime" value="2026.4.1-22982-e213a147257-releases/2026/4" />
		<Runtime_version value="2026.4.1-22982-e213a147257-releases/2026/4" />
	</rt_info>
</net>
"""
"""One Parameter, one ReLU, one Result; the ReLU starts on line 13."""

LOOP = """<net name="loop" version="11">
	<layers>
		<layer id="5" name="loop" type="Loop" version="opset5">
			<back_edges>
				<edge from-layer="2" to-layer="0" />
			</back_edges>
			<output>
				<port id="3" precision="FP32" />
			</output>
			<body>
				<edges>
					<edge from-layer="0" from-port="0" to-layer="2" to-port="0" />
				</edges>
				<layers>
					<layer id="0" name="x" type="Parameter" version="opset1">
						<data shape="" element_type="f32" />
						<output>
							<port id="0" precision="FP32" />
						</output>
					</layer>
					<layer id="2" name="result" type="Result" version="opset1">
						<input>
							<port id="0" precision="FP32" />
						</input>
					</layer>
				</layers>
			</body>
			<input>
				<port id="0" precision="I64" />
				<port id="1" precision="BOOL" />
				<port id="2" precision="FP32" />
			</input>
			<port_map>
				<output external_port_id="3" internal_layer_id="2" axis="-1"
					start="0" end="-1" stride="1" part_size="2" />
				<input external_port_id="2" internal_layer_id="000" internal_port_id="00" />
				<output external_port_id="-1" internal_layer_id="2" purpose="execution_condition" />
			</port_map>
		</layer>
	</layers>
	<edges />
</net>
"""
"""A Loop whose parts are in an unusual order."""


def constant(element_type: str, precision: str, shape: str, size: int, offset: int = 0) -> str:
    """A network of a Const, a Convert to f32 and a Result."""
    dims = "".join(f"<dim>{dim}</dim>" for dim in shape.split(",") if dim)
    return f"""<net name="constant" version="11"><layers>
<layer id="0" name="c" type="Const" version="opset1">
<data element_type="{element_type}" shape="{shape}" offset="{offset}" size="{size}"/>
<output><port id="0" precision="{precision}">{dims}</port></output></layer>
<layer id="1" name="v" type="Convert" version="opset1"><data destination_type="f32"/>
<input><port id="0" precision="{precision}">{dims}</port></input>
<output><port id="1" precision="FP32">{dims}</port></output></layer>
<layer id="2" name="r" type="Result" version="opset1"><input><port id="0">{dims}</port></input></layer>
</layers><edges><edge from-layer="0" from-port="0" to-layer="1" to-port="0"/>
<edge from-layer="1" from-port="1" to-layer="2" to-port="0"/></edges></net>"""


def networks() -> list[object]:
    """Every real network at hand, as parameters for a test; one that is skipped where a folder is not there."""
    parameters: list[object] = []
    for folder in (REPOSITORY / "tests" / "networks", REPOSITORY.parent / "shared" / "models"):
        paths = sorted(folder.glob("*.xml"))
        parameters += [pytest.param(path, id=f"{folder.name}/{path.stem}") for path in paths]
        if not paths:
            reason = f"there are no networks in {folder.parent.name}/{folder.name}"
            parameters.append(pytest.param(None, id=folder.name, marks=pytest.mark.skip(reason=reason)))
    return parameters
