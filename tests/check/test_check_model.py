"""`check_model`: any argument, one pass, no consequences reported."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ir_exec
from ir_exec import Diagnostic, Report, check_model
from ir_exec.codes import Code
from ir_exec.ops.base import registry
from ir_exec.ops.base.registry import resolve
from ir_exec.types import TensorType
from tests.helpers.facts import facts
from tests.helpers.ir_text import const, layer, net, parameter, port, result

BAD = Path(__file__).parents[1] / "bad"
NETWORKS = Path(__file__).parents[1] / "networks"


def relu(
    id: int, actual: tuple[int, ...] = (2, 3), declared: tuple[int, ...] = (2, 3), element_type: str = "f32"
) -> str:
    return layer(id, "ReLU", inputs=[port(0, "f32", actual)], outputs=[port(1, element_type, declared)])


def places(report: Report, severity: str = "error") -> list[tuple[str, str | None, str | None]]:
    return [
        (diagnostic.code, diagnostic.location.layer_id, diagnostic.location.port)
        for diagnostic in report.diagnostics
        if diagnostic.severity == severity
    ]


class _Path(os.PathLike[str]):
    def __fspath__(self) -> str:
        raise RuntimeError("no path today")


class TestArguments:
    @pytest.mark.parametrize(
        "junk", [None, 3, 2.5, [], {}, object(), "", "\0", "no/such/file.xml", ".", _Path(), "x" * 9999]
    )
    def test_junk_is_reported(self, junk: Any) -> None:
        report = check_model(junk)
        assert not report.ok
        assert (report.layers_checked, report.layers_not_checked) == (0, 0)
        assert str(report)

    def test_a_file_that_does_not_exist(self, tmp_path: Path) -> None:
        path = tmp_path / "missing.xml"
        report = check_model(path)
        assert report.path == str(path)
        assert places(report) == [(Code.unreadable_path, None, None)]
        assert report.diagnostics[0].name == "unreadable-path"
        assert report.diagnostics[0].location.path == str(path)

    def test_a_folder(self, tmp_path: Path) -> None:
        assert places(check_model(tmp_path)) == [(Code.unreadable_path, None, None)]

    @pytest.mark.parametrize("make", [str, Path, os.fsencode])
    def test_every_kind_of_path(self, make: Any) -> None:
        source = make(NETWORKS / "gnn_gcn_gat.xml")
        if isinstance(source, bytes):
            # Bytes are the content of a file, never its path.
            assert places(check_model(source)) == [(Code.not_ir, None, None)]
        else:
            assert check_model(source).ok

    def test_bytes_with_weights(self) -> None:
        raw = (NETWORKS / "gnn_gcn_gat.xml").read_bytes()
        weights = NETWORKS / "gnn_gcn_gat.bin"
        for argument in (weights, str(weights), weights.read_bytes(), bytearray(weights.read_bytes())):
            assert check_model(raw, weights=argument).ok
        assert places(check_model(raw))[0][0] == Code.weights_missing
        assert check_model(raw).path is None
        path = NETWORKS / "lstm.xml"
        assert check_model(ir_exec.read_model(path)).path == str(path)

    @pytest.mark.parametrize(
        "weights", [7, object(), ["m.bin"], "no/such.bin", "\0", b"version https://git-lfs.github.com/spec/v1"]
    )
    def test_junk_for_weights(self, weights: Any) -> None:
        report = check_model(NETWORKS / "gnn_gcn_gat.xml", weights=weights)
        assert {error.code for error in report.errors} <= {
            Code.weights_missing,
            Code.weights_short,
            Code.weights_lfs_pointer,
        }
        assert report.errors


class TestReport:
    def test_its_parts(self) -> None:
        report = check_model(BAD / "many-independent-faults.xml")
        assert isinstance(report, Report)
        assert not report.ok
        assert len(report.errors) == len(report.diagnostics) == 5
        assert report.warnings == ()
        assert (report.layers_checked, report.layers_not_checked) == (7, 1)
        diagnostic = report.diagnostics[0]
        assert isinstance(diagnostic, Diagnostic)
        assert (diagnostic.code, diagnostic.name, diagnostic.severity) == (
            Code.declared_element_type,
            "declared-element-type",
            "error",
        )
        assert (diagnostic.location.layer_id, diagnostic.location.layer_name, diagnostic.location.layer_type) == (
            "1",
            "relu",
            "ReLU",
        )
        assert (diagnostic.location.port, diagnostic.location.line) == ("output", 21)
        line = (BAD / "many-independent-faults.xml").read_text().splitlines()[20]
        assert 'precision="FP16"' in line

    def test_json_holds_everything(self) -> None:
        report = check_model(BAD / "IR503-axis-out-of-range.xml")
        again = Report.model_validate_json(report.model_dump_json(exclude={"ok"}))
        assert again == report

    def test_findings_come_by_line(self) -> None:
        lines = [
            diagnostic.location.line for diagnostic in check_model(BAD / "many-independent-faults.xml").diagnostics
        ]
        assert lines == sorted(lines, key=lambda line: line or 0)


class TestVotes:
    """The layer at fault where declared and inferred types differ."""

    def test_layers_below_side_with_the_inferred_type(self) -> None:
        """The layer below is checked with [2,3]: its own declaration, made for [2,9], is a fault of its own."""
        text = net(
            [parameter(0, dims=(2, 3)), relu(1, declared=(2, 9)), relu(2, declared=(2, 8)), result(3, dims=(2, 3))],
            [(0, 0, 1, 0), (1, 1, 2, 0), (2, 1, 3, 0)],
        )
        assert places(check_model(text)) == [(Code.declared_dims, "1", "output"), (Code.declared_dims, "2", "output")]

    def test_layers_below_side_with_the_declared_type(self) -> None:
        """The input was changed to [2,9]; everything below was made for [2,3], and nothing follows from it."""
        changed = parameter(0, dims=(2, 3)).replace('shape="2,3"', 'shape="2,9"')
        text = net([changed, relu(1), relu(2), result(3, dims=(2, 3))], [(0, 0, 1, 0), (1, 1, 2, 0), (2, 1, 3, 0)])
        report = check_model(text)
        assert places(report) == [(Code.declared_dims, "0", "output")]
        assert facts(report.errors[0].hint or "") == ["f32[2,3]"]

    def test_nothing_follows_from_a_contradiction_of_shapes(self) -> None:
        gather = layer(
            2,
            "GatherElements",
            opset="opset6",
            data='axis="0"',
            inputs=[port(0, "f32", (2, 3)), port(1, "i64", (2, 4))],
            outputs=[port(2, "f32", (2, 3))],
        )
        text = net(
            [parameter(0, dims=(2, 3)), parameter(1, "i64", (2, 4)), gather, relu(3), result(4, dims=(2, 3))],
            [(0, 0, 2, 0), (1, 0, 2, 1), (2, 2, 3, 0), (3, 1, 4, 0)],
        )
        assert places(check_model(text)) == [(Code.dims_differ, "2", "indices")]

    def test_edge_from_another_layer_is_one_fault(self) -> None:
        """GatherElements would fail on indices of type f32 and of another rank; the edge is what is wrong."""
        gather = layer(
            2,
            "GatherElements",
            opset="opset6",
            data='axis="0"',
            inputs=[port(0, "f32", (2, 3)), port(1, "i64", (2, 3))],
            outputs=[port(2, "f32", (2, 3))],
        )
        text = net(
            [parameter(0, dims=(2, 3)), parameter(1, dims=(7,)), gather, result(3, dims=(2, 3))],
            [(0, 0, 2, 0), (1, 0, 2, 1), (2, 2, 3, 0)],
        )
        assert places(check_model(text)) == [(Code.declared_element_type, "2", "indices")]

    def test_without_an_operator_the_layers_below_decide(self) -> None:
        mine = layer(1, "Mine", opset="my", inputs=[port(0, "f32", (2, 3))], outputs=[port(1, "f32", (2, 9))])
        text = net(
            [parameter(0, dims=(2, 3)), mine, relu(2), relu(3), result(4, dims=(2, 3)), result(5, dims=(2, 3))],
            [(0, 0, 1, 0), (1, 1, 2, 0), (1, 1, 3, 0), (2, 1, 4, 0), (3, 1, 5, 0)],
        )
        assert places(check_model(text)) == [(Code.declared_dims, "1", "1")]

    @pytest.mark.parametrize(("mine", "below", "faulty"), [((2, 9), (2, 3), "1"), ((2, 3), (2, 9), "2")])
    def test_consumer_of_unknown_layer_votes(self, mine: tuple[int, ...], below: tuple[int, ...], faulty: str) -> None:
        """Only with an input of [2,3] does the ReLU give the [2,3] that it declares."""
        unknown = layer(1, "Mine", opset="my", inputs=[port(0, "f32", (2, 3))], outputs=[port(1, "f32", mine)])
        text = net(
            [parameter(0, dims=(2, 3)), unknown, relu(2, actual=below), result(4, dims=(2, 3))],
            [(0, 0, 1, 0), (1, 1, 2, 0), (2, 1, 4, 0)],
        )
        assert [layer_id for _, layer_id, _ in places(check_model(text))] == [faulty]

    def test_consistent_declarations_outvote_their_source(self) -> None:
        """A Parameter that was changed in both of its places: one fault, which is not that of the layers below."""
        below = [relu(1), relu(2), result(3, dims=(2, 3)), result(4, dims=(2, 3))]
        ends = [(0, 0, 1, 0), (0, 0, 2, 0), (1, 1, 3, 0), (2, 1, 4, 0)]
        report = check_model(net([parameter(0, dims=(2, 5)), *below], ends))
        assert places(report) == [(Code.declared_dims, "0", "output")]
        (error,) = report.errors
        assert facts(error.message) == ["1", "1", "2", "3", "5", "ReLU", "f32[2,3]", "f32[2,5]", "layer1"]
        assert [location.layer_id for location in error.related] == ["1", "2"]
        assert places(check_model(net([parameter(0, "f16", (2, 3)), *below], ends))) == [
            (Code.declared_element_type, "0", "output")
        ]

    def test_conflicting_declarations_are_blamed_on_their_layers(self) -> None:
        layers = [parameter(0, dims=(2, 5)), relu(1), relu(2, (2, 4), (2, 4)), result(3, dims=(2, 3))]
        text = net([*layers, result(4, dims=(2, 4))], [(0, 0, 1, 0), (0, 0, 2, 0), (1, 1, 3, 0), (2, 1, 4, 0)])
        assert places(check_model(text)) == [(Code.declared_dims, "1", "data"), (Code.declared_dims, "2", "data")]

    def test_ports_that_leave_dims_open_contradict_nothing(self) -> None:
        text = net(
            [parameter(0, dims=(2, 3)), relu(1, (-1, -1), (-1, -1)), result(2, dims=(-1, -1))],
            [(0, 0, 1, 0), (1, 1, 2, 0)],
        )
        report = check_model(text)
        assert report.ok
        assert places(report, "warning") == [(Code.ports_disagree, "1", "data")]

    def test_a_bounded_dim(self) -> None:
        bounded = parameter(0, dims=(-1, 3)).replace('shape="?,3"', 'shape="1..8,3"')
        for size, codes in ((8, []), (9, [Code.declared_dims])):
            text = net([bounded, relu(1, (-1, 3), (size, 3)), result(2, dims=(size, 3))], [(0, 0, 1, 0), (1, 1, 2, 0)])
            assert [code for code, _, _ in places(check_model(text))] == codes


class TestConsequences:
    def test_a_duplicate_id_leaves_edges_dangling_and_misled(self) -> None:
        """Layer 2 got the id of layer 1: its edges dangle, and are not reported as separate faults."""
        text = net(
            [parameter(0, dims=(2, 3)), relu(1), relu(1, element_type="f16"), result(3, dims=(2, 3))],
            [(0, 0, 1, 0), (1, 1, 2, 0), (2, 1, 3, 0)],
        )
        assert places(check_model(text)) == [(Code.duplicate_layer_id, "1", None)]

    def test_independent_faults_beside_a_duplicate_id_are_found(self) -> None:
        text = net(
            [
                *(parameter(0, dims=(2, 3)), relu(1), relu(1), result(3, dims=(2, 3))),
                *(parameter(4, dims=(2, 3)), relu(5, declared=(7, 7)), result(6, dims=(2, 3))),
            ],
            [(0, 0, 1, 0), (1, 1, 3, 0), (4, 0, 5, 0), (5, 1, 6, 0)],
        )
        assert places(check_model(text)) == [(Code.duplicate_layer_id, "1", None), (Code.declared_dims, "5", "output")]

    def test_unreadable_constant_does_not_stop_check(self) -> None:
        """Reshape reads the value of its pattern, which is stored after the end of the weights."""
        reshape = layer(
            2,
            "Reshape",
            data='special_zero="false"',
            inputs=[port(0, "f32", (2, 3)), port(1, "i64", (2,))],
            outputs=[port(2, "f32", (3, 2))],
        )
        text = net(
            [parameter(0, dims=(2, 3)), const(1, "i64", (2,), 800, 16), reshape, result(3, dims=(3, 2))],
            [(0, 0, 2, 0), (1, 0, 2, 1), (2, 2, 3, 0)],
        )
        assert places(check_model(text, weights=bytes(16))) == [(Code.weights_short, "1", None)]

    def test_truncated_weights_are_one_fault(self) -> None:
        raw = (NETWORKS / "gnn_gcn_gat.xml").read_bytes()
        weights = (NETWORKS / "gnn_gcn_gat.bin").read_bytes()
        report = check_model(raw, weights=weights[: len(weights) // 2])
        assert [code for code, _, _ in places(report)] == [Code.weights_short]
        assert f"{len(weights) // 2:,}" in report.errors[0].message

    def test_only_truncated_constants_are_counted(self) -> None:
        """Of four, one is within the weights, one ends with them, and one needs no bytes."""
        constants = [const(0, "f32", (2,), 0, 8), const(1, "f32", (2,), 8, 8)]
        constants += [const(2, "f32", (0,), 24, 0), const(3, "f32", (2,), 16, 8), const(4, "f32", (2,), 24, 8)]
        results = [result(5 + id, dims=(0,) if id == 2 else (2,)) for id in range(5)]
        text = net([*constants, *results], [(id, 0, 5 + id, 0) for id in range(5)])
        report = check_model(text, weights=bytes(16))
        assert places(report) == [(Code.weights_short, "3", None)]
        assert facts(report.errors[0].message) == ["16", "2", "32", "5"]

    def test_wrong_shared_constant_is_one_fault(self) -> None:
        def reshape(id: int) -> str:
            inputs = [port(0, "f32", (2, 3)), port(1, "i64", (2,))]
            return layer(id, "Reshape", data='special_zero="false"', inputs=inputs, outputs=[port(2, "f32", (3, 2))])

        results = [result(4, dims=(3, 2)), result(5, dims=(3, 2))]
        text = net(
            [parameter(0, dims=(2, 3)), const(1, "i64", (2,), 0, 16), reshape(2), reshape(3), *results],
            [(0, 0, 2, 0), (1, 0, 2, 1), (0, 0, 3, 0), (1, 0, 3, 1), (2, 2, 4, 0), (3, 2, 5, 0)],
        )
        assert check_model(text, weights=np.array([3, 2], np.int64).tobytes()).ok
        report = check_model(text, weights=np.array([3, -2], np.int64).tobytes())
        assert places(report) == [(Code.impossible_shape, "2", "shape")]
        assert 'layer 1 "layer1" (Const)' in (report.errors[0].hint or "")

    def test_constant_read_twice_hides_nothing(self) -> None:
        inputs = [port(0, "f32", (4,)), *(port(id, "i64", (1,)) for id in (1, 2, 3, 4))]
        slices = layer(2, "Slice", opset="opset8", inputs=inputs, outputs=[port(5, "f32", (1,))])
        ends = [(0, 0, 2, 0), *((1, 0, 2, position) for position in (1, 2, 3, 4)), (2, 5, 3, 0)]
        text = net([parameter(0, dims=(4,)), const(1, "i64", (1,), 0, 8), slices, result(3, dims=(1,))], ends)
        report = check_model(text, weights=np.array([7], np.int64).tobytes())
        assert [error.code for error in report.errors] == [Code.axis_out_of_range]

    def test_wrong_offsets_are_faults_of_their_own(self) -> None:
        constants = [const(id, "f32", (2,), 1000 * id, 8) for id in (1, 2)]
        ports = [port(0, "f32", (2,)), port(1, "f32", (2,))]
        add = layer(3, "Add", inputs=ports, outputs=[port(2, "f32", (2,))])
        text = net([*constants, add, result(4, dims=(2,))], [(1, 0, 3, 0), (2, 0, 3, 1), (3, 2, 4, 0)])
        assert places(check_model(text, weights=bytes(8))) == [
            (Code.weights_short, "1", None),
            (Code.weights_short, "2", None),
        ]

    def test_byte_of_empty_constant_is_used(self) -> None:
        """OpenVINO writes one byte for a constant without elements."""
        text = net([const(0, "f32", (0,), 0, 1), result(1, dims=(0,))], [(0, 0, 1, 0)])
        assert not check_model(text, weights=bytes(1)).diagnostics
        assert places(check_model(text, weights=bytes(2)), "info") == [(Code.unreferenced_weights, None, None)]

    def test_missing_weights_are_said_once(self, tmp_path: Path) -> None:
        raw = (NETWORKS / "gnn_gcn_gat.xml").read_bytes()
        path = tmp_path / "alone.xml"
        path.write_bytes(raw)
        report = check_model(path)
        assert places(report) == [(Code.weights_missing, None, None)]
        assert (report.layers_checked, report.layers_not_checked) == (raw.count(b"<layer "), 0)


class TestPrecisions:
    """Spellings that OpenVINO 2026.4 reads at the port of a Parameter."""

    def faults(self, precision: str) -> list[str]:
        text = net([parameter(0, dims=(2,)), result(1, dims=(2,))], [(0, 0, 1, 0)])
        report = check_model(
            text.replace(
                b'<output><port id="0" precision="FP32"', f'<output><port id="0" precision="{precision}"'.encode()
            )
        )
        return [error.message for error in report.errors if "precision" in error.message]

    @pytest.mark.parametrize("precision", ["FP32", "f32", "U1", "BIN", "BOOL", "boolean", "UNSPECIFIED", "dynamic"])
    def test_readable_spellings(self, precision: str) -> None:
        assert not self.faults(precision)

    @pytest.mark.parametrize(("precision", "has_hint"), [("fp32", True), ("F32", True), ("FP33", False)])
    def test_unreadable_spellings(self, precision: str, has_hint: bool) -> None:
        (message,) = self.faults(precision)
        assert repr(precision) in message
        assert ("FP32" in message) == has_hint


class TestNumberOfOutputs:
    @pytest.mark.parametrize("dims", [(2, 3), (-1, 3)])
    def test_more_than_the_operator_gives(self, dims: tuple[int, ...]) -> None:
        """Known inputs or not."""
        outputs = [port(1, "f32", dims), port(2, "f32", dims)]
        both = layer(1, "ReLU", inputs=[port(0, "f32", dims)], outputs=outputs)
        text = net(
            [parameter(0, dims=dims), both, result(2, dims=dims), result(3, dims=dims)],
            [(0, 0, 1, 0), (1, 1, 2, 0), (1, 2, 3, 0)],
        )
        assert places(check_model(text)) == [(Code.too_many_outputs, "1", "output[1]")]


class TestNotChecked:
    def test_unimplemented_operators(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Every operator is, so one is taken away."""
        type, opset = "SoftSign", "opset9"
        assert resolve(type, opset).type_name == type
        unknown = layer(1, type, opset=opset, inputs=[port(0, "f32", (2, 3))], outputs=[port(1, "f32", (2, 3))])
        text = net([parameter(0, dims=(2, 3)), unknown, result(2, dims=(2, 3))], [(0, 0, 1, 0), (1, 1, 2, 0)])
        with monkeypatch.context() as patch:
            patch.setitem(registry.classes_of_type, type.lower(), {})
            resolve.cache_clear()
            report = check_model(text)
        resolve.cache_clear()
        assert check_model(text).layers_not_checked == 0
        assert report.ok
        assert places(report, "info") == [(Code.operator_not_implemented, "1", None)]
        assert (report.layers_checked, report.layers_not_checked) == (2, 1)

    def test_internal_error_is_no_fault_of_the_file(self, monkeypatch: pytest.MonkeyPatch) -> None:
        cls = resolve("ReLU", "opset1")

        def broken(self: object, data: TensorType) -> TensorType:
            raise ZeroDivisionError("oops")

        monkeypatch.setattr(cls, "infer", broken)
        text = net(
            [
                parameter(0, dims=(2, 3)),
                relu(1),
                layer(2, "Tanh", inputs=[port(0, "f32", (2, 3))], outputs=[port(1, "f32", (2, 9))]),
                result(3, dims=(2, 9)),
            ],
            [(0, 0, 1, 0), (1, 1, 2, 0), (2, 1, 3, 0)],
        )
        report = check_model(text)
        assert places(report, "info") == [(Code.internal_error, "1", None)]
        assert "ZeroDivisionError: oops" in report.diagnostics[0].message
        # Everything else is checked all the same.
        assert places(report) == [(Code.declared_dims, "2", "output")]
        assert (report.layers_checked, report.layers_not_checked) == (3, 1)
        with pytest.raises(ir_exec.IRError, match="ZeroDivisionError"):
            ir_exec.read_model(text)

    @pytest.mark.parametrize(
        ("raised", "code"), [(MemoryError(), Code.limit_exceeded), (RecursionError("deep"), Code.internal_error)]
    )
    def test_unchecked_file_is_not_ok(self, raised: Exception, code: str, monkeypatch: pytest.MonkeyPatch) -> None:
        def broken(*args: object, **keywords: object) -> None:
            raise raised

        monkeypatch.setattr("ir_exec.check.check.load", broken)
        assert places(check_model(b"<net/>")) == [(code, None, None)]


class TestVersion10:
    def test_converted_inputs_and_outputs_are_no_contradiction(self) -> None:
        """OpenVINO gives old networks f32 inputs in place of f16 ones, and i32 outputs in place of i64 ones."""
        convert = layer(
            1,
            "Convert",
            data='destination_type="i64"',
            inputs=[port(0, "f16", (2, 3))],
            outputs=[port(1, "i64", (2, 3))],
        )
        text = net(
            [parameter(0, "f16", (2, 3), name="x"), convert, result(2, "i64", (2, 3))],
            [(0, 0, 1, 0), (1, 1, 2, 0)],
            version=10,
        )
        report = check_model(text)
        assert not report.diagnostics


class TestCompressedConstants:
    """Of a compressed constant that is an output OpenVINO's writer declares the precision in which it is stored."""

    def text(
        self,
        declared: str,
        result_type: str,
        others: Sequence[str] = (),
        ends: Sequence[tuple[int, int, int, int]] = ((0, 0, 1, 0), (1, 1, 2, 0)),
    ) -> bytes:
        marked = '<rt_info><attribute name="decompression" version="0"/></rt_info>'
        inputs, outputs = [port(0, "f16", (2,))], [port(1, declared, (2,))]
        convert = layer(1, "Convert", data='destination_type="f32"', inputs=inputs, outputs=outputs, inner=marked)
        return net([const(0, "f16", (2,), 0, 4), convert, result(2, result_type, (2,)), *others], ends)

    @pytest.mark.parametrize("declared", ["f16", "f32"])
    def test_as_openvino_writes_them(self, declared: str) -> None:
        assert check_model(self.text(declared, declared), weights=bytes(4)).diagnostics == ()

    def test_read_by_another_layer_too(self) -> None:
        add = layer(3, "Add", inputs=[port(0, "f32", (2,)), port(1, "f16", (2,))], outputs=[port(2, "f32", (2,))])
        ends = [(0, 0, 1, 0), (1, 1, 2, 0), (4, 0, 3, 0), (1, 1, 3, 1), (3, 2, 5, 0)]
        text = self.text("f16", "f16", [parameter(4, dims=(2,)), add, result(5, dims=(2,))], ends)
        assert check_model(text, weights=bytes(4)).diagnostics == ()

    @pytest.mark.parametrize(("declared", "result_type"), [("f16", "f32"), ("f32", "f16"), ("i32", "i32")])
    def test_other_precisions(self, declared: str, result_type: str) -> None:
        report = check_model(self.text(declared, result_type), weights=bytes(4))
        assert [error.code for error in report.errors] == [Code.declared_element_type]


class TestSmallRules:
    @pytest.mark.parametrize(("dim", "is_odd"), [(-1, False), (-2, True), (-5, True)])
    def test_minus_one_is_the_only_negative_dim(self, dim: int, is_odd: bool) -> None:
        text = net(
            [parameter(0, dims=(2, 3)), relu(1, declared=(2, dim)), result(2, dims=(2, 3))],
            [(0, 0, 1, 0), (1, 1, 2, 0)],
        )
        assert (places(check_model(text)) == [(Code.declared_dims, "1", "output")]) == is_odd

    def test_missing_result_is_not_reported_with_doubtful_ids(self) -> None:
        """The Result may be the layer whose id is taken."""
        doubtful = [parameter(0, dims=(2, 3)), relu(1), relu(1)]
        codes = [code for code, _, _ in places(check_model(net(doubtful, [(0, 0, 1, 0)])))]
        assert Code.duplicate_layer_id in codes
        assert Code.no_result not in codes
        clear = [parameter(0, dims=(2, 3)), relu(1)]
        assert Code.no_result in [code for code, _, _ in places(check_model(net(clear, [(0, 0, 1, 0)])))]
