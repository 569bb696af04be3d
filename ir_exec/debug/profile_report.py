"""What a profile tells."""

from __future__ import annotations

import csv
import io
from typing import Any, Literal

from ir_exec.debug.facts import Record
from ir_exec.debug.machine import Machine

__all__ = ["GroupProfile", "LayerProfile", "OpenVINOLayer", "OpenVINOProfile", "Profile", "Rates"]


class Rates(Record):
    """Time and work, in one run.

    seconds: the median over the runs of the time spent here; what the layers of bodies take counts for them and not for
    the layer around them. share: of the time of all layers. calls: how often layers ran. bytes_moved: those of the
    tensors read and written, each element once. multiply_adds: of matrix products, convolutions, recurrent cells and
    attention. gflops, gbytes: billions of operations (two for a multiply-add) and of bytes a second. of_peak: the least
    time that this machine needs for so much work, relative to the time that was spent; None without work.
    """

    seconds: float
    share: float
    calls: int
    bytes_moved: int
    multiply_adds: int
    gflops: float
    gbytes: float
    of_peak: float | None


class LayerProfile(Rates):
    """One layer. path: `loop/body/name` for layers of bodies. with_bodies: its seconds with those of its bodies.

    element_type, shape: of the first output in the last call. memory: the most bytes that the run held while the layer
    ran. fused: the paths of the layers that the plan computes together, of which this is the last; `type` is then what
    they are together. openvino: the layer of OpenVINO that computes it, None where there is none or it was not asked.
    """

    layer_id: str
    layer_name: str
    path: str
    type: str
    element_type: str | None
    shape: tuple[int, ...] | None
    with_bodies: float
    memory: int
    fused: tuple[str, ...] = ()
    openvino: str | None = None


class GroupProfile(Rates):
    """Layers of a type, or with a prefix of their paths."""

    name: str
    layers: int


class OpenVINOLayer(Record):
    """A layer that OpenVINO executes.

    type: what it is. kernel: the implementation. seconds: the median over the runs of its own counter. layers: the
    layers of MODEL that it stands for, our paths, by the `originalLayersNames` of OpenVINO. ours: our seconds for
    these, with their bodies.
    """

    name: str
    type: str
    kernel: str
    precision: str
    seconds: float
    share: float
    layers: tuple[str, ...]
    ours: float


class OpenVINOProfile(Record):
    """OpenVINO's run of the same inputs. run_seconds: the median without counters, counted_seconds: with them."""

    version: str
    device: str
    hint: str
    run_seconds: float
    counted_seconds: float
    layers: tuple[OpenVINOLayer, ...]


class Profile(Record):
    """The answer of `profile`.

    measured: what it is that was measured. repeat: runs that the medians are of. run_seconds: the median of runs
    without a clock at every layer; least_seconds: the fastest. timed_seconds: the median with the clock.
    layer_seconds: the sum of what the layers take. overhead_seconds: the median of what a run spends outside of them.
    layers: those that ran, in the order of their first
    ends. not_run: layers that did not run, for their values are constants or follow from the input shapes, or their
    bodies were not chosen. peak_memory: the most bytes that a run held, without inputs and constants; peak_layer: the
    path of the layer that ran then. constants: bytes of constants that stay in memory. seed: of drawn inputs.
    """

    format: Literal[1] = 1
    model: str
    measured: str
    threads: int
    repeat: int
    run_seconds: float
    least_seconds: float
    timed_seconds: float
    layer_seconds: float
    overhead_seconds: float
    layers: tuple[LayerProfile, ...]
    by_type: tuple[GroupProfile, ...]
    by_prefix: tuple[GroupProfile, ...]
    not_run: int
    peak_memory: int
    peak_layer: str | None
    constants: int
    machine: Machine
    openvino: OpenVINOProfile | None = None
    seed: int | None = None

    def to_rows(self) -> list[dict[str, Any]]:
        """A flat row for each layer: what `--format csv` writes."""
        rows = [layer.model_dump() for layer in self.layers]
        for row in rows:
            row["fused"] = " ".join(row["fused"])
            row["shape"] = None if row["shape"] is None else str(list(row["shape"]))
        return rows

    def to_dataframe(self) -> Any:
        """The rows as a pandas DataFrame; ImportError where pandas is not installed."""
        import pandas  # type: ignore[import-untyped]  # its stubs are a package of their own

        return pandas.DataFrame(self.to_rows())

    def to_csv(self) -> str:
        """The rows as text with a heading."""
        text = io.StringIO()
        names = [*LayerProfile.model_fields]
        leading = ["layer_id", "path", "type", "element_type", "shape"]
        writer = csv.DictWriter(text, [*leading, *(n for n in names if n not in leading)], lineterminator="\n")
        writer.writeheader()
        writer.writerows(self.to_rows())
        return text.getvalue()

    def __str__(self) -> str:
        """The summary and the layers that take longest, as text."""
        # The renderer needs the models above, so it cannot be imported before them.
        from ir_exec.debug.profile_text import render

        return "\n".join(render(self))
