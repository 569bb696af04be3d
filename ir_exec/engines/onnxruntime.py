"""onnxruntime as an engine: parts are lowered to ONNX and run by inference sessions."""

from __future__ import annotations

import json
import re
import shutil
import tempfile
import weakref
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from threading import TIMEOUT_MAX, Lock, Timer
from typing import TYPE_CHECKING, Any

from ir_exec.build.cutting import Cut
from ir_exec.codes import Code
from ir_exec.engines.guards import find_guarded
from ir_exec.engines.interface import CompiledPart, EngineSetting, LayerTime, PartForm, PartRefused, original_of
from ir_exec.engines.layer_names import LayerNames, holders_of
from ir_exec.engines.rounding import RoundingPart
from ir_exec.engines.session_constants import FOLDER_ENTRY, SessionConstants, declare_constants
from ir_exec.errors import EvaluationError, IRError, ResourceError
from ir_exec.graph import Node
from ir_exec.hints import install_hint
from ir_exec.infer import Types
from ir_exec.kernels.limits import Limits
from ir_exec.model import Model
from ir_exec.ops.infrastructure.values import Const
from ir_exec.plan.memory import default_budget
from ir_exec.types import Array

if TYPE_CHECKING:
    from ir_exec.graph import Value
    from ir_exec.onnx.export.caches import Caches
    from ir_exec.onnx.export.compressed_products import ProductLevels
    from ir_exec.onnx.export.lower import Exported
    from ir_exec.onnx.export.originals import OriginalNodes
    from ir_exec.onnx.lowering.original import OriginalGraph

__all__ = ["OLDEST_COMPARED", "OnnxRuntime", "OnnxRuntimePart"]

_CPU = "CPUExecutionProvider"

_SEES_ZEROS = (1, 32)
"""The first release that fails for integers divided by zero; older ones may end the process."""

OLDEST_COMPARED = (1, 32)
"""The oldest release whose kernels were compared with lowered layers: older ones do not check all indices."""

_NAMES_FOLDER = (1, 21)
"""The first release with an option for the folder of constants."""

_MOST_REFUSED = 8
"""Maximum sessions with nodes of a file, each without the nodes that onnxruntime rejected before."""

_LARGEST = 2**31 - 2**16
"""Maximum bytes of a message."""

_MULTIPLIES_BYTES = (1, 22)
"""The first release whose MatMulNBits multiplies by weights of 8 bits without decoding them in every run."""

_LEVELS = (1, 4)

_DISABLED_PASSES = ("SkipLayerNormFusion", "WeightBiasQuantization")
"""Passes of the optimizer that are not run on the CPU.

The kernel of SkipLayerNormalization takes 0.37 ms for 128 rows of 768 elements, those that it replaces 0.05 ms (AMD
EPYC, family 26). WeightBiasQuantization rounds weights of f32 to 8 bits.
"""

_OPTIONS = ("accuracy_level", "int8", "profile", "prepack", "spinning")
"""The options that are not options of sessions."""


class OnnxRuntime:
    """The engine.

    Options: `session.*` and the other configuration entries of onnxruntime's sessions, `inter_op_num_threads`,
    `graph_optimization_level` ("disable", "basic", "extended", "all"), and the additional `profile` (measure every
    node), `prepack` (False: matrices stay in the mapped file, and are packed again in every product), `spinning`
    (True: waiting threads keep their cores busy, also for milliseconds after a call; False: they never do; by default
    they do during a call only), `int8` (False: layers between FakeQuantize are computed in f32, between numbers
    rounded to levels, as in the interpreter), and `accuracy_level` of products with compressed weights (4: they
    round activations to 8 bits where the first run shows a small error; 1, the default: they do not).

    Raises:
        EvaluationError: IR705 if onnxruntime is not installed, and IR704 for unknown providers and options.
    """

    name = "onnxruntime"

    def __init__(self, setting: EngineSetting) -> None:
        missing = [name for name in ("onnxruntime", "onnx") if find_spec(name) is None]
        if missing:
            hint = install_hint("onnxruntime")
            raise EvaluationError(f"{' and '.join(missing)} is not installed", code=Code.unknown_input, hint=hint)
        import onnxruntime

        self._module = onnxruntime
        self._version = tuple([int(part) for part in onnxruntime.__version__.split(".")[:2]])
        self._setting = setting
        self._providers = self._chosen(setting.providers)
        self._options()
        self._level = _read_level(setting)

    @property
    def title(self) -> str:
        names = ", ".join(provider if isinstance(provider, str) else provider[0] for provider in self._providers)
        return f"onnxruntime {self._module.__version__} ({names})"

    def _chosen(self, requested: Sequence[Any]) -> list[Any]:
        """Return the requested providers followed by the CPU; only the CPU if none is requested."""
        available = self._module.get_available_providers()
        chosen = []
        for provider in requested:
            name = provider if isinstance(provider, str) else provider[0]
            exact = next(
                (
                    candidate
                    for candidate in available
                    if candidate.lower() in (name.lower(), f"{name}ExecutionProvider".lower())
                ),
                None,
            )
            if exact is None:
                hint = f"use a provider of this onnxruntime: {', '.join(available)}"
                raise EvaluationError(f"there is no provider {name!r}", hint=hint)
            chosen.append(exact if isinstance(provider, str) else (exact, *provider[1:]))
        names = [provider if isinstance(provider, str) else provider[0] for provider in chosen]
        return chosen if _CPU in names else [*chosen, _CPU]

    @property
    def is_cpu(self) -> bool:
        """True if everything runs on the CPU."""
        return self._providers == [_CPU]

    def refusals(self, model: Model) -> Mapping[Node, str]:
        from ir_exec.onnx.export.registry import find_lowering, reason_not_representable

        reasons = find_guarded(model, sees_zeros=self._version >= _SEES_ZEROS)
        original = original_of(model) if self._version >= OLDEST_COMPARED else None
        nodes = [] if original is None else self._select(original, model, refused={}).replacements
        replaced = {
            node
            for replacement in nodes
            for node in replacement.layers
            if reasons.keys().isdisjoint(replacement.layers)
        }
        for node in model.graph.nodes:
            if node in reasons or node in replaced or node.op is None or node.op.is_parameter or node.op.is_result:
                continue
            lowering = find_lowering(type(node.op))
            if lowering is None:
                if not isinstance(node.op, Const):
                    reasons[node] = reason_not_representable(type(node.op))
            elif lowering.slow_from is not None and _least_elements(node, model.types) >= lowering.slow_from:
                reasons[node] = "the interpreter is faster for its elements"
        return reasons

    @property
    def grows_caches(self) -> bool:
        """True if parts read memory of caches with room."""
        return self.is_cpu and self._setting.optimize

    def compile(self, part: Cut, caches: Caches | None = None) -> CompiledPart:
        if self._level == 1 or not self.is_cpu:
            return self._compile_form(part, caches)
        return RoundingPart(partial(self._compile_form, part, caches), has_bytes=self._version >= _MULTIPLIES_BYTES)

    def _compile_form(
        self, part: Cut, caches: Caches | None = None, levels: ProductLevels | None = None
    ) -> OnnxRuntimePart:
        """Return a session with the nodes of the file, or of all layers lowered."""
        if part.original is None:
            return self._compile(part, None, None, caches, levels)
        if caches is not None:
            return self._compile(part, None, PartForm(reason="its caches grow in place"), caches, levels)
        if self._version < OLDEST_COMPARED:
            reason = f"the kernels of onnxruntime {self._module.__version__} were not compared with ours"
            return self._compile(part, None, PartForm(reason=reason), levels=levels)
        refused: dict[str, str] = {}
        for _ in range(_MOST_REFUSED):
            originals = self._select(part.original, part.model, inputs=part.inputs, refused=refused)
            form = PartForm(len(originals.replacements), tuple(originals.reasons.items()))
            if not originals.replacements:
                return self._compile(part, None, form, levels=levels)
            replaced = {node.id for node in originals.replaced_layers}
            try:
                return self._compile(part, originals, form, levels=levels)
            except PartRefused as error:
                if not error.layers:
                    return self._compile(part, None, PartForm(reason=error.reason), levels=levels)
                blamed = {id: reason for id, reason in error.layers.items() if id in replaced}
                if not blamed:
                    raise
                refused |= blamed
        form = PartForm(reason=f"onnxruntime rejects {len(refused)} of the nodes or more")
        return self._compile(part, None, form, levels=levels)

    @staticmethod
    def _select(
        original: OriginalGraph, model: Model, *, inputs: Sequence[Value] | None = None, refused: Mapping[str, str]
    ) -> OriginalNodes:
        from ir_exec.onnx.export.lower import DEFAULT_OPSET
        from ir_exec.onnx.export.originals import select_originals

        graph = model.graph
        values = [node.outputs[0] for node in graph.parameters] if inputs is None else inputs
        types = dict(zip(graph.values, model.types, strict=True))
        return select_originals(original, graph, values, types, opset=DEFAULT_OPSET, refused=refused)

    def _compile(
        self,
        part: Cut,
        originals: OriginalNodes | None,
        form: PartForm | None,
        caches: Caches | None = None,
        levels: ProductLevels | None = None,
    ) -> OnnxRuntimePart:
        """Return a session.

        Args:
            originals: The nodes of the file that the session gets; all other layers are lowered.
            form: Both, for reports.
            caches: Inputs that are memory with room.
            levels: The products that round activations.
        """
        from ir_exec.engines.expanding import expand_weights
        from ir_exec.engines.in_place import count_copied_bytes, read_in_place
        from ir_exec.engines.int8 import convert_layers, has_quantized_values, saturates
        from ir_exec.engines.widening import widen_model
        from ir_exec.onnx.export.lower import lower_model

        holders = dict(holders_of(part.model.graph))
        # ONNX files have QuantizeLinear around the layers that run with integers.
        has_int8 = self._has_int8 and originals is None
        try:
            exported = lower_model(
                part.model,
                target="onnxruntime",
                partial=True,
                functions=False,
                finite=True,
                int8=has_int8,
                sources=False,
                expand=not self._setting.keeps_weights,
                has_variables=self._setting.has_variables,
                caches=caches,
                levels=levels,
                originals=originals,
                fuses=self._setting.optimize,
            )
        except IRError as error:
            layer = error.location.layer_id
            blamed = {layer: error.message} if layer is not None else {}
            raise PartRefused(error.message, blamed) from error
        if exported.not_representable:
            raise PartRefused("lowering", {holders[node].id: reason for node, reason in exported.not_representable})
        if self._setting.is_wide:
            exported = widen_model(exported)
        count = 0
        if has_int8:
            is_wide = self._setting.is_wide
            exported, count = convert_layers(exported, partial(saturates, self._module), is_wide=is_wide)
            if count:
                form = replace(form or PartForm(None), int8_layers=count)
        if self.is_cpu and (originals is None or not originals.is_complete):
            if not count and originals is None and not self._setting.keeps_weights:
                exported = expand_weights(exported)
            exported = read_in_place(exported, self._version)
        require_memory(count_copied_bytes(exported, packs=self._packs(exported)))
        constants = declare_constants(part.model, exported, from_files=self._version >= _NAMES_FOLDER)
        if exported.proto.ByteSize() > _LARGEST:
            raise PartRefused("its constants with element types outside NumPy exceed the maximum size of a message")
        is_simulated = self.is_cpu and originals is None and not has_int8 and has_quantized_values(exported)
        return self._session(part.model, exported, constants, form, fuses_integers=not is_simulated)

    def _session(
        self,
        model: Model,
        exported: Exported,
        constants: SessionConstants,
        form: PartForm | None,
        *,
        fuses_integers: bool,
    ) -> OnnxRuntimePart:
        """Return a session.

        Args:
            fuses_integers: The optimizer may compute layers between QuantizeLinear and DequantizeLinear with integers.
        """
        from ir_exec.engines.in_place import find_transposable

        options = self._options(packs=self._packs(exported))
        if not fuses_integers:
            options.add_session_config_entry("session.disable_quant_qdq", "1")
        if constants.folder is not None:
            options.add_session_config_entry(FOLDER_ENTRY, constants.folder)
        arrays = constants.in_memory | constants.shared
        values = {name: self._module.OrtValue.ortvalue_from_numpy(array) for name, array in arrays.items()}
        if constants.in_memory:
            options.add_external_initializers(list(constants.in_memory), [values[name] for name in constants.in_memory])
        for name in arrays.keys() - find_transposable(exported.proto.graph) - constants.computed:
            # Without this call the session would copy them. It releases its copy when a kernel has packed it.
            options.add_initializer(name, values[name])
        layers = LayerNames(model.graph)
        folder = self._start_profile(options)
        try:
            session = self._module.InferenceSession(
                exported.proto.SerializeToString(),
                options,
                providers=self._providers,
                disabled_optimizers=list(_DISABLED_PASSES) if self.is_cpu else None,
            )
        except Exception as error:
            if folder is not None:
                shutil.rmtree(folder, ignore_errors=True)
            raise _refuse(error, layers) from error
        if model.weights is not None:
            for array in filter(model.weights.maps, (*arrays.values(), *constants.mapped)):
                # The session has packed the constants that it reads often; the others are read again.
                model.weights.forget(array)
        retained = {name: value for name, value in values.items() if name not in constants.computed}
        return OnnxRuntimePart(self._module, session, exported.inputs, exported.outputs, layers, retained, folder, form)

    @property
    def _has_int8(self) -> bool:
        """True if layers between FakeQuantize are computed with integers; other providers fuse other patterns."""
        return self.is_cpu and bool(self._setting.options.get("int8", True))

    def _packs(self, exported: Exported | None = None) -> bool:
        """Return True if kernels pack the constants that they read.

        A kernel of compressed weights that packs none decodes all of them in every run.
        """
        has_products = exported is not None and any(node.op_type == "MatMulNBits" for node in exported.proto.graph.node)
        return bool(self._setting.options.get("prepack", not self._setting.keeps_weights or has_products))

    def _start_profile(self, options: Any) -> Path | None:
        """Return the folder of a session's profile, with the options set; None without the option `profile`."""
        if not dict(self._setting.options).get("profile", False):
            return None
        try:
            folder = Path(tempfile.mkdtemp(prefix="ir-exec-"))
        except OSError as error:
            message = f"the folder for the profile of onnxruntime cannot be created: {error.strerror or error}"
            raise EvaluationError(message, code=Code.unwritable) from error
        options.enable_profiling = True
        options.profile_file_prefix = str(folder / "profile")
        return folder

    def _options(self, *, packs: bool = True) -> Any:
        """Return the options of a session, without those of its profile."""
        setting, module = self._setting, self._module
        options = module.SessionOptions()
        options.log_severity_level = 4
        options.intra_op_num_threads = setting.threads
        options.inter_op_num_threads = 1
        levels = module.GraphOptimizationLevel
        options.graph_optimization_level = levels.ORT_ENABLE_ALL if setting.optimize else levels.ORT_DISABLE_ALL
        # Products with compressed weights: 1 adds in f32, the default may round the other factor to 8 bits.
        options.add_session_config_entry("session.qdq_matmulnbits_accuracy_level", "1")
        entries = dict(setting.options)
        entries.pop("prepack", None)
        entries.pop("accuracy_level", None)
        entries.pop("int8", None)
        if not packs:
            options.add_session_config_entry("session.disable_prepacking", "1")
        spinning = entries.pop("spinning", None)
        if spinning is None:
            # Otherwise threads keep their cores busy for 4 to 24 ms after a call, which slows down NumPy's threads.
            options.add_session_config_entry("session.force_spinning_stop", "1")
        elif not spinning:
            options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        entries.pop("profile", None)
        for name, value in entries.items():
            self._set(options, name, value)
        return options

    def _set(self, options: Any, name: str, value: Any) -> None:
        if "." in str(name):
            options.add_session_config_entry(str(name), str(value))
            return
        if name == "graph_optimization_level":
            value = getattr(self._module.GraphOptimizationLevel, f"ORT_{_level(value)}", value)
        option_names = sorted(
            attribute
            for attribute in dir(options)
            if not attribute.startswith("_") and not callable(getattr(options, attribute))
        )
        if name not in option_names:
            hint = f"use one of {', '.join([*_OPTIONS, *option_names])}, or session.* with its dot"
            raise EvaluationError(f"onnxruntime has no option {name!r}", hint=hint)
        try:
            setattr(options, name, value)
        except (TypeError, ValueError, RuntimeError) as error:
            message = str(error).splitlines()[0]
            raise EvaluationError(f"the option {name} cannot be {value!r}: {message}") from error


def _read_level(setting: EngineSetting) -> int:
    """Return the lowest accuracy of products with compressed weights, as in MatMulNBits."""
    level = setting.options.get("accuracy_level", 1)
    if level not in _LEVELS:
        raise EvaluationError("the option accuracy_level is", actual=repr(level), expected="1 or 4")
    return int(level)


def _least_elements(node: Node, types: Types) -> int:
    """Return the minimum number of elements of the largest input or output."""
    return max([types[value.number].shape.size.lo for value in (*node.values_in, *node.outputs)], default=0)


def _level(value: Any) -> str:
    return "DISABLE_ALL" if value == "disable" else f"ENABLE_{str(value).upper()}"


class OnnxRuntimePart:
    """A session of onnxruntime; any number of threads may run it at once."""

    def __init__(
        self,
        module: Any,
        session: Any,
        inputs: Sequence[str],
        outputs: Sequence[str],
        layers: LayerNames,
        constants: object,
        folder: Path | None,
        form: PartForm | None = None,
    ) -> None:
        self.form = form
        self._module = module
        self._session = session
        self._inputs = list(inputs)
        self._outputs = list(outputs)
        self._layers = layers
        # The session reads the constants in place.
        self._constants = constants
        self._folder = folder
        # An unread profile is deleted with the session.
        self._discard = None if folder is None else weakref.finalize(self, _discard_profile, session, folder)
        self._times: list[LayerTime] | None = None
        self._runs = 0
        self._lock = Lock()
        input_names = {input.name for input in session.get_inputs()}
        self._not_taken = [name for name in self._inputs if name not in input_names]

    def run(self, arrays: Sequence[Array], limits: Limits) -> list[Array]:
        feed = dict(zip(self._inputs, arrays, strict=True))
        for name in self._not_taken:
            del feed[name]
        if not limits.is_timed:
            return self._run(feed, None)
        limits.check_time()
        options = self._module.RunOptions()
        timer = Timer(min(limits.seconds_left, TIMEOUT_MAX), setattr, (options, "terminate", True))
        timer.daemon = True
        timer.start()
        try:
            return self._run(feed, options)
        except EvaluationError:
            limits.check_time()
            raise
        finally:
            timer.cancel()

    def run_by_name(self, names: Sequence[str]) -> Callable[[dict[str, Array]], list[Array]]:
        """Return a function of the inputs by these names, in the order of the part, that runs it without limits.

        It raises any exception of onnxruntime.
        """
        output_names, read = self._outputs, [name for name in self._inputs if name not in self._not_taken]
        is_renamed = list(names) != read
        pairs = [pair for pair in zip(self._inputs, names, strict=True) if pair[0] in read]

        def run(feed: dict[str, Array]) -> list[Array]:
            self._runs += 1
            if is_renamed:
                feed = {name: feed[port] for name, port in pairs}
            outputs: list[Array] = self._session.run(output_names, feed)
            return outputs

        return run

    def _run(self, feed: dict[str, Array], options: Any) -> list[Array]:
        session = self._session
        self._runs += 1
        if session is None:
            raise EvaluationError("the compiled model is closed", expected="an open one")
        try:
            outputs: list[Array] = session.run(self._outputs, feed, options)
        except Exception as error:
            raise self._convert_error(error) from error
        return outputs

    def _convert_error(self, error: Exception) -> IRError:
        text = _message(error)
        node = self._layers.of_message(text)
        is_memory = isinstance(error, MemoryError) or "Failed to allocate memory" in text or "bad_alloc" in text
        if is_memory:
            failed: IRError = ResourceError(f"onnxruntime is out of memory: {text}")
        else:
            failed = EvaluationError(f"onnxruntime failed: {text}", code=Code.failed)
        return failed if node is None else failed.located(node.location)

    def times(self) -> list[LayerTime]:
        """Return the times of nodes in onnxruntime's profile; the first call ends the measurement."""
        with self._lock:
            if self._times is None:
                self._times = self._read_times() if self._folder is not None and self._session is not None else []
            return self._times

    def _read_times(self) -> list[LayerTime]:
        assert self._discard is not None, "a session that measures has a folder"
        path = self._session.end_profiling()
        try:
            events = json.loads(Path(path).read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            # On a full disk the file is truncated, and onnxruntime reports nothing.
            raise EvaluationError(f"the profile of onnxruntime cannot be read: {error}", code=Code.failed) from error
        finally:
            self._discard.detach()
            shutil.rmtree(self._folder, ignore_errors=True)  # type: ignore[arg-type]  # a profile has a folder
        durations: dict[tuple[str, str], list[float]] = defaultdict(list)
        for event in events:
            if event.get("cat") == "Node" and event["name"].endswith("_kernel_time"):
                name = event["name"].removesuffix("_kernel_time")
                durations[name, event["args"].get("op_name", "")].append(event["dur"] / 1e6)
        times = []
        for (name, operator_type), seconds in durations.items():
            node = self._layers.of(name)
            # In a loop a node runs several times per run.
            usual = median(seconds) * len(seconds) / max(self._runs, 1)
            times.append(LayerTime("" if node is None else node.name, operator_type, usual))
        return times

    def close(self) -> None:
        if self._folder is not None and self._times is None:
            self.times()
        if self._discard is not None:
            self._discard()
        self._session = None
        self._constants = None


def _discard_profile(session: Any, folder: Path) -> None:
    """End the measurement of a session, and delete its profile."""
    with suppress(Exception):
        session.end_profiling()
    shutil.rmtree(folder, ignore_errors=True)


def _refuse(error: Exception, layers: LayerNames) -> PartRefused:
    text = _message(error)
    node = layers.of_message(text)
    reason = f"onnxruntime rejects it: {text}"
    return PartRefused(reason, {} if node is None else {node.id: reason})


def _message(error: Exception) -> str:
    text = str(error).removeprefix("[ONNXRuntimeError] : ")
    return re.sub(r"^\d+ : [A-Z_]+ : ", "", text).strip()[:500]


def require_memory(size: int) -> None:
    """Raise ResourceError if a session of constants of this many bytes exceeds the memory of the machine."""
    if size > (available := default_budget()):
        raise ResourceError(
            "the constants of the session take",
            actual=f"{size:,}",
            detail="bytes",
            expected=f"at most {available:,}",
            reason="the memory of the machine",
            hint='keep constants in the file with weight_mode="keep" or --weight-mode keep, or run without the engine',
        )
